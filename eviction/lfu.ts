/**
 * Least frequently used.
 *
 * @module
 */

import { EXRP_EVICTION_LFU } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Forgets the episode whose picks were drawn least often; among equals the one that was drawn or created longest ago.
 * The episode that is being recorded is passed over while there is another.
 *
 * Cost: O(1) a drawn pick, O(log E) amortised an eviction from E episodes.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lfu } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), eviction: lfu() });
 * assertStrictEquals(replay.describe().eviction, "lfu");
 * ```
 */
export function lfu(): NativeEviction {
  return new NativeEviction("lfu", EXRP_EVICTION_LFU);
}
