/**
 * Types for an eviction policy of your own.
 *
 * The library's policies, from `fifo()` to `reservoir()`, are in `@exrp/replay`. A policy of your own is an object with the
 * methods of {@linkcode EvictionPolicy}. `conformsEviction()` of `@exrp/replay/testing` tests it.
 *
 * @example A policy that forgets the youngest episode
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { EvictionPolicy } from "@exrp/replay/eviction";
 *
 * function youngestFirst(): EvictionPolicy {
 *   const ended = new Set<number>(); // only an ended episode can be evicted
 *   return {
 *     name: "youngestFirst",
 *     created: () => {},
 *     ended: (handle) => void ended.add(handle),
 *     removed: (handle) => void ended.delete(handle),
 *     victim: () => [...ended].at(-1) ?? -1,
 *   };
 * }
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 2,
 *   state: float32(1),
 *   eviction: youngestFirst(),
 * });
 * for (const value of [0, 1, 2]) {
 *   replay.record(replay.newEpisode(), [value], 0, 0, { finalState: [0] });
 * }
 * console.log([...replay.episodes().handle]); // [0, 2]
 * ```
 *
 * @module
 */

export type { EvictionPolicy, EvictionRule } from "./eviction_policy.ts";
export { NativeEviction } from "./native_eviction.ts";
