/**
 * One priority for a sequence of TD errors.
 *
 * @module
 */

import { checkInteger, checkNumber } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkCount, checkInto, checkRows } from "./_steps.ts";

/** The options of {@linkcode sequencePriority}. */
export interface SequencePriorityOptions {
  /** How much the largest error counts, and 1 − eta the mean: 0 to 1, 0.9 by default. */
  readonly eta?: number;
  /**
   * How many steps at the start of each row only warm a recurrent network up, and do not count; 0 by default. Rows of a pick policy's
   * `burnIn` have fewer near the start of their episode: give their `learnMask`.
   */
  readonly burnIn?: number;
  /** `[batch, length]`: steps where it is 0 do not count: `batch.learnMask`. All do by default. */
  readonly learnMask?: ArrayLike<number>;
  /**
   * Whether rows stand one right after the other, without padding: all arrays then have as many numbers as `seqLen` in sum, as
   * those that `drain` gives. False by default.
   */
  readonly packed?: boolean;
  /** `[batch]`: an array to write into: it is returned, and nothing is allocated. */
  readonly into?: Float32Array<ArrayBuffer>;
}

const OPTIONS = ["eta", "burnIn", "learnMask", "packed", "into"] as const;

/** What options default to, so that a call without them makes no object. */
const NONE: SequencePriorityOptions = Object.freeze({});

/**
 * The priority of each row of a batch from its TD errors, η max|δ| + (1 − η) mean|δ| over its real steps: `[batch]`,
 * float32, for `setPriority`.
 *
 * The mean alone washes out a single large error in a long sequence, the maximum alone ignores all the others. A row
 * without steps that count gets 0. A NaN among the errors makes the priority NaN, which `setPriority` refuses; what
 * lies past `seqLen`, or does not count, is never read.
 *
 * Source: Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning" (ICLR 2019), section
 * 2.3, which takes n-step errors, η = 0.9 and a priority exponent of 0.9. That burn-in steps are left out is how this
 * library reads it: they have no part in the loss.
 *
 * Cost: O(batch · length), one pass.
 *
 * @param tdError `[batch, length]`: the errors, of either sign.
 * @param seqLen `[batch]`: how many steps of each row are real: `batch.seqLen`.
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { sequencePriority } from "@exrp/replay/returns";
 * import { assertEquals } from "@std/assert";
 *
 * const errors = [1, -3, 2, -4, 0, 0]; // two rows of three steps, of which the second has one real one
 * assertEquals([...sequencePriority(errors, [3, 1], { eta: 0.5 })], [0.5 * 3 + 0.5 * 2, 4]);
 * // The first step of the first row is burn-in:
 * const learnMask = [0, 1, 1, 1, 0, 0];
 * assertEquals([...sequencePriority(errors, [3, 1], { eta: 0.5, learnMask })], [0.5 * 3 + 0.5 * 2.5, 4]);
 * ```
 */
export function sequencePriority(
  tdError: ArrayLike<number>,
  seqLen: ArrayLike<number>,
  options: SequencePriorityOptions = NONE,
): Float32Array<ArrayBuffer> {
  checkOptions("sequencePriority()", options, OPTIONS);
  const eta = checkNumber("sequencePriority(): eta", options.eta ?? 0.9, 0, 1);
  const burnIn = checkInteger(
    "sequencePriority(): burnIn",
    options.burnIn ?? 0,
    0,
    Number.MAX_SAFE_INTEGER,
  );
  const { learnMask } = options;
  const length = checkRows("sequencePriority()", "tdError", tdError, seqLen, options.packed);
  if (learnMask !== undefined) {
    checkCount("sequencePriority()", "learnMask", learnMask, tdError.length);
  }
  const priority = checkInto("sequencePriority()", "into", options.into, seqLen.length);

  let begin = 0;
  for (let row = 0; row < seqLen.length; row++) {
    const first = begin + burnIn;
    const end = begin + (seqLen[row] as number);
    begin = Math.max(end, begin + length);
    let max = 0;
    let sum = 0;
    let count = 0;
    for (let k = first; k < end; k++) {
      if (learnMask !== undefined && learnMask[k] === 0) continue;
      count += 1;
      const error = Math.abs(tdError[k] as number);
      max = Math.max(max, error);
      sum += error;
    }
    priority[row] = count > 0 ? eta * max + (1 - eta) * sum / count : 0;
  }
  return priority;
}
