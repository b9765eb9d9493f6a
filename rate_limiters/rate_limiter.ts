/**
 * The value of a rate limiter: how many samples are drawn for each insert, of the records of a replay or the items of a table.
 *
 * @module
 */

import { ruleText, showAs } from "../base/inspect.ts";

/**
 * The numbers of a rate limiter. {@linkcode RateLimiter.numbers} has them. With I records and S picks since it began, their difference is
 * D = I × ratio - S. In a table, items count as records, and samples as picks.
 */
export interface RateLimiterNumbers {
  /** How many picks are drawn for each record. */
  readonly ratio: number;
  /** How many records must be stored before a pick is drawn. */
  readonly minSize: number;
  /** No draw takes D below this number; perhaps -Infinity. */
  readonly differenceMin: number;
  /** No record takes D above this number once `minSize` records are stored; perhaps Infinity. */
  readonly differenceMax: number;
}

/** The rate limiter of a replay, and how far it is. {@linkcode ExperienceReplay.rateLimiter} returns it. */
export interface RateLimiterState extends RateLimiterNumbers {
  /** I: records that came since it was set. A replay that held some by then began with them, with at most `minSize`. */
  readonly recorded: number;
  /** S: picks that were drawn since, and steps that `drain` returned. */
  readonly drawn: number;
  /** D = I × ratio - S. */
  readonly difference: number;
  /** The most records that a call may store now; Infinity without a limit. */
  readonly recordsAllowed: number;
  /** The most picks that a call may draw now; Infinity without a limit. */
  readonly picksAllowed: number;
}

/**
 * A rate limiter, made by {@linkcode samplesPerInsert}, {@linkcode minSize} or {@linkcode queue}. It holds numbers only, so one value may serve many
 * replays and tables. {@linkcode CreateOptions.rateLimiter} takes it, and so does `setRateLimiter`.
 *
 * @example
 * ```ts
 * import { samplesPerInsert } from "@exrp/replay";
 *
 * const { numbers } = samplesPerInsert(8, { minSize: 1000, error: 800 });
 * console.log([numbers.differenceMin, numbers.differenceMax]); // [7200, 8800]
 * ```
 */
export class RateLimiter {
  /** The name of the function that made it. */
  readonly name: string;
  /** The options by name. */
  readonly options: Readonly<Record<string, number | string>>;
  /** What they mean. */
  readonly numbers: RateLimiterNumbers;

  /** Makes a value. The functions named after the rate limiters call this. */
  constructor(
    name: string,
    options: Readonly<Record<string, number | string>>,
    numbers: RateLimiterNumbers,
  ) {
    this.name = name;
    this.options = Object.freeze({ ...options });
    this.numbers = Object.freeze({ ...numbers });
    Object.freeze(this);
  }
}

showAs(RateLimiter, ({ name, options }) => ruleText(name, options));

/** The numbers in the order of EXRP_RATE_LIMITER_*. */
export function kernelNumbers(
  { ratio, minSize, differenceMin, differenceMax }: RateLimiterNumbers,
): readonly number[] {
  return [ratio, minSize, differenceMin, differenceMax];
}
