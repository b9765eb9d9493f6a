/**
 * Which rate limiters a replay takes, and which a table: calls of a replay are whole, and items of a table come one by one.
 *
 * @module
 */

import { show, showUnlike } from "../base/checks.ts";
import { RateLimiter, type RateLimiterNumbers } from "./rate_limiter.ts";

/** Throws unless it is a rate limiter. */
export function checkRateLimiter(where: string, value: unknown): asserts value is RateLimiter {
  if (value instanceof RateLimiter && Object.hasOwn(value, "numbers")) return;
  throw new TypeError(
    `${where} must be minSize(), samplesPerInsert() or queue(), got ${
      value instanceof RateLimiter ? show(value) : showUnlike(value, RateLimiter)
    }`,
  );
}

/** Throws where a rate limiter waits for more than there is room for, or where a queue of what is taken once would lose some. */
function checkRoom(
  where: string,
  { name, numbers: { minSize, differenceMax } }: RateLimiter,
  room: number,
  [place, option, things]: readonly [place: string, option: string, things: string],
  isTakenOnce: boolean,
): void {
  const holds = `but the ${place} holds at most ${room} (${option}); so`;
  if (minSize > room) {
    throw new RangeError(
      `${where} waits for ${minSize} ${things}, ${holds} nothing could ever be sampled`,
    );
  }
  if (name === "queue" && isTakenOnce && differenceMax > room) {
    throw new RangeError(
      `${where} lets ${differenceMax} ${things} wait, ${holds} ${things} would be removed that were never sampled`,
    );
  }
}

/** The kernel takes no larger ratio of a replay. */
const RATIO_MAX = 2 ** 32;

/** Throws where `value` is none that a replay of this size can keep; undefined is none at all. `maxAge` is 0 without a limit. */
export function checkForReplay(
  where: string,
  value: unknown,
  { capacity, maxAge }: { readonly capacity: number; readonly maxAge: number },
): RateLimiter | undefined {
  if (value === undefined) return undefined;
  checkRateLimiter(where, value);
  const { ratio, minSize, differenceMin, differenceMax } = value.numbers;
  if (ratio > RATIO_MAX) {
    throw new RangeError(`${where}: ${value} must have a ratio of at most 2^32, got ${ratio}`);
  }
  const narrowest = 2 * Math.max(1, ratio);
  if (value.name !== "queue" && differenceMax - differenceMin < narrowest) {
    throw new RangeError(
      `${where}: ${value} must have an error that is at least ${narrowest} wide, or records and picks could wait for each other for ever, got [${differenceMin}, ${differenceMax}]`,
    );
  }
  if (differenceMin > ratio * minSize) {
    throw new RangeError(
      `${where}: ${value} must have an error[0] of at most ratio × minSize, which is ${
        ratio * minSize
      }, or nothing could be drawn when minSize records are there, got ${differenceMin}`,
    );
  }
  const [room, option] = maxAge > 0 && maxAge < capacity
    ? [maxAge, "maxAge"]
    : [capacity, "the capacity"];
  checkRoom(`${where}: ${value}`, value, room, ["replay", option, "records"], true);
  return value;
}

/**
 * Throws where a rate limiter is none for a table: it waits for more items than the table may hold, a queue loses items, or its band is so
 * narrow that inserts and samples could deadlock.
 */
export function checkForTable(
  where: string,
  rateLimiter: RateLimiter,
  { maxSize, maxTimesSampled }: { readonly maxSize: number; readonly maxTimesSampled?: number },
): void {
  const { ratio, differenceMin, differenceMax } = rateLimiter.numbers;
  checkRoom(where, rateLimiter, maxSize, ["table", "maxSize", "items"], maxTimesSampled === 1);
  if (!neverDeadlocks(rateLimiter.numbers)) {
    throw new RangeError(
      `${where}: ${rateLimiter} could deadlock, as inserts × ${ratio} - samples must stay from ${differenceMin} to ${differenceMax}; make error at least ${
        wideEnough(rateLimiter.numbers)
      } wide`,
    );
  }
}

/** How far rounding can move a difference of the counts that a table comes to: 2^40, which take 12 days at a million a second. */
const ROUNDING = 0.001;

/**
 * The width from which on inserts and samples of a table never deadlock, wherever the band lies.
 *
 * With D = inserts × ratio - samples, an insert needs D + ratio <= differenceMax, and a sample D - 1 >= differenceMin. In a band that is
 * 1 + ratio wide, one of them always has room. With a ratio that is no whole number, D is rounded.
 */
export function wideEnough({ ratio, differenceMin, differenceMax }: RateLimiterNumbers): number {
  if (Number.isInteger(ratio)) return 1 + ratio;
  const largest = ratio + Math.abs(differenceMin) + Math.abs(differenceMax);
  return 1 + ratio + Math.max(ROUNDING, largest * 2 ** -50);
}

/**
 * Whether inserts and samples of a table surely never deadlock. With a whole ratio, this is exact: D is a whole number, so only the whole
 * numbers in the band count. If no sample may come, D is at most the least of them, and an insert needs `ratio` more.
 */
export function neverDeadlocks(numbers: RateLimiterNumbers): boolean {
  const { ratio, differenceMin, differenceMax } = numbers;
  return Number.isInteger(ratio)
    ? Math.floor(differenceMax) - Math.ceil(differenceMin) >= ratio
    : differenceMax - differenceMin >= wideEnough(numbers);
}
