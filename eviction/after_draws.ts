/**
 * Evicts episodes after a given number of draws.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { EXRP_EVICTION_AFTER_DRAWS } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/** The largest number of draws that the kernel counts. */
const DRAWS_MAX = 2 ** 32 - 2;

/**
 * Evicts spent episodes. An episode is spent when it was drawn from `draws` times for each of its picks. The episode that was
 * spent first is evicted first; where no episode is spent, the ended one that began first.
 *
 * The draws of all picks of an episode count together: an episode with n picks is spent after n × `draws` draws, whichever
 * picks were drawn. Reverb's `max_times_sampled` sets such a limit for single items.
 * Unlike there, a spent episode stays, and can be drawn, until room is needed. Draws from every pick view count, but n is the
 * number of picks in the first view. An open episode is not spent before it ends. An episode that ended too short for a pick
 * is spent at once.
 *
 * Cost: O(1).
 *
 * @param draws Whole number 1 to 2^32 - 2.
 * @throws {RangeError} When `draws` is no such number.
 * @example
 * ```ts
 * import { afterDraws, ExperienceReplay, float32, newest } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 3,
 *   state: float32(1),
 *   eviction: afterDraws(4),
 * });
 * const selector = replay.newPickSelector(newest());
 * for (let k = 0; k < 3; k++) {
 *   replay.record(replay.newEpisode(), [k], 0, 0, { finalState: [0] });
 *   if (k === 1) replay.getBatch(4, selector); // episode 1, its only pick, four times
 * }
 * replay.record(replay.newEpisode(), [3], 0, 0, { finalState: [0] });
 * console.log([...replay.episodes().handle]); // [0, 2, 3]
 * ```
 */
export function afterDraws(draws: number): NativeEviction {
  const checked = checkInteger("afterDraws(): draws", draws, 1, DRAWS_MAX);
  return new NativeEviction("afterDraws", EXRP_EVICTION_AFTER_DRAWS, { draws: checked }, checked);
}
