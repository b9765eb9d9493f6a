/**
 * The replay itself: everything you do goes through it.
 *
 * The file is long as it holds what you read of every method. The code of a method is one call: into `record/` what stores
 * steps, into `register/` pick tables and selectors, into `draw/` batches and priorities, into `read/` what hands out records,
 * and into `snapshot/` what saves and loads. `rules/` runs the rules that you write.
 *
 * @module
 */

import { openKernel } from "../ffi/library.ts";
import type { Column, Columns, NoColumns } from "../schema/columns.ts";
import { checkCreateOptions, type CreateOptions } from "../schema/create_options.ts";
import type { PickOptions } from "../schema/pick_options.ts";
import { columnsOf, type RecordColumns } from "../schema/record_columns.ts";
import type {
  AnySchema,
  PickSchemaOf,
  Recordable,
  RecordValue,
  Schema,
  SchemaOf,
  TableSchema,
} from "../schema/schema.ts";
import type { SelectorRule } from "../selectors/composed_selector.ts";
import { ReplayCore } from "./core.ts";
import type { Batch } from "../schema/batch.ts";
import { type BatchesOptions, streamBatches } from "./draw/batches.ts";
import { Drawer, type GetBatchOptions } from "./draw/drawer.ts";
import { type NumberArray, Priorities } from "./draw/priorities.ts";
import type { Drained } from "./read/drained.ts";
import { Drainer, type DrainOptions } from "./read/drainer.ts";
import { type Hindsight, Relabeller } from "./read/hindsight.ts";
import {
  checkHindsight,
  type GoalColumn,
  type HindsightOptions,
} from "./read/hindsight_options.ts";
import { type EpisodeRecords, RecordReader } from "./read/records.ts";
import { type EndEpisodeOptions, Episodes } from "./record/episodes.ts";
import { type BatchSteps, ManyRecorder, type ManySteps } from "./record/many_recorder.ts";
import { Recorder, type RecordRest, type Step } from "./record/recorder.ts";
import { Row } from "./record/row.ts";
import type { PickTable } from "./register/pick_table.ts";
import { Register } from "./register/register.ts";
import type { Selector } from "./register/selector.ts";
import { ReplayView } from "./replay_view.ts";
import { UserRules } from "./rules/user_rules.ts";
import { ExtraState } from "./snapshot/extra_state.ts";
import { Saver } from "./snapshot/saver.ts";
import type { SerializeTarget, UnserializeSource } from "./snapshot/snapshot_io.ts";

/** The parts of a replay, made by `create`. */
interface Parts {
  readonly core: ReplayCore;
  readonly register: Register;
  readonly episodes: Episodes;
  readonly recorder: Recorder;
  readonly manyRecorder: ManyRecorder;
  readonly drawer: Drawer;
  readonly priorities: Priorities;
  readonly saver: Saver;
  readonly reader: RecordReader;
  readonly drainer: Drainer;
  readonly extra: ExtraState;
}

/**
 * A store of experience: takes records one at a time, forgets whole episodes when it is full, and hands out batches
 * of short sequences chosen by selectors. After Chen and Wang's experience-replay module.
 *
 * Its type says what is in it: `ExperienceReplay<{ state: Column<"float32", [4]> }>` has states of four floats, the
 * default action and reward, and no extras. `ExperienceReplay` alone is a replay of any schema: every replay fits where you ask for it.
 * You can draw from it, save it and describe it. You can't record into it, as nobody knows what it holds.
 *
 * A call that throws has changed nothing, unless a rule of your own throws in the middle of it. Free a replay by `using` or
 * `[Symbol.dispose]()`. One that you forgot is freed some time after nothing refers to it any more.
 *
 * @example A replay from the first record to a prioritized batch
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { assertEquals, assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 7 });
 * const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
 *
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [0, 0, 0, 0], 1, 1);
 * episode = replay.record(episode, [1, 0, 0, 0], 0, 1, { finalState: [2, 0, 0, 0] });
 *
 * const batch = replay.getBatch(32, selector, { beta: 0.4 });
 * assertEquals(batch.shape.state, [32, 1, 4]);
 *
 * const errors = new Float32Array(32).fill(0.5);
 * assertStrictEquals(replay.setPriority(selector, batch, errors), 32);
 * ```
 */
