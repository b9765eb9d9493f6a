/**
 * Second chance, the clock algorithm of the paper.
 *
 * @module
 */

import { EXRP_EVICTION_SECOND_CHANCE } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Evicts the oldest ended episode that was not drawn since the clock hand last passed it. Each episode has an access flag, and a
 * draw sets it. The hand goes round, clears the flags that are set, and evicts the first ended episode whose flag is not set. It
 * passes over open episodes and leaves their flags.
 *
 * Source: Chen and Wang's experience-replay module, section 3.2.
 *
 * Cost: O(1) amortised.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, secondChance, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 2,
 *   state: float32(1),
 *   eviction: secondChance(),
 * });
 * const selector = replay.newPickSelector(uniform());
 * const first = replay.newEpisode();
 * replay.record(first, [0], 0, 0, { finalState: [1] });
 * replay.getBatch(1, selector);
 * const second = replay.newEpisode();
 * replay.record(second, [2], 0, 0, { finalState: [3] });
 * replay.record(replay.newEpisode(), [4], 0, 0, { finalState: [5] });
 * console.log(replay.episode(first).ending); // terminated: it was drawn
 * console.log(replay.episode(second).ending); // evicted
 * ```
 */
export function secondChance(): NativeEviction {
  return new NativeEviction("secondChance", EXRP_EVICTION_SECOND_CHANCE);
}
