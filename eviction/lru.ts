/**
 * Least recently used.
 *
 * @module
 */

import { EXRP_EVICTION_LRU } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Forgets the episode that no batch drew from for the longest time; one never drawn counts from its beginning.
 *
 * Cost: O(1).
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lru } from "@exrp/replay";
 * import { assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), eviction: lru() });
 * assertStrictEquals(replay.describe().eviction, "lru");
 * ```
 */
export function lru(): NativeEviction {
  return new NativeEviction("lru", EXRP_EVICTION_LRU);
}