export class ExperienceReplay<S extends Schema = AnySchema> extends ReplayView<S> {
  /**
   * The columns of a record, by name.
   *
   * @example A function for replays of any schema
   * ```ts
   * import { ExperienceReplay, uint8 } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * function stateBytes({ columns: { state }, recordCount }: ExperienceReplay): number {
   *   return recordCount * state.elementCount * state.elementBytes;
   * }
   *
   * using replay = await ExperienceReplay.create({ capacity: 10, state: uint8(84, 84) });
   * assertEquals(replay.columns.state.shape, [84, 84]); // TypeScript knows the two numbers
   * assertEquals(stateBytes(replay), 0);
   * ```
   */
  // It stands first: by the names of the extras in its type TypeScript learns to compare two replays by what they have.
  get columns(): RecordColumns<S> {
    return this.#columns;
  }

  readonly #columns: RecordColumns<S>;
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #episodes: Episodes;
  readonly #recorder: Recorder;
  readonly #manyRecorder: ManyRecorder;
  readonly #drawer: Drawer;
  readonly #priorities: Priorities;
  readonly #saver: Saver;
  readonly #reader: RecordReader;
  readonly #drainer: Drainer;
  readonly #extra: ExtraState;

  private constructor(parts: Parts) {
    super(parts);
    this.#columns = columnsOf(parts.core.config) as RecordColumns<S>;
    this.#core = parts.core;
    this.#register = parts.register;
    this.#episodes = parts.episodes;
    this.#recorder = parts.recorder;
    this.#manyRecorder = parts.manyRecorder;
    this.#drawer = parts.drawer;
    this.#priorities = parts.priorities;
    this.#saver = parts.saver;
    this.#reader = parts.reader;
    this.#drainer = parts.drainer;
    this.#extra = parts.extra;
  }

  /**
   * Finds and opens the kernel, the first time, and makes an empty replay in it.
   *
   * @throws {TypeError} For an unknown option or one of the wrong kind.
   * @throws {RangeError} For a number out of its range.
   * @throws {ReplayError} `capacity` when not even one pick fits; `memory`; `kernel-missing`, `kernel-version` or
   * `permission` when the kernel can't be opened.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, secondChance, uint8 } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({
   *   capacity: 1000, // records
   *   state: uint8(8, 8),
   *   action: float32(6),
   *   extras: { logProb: float32() },
   *   pick: { length: 8, allowShort: true, discount: 0.99 },
   *   eviction: secondChance(),
   *   seed: 7,
   * });
   * assertStrictEquals(replay.capacity, 1000);
   * ```
   */
  static async create<
    State extends Column,
    Action extends Column = Column<"int32", []>,
    Reward extends Column = Column<"float32", []>,
    Extras extends Columns = NoColumns,
    const Stack extends number = 1,
    const Compact extends boolean = false,
    const NStep extends number | readonly number[] = readonly [],
  >(
    options: CreateOptions<State, Action, Reward, Extras, Stack, Compact, NStep>,
  ): Promise<
    ExperienceReplay<
      SchemaOf<State, Action, Reward, Extras, PickSchemaOf<Stack, Compact, NStep>>
    >
  > {
    const config = checkCreateOptions(options);
    const core = new ReplayCore(await openKernel(options.kernelPath), config);
    const rules = userRulesOf(core);
    const register = new Register(core, rules.selectors);
    const row = new Row(core.kernel, core.id, config.columns);
    const episodes = new Episodes(core, rules, row);
    const recorder = new Recorder(core, rules, row);
    const manyRecorder = new ManyRecorder(core, rules, row);
    const drawer = new Drawer(core, register, rules);
    const priorities = new Priorities(core, register, rules.selectors);
    const reader = new RecordReader(core);
    const drainer = new Drainer(core, episodes, rules.selectors, reader);
    const extra = new ExtraState(core, drainer, reader);
    const saver = new Saver(core, rules, register, extra);
    return new ExperienceReplay({
      core,
      register,
      episodes,
      recorder,
      manyRecorder,
      drawer,
      priorities,
      saver,
      reader,
      drainer,
      extra,
    });
  }

