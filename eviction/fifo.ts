/**
 * First in, first out.
 *
 * @module
 */

import { EXRP_EVICTION_FIFO } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Evicts the ended episode that began first. This is the default.
 *
 * Cost: O(1), and one step per open episode that began before it.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, fifo, float32 } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 2, state: float32(1), eviction: fifo() });
 * const first = replay.newEpisode();
 * replay.record(first, [0], 0, 0, { finalState: [1] });
 * replay.record(replay.newEpisode(), [2], 0, 0, { finalState: [3] });
 * replay.record(replay.newEpisode(), [4], 0, 0, { finalState: [5] });
 * console.log(replay.episode(first).ending); // evicted
 * ```
 */
export function fifo(): NativeEviction {
  return new NativeEviction("fifo", EXRP_EVICTION_FIFO);
}
