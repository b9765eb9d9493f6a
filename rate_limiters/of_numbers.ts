/**
 * Finds the rate limiter that has certain numbers, such as those of Reverb's checkpoints.
 *
 * @module
 */

import { minSize } from "./min_size.ts";
import { queue } from "./queue.ts";
import { RateLimiter, type RateLimiterNumbers } from "./rate_limiter.ts";

/** The rate limiter that has these numbers. The largest numbers count as no bound, as in Reverb. */
export function rateLimiterOf(
  { ratio, minSize: size, ...band }: RateLimiterNumbers,
): RateLimiter {
  const largest = Number.MAX_VALUE;
  const differenceMin = band.differenceMin <= -largest ? -Infinity : band.differenceMin;
  const differenceMax = band.differenceMax >= largest ? Infinity : band.differenceMax;
  if (ratio === 1 && size >= 1 && differenceMin === -Infinity && differenceMax === Infinity) {
    return minSize(size);
  }
  const isQueue = ratio === 1 && size === 1 && differenceMin === 0 && differenceMax >= 1;
  if (isQueue && Number.isSafeInteger(differenceMax)) return queue(differenceMax);
  // Reverb may have such numbers as samplesPerInsert() refuses, as its class RateLimiter takes any.
  const options = { ratio, minSize: size, error: `[${differenceMin}, ${differenceMax}]` };
  const numbers = { ratio, minSize: size, differenceMin, differenceMax };
  return new RateLimiter("samplesPerInsert", options, numbers);
}