  /**
   * Begins an episode.
   *
   * @returns Its handle: a whole number that no other episode of this replay ever has.
   * @throws {ReplayError} `disposed` or `busy`; `rule` when the user's eviction policy makes no room.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
   * assertStrictEquals(replay.newEpisode(), 0);
   * assertStrictEquals(replay.newEpisode(), 1); // many episodes may be open at once
   * ```
   */
  newEpisode(): number {
    return this.#episodes.begin();
  }

  /**
   * Appends a record to an open episode. When the store is full, episodes are evicted first.
   *
   * Values are copied. A state, or any other array, is the column's own typed array or a plain one, in row-major order.
   * With `finalState` the episode ends: as terminated, or as truncated when the option says so. Cost: about 0.1 µs
   * for a small state, no allocation.
   *
   * @returns The handle to go on with. It is another one when the episode was cut at `segmentLength`, or was evicted
   * meanwhile: the record then begins a new one.
   * @throws {TypeError} When a value is of another kind than its column, an extra is missing, or an option is unknown.
   * @throws {RangeError} When an array has another length than its column, or an integer does not fit the dtype.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`; `rule` when the user's eviction policy makes no room.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, new Float32Array([0, 1]), 1, 0.5);
   * episode = replay.record(episode, [2, 3], 0, 0.5, { finalState: [4, 5], truncated: true });
   * assertEquals(replay.episode(episode), { handle: episode, ending: "truncated", recordCount: 2 });
   * ```
   */
  record(
    episode: number,
    state: RecordValue<S, "state">,
    action: RecordValue<S, "action">,
    reward: RecordValue<S, "reward">,
    ...options: RecordRest<S>
  ): number;
  record(
    episode: number,
    state: unknown,
    action: unknown,
    reward: unknown,
    options?: object,
  ): number {
    return this.#recorder.record(episode, state, action, reward, options);
  }

  /**
   * Appends n consecutive steps to an open episode in one call: what n calls of {@linkcode ExperienceReplay.record} would do,
   * with the same handles, picks and evictions, at half the time for small states.
   *
   * `steps` has an array for each column with the values of all steps, `[n, ...shape]` in row-major order, n from 1 to 2^24: the
   * column's own typed array or a plain one. With `finalState` the episode ends after the last step. All values are
   * checked before the first is stored.
   *
   * @returns The handle to go on with: that of the episode which the last step went to.
   * @throws {TypeError} When values are of another kind than their column, or an option is unknown.
   * @throws {RangeError} When a column has not n steps, or a number does not fit its dtype.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`; `rule` when the user's eviction policy makes no room: steps
   * that were stored before it was asked stay, as after single calls.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * const episode = replay.recordMany(replay.newEpisode(), {
   *   state: new Float32Array([0, 1, 2, 3, 4, 5]), // [3, 2]
   *   action: [1, 0, 1],
   *   reward: [0.5, 0.5, 1],
   *   finalState: [6, 7],
   * });
   * assertEquals(replay.episode(episode), { handle: episode, ending: "terminated", recordCount: 3 });
   * ```
   */
  recordMany(episode: number, steps: ManySteps<S>): number {
    return this.#manyRecorder.recordMany(episode, steps);
  }

