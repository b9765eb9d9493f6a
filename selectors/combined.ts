/**
 * The newest picks with every batch, the rest by another rule.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_LIMIT_BATCH } from "../ffi/symbols.ts";
import { newest as newestRule } from "./age_end.ts";
import { checkNoRule, checkSelectorRule } from "./check_selector.ts";
import {
  asRemakable,
  type ComposedSelector,
  type SelectorRule,
  showComposed,
  stateless,
} from "./composed_selector.ts";

/** The options of {@linkcode combined}. */
export interface CombinedOptions<B = unknown> {
  /** How many of the newest picks are in every batch: a whole number from 1 to 2^24; 1 by default. */
  readonly newest?: number;
  /** The rule that draws the rest. */
  readonly rest: SelectorRule<B>;
}

/**
 * Puts the newest picks into every batch, each once and newest first, and draws the rest by another rule. This is combined experience
 * replay from Zhang and Sutton, "A Deeper Look at Experience Replay" (2017, section 4), where it is one newest pick. We know it from
 * descriptions.
 *
 * A batch of at most `newest` picks has only the newest ones. If the view has fewer picks than that, they come again. The newest picks
 * are certain, so their `probability` and importance weight are 1. The others have the values that `rest` gives them. Priorities are
 * those of `rest`.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { combined, ExperienceReplay, float32, prioritized } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(combined({ newest: 2, rest: prioritized() }));
 * let episode = replay.newEpisode();
 * for (const state of [10, 20, 30]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [40], 1, 1, { finalState: [50] });
 * const batch = replay.getBatch(16, selector);
 * console.log([...batch.state.subarray(0, 2)]); // [40, 30]
 * ```
 */
export function combined<B = unknown>(options: CombinedOptions<B>): ComposedSelector<B> {
  checkNoRule("combined()", options, "takes { newest, rest }");
  checkOptions("combined()", options, ["newest", "rest"]);
  const newest = checkInteger("combined(): newest", options.newest ?? 1, 1, EXRP_LIMIT_BATCH);
  const rest = checkSelectorRule("combined(): rest", options.rest);
  return asRemakable(showComposed({
    name: "combined",
    parts: [newestRule({ distinct: true }), rest],
    options: { newest },
    begin: () => {
      const asks = (count: number): readonly [number, number] => {
        const fresh = Math.min(newest, count);
        return [fresh, count - fresh];
      };
      return stateless((count, drawer) => {
        for (const [part, size] of asks(count).entries()) drawer.draw(part, size);
      }, asks);
    },
  }));
}
