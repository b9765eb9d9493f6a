/**
 * After so many draws.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { EXRP_EVICTION_AFTER_DRAWS } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/** The most draws that are counted. */
const DRAWS_MAX = 2 ** 32 - 2;

/**
 * Forgets the episodes that a learner has used up: those that were drawn from `draws` times for each of their picks. The
 * one that came to it first goes first; while there is none, the episode that began first. The episode that is being
 * recorded is passed over while there is another.
 *
 * The draws of all picks of an episode count together, so one with n picks is spent after n × `draws` draws, whichever
 * picks they were of. That is the episode's share of what Reverb's `max_times_sampled` gives its items (known here from
 * its documentation). Unlike there, it stays and can be drawn until room is needed. Draws from every pick table count;
 * picks are those of the first. An open episode is not spent before it has ended, and one that ended too short for a
 * pick is spent at once.
 *
 * Cost: O(1).
 *
 * @param draws Whole number 1 to 2^32 - 2.
 * @throws {RangeError} When it is not.
 * @example
 * ```ts
 * import { afterDraws, ExperienceReplay, float32, newest } from "@exrp/replay";
 * import { assertEquals } from "@std/assert";
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
 * assertEquals([...replay.episodes()], [0, 2, 3]);
 * ```
 */
export function afterDraws(draws: number): NativeEviction {
  const checked = checkInteger("afterDraws(): draws", draws, 1, DRAWS_MAX);
  return new NativeEviction("afterDraws", EXRP_EVICTION_AFTER_DRAWS, { draws: checked }, checked);
}
