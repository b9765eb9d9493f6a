/**
 * V-trace: value targets and advantages from steps that another policy took.
 *
 * @module
 */

import { arraysText, showOneAs } from "../base/inspect.ts";
import { checkNumber, show } from "../base/checks.ts";
import { checkNextValue, checkResults, checkSteps, clearPadding } from "./_steps.ts";
import type { StepOptions } from "./step_options.ts";

/** The results of {@linkcode vtrace}. */
export interface VtraceResult {
  /** `[batch, length]`: the targets of the value function; 0 past the end. */
  readonly valueTarget: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: the factor of the gradient of log π, which already includes rho; 0 past the end. */
  readonly policyAdvantage: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: the importance weights, clipped at `rhoMax`; 0 past the end. */
  readonly rho: Float32Array<ArrayBuffer>;
}

/** The options of {@linkcode vtrace}. */
export interface VtraceOptions extends StepOptions {
  /** `[batch, length]`: log μ(a|s) of the policy that took the actions, stored with them. */
  readonly logProbBehaviour: ArrayLike<number>;
  /** `[batch, length]`: log π(a|s) of the policy that learns. */
  readonly logProbTarget: ArrayLike<number>;
  /** `[batch, length]`: V of each state. */
  readonly value: ArrayLike<number>;
  /**
   * `[batch, length]`: V of each next state. Or `[batch]`: V of the last next state only, where the others are `value`
   * one step later.
   */
  readonly nextValue: ArrayLike<number>;
  /**
   * The bound ρ̄ of importance weights: more than 0, 1 by default. It decides which policy's value you learn: with
   * `Infinity` the value of π, near 0 the value of μ.
   */
  readonly rhoMax?: number;
  /** The bound c̄ of the weights of later steps: more than 0, 1 by default. It decides how fast you learn the value. */
  readonly cMax?: number;
  /** λ, a factor of each c, 0 to 1; 1 by default. */
  readonly lambda?: number;
  /** Arrays for the results. The call returns them and allocates nothing. Each may be one of the inputs. */
  readonly into?: VtraceResult;
}

const STEPS = ["reward", "logProbBehaviour", "logProbTarget", "value", "discount"] as const;
const RESULTS = ["valueTarget", "policyAdvantage", "rho"] as const;

/** A bound of more than 0, `Infinity` included. */
function checkBound(where: string, value: unknown): number {
  if (typeof value !== "number") {
    throw new TypeError(`${where} must be a number, got ${show(value)}`);
  }
  if (!(value > 0)) throw new RangeError(`${where} must be more than 0, got ${value}`);
  return value;
}

/**
 * The V-trace target of each step of a batch, v_t = V(s_t) + δ_t + γ_t c_t (v_(t+1) − V(s_(t+1))) with δ_t = ρ_t (r_t +
 * γ_t V(s_(t+1)) − V(s_t)), ρ_t = min(ρ̄, π/μ) and c_t = λ min(c̄, π/μ), and the advantage for the policy gradient,
 * ρ_t (r_t + γ_t (λ v_(t+1) + (1 − λ) V(s_(t+1))) − V(s_t)).
 *
 * At a row's last step, `nextValue` stands for both v_(t+1) and V(s_(t+1)). The paper gives the advantage for λ = 1 only,
 * as ρ_t (r_t + γ_t v_(t+1) − V(s_t)). With λ < 1 the advantage is that of rlax, in every step. So on-policy, advantage
 * and target equal those of {@linkcode gae}. Arrays are `[batch, length]`, of any dtype. Values past `seqLen` are never
 * read. Results are float32, computed in double. NaN in one step makes that step and all earlier steps of its row NaN.
 * The paper assumes ρ̄ ≥ c̄; this function does not check it.
 *
 * Source: Espeholt et al., "IMPALA: Scalable Distributed Deep-RL with Importance Weighted Actor-Learner Architectures"
 * (ICML 2018), section 4.1, equation 1 and remark 2 (λ), and section 4.2 (the advantage).
 * The results equal those of rlax 0.1.9, `vtrace_td_error_and_advantage`; `rhoMax` is both of its thresholds.
 *
 * Cost: O(batch · length), one pass with one `exp` per step. It allocates only the results.
 *
 * @throws {TypeError} For an unknown option, or a value of the wrong type.
 * @throws {RangeError} For an array of the wrong size or a number out of its range.
 * @example
 * ```ts
 * import { vtrace } from "@exrp/replay/returns";
 *
 * const { valueTarget, policyAdvantage, rho } = vtrace({
 *   logProbBehaviour: [Math.log(0.5), Math.log(0.25)],
 *   logProbTarget: [Math.log(0.25), Math.log(0.5)], // half as likely, then twice as likely, as under the policy that took the actions
 *   reward: [1, 1],
 *   value: [2, 4],
 *   nextValue: [8], // after the last step
 *   discount: [0.5, 0.5],
 *   seqLen: [2],
 * });
 * console.log([...rho]); // [0.5, 1]
 * console.log([...valueTarget]); // [2.75, 5]
 * console.log([...policyAdvantage]); // [0.75, 1]
 * ```
 */
export function vtrace(options: VtraceOptions): VtraceResult {
  const rows = checkSteps("vtrace()", options, STEPS, ["nextValue", "rhoMax", "cMax", "lambda"]);
  const { logProbBehaviour, logProbTarget, reward, value, nextValue, discount, seqLen, into } =
    options;
  const rhoMax = checkBound("vtrace(): rhoMax", options.rhoMax ?? 1);
  const cMax = checkBound("vtrace(): cMax", options.cMax ?? 1);
  const lambda = checkNumber("vtrace(): lambda", options.lambda ?? 1, 0, 1);
  const isLastOnly = checkNextValue("vtrace()", nextValue, rows.count, rows.batch);
  const { valueTarget, policyAdvantage, rho } = checkResults(
    "vtrace()",
    into,
    RESULTS,
    rows.count,
  );
  clearPadding(rows, seqLen, valueTarget, policyAdvantage, rho);
  for (let row = 0; row < rows.batch; row++) {
    const first = rows.firsts[row] as number;
    const end = first + (seqLen[row] as number);
    // v − V of the next step, and V there. At the end of a row the next value has no correction.
    let later = 0;
    let laterValue = end > first ? nextValue[isLastOnly ? row : end - 1] as number : 0;
    for (let k = end - 1; k >= first; k--) {
      const here = value[k] as number;
      const gamma = discount[k] as number;
      const next = isLastOnly ? laterValue : nextValue[k] as number;
      const ratio = Math.exp((logProbTarget[k] as number) - (logProbBehaviour[k] as number));
      const weight = Math.min(rhoMax, ratio);
      const surplus = reward[k] as number - here;
      // This form ignores everything after a terminated step, even a NaN.
      const isEnd = gamma === 0;
      const error = weight * (isEnd ? surplus : surplus + gamma * next);
      const ahead = isEnd ? 0 : gamma * (laterValue + lambda * later);
      const trace = isEnd ? 0 : gamma * lambda * Math.min(cMax, ratio) * later;
      later = error + trace;
      laterValue = here;
      rho[k] = weight;
      policyAdvantage[k] = weight * (surplus + ahead);
      valueTarget[k] = here + later;
    }
  }
  return into ??
    showOneAs({ valueTarget, policyAdvantage, rho }, (result) => `vtrace ${arraysText(result)}`);
}
