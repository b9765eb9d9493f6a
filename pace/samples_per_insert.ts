/**
 * A pace that holds the ratio of picks to records.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { PaceRule } from "./pace_rule.ts";

/** The options of {@linkcode samplesPerInsert}. */
export interface SamplesPerInsertOptions {
  /** How many records must be stored before a pick is drawn: a whole number from 1 to the capacity. */
  readonly minSize: number;
  /**
   * How far the counts may part. A number e holds the difference within ratio × minSize ± e. Two numbers are its least and its largest
   * value.
   */
  readonly error: number | readonly [least: number, largest: number];
}

/** The kernel takes no larger ratio. */
const RATIO_MAX = 2 ** 32;

const WHERE = "samplesPerInsert()";

/**
 * Holds a ratio: for each record, learners draw `ratio` picks. Whoever is ahead waits for the others.
 *
 * It counts I records and S picks, and holds D = I × ratio - S within a band, once `minSize` records are stored. A draw of n picks goes
 * ahead if at least `minSize` records are stored, and D - n is not below the band. A call of n records goes ahead if at most `minSize`
 * records are stored after it, or D + n × ratio is not above the band. Such a pace is Reverb's `SampleToInsertRatio` (Cassirer et al. 2021,
 * "Reverb: A Framework for Experience Replay"). `docs/pace.md` says what differs.
 *
 * The band must have room for the largest calls, or they would wait for each other. So with draws of n picks and calls of k records, let
 * `error` be at least (n + k × ratio) / 2. Acme's agents take 0.1 × ratio × minSize.
 *
 * @param ratio Picks for each record: above 0, at most 2^32. 0.5 means one pick for two records.
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} If a number is out of its range, if the band is narrower than 2 × max(1, ratio), or if it lies above ratio ×
 * minSize. Reverb refuses these, too, because calls would block for ever.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, samplesPerInsert, uniform } from "@exrp/replay";
 * import { assertEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 1000,
 *   state: float32(),
 *   pace: samplesPerInsert(8, { minSize: 10, error: 32 }),
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
 * assertEquals([replay.pace?.recorded, replay.pace?.drawn], [100, 22 * 32]);
 * ```
 */
export function samplesPerInsert(ratio: number, options: SamplesPerInsertOptions): PaceRule {
  checkNumber(`${WHERE}: ratio`, ratio, 0, RATIO_MAX);
  if (ratio === 0) throw new RangeError(`${WHERE}: ratio must be above 0, got 0`);
  checkOptions(WHERE, options, ["minSize", "error"]);
  const { error } = options;
  const minSize = checkInteger(`${WHERE}: minSize`, options.minSize, 1, Number.MAX_SAFE_INTEGER);
  const offset = ratio * minSize;
  const narrowest = 2 * Math.max(1, ratio);
  const numbers = { ratio, minSize };
  if (!Array.isArray(error)) {
    checkNumber(`${WHERE}: error`, error, 0, Number.MAX_SAFE_INTEGER);
    const width = error as number;
    if (2 * width < narrowest) {
      throw new RangeError(
        `${WHERE}: error must be at least ${
          narrowest / 2
        }, or writers and learners could wait for each other for ever, got ${width}`,
      );
    }
    return new PaceRule("samplesPerInsert", { ratio, minSize, error: width }, {
      ...numbers,
      differenceMin: offset - width,
      differenceMax: offset + width,
    });
  }
  if (error.length !== 2) {
    throw new TypeError(
      `${WHERE}: error must be a number or [least, largest], got ${show(error)}`,
    );
  }
  const bound = Number.MAX_SAFE_INTEGER;
  const [least, largest] = error.map((value, k) =>
    checkNumber(`${WHERE}: error[${k}]`, value, -bound, bound)
  ) as [number, number];
  if (largest - least < narrowest) {
    throw new RangeError(
      `${WHERE}: error must be at least ${narrowest} wide, or writers and learners could wait for each other for ever, got [${least}, ${largest}]`,
    );
  }
  if (least > offset) {
    throw new RangeError(
      `${WHERE}: error[0] must be at most ratio × minSize, which is ${offset}, or nothing could be drawn at minSize, got ${least}`,
    );
  }
  return new PaceRule("samplesPerInsert", { ratio, minSize, error: `[${least}, ${largest}]` }, {
    ...numbers,
    differenceMin: least,
    differenceMax: largest,
  });
}
