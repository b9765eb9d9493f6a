/**
 * Lowest priority first.
 *
 * @module
 */

import { EXRP_EVICTION_LOWEST_PRIORITY_FIRST } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Evicts the ended episode with the lowest priority; among equals, the one that began or got its priority the longest ago. A
 * MinHeap remover of Reverb does the same with items.
 *
 * The last call of `setPriority` that names picks of an episode sets the episode's priority: the mean of the priorities in
 * that call. Calls for every selector count, so keep the priorities of several selectors on one scale. To choose the priority of
 * an episode, set one of its picks, or all of them in one call.
 *
 * Before the first such call, an episode has the largest priority that any episode has had, at first 1. So it is not evicted
 * before a learner saw it. Priorities given with records do not count. An episode that ended too short for a pick of the first
 * pick view has priority 0. Means are float32: 0, or from 2^-126 to the largest float32, (2 − 2^-23) · 2^127. A mean outside
 * counts as the nearest of these.
 *
 * Cost: O(log E) per episode in a call of `setPriority`, and per eviction from E episodes. Draws cost nothing.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lowestPriorityFirst, prioritized } from "@exrp/replay";
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
 * console.log([...replay.episodes().handle]); // [0, 2, 3]
 * ```
 */
export function lowestPriorityFirst(): NativeEviction {
  return new NativeEviction("lowestPriorityFirst", EXRP_EVICTION_LOWEST_PRIORITY_FIRST);
}