  /**
   * Appends one step of each of m environments that run in parallel, in one call. Where an environment is done its episode
   * ends, and another begins by itself: what `record` and then `newEpisode` would do, environment after environment.
   *
   * `episodes` `[m]` has the handle of each environment's episode and is updated in place: where one is done, it is the fresh
   * episode's handle, and elsewhere the one to go on with. `steps` has an array for each column, `[m, ...shape]` in row-major
   * order. `nextState` is the state that the step led to, not the first one of the next episode; only rows
   * of environments that are done are read. Where both `terminated` and `truncated` are set, the episode is terminated. Cost:
   * 0.06 to 0.1 µs for each environment of a small state, no allocation.
   *
   * @returns How many environments are done.
   * @throws {TypeError} When values are of another kind than their column, `nextState` is missing though an environment is
   * done, or an option is unknown.
   * @throws {RangeError} When a column has not m steps, or a number does not fit its dtype.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`, or `episode-twice` when two environments have one open
   * episode; `rule` when the user's eviction policy makes no room: steps that were stored before it was asked stay, and
   * `episodes` has their handles.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertEquals, assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * const episodes = Float64Array.from({ length: 3 }, () => replay.newEpisode());
   * const doneCount = replay.recordBatch(episodes, {
   *   state: new Float32Array([0, 0, 1, 1, 2, 2]), // [3, 2]
   *   action: [1, 0, 1],
   *   reward: [1, 1, 1],
   *   nextState: new Float32Array([0, 1, 1, 2, 2, 3]),
   *   terminated: [false, true, false],
   * });
   * assertStrictEquals(doneCount, 1);
   * assertEquals([...episodes], [0, 3, 2]);
   * assertStrictEquals(replay.episode(1).ending, "terminated");
   * ```
   */
  recordBatch(episodes: Float64Array, steps: BatchSteps<S>): number {
    return this.#manyRecorder.recordBatch(episodes, steps);
  }

  /**
   * Appends one step with everything that an environment in the manner of Gymnasium gives for it. Where the environment is done,
   * the episode ends with `nextState` as its final state, and another one begins by itself.
   *
   * @param step The state that the action was chosen from, the action, the reward, and what `step()` of the environment returned; see
   * {@linkcode Step}.
   * @returns The handle to give with the next step: after an episode that ended, that of a fresh one.
   * @throws {TypeError} When a value is of another kind than its column, an extra is missing, or `step` has an unknown part.
   * @throws {RangeError} When an array has another length than its column, or an integer does not fit the dtype. Also when `terminated`
   * or `truncated` is a number other than 0 or 1.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`; `rule` when the user's eviction policy makes no room.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertEquals, assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * let episode = replay.newEpisode();
   * for (const state of [0, 1]) {
   *   episode = replay.recordStep(episode, {
   *     state: [state],
   *     action: 1,
   *     reward: 1,
   *     terminated: state === 1,
   *     truncated: false,
   *     nextState: [state + 1],
   *   });
   * }
   * assertEquals(replay.episode(0), { handle: 0, ending: "terminated", recordCount: 2 });
   * assertStrictEquals(episode, 1); // begun by itself
   * ```
   */
  recordStep(episode: number, step: Step<S>): number {
    return this.#recorder.recordStep(episode, step);
  }

  /**
   * Ends an open episode without a further record: an environment was reset or closed from outside, for instance.
   *
   * @param options `finalState`, the state after its last record, and whether it was `truncated`.
   * @returns False when there was nothing to end: the episode was evicted before, or has no record, and is then forgotten.
   * @throws {TypeError} When the final state is missing or of another kind than the states, or an option is unknown.
   * @throws {RangeError} When the final state has another length, or an integer does not fit the dtype.
   * @throws {ReplayError} `episode-ended` when it has ended already; `episode-unknown` for a handle never given out.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const episode = replay.newEpisode();
   * replay.record(episode, [1], 0, 0);
   * assertStrictEquals(replay.endEpisode(episode, { finalState: [2], truncated: true }), true);
   * assertStrictEquals(replay.episode(episode).ending, "truncated");
   * assertStrictEquals(replay.endEpisode(replay.newEpisode(), { finalState: [0] }), false);
   * ```
   */
  endEpisode(episode: number, options: EndEpisodeOptions<S>): boolean {
    return this.#episodes.end(episode, options);
  }

