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

/** What a table holds at most, and how often it gives each item. */
export interface LimitedTable {
  /** Items. */
  readonly maxSize: number;
  /** An item goes once it was sampled so often; no limit by default. */
  readonly maxTimesSampled?: number | undefined;
}

/** So many calls of a narrow band are tried. With a ratio p/q, what happens comes again after p + q calls. */
const CALLS_MAX = 2 ** 20;

/**
 * After how many inserts and samples neither call can ever go ahead, if nobody deletes items; undefined where it does not come to that.
 *
 * At `minSize` items or more, D = inserts × ratio - samples. An insert needs D + ratio <= differenceMax, and a sample D - 1 >= differenceMin.
 * A band that is 1 + ratio wide always has room for one of them. In a narrower one there is at most one call that goes ahead. So what follows
 * is the only thing that can happen, in the numbers of the kernel. For a ratio p/q in lowest terms, D takes every multiple of 1/q that the
 * calls can reach. So the table goes on for ever exactly if the band has at least p + q of them, its ends included. For a ratio of 1 these
 * are two whole numbers.
 *
 * Where items go after `maxTimesSampled`, the table may fall below `minSize` again, which lets an insert in. Here each item is sampled as
 * often before the next one; that is when it falls soonest.
 */
export function standsStillAfter(
  { ratio, minSize, differenceMin, differenceMax }: PaceNumbers,
  { maxSize, maxTimesSampled }: LimitedTable,
): { readonly inserts: number; readonly samples: number } | undefined {
  if (differenceMax - differenceMin >= 1 + ratio) return undefined;
  let inserts = minSize;
  let samples = 0;
  let size = minSize;
  if (maxTimesSampled === undefined) {
    // The one call that can come is the same one for long, until the difference is in the band.
    inserts = Math.max(minSize, Math.floor(differenceMin / ratio));
    samples = Math.max(0, Math.floor(inserts * ratio - differenceMin - 1));
  }
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    if (size >= minSize && inserts * ratio - samples - 1 >= differenceMin) {
      samples++;
      if (maxTimesSampled !== undefined && samples % maxTimesSampled === 0) size--;
    } else if (size + 1 <= minSize || (inserts + 1) * ratio - samples <= differenceMax) {
      inserts++;
      size = Math.min(size + 1, maxSize);
    } else return { inserts, samples };
  }
  return undefined;
}
