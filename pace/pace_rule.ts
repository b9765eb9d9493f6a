/**
 * The value of a pace: how fast records come beside the picks that are drawn.
 *
 * @module
 */

import { show, showUnlike } from "../base/checks.ts";
import { ruleText, showAs } from "../base/inspect.ts";

/**
 * The numbers of a pace. {@linkcode PaceRule.numbers} has them. With I records and S picks since it began, their difference is
 * D = I × ratio - S.
 */
export interface PaceNumbers {
  /** How many picks are drawn for each record. */
  readonly ratio: number;
  /** How many records must be stored before a pick is drawn. */
  readonly minSize: number;
  /** No draw takes D below this number; perhaps -Infinity. */
  readonly differenceMin: number;
  /** No record takes D above this number once `minSize` records are stored; perhaps Infinity. */
  readonly differenceMax: number;
}

/**
 * A pace, made by {@linkcode samplesPerInsert}, {@linkcode minSize} or {@linkcode queue}. It holds numbers only, so one value may serve many
 * replays. {@linkcode CreateOptions.pace} takes it, and so does `setPace`.
 *
 * @example
 * ```ts
 * import { samplesPerInsert } from "@exrp/replay";
 *
 * const { numbers } = samplesPerInsert(8, { minSize: 1000, error: 800 });
 * console.log([numbers.differenceMin, numbers.differenceMax]); // [7200, 8800]
 * ```
 */
export class PaceRule {
  /** The name of the function that made it. */
  readonly name: string;
  /** The options by name. */
  readonly options: Readonly<Record<string, number | string>>;
  /** What they mean. */
  readonly numbers: PaceNumbers;
  /** Whether it counts what `drain` returns, so that it begins with the records that were not drained yet. */
  readonly countsDrained: boolean;

  /** Makes a value. The functions named after the paces call this. */
  constructor(
    name: string,
    options: Readonly<Record<string, number | string>>,
    numbers: PaceNumbers,
    countsDrained = false,
  ) {
    this.name = name;
    this.options = Object.freeze({ ...options });
    this.numbers = Object.freeze({ ...numbers });
    this.countsDrained = countsDrained;
    Object.freeze(this);
  }
}

showAs(PaceRule, ({ name, options }) => ruleText(name, options));

/** What a replay can hold: how many records, and the option that says so. */
export interface PaceRoom {
  /** The most records that it holds. */
  readonly capacity: number;
  /** The oldest record that it holds is among so many; 0 without a limit. */
  readonly maxAge: number;
}

/** The kernel takes no larger ratio of a replay. */
const RATIO_MAX = 2 ** 32;

/** Throws unless `value` is a pace that a replay of this size can keep. */
export function checkPace(
  where: string,
  value: unknown,
  { capacity, maxAge }: PaceRoom,
): PaceRule {
  if (!(value instanceof PaceRule) || !Object.hasOwn(value, "numbers")) {
    throw new TypeError(
      `${where} must be samplesPerInsert(), minSize() or queue(), got ${
        value instanceof PaceRule ? show(value) : showUnlike(value, PaceRule)
      }`,
    );
  }
  const [room, name] = maxAge > 0 && maxAge < capacity
    ? [maxAge, "maxAge"]
    : [capacity, "the capacity"];
  const { ratio, minSize, differenceMin, differenceMax } = value.numbers;
  if (ratio > RATIO_MAX) {
    throw new RangeError(`${where}: ${value} must have a ratio of at most 2^32, got ${ratio}`);
  }
  const narrowest = 2 * Math.max(1, ratio);
  if (!value.countsDrained && differenceMax - differenceMin < narrowest) {
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
  if (minSize > room) {
    throw new RangeError(
      `${where}: ${value} waits for ${minSize} records, but the replay holds at most ${room} (${name}); so nothing could ever be drawn`,
    );
  }
  if (value.countsDrained && differenceMax > room) {
    throw new RangeError(
      `${where}: ${value} takes ${differenceMax} records that nobody has had yet, but the replay holds at most ${room} (${name}); so some would be lost`,
    );
  }
  return value;
}