  /**
   * Adds a pick table: another way to draw from the same records, with selectors of its own. Nothing is stored twice; a table
   * costs 4 bytes a pick and 4 a slot. What is stored already is in it.
   *
   * @param options Its pick policy: what is left out is as by default, not as in `pick` of `create`. `length` may not exceed `segmentLength`.
   * @throws {TypeError} For an unknown option, one of the wrong kind, or options that can't be had together.
   * @throws {RangeError} For a number out of its range.
   * @throws {ReplayError} `limit` for more than 16 tables.
   * @example n-step returns of frame stacks, beside single frames
   * ```ts
   * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: uint8(2) });
   * const table = replay.newPickTable({ stack: 3, nStep: 2, discount: 0.5 });
   * const selector = table.newPickSelector(uniform());
   *
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, [1, 1], 0, 8);
   * replay.record(episode, [2, 2], 0, 4, { finalState: [3, 3], truncated: true });
   * replay.evict(replay.newEpisode());
   *
   * const batch = replay.getBatch(1, selector);
   * assertEquals(batch.shape.state, [1, 1, 3, 2]);
   * const [part] = batch.nStep;
   * const first = batch.pickPosition[0] === 0;
   * assertEquals([...batch.state], first ? [1, 1, 1, 1, 1, 1] : [1, 1, 1, 1, 2, 2]);
   * assertEquals(part?.reward[0], first ? 8 + 0.5 * 4 : 4);
   * assertEquals([...part?.nextState ?? []], [1, 1, 2, 2, 3, 3]);
   * assertEquals(part?.discount[0], first ? 0.25 : 0.5);
   * ```
   */
  newPickTable<
    const Stack extends number = 1,
    const Compact extends boolean = false,
    const NStep extends number | readonly number[] = readonly [],
  >(
    options: PickOptions<Stack, Compact, NStep>,
  ): PickTable<TableSchema<S, PickSchemaOf<Stack, Compact, NStep>>> {
    const table: unknown = this.#register.newPickTable(options);
    return table as PickTable<TableSchema<S, PickSchemaOf<Stack, Compact, NStep>>>;
  }

  /**
   * Adds a rule by which picks are drawn. Any number may be used side by side, each with priorities and random numbers
   * of its own. Picks that are there already have the rule's initial priority.
   *
   * @param rule `uniform()`, `prioritized()` or another rule of the library; one made of others, such as `mixture()`; or an object
   * like {@linkcode PickSelector} or {@linkcode ComposedSelector}.
   * @throws {TypeError} When it is no rule.
   * @throws {ReplayError} `limit` for more than 64 of the kernel's.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, ucb, uniform } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
   * assertStrictEquals(replay.newPickSelector(uniform()).id, 0);
   * assertStrictEquals(replay.newPickSelector(ucb()).id, 1);
   * ```
   */
  newPickSelector(rule: SelectorRule<Batch<S>>): Selector<S> {
    const selector: unknown = this.#register.newPickSelector(rule);
    return selector as Selector<S>;
  }

  /**
   * Draws a batch by the selector's rule: by most of them with replacement, so that a pick may come several times.
   *
   * @param size How many picks: 1 to 2^24.
   * @returns A new batch, or the one passed as `into`; see {@linkcode Batch} for its parts. A large batch costs a fifth
   * to two thirds less with `into`, or when earlier ones were handed back (`using`), as no memory has to be cleared.
   * @throws {ReplayError} `empty` when there is no pick; `batch-size` when `withoutReplacement` has fewer picks than `size`;
   * `foreign-selector`; `rule` when the user's selector drew what is not there; `memory`.
   * @throws {RangeError} When `size` is no whole number of its range, or `into` is of another size.
   * @throws {TypeError} When `into` is of another schema, or an option is unknown.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(uniform());
   * replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
   * const batch = replay.getBatch(8, selector);
   * // The same memory again:
   * assertStrictEquals(replay.getBatch(8, selector, { into: batch }), batch);
   * ```
   */
  getBatch<T extends Schema = S>(
    size: number,
    selector: Selector<T>,
    options?: GetBatchOptions<T>,
  ): Batch<T>;
  getBatch(size: number, selector: Selector, options?: GetBatchOptions): Batch {
    return this.#drawer.getBatch(size, selector, options);
  }

