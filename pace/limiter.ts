/**
 * Paces as the rate limiters of tables, whose items are inserted and sampled one by one.
 *
 * @module
 */

import { showUnlike } from "../base/checks.ts";
import { minSize } from "./min_size.ts";
import { type PaceNumbers, PaceRule } from "./pace_rule.ts";
import { queue } from "./queue.ts";

/** Throws unless it is a rate limiter. */
export function checkLimiter(where: string, limiter: unknown): asserts limiter is PaceRule {
  if (limiter instanceof PaceRule) return;
  throw new TypeError(
    `${where} must be minSize(), samplesPerInsert() or queue(), got ${
      showUnlike(limiter, PaceRule)
    }`,
  );
}

/** The limiter that has these numbers. The largest numbers count as no bound, as in Reverb. */
export function limiterOf({ ratio, minSize: size, ...band }: PaceNumbers): PaceRule {
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
  return new PaceRule("samplesPerInsert", options, {
    ratio,
    minSize: size,
    differenceMin,
    differenceMax,
  });
}

/** How far rounding can move a difference of the counts that a table comes to: 2^40, which take 12 days at a million a second. */
const ROUNDING = 0.001;

/**
 * The width from which on inserts and samples of a table never deadlock, wherever the band lies.
 *
 * With D = inserts × ratio - samples, an insert needs D + ratio <= differenceMax, and a sample D - 1 >= differenceMin. In a band that is
 * 1 + ratio wide, one of them always has room. With a ratio that is no whole number, D is rounded.
 */
export function wideEnough({ ratio, differenceMin, differenceMax }: PaceNumbers): number {
  if (Number.isInteger(ratio)) return 1 + ratio;
  const largest = ratio + Math.abs(differenceMin) + Math.abs(differenceMax);
  return 1 + ratio + Math.max(ROUNDING, largest * 2 ** -50);
}

/**
 * Whether inserts and samples of a table surely never deadlock. With a whole ratio, this is exact: D is a whole number, so only the whole
 * numbers in the band count. If no sample may come, D is at most the least of them, and an insert needs `ratio` more.
 */
export function neverDeadlocks(numbers: PaceNumbers): boolean {
  const { ratio, differenceMin, differenceMax } = numbers;
  return Number.isInteger(ratio)
    ? Math.floor(differenceMax) - Math.ceil(differenceMin) >= ratio
    : differenceMax - differenceMin >= wideEnough(numbers);
}
