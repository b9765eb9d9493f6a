/**
 * The n-step return.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { checkInto, checkSteps, clearPadding } from "./_steps.ts";
import type { StepOptions } from "./step_options.ts";

/** The options of {@linkcode nStepReturn}. */
export interface NStepReturnOptions extends StepOptions {
  /** `[batch, length]`: the value of each next state. */
  readonly nextValue: ArrayLike<number>;
  /** The number of rewards before the value: an integer of at least 1. */
  readonly n: number;
  /** An array for the result. The call returns it and allocates nothing. It may be one of the inputs. */
  readonly into?: Float32Array<ArrayBuffer>;
}

/**
 * The n-step return of each step of a batch, r_t + γ_t r_(t+1) + … + γ_t ⋯ γ_(t+n−1) V(s_(t+n)), `[batch, length]`.
 *
 * Where fewer than n steps are left in the row, the sum takes these, and then the row's last next value. It ends at a
 * step whose discount is 0. Values past `seqLen` are never read; results there are 0. Results are float32, computed in
 * double. NaN in one step makes at most n − 1 earlier steps NaN, and none before a step with discount 0.
 *
 * Source: Sutton and Barto, "Reinforcement Learning: An Introduction" (second edition, 2018), section 7.1. The results
 * equal those of rlax 0.1.9, `n_step_bootstrapped_returns`.
 *
 * Cost: O(batch · length · min(n, length)).
 *
 * @throws {TypeError} For an unknown option, or a value of the wrong type.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { nStepReturn } from "@exrp/replay/returns";
 *
 * const target = nStepReturn({
 *   reward: [1, 2, 3],
 *   discount: [0.5, 0.5, 0.5],
 *   nextValue: [10, 20, 40],
 *   n: 2,
 *   seqLen: [3],
 * });
 * console.log([...target]); // [7, 13.5, 23]: 1 + 0.5 * 2 + 0.25 * 20, 2 + 0.5 * 3 + 0.25 * 40, 3 + 0.5 * 40
 * ```
 */
export function nStepReturn(options: NStepReturnOptions): Float32Array<ArrayBuffer> {
  const rows = checkSteps("nStepReturn()", options, ["reward", "discount", "nextValue"], ["n"]);
  const { reward, discount, nextValue, seqLen } = options;
  const n = checkInteger("nStepReturn(): n", options.n, 1, Number.MAX_SAFE_INTEGER);
  const target = checkInto("nStepReturn()", "into", options.into, rows.count);
  clearPadding(rows, seqLen, target);
  for (let row = 0; row < rows.batch; row++) {
    const first = rows.firsts[row] as number;
    const end = first + (seqLen[row] as number);
    // Go forwards: later steps do not read the results of earlier ones, so `into` may be an input.
    for (let k = first; k < end; k++) {
      const last = Math.min(k + n, end) - 1;
      let sum = 0;
      let gamma = 1;
      for (let step = k; step <= last && gamma !== 0; step++) {
        sum += gamma * (reward[step] as number);
        gamma *= discount[step] as number;
      }
      target[k] = gamma === 0 ? sum : sum + gamma * (nextValue[last] as number);
    }
  }
  return target;
}
