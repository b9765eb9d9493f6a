/**
 * Least frequently used.
 *
 * @module
 */

import { EXRP_EVICTION_LFU } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Evicts the ended episode whose picks were drawn least often; among equals, the one whose last draw or creation is the longest
 * ago. Draws from before its end count.
 *
 * Cost: O(1) per drawn pick, O(log E) amortised per eviction from E episodes.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lfu } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), eviction: lfu() });
 * console.log(replay.describe().eviction); // lfu
 * ```
 */
export function lfu(): NativeEviction {
  return new NativeEviction("lfu", EXRP_EVICTION_LFU);
}
