/**
 * The replay: you do everything through it.
 *
 * The file is long because it has the documentation of every method. The code of a method is one call. `record/` stores steps, and
 * `register/` keeps pick views and selectors. `draw/` makes batches and sets priorities, and `read/` gives records back. `update/` changes
 * them. `snapshot/` saves and loads, and `rules/` runs the rules that you write.
 *
 * @module
 */

import { withOpenAhead } from "../ffi/browser_folder.ts";
import { openKernel } from "../ffi/library.ts";
import { freeForgotten } from "../ffi/open_count.ts";
import type { Column, Columns, NoColumns } from "../schema/columns.ts";
import {
  areLimits,
  checkCreateOptions,
  checkOptionNames,
  type CreateOptions,
  withLimits,
} from "../schema/create_options.ts";
import type { PickOptions } from "../schema/pick_options.ts";
import { columnsOf, type RecordColumns } from "../schema/record_columns.ts";
import type {
  AnySchema,
  NewViewSchema,
  PickSchemaOf,
  Recordable,
  RecordValue,
  Schema,
  SchemaOf,
  ShownOf,
} from "../schema/schema.ts";
import type { NoTransforms, PickTransforms } from "../schema/transform_types.ts";
import type { LeafOption, StateColumns } from "../schema/state.ts";
import type { SelectorRule } from "../selectors/composed_selector.ts";
import { APPEND, type Appended, appendFrom, type Target } from "./append/append.ts";
import { ReplayCore } from "./core.ts";
import type { Batch } from "../schema/batch.ts";
import { type BatchesOptions, streamBatches } from "./draw/batches.ts";
import { checkDurable, type Durability, Durable } from "./durable/durable.ts";
import {
  checkSameConfig,
  isWritten,
  makeFolder,
  readFolder,
  REPLAY_FILE,
  writeFolder,
} from "./durable/folder.ts";
import {
  type DurableSnapshot,
  listSnapshots,
  type MadeSnapshot,
  removeSnapshot,
} from "./durable/snapshots.ts";
import { type Verified, verifyPath } from "./durable/verify.ts";
import {
  checkResident,
  DURABLE_NAMES,
  type DurableReplayOptions,
  READ_ONLY,
  splitOptions,
} from "../storage/durable_options.ts";
import { Drawer, type GetBatchOptions } from "./draw/drawer.ts";
import { PickMinibatches, type PickMinibatchOptions } from "./draw/minibatches.ts";
import { type NumberArray, Priorities } from "./draw/priorities.ts";
import type { Drained } from "./read/drained.ts";
import { DrainedSteps } from "./read/drained_steps.ts";
import { Drainer, type DrainOptions } from "./read/drainer.ts";
import { type Hindsight, Relabeller } from "./read/hindsight.ts";
import {
  checkHindsight,
  type GoalColumn,
  type HindsightOptions,
} from "./read/hindsight_options.ts";
import { allocateRows, type EpisodeRecords, RecordReader } from "./read/records.ts";
import { type EndEpisodeOptions, Episodes, type NewEpisodeOptions } from "./record/episodes.ts";
import { ManyRecorder } from "./record/many_recorder.ts";
import type { BatchSteps, FlatRecorded, FlatSteps, ManySteps } from "./record/many_steps.ts";
import { checkForReplay } from "../rate_limiters/checks.ts";
import type { RateLimiter, RateLimiterState } from "../rate_limiters/rate_limiter.ts";
import { rateLimiterState, ReplayRateLimiter } from "./rate_limiter/rate_limiter.ts";
import {
  waitFor,
  type WaitForOptions,
  type WaitOptions,
  whenReady,
} from "./rate_limiter/waiting.ts";
import { Recorder, type RecordRest, type Step } from "./record/recorder.ts";
import { Row } from "./record/row.ts";
import type { PickView } from "./register/pick_view.ts";
import { Register } from "./register/register.ts";
import type { Selector } from "./register/selector.ts";
import { type UpdateColumns, Updater } from "./update/updater.ts";
import { ReplayView } from "./replay_view.ts";
import type { AttachSchema } from "./share/attach_schema.ts";
import type { ShareTicket } from "./share/share_ticket.ts";
import { Sharing, takeSeat } from "./share/sharing.ts";
import { UserRules } from "./rules/user_rules.ts";
import { ExtraState } from "./snapshot/extra_state.ts";
import { Saver } from "./snapshot/saver.ts";
import type { SerializeTarget, UnserializeSource } from "../storage/io.ts";

/** The parts of a replay, which do its work. */
type Parts = ReturnType<typeof partsOf>;

/** A replay over a core that another part of the library made. */
export let replayOver: (core: ReplayCore) => ExperienceReplay;

/** The parts of a replay that other parts of the library call. */
export let insideOf: (
  replay: ExperienceReplay,
) => Pick<Parts, "register" | "rateLimiter" | "drawer">;

/**
 * A store of experience. It takes one record for each step, and gives you batches of short sequences, which a selector draws. When it
 * is full, it forgets ended episodes whole, and the oldest records of open ones. It grew out of Chen and Wang's experience-replay
 * module.
 *
 * Its type says what is in it: `ExperienceReplay<{ state: Column<"float32", [4]> }>` has states of four floats, the
 * default action and reward, and no extras. `ExperienceReplay` alone is a replay of any schema: every replay fits where you ask for it.
 * You can draw from it, save it and describe it. You can't record into it, as nobody knows what it holds.
 *
 * A call that throws has changed nothing, unless a rule of your own threw in the middle of it. Free a replay with `using` or
 * `[Symbol.dispose]()`. If you forget, it is freed some time after nothing refers to it any more.
 *
 * @example A replay from the first record to a prioritized batch
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 7 });
 * const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
 *
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [0, 0, 0, 0], 1, 1);
 * episode = replay.record(episode, [1, 0, 0, 0], 0, 1, { finalState: [2, 0, 0, 0] });
 *
 * const batch = replay.getBatch(32, selector, { beta: 0.4 });
 * console.log(batch.shape.state); // [32, 1, 4]
 *
 * const errors = new Float32Array(32).fill(0.5);
 * console.log(replay.setPriority(selector, batch, errors)); // 32
 * ```
 */
export class ExperienceReplay<S extends Schema = AnySchema> extends ReplayView<S> {
  /**
   * The columns of a record, by name.
   *
   * @example A function for replays of any schema
   * ```ts
   * import { ExperienceReplay, uint8 } from "@exrp/replay";
   *
   * function stateBytes({ columns: { state }, recordCount }: ExperienceReplay): number {
   *   return recordCount * state.elementCount * state.elementBytes;
   * }
   *
   * using replay = await ExperienceReplay.create({ capacity: 10, state: uint8(84, 84) });
   * console.log(replay.columns.state.shape); // [84, 84]: TypeScript knows the two numbers
   * console.log(stateBytes(replay)); // 0
   * ```
   */
  // It comes first: from the names of the extras in its type, TypeScript learns to compare two replays by what they have.
  get columns(): RecordColumns<S> {
    return this.#columns;
  }

  readonly #columns: RecordColumns<S>;
  readonly #parts: Parts;

  static {
    replayOver = (core) => ExperienceReplay.#of(core, () => {});
    insideOf = (replay) => replay.#parts;
  }

  private constructor(parts: Parts) {
    super(parts);
    this.#columns = columnsOf(parts.core.config) as RecordColumns<S>;
    this.#parts = parts;
  }

