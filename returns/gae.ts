/**
 * Generalized advantage estimation.
 *
 * @module
 */

import { arraysText, showOneAs } from "../base/inspect.ts";
import { checkNumber } from "../base/checks.ts";
import { checkNextValue, checkResults, checkSteps, clearPadding } from "./_steps.ts";
import type { StepOptions } from "./step_options.ts";

/** The results of {@linkcode gae}. */
export interface GaeResult {
  /** `[batch, length]`: the advantages; 0 past the end. */
  readonly advantage: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: advantage + value, the target of the value function; 0 past the end. */
  readonly valueTarget: Float32Array<ArrayBuffer>;
}

/** The options of {@linkcode gae}. */
export interface GaeOptions extends StepOptions {
  /** `[batch, length]`: V of each state. */
  readonly value: ArrayLike<number>;
  /**
   * `[batch, length]`: V of each next state. Or `[batch]`: V of the last next state only, where the others are `value`
   * one step later.
   */
  readonly nextValue: ArrayLike<number>;
  /**
   * λ, the weight of rewards beyond one step, 0 to 1. A smaller value gives more bias, a larger one more variance. 0.95
   * by default.
   */
  readonly lambda?: number;
  /** Arrays for the results. The call returns them and allocates nothing. Either may be one of the inputs. */
  readonly into?: GaeResult;
}

const RESULTS = ["advantage", "valueTarget"] as const;

/**
 * The generalized advantage estimate of each step of a batch, A_t = δ_t + γ_t λ A_(t+1) with δ_t = r_t + γ_t V(s_(t+1))
 * − V(s_t). With it comes the value target A_t + V(s_t), which is the λ-return.
 *
 * Past a row's last step, A is 0. A row that was truncated, or that ends inside an episode, bootstraps from the last next
 * value. A row that terminated does not, because its discount is 0. Arrays are `[batch, length]`, row by row, of any
 * dtype. Values past `seqLen` are never read. Results are float32, computed in double. NaN in one step makes that step
 * and all earlier steps of its row NaN.
 *
 * Source: Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation" (ICLR 2016),
 * section 3, equations 11 to 16, truncated as in Schulman et al., "Proximal Policy Optimization Algorithms" (2017),
 * equations 11 and 12. The results equal those of rlax 0.1.9,
 * `truncated_generalized_advantage_estimation`.
 *
 * Cost: O(batch · length), one pass. It allocates only the results.
 *
 * @throws {TypeError} For an unknown option, or a value of the wrong type.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { gae } from "@exrp/replay/returns";
 *
 * const { advantage, valueTarget } = gae({
 *   reward: [1, 1, 1, 1],
 *   value: [2, 4, 2, 4],
 *   nextValue: [4, 8, 4, 8],
 *   discount: [0.5, 0.5, 0.5, 0], // the first row was truncated, the second terminated
 *   seqLen: [2, 2],
 *   lambda: 1,
 * });
 * console.log([...advantage]); // [1.5, 1, -0.5, -3]
 * console.log([...valueTarget]); // [3.5, 5, 1.5, 1]
 * ```
 */
export function gae(options: GaeOptions): GaeResult {
  const rows = checkSteps("gae()", options, ["reward", "value", "discount"], [
    "nextValue",
    "lambda",
  ]);
  const { reward, value, nextValue, discount, seqLen, into } = options;
  const lambda = checkNumber("gae(): lambda", options.lambda ?? 0.95, 0, 1);
  const isLastOnly = checkNextValue("gae()", nextValue, rows.count, rows.batch);
  const { advantage, valueTarget } = checkResults("gae()", into, RESULTS, rows.count);
  clearPadding(rows, seqLen, advantage, valueTarget);
  for (let row = 0; row < rows.batch; row++) {
    const first = rows.firsts[row] as number;
    const end = first + (seqLen[row] as number);
    let later = 0;
    let laterValue = isLastOnly ? nextValue[row] as number : 0;
    for (let k = end - 1; k >= first; k--) {
      const here = value[k] as number;
      const gamma = discount[k] as number;
      const next = isLastOnly ? laterValue : nextValue[k] as number;
      // This form ignores everything after a terminated step, even a NaN.
      const ahead = gamma === 0 ? 0 : gamma * (next + lambda * later);
      later = reward[k] as number + ahead - here;
      laterValue = here;
      advantage[k] = later;
      valueTarget[k] = later + here;
    }
  }
  return into ?? showOneAs({ advantage, valueTarget }, (result) => `gae ${arraysText(result)}`);
}
