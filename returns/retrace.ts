/**
 * Retrace(λ): targets for action values from steps that another policy took.
 *
 * @module
 */

import { checkNumber } from "../base/checks.ts";
import { checkInto, checkSteps, clearPadding } from "./_steps.ts";
import type { StepOptions } from "./step_options.ts";

/** The options of {@linkcode retrace}. */
export interface RetraceOptions extends StepOptions {
  /** `[batch, length]`: Q(s, a) of each state and the action taken in it. */
  readonly q: ArrayLike<number>;
  /** `[batch, length]`: the sum over all actions of π(a|s′) Q(s′, a), in each next state s′. */
  readonly nextExpectedQ: ArrayLike<number>;
  /** `[batch, length]`: log μ(a|s) of the policy that took the actions, stored with them. */
  readonly logProbBehaviour: ArrayLike<number>;
  /** `[batch, length]`: log π(a|s) of the policy that you learn values of; -Infinity where it never takes the action. */
  readonly logProbTarget: ArrayLike<number>;
  /** λ, the weight of later steps, 0 to 1; 1 by default. */
  readonly lambda?: number;
  /** An array for the result. The call returns it and allocates nothing. It may be one of the inputs. */
  readonly into?: Float32Array<ArrayBuffer>;
}

const STEPS = [
  "reward",
  "q",
  "nextExpectedQ",
  "logProbBehaviour",
  "logProbTarget",
  "discount",
] as const;

/**
 * The Retrace(λ) target of each step of a batch, Q(s_t, a_t) + Δ_t with Δ_t = r_t + γ_t E_π Q(s_(t+1), ·) − Q(s_t, a_t) +
 * γ_t c_(t+1) Δ_(t+1) and c_t = λ min(1, π(a_t|s_t) / μ(a_t|s_t)), `[batch, length]`.
 *
 * Δ is 0 past a row's last step. The probabilities of the first step have no effect, because its action is given. With a
 * greedy π, this is Watkins' Q(λ). Arrays are of any dtype. Values past `seqLen` are never read; results there are 0.
 * Results are float32, computed in double. NaN in one step makes all earlier steps of its row NaN.
 *
 * Source: Munos et al., "Safe and Efficient Off-Policy Reinforcement Learning" (NIPS 2016), section 2: the general
 * operator with the coefficients of Retrace(λ). The results equal those of rlax 0.1.9, `retrace` with eps 0.
 *
 * Cost: O(batch · length), one pass with one `exp` per step.
 *
 * @throws {TypeError} For an unknown option, or a value of the wrong type.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { retrace } from "@exrp/replay/returns";
 *
 * const target = retrace({
 *   q: [2, 4],
 *   nextExpectedQ: [6, 8],
 *   logProbBehaviour: [Math.log(0.5), Math.log(0.5)],
 *   logProbTarget: [Math.log(0.5), Math.log(0.25)], // π takes the second action half as often
 *   reward: [1, 1],
 *   discount: [0.5, 0.5],
 *   seqLen: [2],
 * });
 * console.log([...target]); // [4.25, 5]: 1 + 0.5 * (6 + 0.5 * (5 - 4)), 1 + 0.5 * 8
 * ```
 */
export function retrace(options: RetraceOptions): Float32Array<ArrayBuffer> {
  const rows = checkSteps("retrace()", options, STEPS, ["lambda"]);
  const { q, nextExpectedQ, logProbBehaviour, logProbTarget, reward, discount, seqLen } = options;
  const lambda = checkNumber("retrace(): lambda", options.lambda ?? 1, 0, 1);
  const target = checkInto("retrace()", "into", options.into, rows.count);
  clearPadding(rows, seqLen, target);
  for (let row = 0; row < rows.batch; row++) {
    const first = rows.firsts[row] as number;
    const end = first + (seqLen[row] as number);
    // c Δ of the next step.
    let later = 0;
    for (let k = end - 1; k >= first; k--) {
      const here = q[k] as number;
      const gamma = discount[k] as number;
      const ratio = Math.exp((logProbTarget[k] as number) - (logProbBehaviour[k] as number));
      const ahead = gamma === 0 ? 0 : gamma * (nextExpectedQ[k] as number + later);
      const value = reward[k] as number + ahead;
      target[k] = value;
      later = lambda * Math.min(1, ratio) * (value - here);
    }
  }
  return target;
}
