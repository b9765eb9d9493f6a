/**
 * The λ-return.
 *
 * @module
 */

import { checkNumber } from "../base/checks.ts";
import { checkInto, checkSteps, clearPadding } from "./_steps.ts";
import type { StepOptions } from "./step_options.ts";

/** The options of {@linkcode lambdaReturn}. */
export interface LambdaReturnOptions extends StepOptions {
  /** `[batch, length]`: the value of each next state. */
  readonly nextValue: ArrayLike<number>;
  /** λ, 0 to 1. 0 bootstraps after one step, 1 only at the row's end. */
  readonly lambda: number;
  /** An array for the result. The call returns it and allocates nothing. It may be one of the inputs. */
  readonly into?: Float32Array<ArrayBuffer>;
}

/**
 * The λ-return of each step of a batch, G_t = r_t + γ_t ((1 − λ) V(s_(t+1)) + λ G_(t+1)), `[batch, length]`; at a row's last
 * step r_t + γ_t V(s_(t+1)).
 *
 * Use it for actor-critics on imagined or recent steps, and for Q(λ) with max Q as the next value. Values past `seqLen`
 * are never read; results there are 0. Results are float32, computed in double. NaN in one step makes all earlier steps
 * of its row NaN.
 *
 * Source: Sutton and Barto, "Reinforcement Learning: An Introduction" (second edition, 2018), section 12.1. The results
 * equal those of rlax 0.1.9, `lambda_returns`.
 *
 * Cost: O(batch · length), one pass.
 *
 * @throws {TypeError} For an unknown option, or a value of the wrong type.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { lambdaReturn } from "@exrp/replay/returns";
 *
 * const target = lambdaReturn({
 *   reward: [1, 1],
 *   nextValue: [4, 8],
 *   discount: [0.5, 0.5],
 *   seqLen: [2],
 *   lambda: 0.5,
 * });
 * console.log([...target]); // [3.25, 5]
 * ```
 */
export function lambdaReturn(options: LambdaReturnOptions): Float32Array<ArrayBuffer> {
  const rows = checkSteps("lambdaReturn()", options, ["reward", "nextValue", "discount"], [
    "lambda",
  ]);
  const { reward, nextValue, discount, seqLen } = options;
  const lambda = checkNumber("lambdaReturn(): lambda", options.lambda, 0, 1);
  const target = checkInto("lambdaReturn()", "into", options.into, rows.count);
  clearPadding(rows, seqLen, target);
  for (let row = 0; row < rows.batch; row++) {
    const first = rows.firsts[row] as number;
    const end = first + (seqLen[row] as number);
    // At the last step both terms are the next value, and their mean is that value again.
    let later = end > first ? nextValue[end - 1] as number : 0;
    for (let k = end - 1; k >= first; k--) {
      const next = nextValue[k] as number;
      const gamma = discount[k] as number;
      const ahead = gamma === 0 ? 0 : gamma * (next + lambda * (later - next));
      later = reward[k] as number + ahead;
      target[k] = later;
    }
  }
  return target;
}
