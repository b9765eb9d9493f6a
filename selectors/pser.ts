/**
 * Draws in proportion to priorities that decay back through their episode.
 *
 * @module
 */

import { EXRP_SELECTOR_PSER } from "../ffi/symbols.ts";
import { integerFrom, nativeRule, numberFrom, type OptionKinds } from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";
import { PRIORITIZED_OPTIONS, type PrioritizedOptions } from "./prioritized.ts";

/** The largest window. */
const WINDOW_MAX = 1024;

/** The options of {@linkcode pser}: those of {@linkcode prioritized}, and how a priority decays onto earlier picks. */
export interface PserOptions extends PrioritizedOptions {
  /**
   * The share of a pick's priority that the pick before it gets. The pick i places before gets decay^i of it. From 0 to 1; 0.4 by
   * default. It is the paper's rho.
   */
  readonly decay?: number;
  /**
   * How many earlier picks a priority reaches: an integer from 1 to 1024. By default, it reaches the picks that get at least a
   * hundredth of the priority: 5 picks for a decay of 0.4. It is the paper's W.
   */
  readonly window?: number;
  /**
   * A pick's new priority is at least this share of its old one. From 0 to 1; 0.7 by default, and 0 turns it off. It is the paper's
   * eta.
   */
  readonly retain?: number;
}

/** The largest i with decay^i >= 0.01, from multiplications alone, so that it is the same everywhere. */
function windowOf(decay: number): number {
  let window = 0;
  for (let share = decay; share >= 0.01 && window < WINDOW_MAX; share *= decay) window++;
  return Math.max(1, window);
}

const OPTIONS: OptionKinds = {
  ...PRIORITIZED_OPTIONS,
  decay: numberFrom(0.4, 0, 1),
  window: integerFrom((before) => windowOf(Number(before.get("decay"))), 1, WINDOW_MAX),
  retain: numberFrom(0.7, 0, 1),
};

/**
 * Draws like {@linkcode prioritized}, with two differences. A priority that you set decays back onto the earlier picks of its episode,
 * which led to it. And priorities fall slowly. The method is from Brittain, Bertram, Yang and Wei, "Prioritized Sequence Experience
 * Replay" (2019, arXiv 1905.12726). We know its formulas from later work that uses them.
 *
 * If you set a priority for pick t, p_t = priority + epsilon, and then:
 *
 * 1. p_t = max(p_t, retain · its old value), so that one small error does not undo what came from later picks;
 * 2. p_(t-i) = max(p_(t-i), decay^i · p_t) for i = 1 to `window`, as far as its episode goes back.
 *
 * One call of `setPriority` is one update. The order of its picks does not matter: first every pick gets its own priority by rule 1,
 * and then each of these decays back by rule 2. If a pick comes twice, its last priority counts. If an episode was cut because it was
 * too long, its continuation is an episode of its own. A new pick has the priority that you gave with its record, or the largest one
 * set so far. These priorities do not decay back.
 *
 * Importance weights, `epsilon`, `alpha`, `normalize` and `draw` work as in `prioritized`. With `epsilon: 0`, a pick is never drawn if
 * its priority is 0 after both steps.
 *
 * Cost: O(log N) for each draw and each update; about 5.5 bytes for each pick. With the default window, an update takes about twice as
 * long as with `prioritized` (`bench/floors_bench.ts`).
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, pser } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(pser({ alpha: 1, epsilon: 0, decay: 0.5, retain: 0 }));
 * let episode = replay.newEpisode();
 * for (const state of [0, 1, 2]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [3], 1, 1, { finalState: [4] });
 *
 * replay.setPriority(selector, new Array(4).fill(episode), [0, 1, 2, 3], [0, 3, 0, 8]);
 * const batch = replay.getBatch(8, selector); // the priorities are 1.5, 3, 4 and 8: 8 gives the pick before it 4, and the next 2, which has more
 * console.log([...batch.state]); // [0, 1, 2, 2, 2, 3, 3, 3]
 * console.log(Array.from(batch.probability, (p) => Math.round(33 * p) / 2)); // [1.5, 3, 4, 4, 4, 8, 8, 8]
 * ```
 */
export function pser(options: PserOptions = {}): NativeSelector {
  return nativeRule("pser", EXRP_SELECTOR_PSER, options, OPTIONS);
}
