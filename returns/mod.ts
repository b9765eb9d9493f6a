/**
 * Targets and advantages for learners: functions of rewards, values and discounts. They do not need a replay.
 *
 * @example Advantages of two steps, by generalized advantage estimation
 * ```ts
 * import { gae } from "@exrp/replay/returns";
 *
 * const { advantage } = gae({
 *   reward: [1, 1],
 *   value: [0, 0],
 *   nextValue: [0, 0],
 *   discount: [0.5, 0.5],
 *   seqLen: [2],
 *   lambda: 1,
 * });
 * console.log([...advantage]); // [1.5, 1]
 * ```
 *
 * @module
 */

export type { StepOptions } from "./step_options.ts";
export { gae } from "./gae.ts";
export type { GaeOptions, GaeResult } from "./gae.ts";
export { vtrace } from "./vtrace.ts";
export type { VtraceOptions, VtraceResult } from "./vtrace.ts";
export { retrace } from "./retrace.ts";
export type { RetraceOptions } from "./retrace.ts";
export { nStepReturn } from "./n_step_return.ts";
export type { NStepReturnOptions } from "./n_step_return.ts";
export { lambdaReturn } from "./lambda_return.ts";
export type { LambdaReturnOptions } from "./lambda_return.ts";
export { sequencePriority } from "./sequence_priority.ts";
export type { SequencePriorityOptions } from "./sequence_priority.ts";
export { annealed } from "./annealed.ts";
