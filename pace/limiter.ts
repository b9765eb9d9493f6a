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

/** So many calls of a narrow band are tried. */
const CALLS_MAX = 2 ** 20;

/** A table is to go on until it has had so many inserts or samples: as many as a million a second are in 12 days. */
const COUNTS = 2 ** 40;

/** What rounding adds to a difference of such counts is smaller. */
const ROUNDING = 2 ** -11;

/** How many inserts and samples a table has had. */
export interface Counts {
  /** Items that came. */
  readonly inserts: number;
  /** Samples of items. */
  readonly samples: number;
}

/**
 * After how many inserts and samples neither call can ever go ahead, if nobody deletes items; undefined where it does not come to that, and
 * "unknown" where nobody can be sure.
 *
 * At `minSize` items or more, D = inserts × ratio - samples. An insert needs D + ratio <= differenceMax, and a sample D - 1 >= differenceMin.
 * A band that is 1 + ratio wide always has room for one of them. The kernel rounds D, so more is needed to be sure of that. In a narrower
 * one there is at most one call that goes ahead. So what follows is the only thing that can happen, in the numbers of the kernel. With a
 * ratio p/q, it comes again after p + q calls, except for rounding. So it is tried once more at large counts, where rounding is coarse.
 *
 * Where items go after `maxTimesSampled`, the table may fall below `minSize` again, which lets an insert in. That makes a narrow band go on
 * only if each sampler takes the same items. It does where items go after one sample, or there is one item at a time.
 */
export function standsStillAfter(
  numbers: PaceNumbers,
  table: LimitedTable,
): Counts | "unknown" | undefined {
  const { ratio, differenceMin, differenceMax } = numbers;
  if (differenceMax - differenceMin >= sureWidth(numbers)) return undefined;
  const still = tryCalls(numbers, 0);
  if (still !== undefined) {
    return still !== "unknown" && goesOnByRemoving(numbers, table) ? undefined : still;
  }
  return tryCalls(numbers, Math.floor(COUNTS / Math.max(1, ratio))) && "unknown";
}

/** How wide a band must be, so that rounding can't make it too narrow. */
function sureWidth({ ratio, differenceMin, differenceMax }: PaceNumbers): number {
  const largest = ratio + Math.abs(differenceMin) + Math.abs(differenceMax);
  return 1 + ratio + Math.max(ROUNDING, largest * 2 ** -50);
}

/** A width of the band above `differenceMin` that lets a table go on. */
export function wideEnough(numbers: PaceNumbers, table: LimitedTable): number {
  const { ratio, differenceMin } = numbers;
  const exact = { ...numbers, differenceMax: differenceMin + 1 + ratio };
  if (standsStillAfter(exact, table) === undefined) return 1 + ratio;
  return Math.ceil((sureWidth(exact) + ROUNDING) * 1000) / 1000;
}

/** Makes the only calls that can come in a narrow band, from so many inserts on. Undefined if they come again and again. */
function tryCalls(
  { ratio, minSize, differenceMin, differenceMax }: PaceNumbers,
  from: number,
): Counts | "unknown" | undefined {
  // The one call that can come is the same one for long, until the difference is in the band.
  const first = Math.max(from, minSize, Math.floor(differenceMin / ratio));
  let inserts = first;
  let samples = Math.max(0, Math.floor(inserts * ratio - differenceMin - 1));
  let comesAgain = false;
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    if (inserts * ratio - samples - 1 >= differenceMin) samples++;
    else if ((inserts + 1) * ratio - samples <= differenceMax) {
      inserts++;
      comesAgain ||= calls < CALLS_MAX / 4 && Number.isInteger((inserts - first) * ratio);
    } else return Number.isFinite(inserts) ? { inserts, samples } : "unknown";
  }
  return comesAgain ? undefined : "unknown";
}

/** Whether calls go on because items go after `maxTimesSampled`, whatever the sampler takes. */
function goesOnByRemoving(
  { ratio, minSize, differenceMin, differenceMax }: PaceNumbers,
  { maxSize, maxTimesSampled }: LimitedTable,
): boolean {
  if (maxTimesSampled === undefined) return false;
  // Until a sample can come, all items stay.
  let inserts = Math.max(minSize, Math.floor(differenceMin / ratio));
  let samples = 0;
  let size = Math.min(inserts, maxSize);
  // Where the difference falls all the time, the table stands still at last.
  const lowest = [Infinity, Infinity] as [number, number];
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    if (size >= minSize && inserts * ratio - samples - 1 >= differenceMin) {
      if (maxTimesSampled > 1 && size > 1) return false;
      samples++;
      if (samples % maxTimesSampled === 0) size--;
    } else if (size + 1 <= minSize || (inserts + 1) * ratio - samples <= differenceMax) {
      inserts++;
      size = Math.min(size + 1, maxSize);
    } else return false;
    const half = calls < CALLS_MAX / 2 ? 0 : 1;
    lowest[half] = Math.min(lowest[half], inserts * ratio - samples);
  }
  return lowest[1] >= lowest[0] - ROUNDING;
}