  /**
   * Draws batches one after the other, for `for await`: while the learner works on one, the next is copied by another thread.
   *
   * A batch that is drawn ahead is drawn as of the moment at which the one before is handed out: it does not know of what is recorded
   * or set after that. So the same seed and the same calls give the same batches, however fast the other thread is. With
   * `prefetch: 0`, with rules or an eviction policy in TypeScript, and with composed selectors each is drawn when it is asked for.
   * There is no end: leave by `break`, or by the signal. Where a core is free, it hides the copying of large batches but for 10 to
   * 40 µs each: it pays for batches that take about 50 µs or more; for smaller ones, `getBatch` is faster. Priorities that are set
   * after a batch count from the next but one on, with `prefetch: p` from p batches later than by `getBatch`.
   *
   * @param size How many picks: 1 to 2^24.
   * @throws {ReplayError} As `getBatch`, when the batch is awaited.
   * @throws {RangeError} For a number out of its range.
   * @throws {TypeError} For an unknown option or one of the wrong kind.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(uniform());
   * replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
   * let updates = 0;
   * for await (const batch of replay.batches(32, selector, { prefetch: 2, reuse: true })) {
   *   assertStrictEquals(batch.state[31], 1); // learn from it
   *   if (++updates === 5) break;
   * }
   * ```
   */
  batches<T extends Schema = S>(
    size: number,
    selector: Selector<T>,
    options?: BatchesOptions,
  ): AsyncGenerator<Batch<T>, void, void>;
  batches(
    size: number,
    selector: Selector,
    options: BatchesOptions = {},
  ): AsyncGenerator<Batch, void, void> {
    return streamBatches(this.#drawer.source(size, selector), options);
  }

  /** Sets the priorities of the picks of a batch: `[batch]` numbers in the order of its picks. */
  setPriority(selector: Selector, batch: Batch, priority: NumberArray): number;
  /**
   * Sets the priorities of picks: of those of a batch, or of picks by their episode and position.
   *
   * Picks that were evicted since are skipped. If a pick comes twice, the last one wins. Arrays of a batch, and a `Float32Array` or
   * `Float64Array` of priorities, are taken as they are; other arrays are copied.
   *
   * @param pickEpisode `[n]`: the handle of each pick's episode, as `batch.pickEpisode` has it.
   * @param pickPosition `[n]`: where in its episode each pick begins, as `batch.pickPosition` has it.
   * @param priority `[n]`: each finite and 0 or more. n is at most 2^24.
   * @returns How many were applied: those of picks that are there. Rules that ignore priorities count them alike.
   * @throws {ReplayError} `invalid-priority` when one is NaN, negative or infinite; `episode-unknown` for a handle
   * never given out; `foreign-selector`.
   * @throws {RangeError} When the lengths differ, or a position is negative.
   * @throws {TypeError} When one is no array of numbers.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(prioritized());
   * const episode = replay.newEpisode();
   * replay.record(episode, [1], 0, 0, { finalState: [2] });
   * const batch = replay.getBatch(3, selector);
   * assertStrictEquals(replay.setPriority(selector, batch, [2.5, 2.5, 2.5]), 3);
   * assertStrictEquals(replay.setPriority(selector, [episode], [0], [1.5]), 1);
   * replay.evict(episode);
   * assertStrictEquals(replay.setPriority(selector, [episode], [0], [2.5]), 0);
   * ```
   */
  setPriority(
    selector: Selector,
    pickEpisode: NumberArray,
    pickPosition: NumberArray,
    priority: NumberArray,
  ): number;
  setPriority(
    selector: Selector,
    picks: Batch | NumberArray,
    second: NumberArray,
    priority?: NumberArray,
  ): number {
    return this.#priorities.set(selector, picks, second, priority);
  }

  /**
   * Makes hindsight (Andrychowicz et al. 2017): what gives picks of a batch other goals, which were achieved, so that a learner
   * sees goals reached that its policy never meant to reach.
   *
   * A step is stored with the goal it **achieved** (after it) and the one that was **desired**; {@linkcode Hindsight} says how the
   * others are chosen. Its random numbers follow from the replay's seed, a stream for each hindsight, and are saved in
   * snapshots: a replay that loads one makes its hindsights in the same order.
   *
   * @throws {TypeError} For an unknown option, an extra that does not exist, or goals of different dtypes or sizes.
   * @throws {RangeError} For a number out of its range.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, int32 } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * const extras = { achieved: int32(), desired: int32() };
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), extras });
   * const hindsight = replay.newHindsight({
   *   achieved: "achieved",
   *   desired: "desired",
   *   reward: (achieved, desired) => achieved.map((goal, k) => goal === desired[k] ? 0 : -1),
   * });
   * assertStrictEquals(hindsight.strategy, "future");
   * ```
   */
  newHindsight<const G extends GoalColumn<S>>(
    options: Recordable<S, HindsightOptions<S, G>>,
  ): Hindsight<S> {
    this.#core.checkUsable("newHindsight()");
    const config = checkHindsight(options, this.#core.config.columns);
    const stream = this.#extra.newStream();
    return new Relabeller(this.#core, this.#reader, config, stream) as Hindsight<S>;
  }

  /**
   * Hands out steps that were not handed out before, for on-policy learners: each record once over the life of the replay, by episode
   * (oldest first) and time. Episodes handed out whole are forgotten, unless `keep` is set.
   *
   * Without options: all episodes that have ended. With `steps` exactly so many or none, with `minSteps` at least so many or none, of
   * open episodes too, each up to the last step whose next state is known: which is all but its newest. An episode that is handed
   * out in parts stays in the store until its last one.
   *
   * What was evicted before it was handed out is counted as `lost`. What was handed out is saved in snapshots. Cost: one
   * copy of the steps' bytes and O(episodes stored); about 1 µs when there are too few.
   *
   * @returns Steps in segments of one episode each; see {@linkcode Drained}. `size` is 0 when none, or too few, are ready.
   * @throws {TypeError} For an unknown option, or both `steps` and `minSteps`.
   * @throws {RangeError} For a number that is not 1 to the capacity.
   * @throws {ReplayError} `disposed`, `busy` or `memory`. Should a user's eviction policy throw when it is told that an episode is gone,
   * the steps of episodes that are gone by then count as lost.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
   * assertEquals([...replay.drain().state], [1]);
   * assertEquals([...replay.drain().state], []);
   * ```
   */
  drain(options: DrainOptions = {}): Drained<S> {
    const drained: unknown = this.#drainer.drain(options);
    return drained as Drained<S>;
  }

  /** Saves everything that decides the future as bytes. */
  serialize(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Saves everything that decides the future: records, open episodes, picks, selectors with their priorities and random
   * numbers, eviction. After `unserialize`, the same calls give the same answers.
   *
   * @param target Nothing for bytes. A path or file URL: a new file is written beside it, and takes its place once it is on
   * the disk, so that nobody ever sees half of a snapshot. This needs the permissions to write and to read the folder
   * (`--allow-write=DIR --allow-read=DIR`), which are asked for before anything is written. A process that is killed while it saves
   * leaves the new file, `<name>.exrp-<tag>.tmp`; a later save of the same name removes it. Or a stream, which gets pieces
   * of at most 1 MiB and is closed at the end; until then the replay can't be used.
   * @throws {ReplayError} `not-savable` when a user's rule has no `save()`; `permission` or `file` when the file cannot be written,
   * with the system's error as `cause`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(uniform());
   * replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
   * const bytes = await replay.serialize();
   *
   * using other = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * await other.unserialize(bytes);
   * const [loaded] = other.selectors;
   * if (loaded) assertEquals(other.getBatch(9, loaded).bytes, replay.getBatch(9, selector).bytes);
   * ```
   */
  serialize(target: SerializeTarget): Promise<void>;
  async serialize(target?: SerializeTarget): Promise<Uint8Array<ArrayBuffer> | void> {
    return await this.#saver.serialize(target);
  }

  /**
   * Puts what was saved in the place of everything that is here, the seed included. The replay must have been created
   * with the same capacity, limits, columns, pick policy, segment length and eviction. Its pick tables and selectors must be the
   * snapshot's first ones, in order and with equal options; they go on as the saved ones, and references to them stay good.
   * Those that it lacks are made, and found in {@linkcode ExperienceReplay.pickTables} and
   * {@linkcode ExperienceReplay.selectors}; a selector written in TypeScript must be there before.
   *
   * @param source The bytes, a path or file URL, or a stream. While a stream is read the replay can't be used.
   * @throws {ReplayError} `snapshot-foreign`, `snapshot-version`, `snapshot-truncated`, `snapshot-corrupt` or
   * `snapshot-mismatch`; `rule` when a user's rule refuses its part; `permission` or `file` when the file cannot be
   * read, with the system's error as `cause`: `Deno.errors.NotFound` where there is none. The replay is then as it was.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, ReplayError } from "@exrp/replay";
   * import { assertInstanceOf, assertRejects, assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const error = await assertRejects(() => replay.unserialize(new Uint8Array(100)));
   * assertInstanceOf(error, ReplayError);
   * assertStrictEquals(error.code, "snapshot-foreign");
   * ```
   */
  async unserialize(source: UnserializeSource): Promise<void> {
    await this.#saver.unserialize(source);
  }

  /**
   * Forgets an episode now, whatever the eviction policy would choose. Cost: O(its records).
   *
   * @returns False when it was gone already.
   * @throws {ReplayError} `episode-unknown` for a handle never given out.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertStrictEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const episode = replay.newEpisode();
   * replay.record(episode, [1], 0, 0, { finalState: [2] });
   * assertStrictEquals(replay.evict(episode), true);
   * assertStrictEquals(replay.recordCount, 0);
   * assertStrictEquals(replay.evict(episode), false);
   * ```
   */
  evict(episode: number): boolean {
    return this.#episodes.evict(episode);
  }

  /**
   * All records of one episode: each column as one typed array of its own memory.
   *
   * @throws {ReplayError} `record-unknown` when the episode was evicted, `episode-unknown` for a handle never given out.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * const episode = replay.newEpisode();
   * replay.record(episode, [0, 1], 7, 0.5);
   * replay.record(episode, [2, 3], 8, 1, { finalState: [4, 5] });
   * const { state, action, finalState, ending } = replay.episodeRecords(episode);
   * assertEquals([...state], [0, 1, 2, 3]);
   * assertEquals([...action], [7, 8]);
   * assertEquals(finalState, Float32Array.of(4, 5));
   * assertEquals(ending, "terminated");
   * ```
   */
  episodeRecords(handle: number): EpisodeRecords<S> {
    return this.#reader.episodeRecords("episodeRecords()", handle) as EpisodeRecords<S>;
  }
}

/** The user's rules of a new replay; where they serve another one, the new replay is freed. */
function userRulesOf(core: ReplayCore): UserRules {
  try {
    return new UserRules(core);
  } catch (error) {
    core.dispose();
    throw error;
  }
}
