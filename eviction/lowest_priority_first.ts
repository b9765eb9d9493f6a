/**
 * Lowest priority first.
 *
 * @module
 */

import { EXRP_EVICTION_LOWEST_PRIORITY_FIRST } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Forgets the episode whose priority is the lowest; among equals the one that began or was given its priority longest
 * ago. The episode that is being recorded is passed over while there is another. What a MinHeap remover of Reverb does
 * with items (known here from its documentation), this does with whole episodes.
 *
 * An episode's priority is the mean of the priorities that the last call of `setPriority` which named picks of it gave
 * them, whatever the selector: where several have priorities of their own, keep them on one scale. (To say what an
 * episode's priority is, set one pick of it, or all of them in one call.) Until there is one, it has the largest that any
 * episode has had, at first 1, so that it is not forgotten before a learner saw it; priorities that came with records are
 * not looked at. An episode that ended too short for a pick of the first pick table has priority 0. Means are kept as float32: 0, or from 2^-126 to the
 * largest float32, (2 − 2^-23) · 2^127. One beyond counts as the nearest of these.
 *
 * Cost: O(log E) an episode named in a call of `setPriority`, and an eviction from E episodes; nothing for draws.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lowestPriorityFirst, prioritized } from "@exrp/replay";
 * import { assertEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 3,
 *   state: float32(1),
 *   eviction: lowestPriorityFirst(),
 * });
 * const selector = replay.newPickSelector(prioritized());
 * for (let k = 0; k < 3; k++) {
 *   replay.record(replay.newEpisode(), [k], 0, 0, { finalState: [0] });
 * }
 * replay.setPriority(selector, [0, 1, 2], [0, 0, 0], [3, 1, 2]);
 * replay.record(replay.newEpisode(), [3], 0, 0, { finalState: [0] });
 * assertEquals([...replay.episodes()], [0, 2, 3]);
 * ```
 */
export function lowestPriorityFirst(): NativeEviction {
  return new NativeEviction("lowestPriorityFirst", EXRP_EVICTION_LOWEST_PRIORITY_FIRST);
}