  /** The replay of `core`, once `begin` has done its work. If that fails, `core` is freed. */
  static #of<S extends Schema>(
    core: ReplayCore,
    begin: (parts: Parts) => void,
  ): ExperienceReplay<S> {
    try {
      const parts = partsOf(core);
      begin(parts);
      return new ExperienceReplay(parts);
    } catch (error) {
      core.dispose();
      throw error;
    }
  }

  /**
   * Makes an empty replay. The first call also finds and opens the kernel.
   *
   * The columns, limits and rules are fixed from then on; see {@linkcode CreateOptions}.
   *
   * @throws {TypeError} For an unknown option or one of the wrong kind.
   * @throws {RangeError} For a number out of its range.
   * @throws {ReplayError} `capacity` if not even one pick fits. `memory` if memory runs out. `kernel-missing`, `kernel-version` or
   * `permission` if the kernel can't be opened.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, secondChance, uint8 } from "@exrp/replay";
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
   * console.log(replay.capacity); // 1000
   * ```
   */
  static async create<
    const State extends StateColumns,
    Action extends Column = Column<"int32", []>,
    Reward extends Column = Column<"float32", []>,
    Extras extends Columns = NoColumns,
    const Stack extends LeafOption<number> = 1,
    const Compact extends LeafOption<boolean> = false,
    const NStep extends number | readonly number[] = readonly [],
    const Transforms extends PickTransforms = NoTransforms,
  >(
    options: CreateOptions<State, Action, Reward, Extras, Stack, Compact, NStep, Transforms>,
  ): Promise<
    ExperienceReplay<
      SchemaOf<
        State,
        Action,
        Reward,
        Extras,
        PickSchemaOf<Stack, Compact, NStep, ShownOf<State, Action, Reward, Extras, Transforms>>
      >
    >
  > {
    const config = checkCreateOptions(options);
    const where = "ExperienceReplay.create()";
    const rateLimiter = checkForReplay(`${where}: rateLimiter`, options.rateLimiter, config);
    const kernel = await openKernel(options);
    await freeForgotten(kernel);
    return ExperienceReplay.#of(new ReplayCore(kernel, config), (parts) => {
      if (rateLimiter !== undefined) parts.rateLimiter.set(where, rateLimiter);
    });
  }

  /** Opens a folder whose replay has this type. */
  static open<S extends Schema = AnySchema>(
    directory: string | URL,
    options?:
      & DurableReplayOptions
      & Partial<Pick<CreateOptions, "capacity" | "capacityBytes" | "maxAge" | "rateLimiter">>
      & { readonly state?: never },
  ): Promise<ExperienceReplay<S>>;
  /**
   * Opens a durable replay: one that lives in a folder, and outlives the process. What you record, draw and change goes to a log in that
   * folder, in the background. After `await flush()`, all that came before is on the disk, whatever happens to the process or the power.
   *
   * A new folder needs the options of {@linkcode ExperienceReplay.create}. A folder with a replay needs none; if you give them, they are
   * compared, but for `capacity`, `capacityBytes` and `maxAge`. These may be others: the replay has them from then on, and what does not fit goes at once, as
   * if the replay were full. `durability.recovered.evictedCount` says how many records went. You may give them alone, and `rateLimiter`, too: without one, the folder's goes on, and another one begins anew. The replay is then what it was at the last flush, or later: records, priorities, counts and random numbers. After a flush, the next batches are
   * those that would have come. {@linkcode ReplayView.selectors} has the selectors. Open episodes stay open.
   *
   * One replay at a time has a folder open. In a browser it needs a dedicated Worker, and the folder lies in the page's own file system. It takes the library's selectors and eviction policies, not rules
   * of your own. It does not take `unserialize`.
   *
   * @param directory The folder, which is made, with its parents.
   * @param options Those of `create`, and those of {@linkcode DurableReplayOptions}.
   * @throws {TypeError} For a new folder without options, or an unknown option.
   * @throws {ReplayError} `log-taken` if another replay has the folder open. `log-mismatch` if the options differ from the folder's, or another
   * version wrote it. `log-damaged` with the place, if the log is damaged where nothing can be done without it. `disk`, `file` or `permission`
   * if the system refuses the folder. `not-savable` for an eviction policy of your own. What `create` throws, too.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * const directory = await Deno.makeTempDir();
   * {
   *   using replay = await ExperienceReplay.open(directory, { capacity: 1000, state: float32(2) });
   *   replay.newPickSelector(uniform());
   *   replay.record(replay.newEpisode(), [1, 2], 0, 1, { finalState: [3, 4] });
   *   await replay.flush(); // from here on, a crash loses nothing of it
   * }
   * using replay = await ExperienceReplay.open(directory); // in another process, on another day
   * console.log(replay.recordCount); // 1
   * console.log(replay.selectors.length); // 1
   * ```
   */
  static open<
    const State extends StateColumns,
    Action extends Column = Column<"int32", []>,
    Reward extends Column = Column<"float32", []>,
    Extras extends Columns = NoColumns,
    const Stack extends LeafOption<number> = 1,
    const Compact extends LeafOption<boolean> = false,
    const NStep extends number | readonly number[] = readonly [],
    const Transforms extends PickTransforms = NoTransforms,
  >(
    directory: string | URL,
    options:
      & CreateOptions<State, Action, Reward, Extras, Stack, Compact, NStep, Transforms>
      & DurableReplayOptions,
  ): Promise<
    ExperienceReplay<
      SchemaOf<
        State,
        Action,
        Reward,
        Extras,
        PickSchemaOf<Stack, Compact, NStep, ShownOf<State, Action, Reward, Extras, Transforms>>
      >
    >
  >;
  static async open(
    directory: string | URL,
    options: DurableReplayOptions & Partial<CreateOptions> = {},
  ): Promise<object> {
    return await withOpenAhead(
      "ExperienceReplay.open()",
      directory,
      REPLAY_FILE,
      () => ExperienceReplay.#open(directory, options),
    );
  }

  static async #open(
    directory: string | URL,
    options: DurableReplayOptions & Partial<CreateOptions>,
  ): Promise<ExperienceReplay> {
    const where = "ExperienceReplay.open()";
    const [durable, others] = splitOptions(where, options);
    checkOptionNames(where, others, [...DURABLE_NAMES, "resident"]);
    const { kernelPath, kernelCache, backend, resident, rateLimiter: limiter, ...rest } = others;
    const residentBytes = checkResident(where, resident);
    const folder = readFolder(directory);
    const isGiven = Object.keys(rest).length > 0;
    if (folder.config === undefined && !isGiven) {
      throw new TypeError(
        `${where}: there is no replay in ${folder.path}: give the options of a new one, such as { capacity: 100_000, state: float32(4) }`,
      );
    }
    const given = !isGiven
      ? undefined
      : folder.config !== undefined && areLimits(rest)
      ? withLimits(where, folder.config, rest)
      : checkCreateOptions(rest as CreateOptions);
    const { config = given } = folder;
    if (config === undefined) throw new TypeError(`${where}: give the options of the replay`);
    if (given !== undefined && folder.config !== undefined) {
      const hasSeed = rest.seed !== undefined || areLimits(rest);
      checkSameConfig(folder, given, folder.config, hasSeed);
    }
    const rateLimiter = checkForReplay(`${where}: rateLimiter`, limiter, given ?? config);
    const kernel = await openKernel({
      ...(kernelPath === undefined ? {} : { kernelPath }),
      ...(kernelCache === undefined ? {} : { kernelCache }),
      ...(backend === undefined ? {} : { backend }),
    });
    checkDurable(config);
    await freeForgotten(kernel);
    if (folder.config === undefined) makeFolder(folder);
    // The log has the limits that it begins with. They may be more than this machine has memory for.
    const { capacity, capacityBytes, maxAge } = given ?? config;
    const limited = { ...config, capacity, capacityBytes, maxAge };
    const core = new ReplayCore(kernel, limited, undefined, residentBytes);
    const replay = ExperienceReplay.#of(
      core,
      (parts) => parts.durable.open(folder, durable, given),
    );
    try {
      // Only who has the folder open says what is in it.
      if (folder.config === undefined) await writeFolder(folder, core.config);
      replay.#parts.rateLimiter.open(where, rateLimiter);
      if (durable.readsOnly) return replay;
      replay.#parts.durable.begin();
      if (folder.config !== undefined && !isWritten(folder, core.config)) {
        await replay.#parts.durable.flush(where);
        await writeFolder(folder, core.config);
      }
    } catch (error) {
      core.dispose();
      throw error;
    }
    return replay;
  }

  /**
   * Reads all of a durable replay's folder, or of a file that `serialize` wrote, and compares every checksum. It changes nothing, and loads nothing into memory. Another
   * program may have the folder open meanwhile. The snapshots in a folder are folders of their own: verify each.
   *
   * @param path The folder, or the file.
   * @throws {ReplayError} `file`, `disk` or `permission` if it can't be read. `log-mismatch` if a newer library wrote it.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * const folder = await Deno.makeTempDir();
   * {
   *   using replay = await ExperienceReplay.open(folder, { capacity: 100, state: float32(1) });
   *   replay.record(replay.newEpisode(), [1], 0, 1, { finalState: [2] });
   * }
   * console.log((await ExperienceReplay.verify(folder)).isWhole); // true
   *
   * await Deno.truncate(`${folder}/replay.json`, 20);
   * const { damages: [damage] } = await ExperienceReplay.verify(folder);
   * console.log([damage?.file, damage?.cost]); // ["replay.json", "all"]
   * ```
   */
  static async verify(path: string | URL): Promise<Verified> {
    return await verifyPath(path);
  }

  /**
   * The snapshots in the folder of a durable replay, the oldest first: those of {@linkcode ExperienceReplay.snapshot}. The replay may be open or not.
   *
   * @throws {ReplayError} `file` or `permission` if the folder can't be read.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * const folder = await Deno.makeTempDir();
   * using replay = await ExperienceReplay.open(folder, { capacity: 100, state: float32(1) });
   * await replay.snapshot("monday");
   * await replay.snapshot("tuesday");
   * console.log(ExperienceReplay.snapshots(folder).map(({ name }) => name)); // ["monday", "tuesday"]
   * ```
   */
  static snapshots(directory: string | URL): DurableSnapshot[] {
    return listSnapshots("ExperienceReplay.snapshots()", directory);
  }

  /**
   * Removes a snapshot of a durable replay. What other snapshots or the replay share with it stays.
   *
   * @returns False if there is none of this name.
   * @throws {ReplayError} `log-taken` if a replay has the snapshot open. `file` if its folder has a file that the library did not write: then nothing is removed.
   * `permission`, or `file` if the system refuses.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * const folder = await Deno.makeTempDir();
   * using replay = await ExperienceReplay.open(folder, { capacity: 100, state: float32(1) });
   * await replay.snapshot("monday");
   * console.log(await ExperienceReplay.removeSnapshot(folder, "monday")); // true
   * console.log(ExperienceReplay.snapshots(folder)); // []
   * ```
   */
  static async removeSnapshot(directory: string | URL, name: string): Promise<boolean> {
    return await removeSnapshot("ExperienceReplay.removeSnapshot()", directory, name);
  }

  /** Attaches to the replay of a ticket whose type says what the replay holds. */
  static attach<S extends Schema = AnySchema>(
    ticket: ShareTicket<S>,
  ): Promise<ExperienceReplay<S>>;
  /**
   * Gives this thread the replay that another thread shared. All of them use one memory: nothing is copied. What one records, each can
   * draw.
   *
   * The result has the same methods as the replay of `create`. {@linkcode ReplayView.selectors} has the selectors that are there. Only
   * one thread may use an object of this class; each thread attaches for itself. Free it with `using` or `[Symbol.dispose]()`. The last
   * one who leaves frees the memory.
   *
   * A Worker may end at any moment. Its seat is then taken back, and its open episodes end as truncated. The final state is the next state
   * of the last record, where the replay keeps that. Else the last record goes, and its state is the final state. But in Deno,
   * `terminate()` does not end a Worker that never awaits: `endActor` of `@exrp/replay/actors` stops that one too.
   *
   * Each thread has random numbers of its own for what is drawn in TypeScript: `mixture`, `combined`, hindsights and minibatches.
   *
   * @param ticket What {@linkcode ExperienceReplay.share} gave, in a message to this thread.
   * @param schema What you expect of the replay: the columns of `create`, with the same names and defaults. The replay is compared with it,
   * and TypeScript knows the type. A message has no type, so say it here.
   * @throws {TypeError} If `ticket` is not a ticket, or `schema` is not a schema.
   * @throws {ReplayError} `ticket` if nobody can attach by it: it was revoked, the replay is gone, or it is of another kernel or process.
   * `ticket-mismatch` if the replay has another schema. `limit` if 255 seats are taken. `memory`. `kernel-missing`, `kernel-version` or
   * `permission` if the kernel of the ticket can't be opened.
   * @example A second thread, here the same one
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * const selector = replay.newPickSelector(uniform());
   * if (replay.describe().backend.startsWith("native")) {
   *   // In a Worker: onmessage = async ({ data: ticket }) => { … }
   *   const ticket: unknown = structuredClone(replay.share());
   *   using actor = await ExperienceReplay.attach(ticket, { state: float32(2) });
   *   actor.record(actor.newEpisode(), [1, 2], 0, 1, { finalState: [3, 4] });
   *   console.log(replay.getBatch(8, selector).state[0]); // 1
   * }
   * ```
   */
  static attach<
    const State extends StateColumns,
    Action extends Column = Column<"int32", []>,
    Reward extends Column = Column<"float32", []>,
    Extras extends Columns = NoColumns,
    const Stack extends LeafOption<number> = 1,
    const Compact extends LeafOption<boolean> = false,
    const NStep extends number | readonly number[] = readonly [],
    const Transforms extends PickTransforms = NoTransforms,
  >(
    ticket: unknown,
    schema: AttachSchema<State, Action, Reward, Extras, Stack, Compact, NStep, Transforms>,
  ): Promise<
    ExperienceReplay<
      SchemaOf<
        State,
        Action,
        Reward,
        Extras,
        PickSchemaOf<Stack, Compact, NStep, ShownOf<State, Action, Reward, Extras, Transforms>>
      >
    >
  >;
  // deno-lint-ignore require-await -- every error is a rejection
  static async attach(value: unknown, schema?: AttachSchema): Promise<object> {
    const { core, ticket } = takeSeat(value, schema);
    return ExperienceReplay.#of(core, ({ sharing }) => sharing.join(ticket));
  }

  /**
   * Begins an episode.
   *
   * You may give it a `tag`, such as 1 for offline data. A pick view can then have the picks of some tags only: see `where` of
   * {@linkcode PickOptions}. An episode that the replay begins by itself has the tag of the episode before it: after a cut, and after
   * the end of an environment's episode in `recordStep`, `recordBatch` or `recordFlat`. These calls and `recordMany` take a `tag`, too, for
   * the episodes that begin in them.
   *
   * @returns The handle of the episode: a whole number from 0, which no other episode of this replay ever has.
   * @throws {TypeError} For an unknown option or one of the wrong kind.
   * @throws {RangeError} If `tag` is not a whole number from -2^31 to 2^31 - 1.
   * @throws {ReplayError} `disposed` or `busy`. `rule` if your own eviction policy makes no room.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
   * console.log(replay.newEpisode()); // 0
   * console.log(replay.newEpisode()); // 1: many episodes may be open at once
   * console.log(replay.episode(replay.newEpisode({ tag: 7 })).tag); // 7
   * ```
   */
  newEpisode(options?: NewEpisodeOptions): number {
    return this.#parts.episodes.begin(options);
  }

  /**
   * Appends a record to an open episode. If the replay is full, it makes room first: an ended episode goes whole, or an open one loses
   * its oldest records.
   *
   * The values are copied. Give a number for a column without a shape. For any other column, give a plain or typed array of numbers in
   * row-major order. The typed array of the column's dtype is the fastest. With `finalState` the episode ends: as terminated, or as
   * truncated with `truncated: true`.
   *
   * Cost: about 0.1 µs for a small state, without allocation.
   *
   * @returns The handle for the next record. It is a new one if the episode was cut at `segmentLength`, or was evicted while it was open.
   * The record then begins a new episode. An old handle works only once: later records with it throw `episode-ended`.
   * @throws {TypeError} If a value is of another kind than its column, an extra is missing, or an option is unknown.
   * @throws {RangeError} If an array has another length than its column, or an integer does not fit the dtype.
   * @throws {ReplayError} `episode-ended` if the episode has ended, whether it is still stored or not. Also for an open episode that was
   * evicted before more than 4,096 others. `episode-unknown` for a handle that the replay never gave. `rule` if your own eviction policy
   * makes no room.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, new Float32Array([0, 1]), 1, 0.5);
   * episode = replay.record(episode, [2, 3], 0, 0.5, { finalState: [4, 5], truncated: true });
   * const { ending, recordCount } = replay.episode(episode);
   * console.log([ending, recordCount]); // ["truncated", 2]
   * ```
   */
  record(
    episode: number,
    state: RecordValue<S, "state">,
    action: RecordValue<S, "action">,
    reward: RecordValue<S, "reward">,
    ...options: RecordRest<S>
  ): number;
  // No call fits `never`. So TypeScript's errors don't say that a call "would have succeeded against this implementation".
  record(episode: never, state: never, action: never, reward: never, options?: object): number {
    return this.#parts.recorder.record(episode, state, action, reward, options);
  }

  /**
   * Appends n consecutive steps to an open episode in one call. The result is that of n calls of {@linkcode ExperienceReplay.record}:
   * the same handles, picks and evictions. For small states it takes half the time.
   *
   * `steps` has one array for each column, `[n, ...shape]` in row-major order, with n from 1 to 2^24. It is a plain or typed array of
   * numbers. The typed array of the column's dtype is the fastest. With `finalState` the episode ends after the last step. All values
   * are checked before the first step is stored. `tag` is for an episode without a record, and for those that begin in the call.
   *
   * @returns The handle for the next record: that of the episode which got the last step. See {@linkcode ExperienceReplay.record}. Without
   * `segmentLength`, all steps nearly always go to one episode. If you need the handles of all of them,
   * {@linkcode ExperienceReplay.recordFlat} returns them.
   * @throws {TypeError} If values are of another kind than their column, or an option is unknown.
   * @throws {RangeError} If a column has not n steps, or a number does not fit its dtype.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`. `rule` if your own eviction policy makes no room. Steps that were stored
   * before stay, as after single calls.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * const episode = replay.recordMany(replay.newEpisode(), {
   *   state: new Float32Array([0, 1, 2, 3, 4, 5]), // [3, 2]
   *   action: [1, 0, 1],
   *   reward: [0.5, 0.5, 1],
   *   finalState: [6, 7],
   *   tag: 1,
   * });
   * const { ending, recordCount, tag } = replay.episode(episode);
   * console.log([ending, recordCount, tag]); // ["terminated", 3, 1]
   * ```
   */
  recordMany(episode: number, steps: ManySteps<S>): number {
    return this.#parts.manyRecorder.recordMany(episode, steps);
  }

  /**
   * Appends n consecutive steps from flat arrays, with flags that say where an episode ends and the next one begins. Data sets such as
   * those of D4RL come so, and an actor's chunk. The result is that of `record` for each step, and of `newEpisode` after each end. All
   * values are checked before the first step is stored.
   *
   * The first step goes to `episode`: a new one, or the one that the call before returned, so that an actor's chunk goes on where the
   * last chunk stopped. Episodes that begin have the tag of the episode before. Or give a `tag` for all of them, or one for each step: an
   * episode has that of its first step.
   *
   * `steps` has one array for each column, `[n, ...shape]` in row-major order, with n from 1 to 2^24. `terminated` and `truncated` have a
   * flag for each step. If both are set, the episode is terminated. `nextState` is the state that each step led to, and not the first
   * state of the next episode. Only rows of steps that end an episode are read, and the last one, which `drain` gives.
   *
   * Some data sets lack the states after the last steps. Then say `nextStateUnknown: true`. A truncated step gives its state as the final
   * state of its episode, and is not recorded. A terminated step is recorded, and its own state stands in the place of the final state.
   * No learner looks there, because the step's `discount` is 0.
   *
   * An episode without an end at the last step stays open. Go on with it, or end it by {@linkcode ExperienceReplay.endEpisode}.
   *
   * Cost: near that of `recordMany`.
   *
   * @returns The handle for the next step, the handles of all episodes that got records, and the number of records.
   * @throws {TypeError} If values are of another kind than their column, or an option is unknown. Also if `nextState` is missing and a
   * step ends an episode.
   * @throws {RangeError} If a column has not n steps, or a number does not fit its dtype. The error names the step.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`. `rule` if your own eviction policy makes no room. Steps that were stored
   * before stay, as after single calls.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const { episode, episodes } = replay.recordFlat(replay.newEpisode(), {
   *   state: [0, 1, 2, 10, 11, 20],
   *   action: [0, 0, 0, 0, 0, 0],
   *   reward: [0, 0, 1, 0, 0, 0],
   *   terminated: [0, 0, 1, 0, 0, 0],
   *   truncated: [0, 0, 0, 0, 1, 0],
   *   nextState: [1, 2, 3, 11, 12, 21],
   *   tag: [7, 7, 7, 8, 8, 9],
   * });
   * console.log([...episodes]); // [0, 1, 2]
   * console.log([...episodes].map((handle) => replay.episode(handle).tag)); // [7, 8, 9]
   * console.log(replay.episodeRecords(1).finalState); // Float32Array(1) [12]
   * console.log(replay.episode(episode).recordCount); // 1: still open
   * ```
   */
  recordFlat(episode: number, steps: FlatSteps<S>): FlatRecorded {
    return this.#parts.manyRecorder.recordFlat(episode, steps);
  }

  /**
   * Appends one step of each of m parallel environments, in one call. If an environment is done, its episode ends and a new one begins.
   * The result is that of `record` and then `newEpisode`, for one environment after the other.
   *
   * `episodes`, `[m]`, has the handle of each environment's episode. The call writes the handle for the next step into it: that of the
   * new episode if the environment is done, or if its episode was evicted while it was open.
   *
   * `steps` has one array for each column, `[m, ...shape]` in row-major order. `nextState` is the state that the step led to, and not
   * the first state of the next episode. Where an environment is done, its row is the final state. The replay keeps the other rows for
   * {@linkcode ExperienceReplay.drain}, as `keepNextState` of {@linkcode CreateOptions} says. If both `terminated` and `truncated` are
   * set, the episode is terminated.
   *
   * `tag` is one number, or one for each environment. Episodes that begin in the call, or have their first record in it, take it.
   *
   * Cost: 0.06 to 0.1 µs for each environment with a small state, without allocation.
   *
   * @returns How many environments are done.
   * @throws {TypeError} If values are of another kind than their column, or an option is unknown. Also if `nextState` is missing and an
   * environment is done.
   * @throws {RangeError} If a column has not m steps, or a number does not fit its dtype.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`, or `episode-twice` if two environments have the same handle. `rule`
   * if your own eviction policy makes no room. Steps that were stored before stay, and `episodes` has their handles.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * const episodes = Float64Array.from({ length: 3 }, () => replay.newEpisode());
   * const doneCount = replay.recordBatch(episodes, {
   *   state: new Float32Array([0, 0, 1, 1, 2, 2]), // [3, 2]
   *   action: [1, 0, 1],
   *   reward: [1, 1, 1],
   *   nextState: new Float32Array([0, 1, 1, 2, 2, 3]),
   *   terminated: [false, true, false],
   *   tag: [4, 5, 6],
   * });
   * console.log(doneCount); // 1
   * console.log([...episodes]); // [0, 3, 2]
   * console.log(replay.episode(1).ending); // terminated
   * console.log([...episodes].map((handle) => replay.episode(handle).tag)); // [4, 5, 6]
   * ```
   */
  recordBatch(episodes: Float64Array, steps: BatchSteps<S>): number {
    return this.#parts.manyRecorder.recordBatch(episodes, steps);
  }

  /**
   * Appends one step of an environment in the style of Gymnasium. If the environment is done, the episode ends with `nextState` as its
   * final state, and a new one begins.
   *
   * @param step The state that the action was chosen from, the action, the reward, and what `step()` of the environment returned; see
   * {@linkcode Step}.
   * @returns The handle for the next step. After the end of an episode, it is that of the new one. See {@linkcode ExperienceReplay.record}.
   * @throws {TypeError} If a value is of another kind than its column, an extra is missing, or `step` has an unknown part.
   * @throws {RangeError} If an array has another length than its column, or an integer does not fit the dtype. Also when `terminated`
   * or `truncated` is a number other than 0 or 1.
   * @throws {ReplayError} `episode-ended`, `episode-unknown`. `rule` if your own eviction policy makes no room.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * let episode = replay.newEpisode();
   * for (const state of [0, 1]) {
   *   episode = replay.recordStep(episode, {
   *     state: [state],
   *     action: 1,
   *     reward: 1,
   *     terminated: state === 1,
   *     nextState: [state + 1],
   *   });
   * }
   * const { ending, recordCount } = replay.episode(0);
   * console.log([ending, recordCount]); // ["terminated", 2]
   * console.log(episode); // 1: the new episode
   * ```
   */
  recordStep(episode: number, step: Step<S>): number {
    return this.#parts.recorder.recordStep(episode, step);
  }

  /**
   * Ends an open episode without another record, for example because someone reset or closed the environment.
   *
   * @param options `finalState`, the state after its last record, and whether it was `truncated`.
   * @returns False if there was nothing to end. Either the episode was evicted while it was open, or it has no record and is now
   * forgotten. Its handle counts as ended from then on.
   * @throws {TypeError} If the final state is missing or of another kind than the states, or an option is unknown.
   * @throws {RangeError} If the final state has another length, or an integer does not fit the dtype.
   * @throws {ReplayError} `episode-ended` if it has already ended, whether it is still stored or not. `episode-unknown` for a handle that the replay never gave.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, [1], 0, 0);
   * console.log(replay.endEpisode(episode, { finalState: [2], truncated: true })); // true
   * console.log(replay.episode(episode).ending); // truncated
   * console.log(replay.endEpisode(replay.newEpisode(), { finalState: [0] })); // false
   * ```
   */
  endEpisode(episode: number, options: EndEpisodeOptions<S>): boolean {
    return this.#parts.episodes.end(episode, options);
  }

  /**
   * Adds a pick view: another way to draw from the same records, with its own selectors. Stored records are in it at once. No record
   * is stored twice: a view costs 4 bytes for each pick and 4 bytes for each slot.
   *
   * @param options Its pick policy. Options that you leave out have their defaults, and not the values of `pick` of `create`. Only
   * `discount` is then that of `pick`. `length` is at most `segmentLength`.
   * @throws {TypeError} For an unknown option, an option of the wrong kind, or options that exclude each other.
   * @throws {RangeError} For a number out of its range.
   * @throws {ReplayError} `limit` if the replay has 16 views already.
   * @example n-step returns of frame stacks, beside single frames
   * ```ts
   * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: uint8(2), seed: 2 });
   * const view = replay.newPickView({ stack: 3, nStep: 2, discount: 0.5 });
   * const selector = view.newPickSelector(uniform());
   *
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, [1, 1], 0, 8);
   * replay.record(episode, [2, 2], 0, 4, { finalState: [3, 3], truncated: true });
   * replay.evict(replay.newEpisode());
   *
   * const batch = replay.getBatch(1, selector);
   * console.log(batch.shape.state); // [1, 1, 3, 2]
   * const [part] = batch.nStep;
   * console.log([...batch.state]); // [1, 1, 1, 1, 1, 1]: the stack of the first step
   * console.log(part?.reward[0]); // 10: 8 + 0.5 * 4
   * console.log([...part?.nextState ?? []]); // [1, 1, 2, 2, 3, 3]
   * console.log(part?.discount[0]); // 0.25
   * ```
   */
  newPickView<
    const Stack extends LeafOption<number> = 1,
    const Compact extends LeafOption<boolean> = false,
    const NStep extends number | readonly number[] = readonly [],
    const Transforms extends PickTransforms = NoTransforms,
  >(
    options: PickOptions<Stack, Compact, NStep, Transforms>,
  ): PickView<NewViewSchema<S, Stack, Compact, NStep, Transforms>> {
    const view: unknown = this.#parts.register.newPickView(options);
    return view as PickView<NewViewSchema<S, Stack, Compact, NStep, Transforms>>;
  }

  /**
   * Adds a selector, which draws picks by a rule. You can use many selectors on the same records. Each has its own priorities and
   * random numbers. Picks that are already in the view get the initial priority of the rule.
   *
   * @param rule A rule of the library, such as `uniform()`, `prioritized()` or `mixture()`. Or a rule of your own: an object with the
   * methods of {@linkcode PickSelector} or {@linkcode ComposedSelector}.
   * @throws {TypeError} If `rule` is not a rule. Also if it has a selector as a part, and the pick view of that selector differs from
   * the first one in more than `where`.
   * @throws {ReplayError} `limit` if the replay has 64 selectors in the kernel already.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, ucb, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(4) });
   * console.log(replay.newPickSelector(uniform()).id); // 0
   * console.log(replay.newPickSelector(ucb()).id); // 1
   * ```
   */
  newPickSelector(rule: SelectorRule<Batch<S>>): Selector<S> {
    const selector: unknown = this.#parts.register.newPickSelector(rule);
    return selector as Selector<S>;
  }

  /**
   * Draws a batch by the rule of the selector. Most rules draw with replacement, so a pick may come several times.
   *
   * @param size How many picks: 1 to 2^24.
   * @returns A new batch, or the batch that you passed as `into`; see {@linkcode Batch} for its parts. With `into`, or after `using
   * batch = …`, no memory has to be cleared. A large batch then takes a fifth to two thirds less time.
   * @throws {ReplayError} `empty` if there is no pick. `batch-size` if `withoutReplacement` has fewer picks than `size`.
   * `foreign-selector` for a selector of another replay. `rule` if your own selector drew a pick that does not exist. `memory` if there
   * is too little.
   * @throws {RangeError} If `size` is not a whole number in its range, or `into` has another size.
   * @throws {TypeError} If `into` has another schema, or an option is unknown.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(uniform());
   * replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
   * const batch = replay.getBatch(8, selector);
   * // The same memory again:
   * console.log(replay.getBatch(8, selector, { into: batch }) === batch); // true
   * ```
   */
  getBatch<T extends Schema = S>(
    size: number,
    selector: Selector<T>,
    options?: GetBatchOptions<T>,
  ): Batch<T> {
    const batch: unknown = this.#parts.drawer.getBatch(size, selector, options);
    return batch as Batch<T>;
  }

  /**
   * Draws one batch after the other, for `for await`. While you learn from one batch, another thread copies the next one. There is no
   * end: leave the loop with `break`, or use the option `signal`.
   *
   * The next batch is drawn at the moment when you get the one before. Later records and priorities do not change it. So the same seed
   * and the same calls give the same batches, however fast the other thread is. With `prefetch: p`, priorities take effect p batches
   * later than with `getBatch`. By default p is 1.
   *
   * No batch is drawn ahead with `prefetch: 0`, with a selector or an eviction policy in TypeScript, and with a selector made of
   * others.
   *
   * If a core is free, you wait only 10 to 40 µs for a large batch. This pays for batches that take about 50 µs or more. For smaller
   * ones, `getBatch` is faster.
   *
   * @param size How many picks: 1 to 2^24.
   * @throws {ReplayError} Those of `getBatch`, when you await the batch.
   * @throws {RangeError} For a number out of its range.
   * @throws {TypeError} For an unknown option or one of the wrong kind.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(uniform());
   * replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
   * let updates = 0;
   * for await (const batch of replay.batches(32, selector, { prefetch: 2, reuse: true })) {
   *   console.log(batch.state[31]); // 1: learn from it
   *   if (++updates === 5) break;
   * }
   * ```
   */
  batches<T extends Schema = S>(
    size: number,
    selector: Selector<T>,
    options: BatchesOptions = {},
  ): AsyncGenerator<Batch<T>, void, void> {
    const stream: unknown = streamBatches(this.#parts.drawer.source(size, selector), options);
    return stream as AsyncGenerator<Batch<T>, void, void>;
  }

  /**
   * Goes through all picks of a pick view in random order, each once an epoch, batch after batch. Use it where you learn from the same
   * records several times, such as behaviour cloning from a fixed data set.
   *
   * An epoch has the picks that are in the view when it begins. If you record or evict during an epoch, picks that are gone are passed
   * over, and new ones come in the next epoch. Importance weights are 1.
   *
   * Without `seed`, the order follows from the replay's seed and from how many calls came before. Cost: that of `getBatch`, and the
   * search of each pick if the view has changed; 16 bytes a pick during the epoch.
   *
   * @param size How many picks a batch has: 1 to 2^24. The last one of an epoch may have fewer.
   * @throws {RangeError} For a number out of its range.
   * @throws {TypeError} For an unknown option, one of the wrong kind, or a pick view of another replay.
   * @throws {ReplayError} `record-unknown` if a snapshot was loaded during the epoch. `disposed`, `busy` or `memory`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(), seed: 1 });
   * replay.recordMany(replay.newEpisode(), {
   *   state: [0, 1, 2, 3, 4],
   *   action: [0, 0, 0, 0, 0],
   *   reward: [0, 0, 0, 0, 0],
   *   finalState: 5,
   * });
   * const seen: number[] = [];
   * for (const batch of replay.minibatches(2, { reuse: true })) seen.push(...batch.state);
   * console.log(seen.sort()); // [0, 1, 2, 3, 4]
   * ```
   */
  minibatches<T extends Schema = S>(
    size: number,
    options: PickMinibatchOptions<T> = {},
  ): Generator<Batch<T>, void, void> {
    const stream: unknown = this.#parts.minibatches.minibatches(size, options);
    return stream as Generator<Batch<T>, void, void>;
  }

  /** Sets the priorities of the picks of a batch: `[batch]` numbers in the order of its picks. */
  setPriority(selector: Selector, batch: Batch, priority: NumberArray): number;
  /**
   * Sets the priorities of picks: of those of a batch, or of picks by their episode and position.
   *
   * Picks that were evicted in the meantime are skipped. If a pick comes twice, its last priority counts. Arrays of a batch are used as
   * they are, and so is a `Float32Array` or `Float64Array` of priorities. Other arrays are copied first.
   *
   * A selector made of others sets the priorities in each part, for those picks that are in the pick view of the part.
   *
   * @param pickEpisode `[n]`: the handle of each pick's episode, as `batch.pickEpisode` has it.
   * @param pickPosition `[n]`: where in its episode each pick begins, as `batch.pickPosition` has it.
   * @param priority `[n]`: the priority of each pick, finite and 0 or more. n is at most 2^24.
   * @returns How many of the picks are in the view, or in at least one of the views of the parts. A rule that ignores priorities
   * returns the same number.
   * @throws {ReplayError} `invalid-priority` if a priority is NaN, negative or infinite. `episode-unknown` for a handle that the replay
   * never gave. `foreign-selector` for a selector of another replay.
   * @throws {RangeError} If the lengths differ, or a position is negative.
   * @throws {TypeError} If an argument is not an array of numbers.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(prioritized());
   * const episode = replay.newEpisode();
   * replay.record(episode, [1], 0, 0, { finalState: [2] });
   * const batch = replay.getBatch(3, selector);
   * console.log(replay.setPriority(selector, batch, [2.5, 2.5, 2.5])); // 3
   * console.log(replay.setPriority(selector, [episode], [0], [1.5])); // 1
   * replay.evict(episode);
   * console.log(replay.setPriority(selector, [episode], [0], [2.5])); // 0
   * ```
   */
  setPriority(
    selector: Selector,
    pickEpisode: NumberArray,
    pickPosition: NumberArray,
    priority: NumberArray,
  ): number;
  setPriority(selector: never, picks: never, second: never, priority?: NumberArray): number {
    return this.#parts.priorities.set(selector, picks, second, priority);
  }

  /** Reads the priorities of the picks of a batch: `[batch]` numbers in the order of its picks. */
  getPriority(selector: Selector, batch: Batch): Float64Array<ArrayBuffer>;
  /**
   * Reads priorities back: of the picks of a batch, or of picks by their episode and position. It changes nothing.
   *
   * You get the priority that was set last, or the one that the pick began with. `highestPriority` and `lowestPriority` keep it exactly,
   * `rankBased` and `ucb` as float32. `prioritized`, `pser` and `curious` keep only weights, (priority + ε)^α as float32, of which the
   * priority is computed. So priority + ε is exact to one part in 2^24 α, as long as the weight lies in the range of float32. Of `pser`
   * it is the priority that the pick has now, after all decay.
   *
   * Of a rule made of others, you get the priority of the first part that knows it.
   *
   * @param pickEpisode `[n]`: the handle of each pick's episode, as `batch.pickEpisode` has it.
   * @param pickPosition `[n]`: where in its episode each pick begins, as `batch.pickPosition` has it. n is at most 2^24.
   * @returns `[n]`: the priorities. NaN for a pick that is not in the view, as after its eviction. NaN also with `alpha` 0, which keeps
   * no priorities, and with `curious` before a pick's first loss.
   * @throws {TypeError} For a rule that keeps no priorities, such as `uniform`, or one of your own without `getPriority()`. Also if an
   * argument is not an array of numbers.
   * @throws {ReplayError} `episode-unknown` for a handle that the replay never gave. `foreign-selector` for a selector of another replay.
   * @throws {RangeError} If the lengths differ, or a position is negative.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, rankBased } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const selector = replay.newPickSelector(rankBased());
   * const episode = replay.newEpisode();
   * replay.recordMany(episode, { state: [0, 1], action: [0, 0], reward: [0, 0], finalState: 2 });
   * replay.setPriority(selector, [episode], [0], [2.5]);
   * // A new pick begins with 1, and there is no pick at position 2.
   * console.log([...replay.getPriority(selector, [0, 0, 0], [0, 1, 2])]); // [2.5, 1, NaN]
   * ```
   */
  getPriority(
    selector: Selector,
    pickEpisode: NumberArray,
    pickPosition: NumberArray,
  ): Float64Array<ArrayBuffer>;
  getPriority(selector: never, picks: never, second?: NumberArray): Float64Array<ArrayBuffer> {
    return this.#parts.priorities.get(selector, picks, second);
  }

  /** Gives columns of the records of a batch other values: `[batch, rows, ...shape]` of each, as the batch has them. */
  update(batch: Batch, columns: UpdateColumns<S>): number;
  /**
   * Gives columns of stored records other values, such as recurrent states of the newest network (R2D2), values that were searched again
   * (MuZero's Reanalyse, Schrittwieser et al. 2020, appendix H), or other rewards.
   *
   * The records are those that a batch shows, or those that you name by episode and position. Rows of a batch that stand for no record are
   * ignored. Records that were evicted in the meantime are skipped. If a record comes twice, its last values count.
   *
   * Later batches have the new values: a state is also the next state of the record before, stacks have new frames, n-step returns
   * and returns to go new rewards. Priorities stay as they are, and so do final states, which no record has. An extra of {@linkcode every} takes one value for each
   * pick of a batch, and gives it to the row that the batch had. Snapshots have the new values; one that is being written has the old ones.
   *
   * A call that throws has changed nothing. In a shared replay, other threads see all of it or nothing. It waits until their copies of
   * large rows are done.
   *
   * @param episode `[n]`: the handle of each record's episode.
   * @param position `[n]`: the record's position in its episode. n is at most 2^24.
   * @param columns The new values of one or more columns: `[n, ...shape]` of each.
   * @returns How many of the records were there. One that comes twice counts twice.
   * @throws {TypeError} For a column that does not exist or is {@linkcode CreateOptions.frozen}, a value of another kind, a batch of another
   * replay, or states of a batch whose states are stacks or overlap.
   * @throws {RangeError} For another number of values, a value out of its range, or a negative position.
   * @throws {ReplayError} `episode-unknown` for a handle that the replay never gave. `record-unknown` for a position that its episode does not
   * have yet.
   * @example Refreshes what a network said, and corrects a reward
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({
   *   capacity: 100,
   *   state: float32(2),
   *   extras: { value: float32() },
   * });
   * const selector = replay.newPickSelector(uniform());
   * const episode = replay.newEpisode();
   * replay.record(episode, [1, 2], 0, 5, { extras: { value: 0 }, finalState: [3, 4] });
   *
   * const batch = replay.getBatch(1, selector);
   * console.log(replay.update(batch, { extras: { value: [0.75] } })); // 1
   * console.log(replay.update([episode], [0], { reward: [6] })); // 1
   * const after = replay.getBatch(1, selector);
   * console.log(after.extras.value[0], after.reward[0]); // 0.75 6
   * replay.evict(episode);
   * console.log(replay.update(batch, { extras: { value: [1] } })); // 0
   * ```
   */
  update(episode: NumberArray, position: NumberArray, columns: UpdateColumns<S>): number;
  update(records: unknown, second: unknown, columns?: unknown): number {
    return this.#parts.updater.update(records, second, columns);
  }

  /**
   * Makes a {@linkcode Hindsight}, which relabels picks of a batch with goals that the agent achieved (Andrychowicz et al. 2017). So a
   * learner sees goals that are reached, even if the policy did not aim at them.
   *
   * You record each step with two goals: the one that it **achieved**, which holds after the step, and the one that was **desired**.
   * {@linkcode Hindsight} says how new goals are chosen.
   *
   * Each hindsight has its own random numbers, which follow from the replay's seed. Snapshots hold them. A replay that loads a snapshot
   * must make its hindsights in the same order.
   *
   * @throws {TypeError} For an unknown option, an extra that does not exist, or goals of different dtypes or sizes.
   * @throws {RangeError} For a number out of its range.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, int32 } from "@exrp/replay";
   *
   * const extras = { achieved: int32(), desired: int32() };
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), extras });
   * const hindsight = replay.newHindsight({
   *   achieved: "achieved",
   *   desired: "desired",
   *   reward: (achieved, desired) => achieved.map((goal, k) => goal === desired[k] ? 0 : -1),
   * });
   * console.log(hindsight.strategy); // future
   * ```
   */
  newHindsight<const G extends GoalColumn<S>>(
    options: Recordable<S, HindsightOptions<S, G>>,
  ): Hindsight<S> {
    this.#parts.core.checkUsable("newHindsight()");
    const config = checkHindsight(options, this.#parts.core.config);
    const stream = this.#parts.extra.newStream();
    return new Relabeller(this.#parts.core, this.#parts.reader, config, stream) as Hindsight<S>;
  }

  /**
   * Gives the steps that you have not had yet, for on-policy learners. You get each record once in the life of the replay, ordered by
   * episode (oldest first) and time. What you had is forgotten at once, or, with `keep`, as soon as its room is needed.
   *
   * Without options you get all episodes that have ended. With `steps` you get exactly that number of steps, or none. With `minSteps`
   * you get at least that number, or none. Both also take open episodes, up to the newest step whose next state is known. `recordStep`
   * and `recordBatch` give it with the step. So after T calls of `recordBatch` with N environments there are T × N steps.
   *
   * Nothing is lost while the capacity is at least what you record between two drains. `lost` counts the records that were evicted
   * before you got them. Snapshots remember which records you have had. Cost: one copy of the steps' bytes, and O(stored episodes). It
   * is about 1 µs if there are too few steps.
   *
   * @returns Steps in segments of one episode each; see {@linkcode Drained}. `size` is 0 when none, or too few, are ready.
   * @throws {TypeError} For an unknown option, or both `steps` and `minSteps`.
   * @throws {RangeError} For a number that is not from 1 to the capacity.
   * @throws {ReplayError} `disposed`, `busy` or `memory`. If your own eviction policy throws from `removed`, the steps of episodes that
   * are gone by then count as lost.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
   * console.log([...replay.drain().state]); // [1]
   * console.log([...replay.drain().state]); // []
   * ```
   */
  drain(options: DrainOptions = {}): Drained<S> {
    const drained: unknown = this.#parts.drainer.drain(options);
    return drained as Drained<S>;
  }

  /**
   * Waits until the replay has at least so many records, picks or episodes: `await replay.waitFor({ records: 10_000 })`.
   *
   * Give exactly one of four numbers. `records` are stored now, and `recorded` were written since the replay was created, whatever was
   * evicted since. So `recorded: 1 + replay.describe().recordedCount` waits for the next record. `picks` are in the first pick view now, and
   * `episodes` in the replay now. It looks at once, and again after each change, so it takes no time while it waits.
   *
   * A private replay changes only in this thread: something in your program must record while you wait.
   *
   * @returns How many there are: at least as many as you asked for.
   * @throws {TypeError} For an unknown option, or not exactly one of the numbers.
   * @throws {RangeError} For a number that is not whole and 1 or more, and for `records` or `picks` above the capacity.
   * @throws {ReplayError} `timeout` after `timeoutMs`. `disposed` if the replay is disposed, also during the wait. If `signal` aborts, you
   * get the signal's reason.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const stored = replay.waitFor({ records: 2, timeoutMs: 10_000 });
   * let episode = replay.newEpisode();
   * for (let t = 0; t < 3; t++) episode = replay.record(episode, t, 0, 0);
   * console.log(await stored); // 3: there were 3 when the wait ended
   * ```
   */
  async waitFor(options: WaitForOptions): Promise<number> {
    return await waitFor(this.#parts.core, options);
  }

  /**
   * Calls a function as soon as the replay is ready for it, and returns what it returned: `await replay.whenReady(() =>
   * replay.getBatch(256, selector))`.
   *
   * The replay is not ready if the call throws `rate-limiter` or `empty`, or if it is a `drain` that returns no steps. Then it is called again
   * after each change of this replay. Such a call has changed nothing. The function must do nothing but one call of this replay, because
   * whatever else it does happens each time. So call `newEpisode` before. Any other error ends the wait.
   *
   * @param call Calls the replay, and returns at once. It gives no Promise.
   * @throws {TypeError} For an unknown option, or a function that returns a Promise. Also if the call has to wait, and the function called
   * `newEpisode` before it.
   * @throws {ReplayError} `timeout` after `timeoutMs`; its `cause` is the latest error of the call. Also what the call throws. If `signal`
   * aborts, you get the signal's reason.
   * @example A learner that begins before there is anything to learn from
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const selector = replay.newPickSelector(uniform());
   * const first = replay.whenReady(() => replay.getBatch(32, selector), { timeoutMs: 10_000 });
   * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
   * console.log((await first).size); // 32
   * ```
   */
  async whenReady<T>(call: () => T, options: WaitOptions = {}): Promise<T> {
    const isInVain = (result: T): boolean => result instanceof DrainedSteps && result.size === 0;
    return await whenReady(this.#parts.core, call, options, isInVain);
  }

  /**
   * Makes a ticket, by which Workers of this process attach to this replay: `worker.postMessage(replay.share())`. In the Worker,
   * {@linkcode ExperienceReplay.attach} takes it. A ticket is good for any number of Workers, until you revoke it. A replay makes at most
   * 4,096 tickets.
   *
   * From the first ticket on, each call waits for those of other threads. That costs about 20 ns while nobody else calls. An operation of
   * many calls, such as `drain` or `stats`, is whole: no other thread comes in between. A replay that is not shared pays nothing.
   *
   * What runs functions of this thread can't be shared: rules of your own, and `laber`. Neither can a replay of WebAssembly. A shared
   * replay loads no snapshot, so load it before.
   *
   * @throws {ReplayError} `not-sharable` if it can't be shared. `limit` if it made 4,096 tickets, or has more than 512 selectors.
   * `disposed`, `busy` or `memory`.
   * @example See {@linkcode ExperienceReplay.attach}
   * ```ts
   * import { ExperienceReplay, float32, ReplayError } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2), backend: "wasm" });
   * try { replay.share(); } catch (error) { console.log((error as ReplayError).code); } // not-sharable
   * ```
   */
  share(): ShareTicket<S> {
    const ticket: unknown = this.#parts.sharing.share();
    return ticket as ShareTicket<S>;
  }

  /**
   * Makes a ticket worthless. Nobody attaches by it any more, and each call of those who did throws `revoked`, except this object's. Their
   * open episodes end as truncated, as after the end of a Worker. Their seats are free once they have left, or their threads have ended.
   * `endActor` of `@exrp/replay/actors` revokes the ticket of an actor and terminates its Worker. A second call does nothing.
   *
   * @throws {TypeError} If the value is not a ticket.
   * @throws {ReplayError} `ticket` if it is another replay's. `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, ReplayError } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * if (replay.describe().backend.startsWith("native")) {
   *   const ticket = replay.share();
   *   using actor = await ExperienceReplay.attach(ticket);
   *   replay.revoke(ticket);
   *   try { actor.newEpisode(); } catch (error) { console.log((error as ReplayError).code); } // revoked
   * }
   * ```
   */
  revoke(ticket: ShareTicket): void {
    this.#parts.sharing.revoke(ticket);
  }

  /**
   * How many Workers ended without leaving since the last call. Their seats are free again by then, as the kernel takes them back when
   * their threads end. So you need not call this: it tells you that something ended which perhaps should not have.
   *
   * @throws {ReplayError} `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * console.log(replay.reap()); // 0
   * ```
   */
  reap(): number {
    return this.#parts.sharing.reap();
  }

  /**
   * Sets the rate limiter from now on, or takes it away. Its counts begin anew, like those of a new replay that has just got its first `minSize`
   * records, or as many as this one holds. A `queue` begins with the records that `drain` has not returned.
   *
   * @throws {TypeError} If `rateLimiter` is no rate limiter.
   * @throws {RangeError} If the replay is too small for it.
   * @throws {ReplayError} `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, samplesPerInsert } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32() });
   * replay.setRateLimiter(samplesPerInsert(4, { minSize: 100, error: 400 }));
   * console.log(replay.rateLimiter?.ratio); // 4
   * replay.setRateLimiter(undefined);
   * console.log(replay.rateLimiter); // undefined
   * ```
   */
  setRateLimiter(rateLimiter: RateLimiter | undefined): void {
    this.#parts.core.checkUsable("setRateLimiter()");
    checkForReplay("setRateLimiter(): rateLimiter", rateLimiter, this.#parts.core.config);
    this.#parts.rateLimiter.set("setRateLimiter()", rateLimiter);
  }

  /**
   * The rate limiter, its counts, and how many records and picks it allows now; undefined without one.
   *
   * @throws {ReplayError} `disposed` or `busy`.
   * @example A loop that does one or the other
   * ```ts
   * import { ExperienceReplay, float32, samplesPerInsert, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({
   *   capacity: 1000,
   *   state: float32(),
   *   rateLimiter: samplesPerInsert(8, { minSize: 10, error: 32 }),
   * });
   * const selector = replay.newPickSelector(uniform());
   * let episode = replay.newEpisode();
   * for (let t = 0; t < 100; t++) {
   *   if ((replay.rateLimiter?.picksAllowed ?? 0) >= 32) replay.getBatch(32, selector);
   *   else episode = replay.record(episode, t, 0, 0);
   * }
   * console.log([replay.rateLimiter?.recorded, replay.rateLimiter?.drawn]); // [82, 576]: 7 picks a record by now: 8 in the long run
   * ```
   */
  get rateLimiter(): RateLimiterState | undefined {
    this.#parts.core.checkUsable("rateLimiter");
    return rateLimiterState(this.#parts.core, "rateLimiter");
  }

  /** Saves everything that decides the future as bytes. */
  serialize(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Saves everything that decides the future: records, open episodes, picks, the state of the eviction policy, and selectors with their
   * priorities and random numbers. After `unserialize`, the same calls give the same results.
   *
   * @param target Without a target, you get the bytes. With a path or a file URL, a new file is written beside it, and replaces it when
   * it is complete. So nobody ever sees half of a snapshot. This needs permission to write and to read the folder (`--allow-write=DIR
   * --allow-read=DIR`). A process that is killed while it saves leaves a file `<name>.exrp-<tag>.tmp`. A later save of the same name
   * removes it. The new file has the old one's mode, and takes the place of the file behind a link. A stream gets pieces of at most 1 MiB
   * and is closed at the end. You may use the replay meanwhile: the snapshot is of the moment of the call.
   * @throws {ReplayError} `not-savable` if a rule of your own has no `save()`. `permission` or `file` if the file can't be written,
   * with the system's error as `cause`. `busy` while another snapshot of this replay is being written. `disposed`, also if you dispose
   * the replay before all is written.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(uniform());
   * replay.record(replay.newEpisode(), [1], 0, 0, { finalState: [2] });
   * const bytes = await replay.serialize();
   *
   * using other = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * await other.unserialize(bytes);
   * const [loaded] = other.selectors;
   * const [one, two] = [other.getBatch(9, loaded ?? selector), replay.getBatch(9, selector)];
   * console.log(one.bytes.join() === two.bytes.join()); // true
   * ```
   */
  serialize(target: SerializeTarget): Promise<void>;
  async serialize(target?: SerializeTarget): Promise<Uint8Array<ArrayBuffer> | void> {
    return await this.#parts.saver.serialize(target);
  }

  /**
   * Replaces everything in this replay by what was saved, the seed included. You must have created the replay with the same capacity,
   * limits, columns, pick policy, segment length and eviction policy.
   *
   * Its pick views and selectors must be the first ones of the snapshot, in the same order and with equal options. They go on as the
   * saved ones, and your references to them stay valid. Missing ones are made. You find them in {@linkcode ExperienceReplay.pickViews}
   * and {@linkcode ExperienceReplay.selectors}. A selector written in TypeScript must be there before the call.
   *
   * Handles stay valid: save those of your actors too, and go on with them. If your environments begin anew, call
   * {@linkcode ExperienceReplay.newEpisode} for each. The open episodes then stay until their room is needed.
   *
   * @param source The bytes, a path, a file URL, or a stream. You can't use the replay while it reads a stream.
   * @throws {ReplayError} `snapshot-foreign`, `snapshot-version`, `snapshot-truncated`, `snapshot-corrupt` or `snapshot-mismatch`.
   * `rule` if a rule of your own refuses its part. `permission` or `file` if the file can't be read, with the system's error as
   * `cause`, such as `Deno.errors.NotFound`. The replay is then as it was.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * await replay.unserialize(new Uint8Array(100)).catch((error) => console.log(error.code)); // snapshot-foreign
   * ```
   */
  async unserialize(source: UnserializeSource): Promise<void> {
    await this.#parts.saver.unserialize(source);
  }

  /**
   * Waits until everything that was recorded, drawn or changed before is on the disk, for a replay of {@linkcode ExperienceReplay.open}. The
   * program goes on meanwhile. A crash after that loses nothing of it.
   *
   * @throws {ReplayError} `disk` if the disk failed, now or before, with what the system said. `file` if the replay is in memory only.
   * `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.open(await Deno.makeTempDir(), { capacity: 100, state: float32(1) });
   * replay.record(replay.newEpisode(), [1], 0, 1, { finalState: [2] });
   * await replay.flush();
   * console.log(replay.durability?.hasFailed); // false
   * ```
   */
  async flush(): Promise<void> {
    await this.#parts.durable.flush();
  }

  /**
   * What is known of the folder of a durable replay; undefined for one in memory.
   *
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * const folder = await Deno.makeTempDir();
   * const options = { capacity: 100, state: float32(1) } as const;
   * (await ExperienceReplay.open(folder, options))[Symbol.dispose]();
   *
   * using replay = await ExperienceReplay.open(folder, { ...options, flushIntervalMs: 50 });
   * console.log(replay.durability?.recovered?.cutBytes); // 0
   * ```
   */
  get durability(): Durability | undefined {
    this.#parts.core.checkUsable("durability");
    return this.#parts.durable.durability;
  }

  /**
   * Takes the ended episodes of another replay in, as new episodes: from a file that `serialize` wrote, or from a durable replay's folder. They come whole, with
   * tags, extras and ends, as if they were recorded now. Priorities and births stay behind, and so do open episodes. If there is no room, older episodes go.
   *
   * A file or a folder is read in pieces, so it may be larger than memory. A file is checked first: nothing is taken from one that is damaged. Of a folder, what
   * `resident` speaks of takes 16 MiB, and the rest stays in memory meanwhile; nothing in it changes. On a durable replay, await {@linkcode ExperienceReplay.flush} then.
   *
   * @throws {ReplayError} `snapshot-mismatch` if the columns differ. `capacity` if an episode is longer than this replay may hold. What `unserialize` and `open` say of a
   * file or a folder. `rate-limiter` where records have to wait: what came before stays. `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * const file = await Deno.makeTempFile();
   * using monday = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * monday.record(monday.newEpisode(), [1], 0, 1, { finalState: [2] });
   * await monday.serialize(file);
   *
   * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(1) });
   * console.log(await replay.append(file)); // { episodeCount: 1, recordCount: 1, openCount: 0 }
   * ```
   */
  async append(path: string | URL): Promise<Appended> {
    const { core } = this.#parts;
    return await appendFrom(core, this as unknown as Target, path, async (folder) => {
      const source: ExperienceReplay = await ExperienceReplay.open(folder, {
        ...READ_ONLY,
        kernelPath: core.kernel.path,
        resident: 2 ** 24,
      } as DurableReplayOptions);
      return {
        core: source.#parts.core,
        handles: source.episodes().handle,
        episode: (handle) => source.episode(handle),
        array: (k, count) => allocateRows(APPEND, source.#parts.reader.column(k), count),
        copy: (k, place, count, rows) =>
          source.#parts.reader.copyRun(APPEND, k, place, count, rows, 0),
        [Symbol.dispose]: () => source[Symbol.dispose](),
      };
    });
  }

  /**
   * Makes a snapshot of a durable replay as it is now, by name. It is a folder of its own in `snapshots`, in the replay's folder: {@linkcode ExperienceReplay.open} opens it
   * as another replay, today or in a year. Actors and learners go on meanwhile.
   *
   * The files of the log are linked into it. So it costs what was not flushed yet, and some kilobytes; later, it keeps the bytes that the replay itself needs no more. Where
   * the file system has no links, all is copied.
   *
   * @param name Letters, digits, "-", "_" and single dots.
   * @throws {ReplayError} `file` if there is one of this name, or this thread did not open the replay. `disk` if the disk fails, or has too little free space:
   * then nothing was written. `busy` while another one is made. `permission` or `disposed`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.open(await Deno.makeTempDir(), { capacity: 100, state: float32(1) });
   * replay.record(replay.newEpisode(), [1], 0, 1, { finalState: [2] });
   * const { path } = await replay.snapshot("before");
   * replay.clear();
   *
   * using before = await ExperienceReplay.open(path);
   * console.log([before.recordCount, replay.recordCount]); // [1, 0]
   * ```
   */
  async snapshot(name: string): Promise<MadeSnapshot> {
    return await this.#parts.durable.snapshot(name);
  }

  /** Frees the replay. One of {@linkcode ExperienceReplay.open} is flushed before. */
  override [Symbol.dispose](): void {
    this.#parts.durable.end();
    super[Symbol.dispose]();
  }

  /**
   * Forgets an episode now, whatever the eviction policy says. Cost: O(records of the episode).
   *
   * @returns False if it was already gone.
   * @throws {ReplayError} `episode-unknown` for a handle that the replay never gave.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const episode = replay.newEpisode();
   * replay.record(episode, [1], 0, 0, { finalState: [2] });
   * console.log(replay.evict(episode)); // true
   * console.log(replay.recordCount); // 0
   * console.log(replay.evict(episode)); // false
   * ```
   */
  evict(episode: number): boolean {
    return this.#parts.episodes.evict(episode);
  }

  /**
   * Forgets all episodes, as {@linkcode ExperienceReplay.evict} does for each, the oldest first. The replay is then empty.
   *
   * Everything else stays: pick views, selectors, options and counts, the random numbers of each rule, and the largest priority so
   * far, with which new picks begin. Handles never come again. The handle of an episode that was open goes on: the next record with it
   * begins a new episode. Records that you had not drained count as lost. The memory stays with the replay, for its next records.
   *
   * Cost: O(stored records).
   *
   * @throws {ReplayError} `disposed`, `busy` or `memory`. If your own eviction policy throws from `removed`, the episodes are gone.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, 1, 0, 0);
   * replay.clear();
   * console.log([replay.recordCount, replay.episodeCount]); // [0, 0]
   * episode = replay.record(episode, 2, 0, 0); // a new episode
   * console.log(episode); // 1
   * ```
   */
  clear(): void {
    this.#parts.episodes.clear();
  }

  /**
   * Returns all stored records of one episode. Each column is one typed array `[records, ...shape]`, which you own.
   *
   * @throws {ReplayError} `record-unknown` if the episode was evicted. `episode-unknown` for a handle that the replay never gave.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, [0, 1], 7, 0.5);
   * replay.record(episode, [2, 3], 8, 1, { finalState: [4, 5] });
   * const { state, action, finalState, ending } = replay.episodeRecords(episode);
   * console.log([...state]); // [0, 1, 2, 3]
   * console.log([...action]); // [7, 8]
   * console.log(finalState); // Float32Array(2) [4, 5]
   * console.log(ending); // terminated
   * ```
   */
  episodeRecords(handle: number): EpisodeRecords<S> {
    return this.#parts.reader.episodeRecords("episodeRecords()", handle) as EpisodeRecords<S>;
  }
}

/** The parts of the replay of `core`. */
// deno-lint-ignore explicit-function-return-type
function partsOf(core: ReplayCore) {
  const rules = new UserRules(core);
  const register = new Register(core, rules.selectors);
  const row = new Row(core);
  const episodes = new Episodes(core, rules, row);
  const reader = new RecordReader(core);
  const drainer = new Drainer(core, episodes, rules.selectors, reader);
  const drawer = new Drawer(core, register, rules);
  const rateLimiter = new ReplayRateLimiter(core, () => drainer.undrainedCount);
  const extra = new ExtraState(core, drainer, reader, rateLimiter);
  return {
    ...{ core, register, episodes, reader, drainer, drawer, rateLimiter, extra },
    recorder: new Recorder(core, rules, row),
    manyRecorder: new ManyRecorder(core, rules),
    updater: new Updater(core, register),
    minibatches: new PickMinibatches(core, register, drawer),
    priorities: new Priorities(core, register, rules.selectors),
    saver: new Saver(core, rules, register, extra),
    durable: new Durable(core, register, drainer, extra),
    sharing: new Sharing(core, register, drainer),
  };
}
