/**
 * The oldest pick, or the newest.
 *
 * @module
 */

import { checkBoolean } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_SELECTOR_AGE_END } from "../ffi/symbols.ts";
import { NativeSelector } from "./native_selector.ts";

/**
 * The options of {@linkcode oldest} and {@linkcode newest}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, newest } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(newest({ distinct: true }));
 * const episode = replay.record(replay.newEpisode(), [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * console.log([...replay.getBatch(2, selector).state]); // [20, 10]
 * ```
 */
export interface AgeEndOptions {
  /**
   * Whether the draws of a batch go on with the next pick by age. After the last pick, they begin again with the first one. By default
   * it is false: all draws are the same pick.
   */
  readonly distinct?: boolean;
}

function ageEnd(kind: "oldest" | "newest", options: AgeEndOptions): NativeSelector {
  checkOptions(`${kind}()`, options, ["distinct"]);
  const distinct = checkBoolean(`${kind}(): distinct`, options.distinct ?? false);
  const numbers = [kind === "newest" ? 1 : 0, distinct ? 1 : 0];
  return new NativeSelector(
    kind,
    EXRP_SELECTOR_AGE_END,
    distinct ? { distinct: "true" } : {},
    numbers,
  );
}

/**
 * Always draws the oldest pick of the view. Reverb calls this a Fifo sampler. (`fifo()` is an eviction policy.)
 *
 * A draw takes nothing out of the view. So all draws are the same pick until it is forgotten. With `distinct`, a batch has the oldest
 * picks, oldest first. The age of a pick counts from when it came into the view. Picks from before the selector have the order of the
 * view. Priorities are ignored. Draws are certain, so `probability` and importance weights are 1.
 *
 * Cost: O(1) for every operation; 8 bytes for each pick.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, oldest } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(oldest());
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * console.log([...replay.getBatch(2, selector).state]); // [10, 10]
 * ```
 */
export function oldest(options: AgeEndOptions = {}): NativeSelector {
  return ageEnd("oldest", options);
}

/**
 * Always draws the newest pick of the view. Reverb calls this a Lifo sampler.
 *
 * A draw takes nothing out of the view. So all draws of a batch are the same pick. With `distinct`, a batch has the newest picks,
 * newest first. The age of a pick counts from when it came into the view. Picks from before the selector have the order of the view.
 * Priorities are ignored. Draws are certain, so `probability` and importance weights are 1.
 *
 * Cost: O(1) for every operation; 8 bytes for each pick.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, newest } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(newest());
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * console.log([...replay.getBatch(2, selector).state]); // [20, 20]
 * ```
 */
export function newest(options: AgeEndOptions = {}): NativeSelector {
  return ageEnd("newest", options);
}
