/**
 * The types from which the types of `@exrp/replay` are made: the columns of a schema, the shapes of a batch's parts, the values that
 * `record` takes. TypeScript infers them for you. You need them to write a function that works with any replay.
 *
 * @example A function for the states of any replay with one dtype
 * ```ts
 * import { type Batch, type Column, ExperienceReplay, float32, type Schema, uniform } from "@exrp/replay";
 * import type { StateShape } from "@exrp/replay/types";
 *
 * function shapeOf<S extends Schema & { readonly state: Column<"float32"> }>(batch: Batch<S>): StateShape<S> {
 *   return batch.shape.state;
 * }
 *
 * using replay = await ExperienceReplay.create({ capacity: 10, state: float32(2) });
 * replay.record(replay.newEpisode(), [1, 2], 0, 0, { finalState: [3, 4] });
 * const shape = shapeOf(replay.getBatch(5, replay.newPickSelector(uniform())));
 * console.log(shape[2]); // 2: TypeScript knows this number
 * ```
 *
 * @module
 */

export type { Appended } from "./replay/append/append.ts";
export type { Durability, Recovery, Residency } from "./replay/durable/durable.ts";
export type { DurableSnapshot, MadeSnapshot } from "./replay/durable/snapshots.ts";
export type { Damage, Verified } from "./replay/durable/verify.ts";
export type { DurableOptions, DurableReplayOptions } from "./storage/durable_options.ts";
export type {
  AnyPick,
  anySchema,
  ColumnOf,
  CompactOf,
  ExtrasOf,
  Frozen,
  KeyUnless,
  Known,
  known,
  NewViewSchema,
  NStepOf,
  OwnState,
  PickSchemaOf,
  Recordable,
  RecordArray,
  RecordValue,
  SchemaOf,
  ShownColumn,
  ShownColumns,
  ShownExtras,
  ShownOf,
  ShownState,
  StackOf,
  StateOf,
  ViewSchema,
  Written,
} from "./schema/schema.ts";
export type {
  AnyState,
  IsAny,
  LeafOption,
  OptionOf,
  SomeLeaves,
  StateArrays,
  StateColumns,
  StateList,
  StateParts,
  StateValue,
  StateValues,
} from "./schema/state.ts";
export type {
  ArrayOfDType,
  ArrayValue,
  ColumnArrays,
  NumericArray,
  ScalarValue,
} from "./schema/columns.ts";
export type {
  BatchColumnShape,
  BatchColumnShapes,
  StackShape,
  StackShapeOf,
  StateShape,
  StateShapeOf,
} from "./schema/batch_shape.ts";
export type { NStepParts, NStepPartsOf } from "./schema/batch.ts";
export type {
  EpisodeColumns,
  EpisodeFilter,
  EpisodeReturns,
  ReturnsFilter,
} from "./schema/episode_filter.ts";
export type {
  AfterOne,
  Channels,
  ClipTransform,
  CroppedShape,
  CropTransform,
  Like,
  LinearTransform,
  ListOf,
  NormalizeTransform,
  NoTransforms,
  ShapeOf,
  ShiftTransform,
  Transformed,
  TransformedState,
  TransformList,
} from "./schema/transform_types.ts";
export type { ColumnStatistics } from "./replay/stats/column_statistics.ts";
export type { Compression } from "./schema/create_options.ts";
export type { AnyPickPolicy } from "./schema/pick_options.ts";
export type { PolicyOf } from "./replay/register/pick_view.ts";
export type { PickWhere, PolicyWhere } from "./schema/pick_where.ts";
export type { NoOwnArrays, OwnArrays } from "./replay/read/drained.ts";
export type {
  StepArrays,
  StepsColumnShape,
  StepsColumnShapes,
  StepsShape,
  StepsStateShape,
} from "./schema/step_arrays.ts";
export type { AttachSchema } from "./replay/share/attach_schema.ts";
export type { ShareTicket } from "./replay/share/share_ticket.ts";
export type { EpochOptions } from "./replay/draw/epochs.ts";
export type { PickMinibatchOptions } from "./replay/draw/minibatches.ts";
export type {
  BatchOfAny,
  GoalArray,
  SliceArray,
  SliceOf,
} from "./replay/read/hindsight_options.ts";
export type {
  ExtraValues,
  RecordExtras,
  RecordMeta,
  RecordRest,
} from "./replay/record/recorder.ts";
export type { NewEpisodeOptions } from "./replay/record/episodes.ts";
export type { ExtraArrays, StepColumns, StepExtras } from "./replay/record/many_steps.ts";
export type {
  RateLimiter,
  RateLimiterNumbers,
  RateLimiterState,
} from "./rate_limiters/rate_limiter.ts";
export type { SamplesPerInsertOptions } from "./rate_limiters/samples_per_insert.ts";
