/**
 * Experience replay for reinforcement learning. A replay stores one record (transition) for each step of an agent, and gives you large
 * random batches of short sequences. When it is full, it evicts ended episodes whole, and the oldest steps of open ones. You choose the
 * rule that draws (a selector, or sampler) and the rule that evicts, or write your own.
 *
 * What you need every day is here. There are more entry points:
 *
 * - `@exrp/replay/returns`: targets and advantages: `gae()`, `vtrace()`, `retrace()`, `nStepReturn()` and others. They work without a
 *   replay.
 * - `@exrp/replay/selectors`: types for a selector of your own, and the option types of the library's selectors.
 * - `@exrp/replay/eviction`: types for an eviction policy of your own.
 * - `@exrp/replay/transforms`: `toFloat32()`, `normalize()`, `randomShift()` and others, for the option `transform` of a pick policy.
 * - `@exrp/replay/stats`: `statsSvg()`, a picture of what a learner sees, and the types of `stats()`.
 * - `@exrp/replay/types`: the types from which the types here are made. You need them for code that works with any replay.
 * - `@exrp/replay/testing`: `conforms()` and `conformsEviction()`, which test a rule of your own.
 * - `@exrp/replay/actors`: `ActorWriter` and `Broadcast`, which actors in Workers need.
 * - `@exrp/replay/learner`: what a learner and an actor hold, wherever the experience is: a replay, a table or a server.
 * - `@exrp/replay/envs`: small environments to try a learner on, such as `CartPole`.
 * - `@exrp/replay/tables`, `@exrp/replay/server` and `@exrp/replay/reverb`: tables of items, a server of them for Reverb's clients, and
 *   a client of such servers.
 *
 * The import does nothing and needs no permission. {@linkcode ExperienceReplay.create} opens the kernel. It takes the native one where it
 * has Deno's permissions for it, and else WebAssembly, which needs none. `replay.describe().backend` names the missing flags.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100_000, // records
 *   state: float32(4),
 *   pick: { length: 2, allowShort: true }, // sequences of two steps, or one at the end of an episode
 *   seed: 7,
 * });
 * const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
 *
 * let episode = replay.newEpisode();
 * for (let step = 0; step < 9; step++) {
 *   episode = replay.record(episode, [step, 0, 0, 0], step % 2, 1); // action and reward are single numbers
 * }
 * episode = replay.record(episode, [9, 0, 0, 0], 1, 1, { finalState: [10, 0, 0, 0] });
 *
 * const batch = replay.getBatch(256, selector, { beta: 0.4 });
 * console.log(batch.shape.state); // [256, 2, 4]
 * const errors = new Float32Array(256).fill(0.5); // one for each pick: a learner gives its temporal-difference errors
 * console.log(replay.setPriority(selector, batch, errors)); // 256
 * ```
 *
 * @module
 */

export { ExperienceReplay } from "./replay/experience_replay.ts";
export { ReplayView } from "./replay/replay_view.ts";
export type { CreateOptions } from "./schema/create_options.ts";
export type {
  NextStateMode,
  PickOptions,
  PickPolicy,
  StackPadding,
} from "./schema/pick_options.ts";
export { EPISODE_END } from "./schema/episode_filter.ts";
export type { AnySchema, PickSchema, Schema } from "./schema/schema.ts";
export type { RecordColumns } from "./schema/record_columns.ts";
export type { Batch, NStepPart } from "./schema/batch.ts";
export type { BatchShape } from "./schema/batch_shape.ts";
export type { GetBatchOptions } from "./replay/draw/drawer.ts";
export type { BatchesOptions } from "./replay/draw/batches.ts";
export type { NumberArray } from "./replay/draw/priorities.ts";
export type { PickView } from "./replay/register/pick_view.ts";
export type { Selector } from "./replay/register/selector.ts";
export type { RecordOptions, Step } from "./replay/record/recorder.ts";
export type {
  BatchSteps,
  DoneFlags,
  FlatRecorded,
  FlatSteps,
  ManySteps,
} from "./replay/record/many_steps.ts";
export type { UpdateColumns } from "./replay/update/updater.ts";
export type { EndEpisodeOptions, EpisodeInfo } from "./replay/record/episodes.ts";
export type { EpisodeRecords } from "./replay/read/records.ts";
export type { Drained, Minibatch, MinibatchOptions, TimeMajor } from "./replay/read/drained.ts";
export type { DrainOptions } from "./replay/read/drainer.ts";
export type { Hindsight, Relabelled } from "./replay/read/hindsight.ts";
export type {
  GoalColumn,
  HindsightOptions,
  HindsightStrategy,
  RelabelledRewards,
  RelabelledRows,
  StateSlice,
} from "./replay/read/hindsight_options.ts";
export type { SerializeTarget, UnserializeSource } from "./storage/io.ts";
export type {
  ColumnDescription,
  MemoryDescription,
  PickViewDescription,
  ReplayDescription,
  SelectorDescription,
} from "./replay/describe.ts";
export {
  bool,
  Column,
  every,
  float16,
  float32,
  float64,
  int16,
  int32,
  int8,
  KeptColumn,
  uint8,
} from "./schema/columns.ts";
export type {
  AnyColumnArray,
  ColumnArray,
  Columns,
  ColumnValue,
  DType,
  NoColumns,
} from "./schema/columns.ts";
export { spaceColumns } from "./schema/spaces.ts";
export type { WaitForOptions, WaitOptions } from "./replay/rate_limiter/waiting.ts";
export { ReplayError } from "./base/errors.ts";
export type { ReplayErrorCode, ReplayErrorOptions } from "./base/errors.ts";

export { uniform } from "./selectors/uniform.ts";
export { prioritized } from "./selectors/prioritized.ts";
export { rankBased } from "./selectors/rank_based.ts";
export { pser } from "./selectors/pser.ts";
export { curious } from "./selectors/curious.ts";
export { ucb } from "./selectors/ucb.ts";
export { newest, oldest } from "./selectors/age_end.ts";
export { highestPriority, lowestPriority } from "./selectors/priority_end.ts";
export { recent } from "./selectors/recent.ts";
export { withoutReplacement } from "./selectors/without_replacement.ts";
export { combined } from "./selectors/combined.ts";
export { laber } from "./selectors/laber.ts";
export { mixture } from "./selectors/mixture.ts";

export { fifo } from "./eviction/fifo.ts";
export { secondChance } from "./eviction/second_chance.ts";
export { lru } from "./eviction/lru.ts";
export { lfu } from "./eviction/lfu.ts";
export { lowestPriorityFirst } from "./eviction/lowest_priority_first.ts";
export { afterDraws } from "./eviction/after_draws.ts";
export { reservoir } from "./eviction/reservoir.ts";

export { samplesPerInsert } from "./rate_limiters/samples_per_insert.ts";
export { minSize } from "./rate_limiters/min_size.ts";
export { queue } from "./rate_limiters/queue.ts";
