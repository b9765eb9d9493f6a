/**
 * A rate limiter that only lets learners wait for enough records.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { RateLimiter } from "./rate_limiter.ts";

/**
 * Nothing is drawn while fewer than `size` records are stored. Records always may come. It is Reverb's `MinSize`.
 *
 * Records that were evicted do not count: when too few are left, learners wait again. An eviction takes a whole episode, so leave room
 * between `size` and the capacity.
 *
 * @param size A whole number from 1 to the capacity.
 * @throws {RangeError} If `size` is no such number.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, minSize, ReplayError, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(),
 *   rateLimiter: minSize(2),
 * });
 * const selector = replay.newPickSelector(uniform());
 * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
 * try { replay.getBatch(32, selector); } catch (error) { console.log((error as ReplayError).code); } // rate-limiter
 * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
 * console.log(replay.getBatch(32, selector).size); // 32
 * ```
 */
export function minSize(size: number): RateLimiter {
  const checked = checkInteger("minSize(): size", size, 1, Number.MAX_SAFE_INTEGER);
  return new RateLimiter("minSize", { size: checked }, {
    ratio: 1,
    minSize: checked,
    differenceMin: -Infinity,
    differenceMax: Infinity,
  });
}
