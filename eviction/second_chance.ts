/**
 * Second chance, the clock of the paper.
 *
 * @module
 */

import { EXRP_EVICTION_SECOND_CHANCE } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Forgets the oldest episode that was not drawn since the hand last passed it: each episode has an access flag, set when
 * a batch draws from it; the hand goes round, clears flags that are set and takes the first that is not. As in Chen and
 * Wang's experience-replay module, section 3.2. The episode that is being recorded is passed over while there is another.
 *
 * Cost: O(1) amortised.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, secondChance, uniform } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
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
 * assertStrictEquals(replay.episode(first).state, "terminated"); // it was drawn
 * assertStrictEquals(replay.episode(second).state, "evicted");
 * ```
 */
export function secondChance(): NativeEviction {
  return new NativeEviction("secondChance", EXRP_EVICTION_SECOND_CHANCE);
}
