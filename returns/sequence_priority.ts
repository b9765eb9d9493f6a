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
  /** η, the weight of the largest error; the mean has weight 1 − η. 0 to 1, 0.9 by default. */
  readonly eta?: number;
  /**
   * The number of steps at the start of each row that only warm up a recurrent network. They do not count; 0 by default.
   * With the pick option `burnIn`, rows near the start of an episode have fewer such steps: give their `learnMask`
   * instead.
   */
  readonly burnIn?: number;
  /** `[batch, length]`: `batch.learnMask`. Steps whose mask is 0 do not count. All steps count by default. */
  readonly learnMask?: ArrayLike<number>;
  /**
   * True for rows without padding, one after another, as `drain` gives them. Each array then has as many numbers as the
   * sum of `seqLen`. False by default.
   */
  readonly packed?: boolean;
  /** `[batch]`: an array for the result. The call returns it and allocates nothing. */
  readonly into?: Float32Array<ArrayBuffer>;
}

const OPTIONS = ["eta", "burnIn", "learnMask", "packed", "into"] as const;

/** The default for `options`, so that a call without options allocates no object. */
const NONE: SequencePriorityOptions = Object.freeze({});

/**
 * The priority of each row of a batch from its TD errors, η max|δ| + (1 − η) mean|δ| over its real steps: `[batch]`,
 * float32, for `setPriority`.
 *
 * The mean alone hides a single large error in a long sequence; the maximum alone ignores all other errors. A row in
 * which no step counts gets 0. A NaN among the errors makes the priority NaN, which `setPriority` refuses. Errors past
 * `seqLen`, and of steps that do not count, are never read.
 *
 * Source: Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning" (ICLR 2019), section
 * 2.3, which takes n-step errors, η = 0.9 and a priority exponent of 0.9. This library leaves out burn-in steps, because
 * they have no part in the loss. The paper does not mention them here.
 *
 * Cost: O(batch · length), one pass.
 *
 * @param tdError `[batch, length]`: the errors, of either sign.
 * @param seqLen `[batch]`: the number of real steps in each row: `batch.seqLen`.
 * @throws {TypeError} For an unknown option, or a value of the wrong type.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { sequencePriority } from "@exrp/replay/returns";
 *
 * const errors = [1, -3, 2, -4, 0, 0]; // two rows of three steps; the second has one real step
 * console.log([...sequencePriority(errors, [3, 1], { eta: 0.5 })]); // [2.5, 4]: 0.5 * 3 + 0.5 * 2, 4
 * // The first step of the first row is burn-in:
 * const learnMask = [0, 1, 1, 1, 0, 0];
 * console.log([...sequencePriority(errors, [3, 1], { eta: 0.5, learnMask })]); // [2.75, 4]: 0.5 * 3 + 0.5 * 2.5, 4
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
  const rows = checkRows("sequencePriority()", "tdError", tdError, seqLen, options.packed);
  if (learnMask !== undefined) {
    checkCount("sequencePriority()", "learnMask", learnMask, tdError.length);
  }
  const priority = checkInto("sequencePriority()", "into", options.into, seqLen.length);

  for (let row = 0; row < rows.batch; row++) {
    const first = rows.firsts[row] as number;
    const end = first + (seqLen[row] as number);
    let max = 0;
    let sum = 0;
    let count = 0;
    for (let k = first + burnIn; k < end; k++) {
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
