/**
 * A rate limiter that holds the ratio of picks to records.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { RateLimiter } from "./rate_limiter.ts";

/** The options of {@linkcode samplesPerInsert}. */
export interface SamplesPerInsertOptions {
  /** How many records must be stored before a pick is drawn: a whole number from 1 to the capacity. */
  readonly minSize: number;
  /**
   * How far the counts may part. A number e holds the difference within ratio × minSize ± e. Two numbers are its least and its largest
   * value; -Infinity and Infinity leave a side open.
   */
  readonly error: number | readonly [least: number, largest: number];
}

const WHERE = "samplesPerInsert()";

/** Counts are whole numbers to here. */
const BOUND = Number.MAX_SAFE_INTEGER;

/**
 * Holds a ratio: for each record, learners draw `ratio` picks. Whoever is ahead waits for the others.
 *
 * It counts I records and S picks, and holds D = I × ratio - S within a band, once `minSize` records are stored. A draw of n picks goes
 * ahead if at least `minSize` records are stored, and D - n is not below the band. A call of n records goes ahead if at most `minSize`
 * records are stored after it, or D + n × ratio is not above the band. Such a rate limiter is Reverb's `SampleToInsertRatio` (Cassirer et al. 2021,
 * "Reverb: A Framework for Experience Replay"). `docs/rate_limiters.md` says what differs.
 *
 * The band must have room for the largest calls, or they would wait for each other. So with draws of n picks and calls of k records, let
 * `error` be at least (n + k × ratio) / 2. Acme's agents take 0.1 × ratio × minSize.
 *
 * A replay takes a band that is at least 2 × max(1, ratio) wide and does not lie above ratio × minSize. A table inserts and samples items one by
 * one, so it takes any band that is 1.001 + ratio wide. With a whole ratio, it takes each one that has ratio + 1 whole numbers, such as `[0, 1]`.
 *
 * @param ratio Picks for each record: above 0, at most 2^53 - 1, and in a replay 2^32. 0.5 means one pick for two records.
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} If a number is out of its range, or one number for `error` is below max(1, ratio). Reverb refuses these, too.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, samplesPerInsert, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 1000,
 *   state: float32(),
 *   rateLimiter: samplesPerInsert(8, { minSize: 10, error: 32 }),
 * });
 * const selector = replay.newPickSelector(uniform());
 * // An actor and a learner that run side by side, each as fast as it may.
 * const act = async (): Promise<void> => {
 *   let episode = replay.newEpisode();
 *   for (let t = 0; t < 100; t++) {
 *     episode = await replay.whenReady(() => replay.record(episode, t, 0, 0));
 *   }
 * };
 * const learn = async (): Promise<void> => {
 *   for (let k = 0; k < 22; k++) await replay.whenReady(() => replay.getBatch(32, selector));
 * };
 * await Promise.all([act(), learn()]);
 * console.log([replay.rateLimiter?.recorded, replay.rateLimiter?.drawn]); // [100, 704]: 22 batches of 32
 * ```
 */
export function samplesPerInsert(ratio: number, options: SamplesPerInsertOptions): RateLimiter {
  checkNumber(`${WHERE}: ratio`, ratio, 0, BOUND);
  if (ratio === 0) throw new RangeError(`${WHERE}: ratio must be above 0, got 0`);
  checkOptions(WHERE, options, ["minSize", "error"]);
  const minSize = checkInteger(`${WHERE}: minSize`, options.minSize, 1, BOUND);
  const [differenceMin, differenceMax] = bandOf(ratio, minSize, options.error);
  const numbers = { ratio, minSize, differenceMin, differenceMax };
  const error = typeof options.error === "number"
    ? options.error
    : `[${differenceMin}, ${differenceMax}]`;
  return new RateLimiter("samplesPerInsert", { ratio, minSize, error }, numbers);
}

/** The least and the largest difference. */
function bandOf(ratio: number, minSize: number, error: unknown): readonly [number, number] {
  if (!Array.isArray(error)) {
    const width = checkEnd(`${WHERE}: error`, error, 0, Infinity);
    const narrowest = Math.max(1, ratio);
    if (width >= narrowest) return [ratio * minSize - width, ratio * minSize + width];
    throw new RangeError(
      `${WHERE}: error must be at least ${narrowest}, or writers and learners could wait for each other for ever, got ${width}`,
    );
  }
  if (error.length !== 2) {
    throw new TypeError(
      `${WHERE}: error must be a number or [least, largest], got ${show(error)}`,
    );
  }
  // A finite end beyond these lies where counts never come.
  const least = checkEnd(`${WHERE}: error[0]`, error[0], -Infinity, BOUND);
  const largest = checkEnd(`${WHERE}: error[1]`, error[1], -BOUND, Infinity);
  if (least <= largest) return [least, largest];
  throw new RangeError(
    `${WHERE}: error must have its least number first, got [${least}, ${largest}]`,
  );
}

/** A number from `min` to `max`, which may be infinite. */
function checkEnd(where: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number") {
    throw new TypeError(`${where} must be a number, got ${show(value)}`);
  }
  if (value >= min && value <= max) return value;
  throw new RangeError(`${where} must be a number from ${min} to ${max}, got ${value}`);
}
