/**
 * A client of servers that speak Reverb's protocol: DeepMind's own, and the one of this library.
 *
 * The guide `docs/reverb_client.md` goes from Reverb's Python client to this one, line by line.
 *
 * @example
 * ```ts
 * import { ReverbClient } from "@exrp/replay/reverb";
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * await using server = await serve({ tables }); // yours runs elsewhere
 *
 * await using client = await ReverbClient.connect(server.address); // "localhost:8000", say
 * await client.insert({ state: Float32Array.of(1, 2) }, { replay: 1 });
 * const { columns } = await client.getBatch("replay", 32);
 * console.log(columns[0]?.shape); // [32, 1, 2]: items, steps, and the state
 * ```
 *
 * @module
 */

export { type ClientInsertOptions, type ConnectOptions, ReverbClient } from "./client.ts";
export type { PriorityArrays, PriorityChanges, PriorityUpdates } from "./priority_changes.ts";
export { ReverbError, type ReverbErrorCode } from "./errors.ts";
export type { ReverbArrayOfDType, ReverbDType } from "./dtypes.ts";
export { type ReverbArray } from "./dtypes.ts";
export { type Tensor, tensor, type TensorElement, type TensorOptions } from "./tensor.ts";
export type { StepData, StepLeaf, StepNest } from "./structure.ts";
export type { StepPath } from "./path.ts";
export type { SampleColumn } from "./sample_column.ts";
export type { ColumnsOf, SampleBatch } from "./samples.ts";
export type { ClientBatchesOptions, ClientGetBatchOptions } from "./sampling.ts";
export type { RateLimiterInfo, SelectorInfo, ServerTable } from "./table_info.ts";
export { ColumnHistory, TrajectoryColumn } from "./history.ts";
export { type FlatStep, type HistoryOf, TrajectoryWriter } from "./trajectory_writer.ts";
export { ItemWriter } from "./item_writer.ts";
export { Writer } from "./writer.ts";
export { StructuredWriter } from "./structured_writer.ts";
export {
  Condition,
  type Conditions,
  type ConditionSource,
  ConditionValue,
  constantPriority,
  createPatternConfig,
  type PatternCondition,
  type PatternConfig,
  type PatternConfigOptions,
  PatternNode,
  type PatternPriority,
  type ReferenceColumn,
  type ReferenceStep,
  tdError,
} from "./patterns.ts";
export type {
  ColumnOptions,
  CreateItemOptions,
  FlushOptions,
  StructuredWriterOptions,
  TrajectoryWriterOptions,
  WaitLimits,
  WriterEndOptions,
  WriterOptions,
} from "./writer_options.ts";
export type { NamedTuple, Signature, TensorSpec } from "./signature.ts";
