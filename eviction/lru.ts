/**
 * Least recently used.
 *
 * @module
 */

import { EXRP_EVICTION_LRU } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Evicts the ended episode whose last draw is the longest ago. For an episode that was never drawn, its beginning counts instead.
 *
 * Cost: O(1), and one step per open episode whose last draw is even longer ago.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lru } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), eviction: lru() });
 * console.log(replay.describe().eviction); // lru
 * ```
 */
export function lru(): NativeEviction {
  return new NativeEviction("lru", EXRP_EVICTION_LRU);
}
