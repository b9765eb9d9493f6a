/**
 * A set of tables in this process, in memory or durable.
 *
 * The file is long because a third of it is the documentation of its methods.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { numberOf } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { dispose } from "../base/platform.ts";
import { withOpenAhead } from "../ffi/browser_folder.ts";
import { type Kernel, openKernel } from "../ffi/library.ts";
import { freeForgotten } from "../ffi/open_count.ts";
import {
  EXRP_TABLES_STORE_CHUNK_BYTES,
  EXRP_TABLES_STORE_CHUNKS,
  EXRP_TABLES_STORE_MEMORY_BYTES,
} from "../ffi/symbols.ts";
import { checkRemoverPriorities, flatSignature } from "../reverb/check_item.ts";
import { ItemStream } from "../reverb/item_stream.ts";
import type { PatternConfig } from "../reverb/patterns.ts";
import type { StepData } from "../reverb/structure.ts";
import { newStructuredWriter, type StructuredWriter } from "../reverb/structured_writer.ts";
import type { WriterDoor } from "../reverb/item_writer.ts";
import {
  type FlatStep,
  newTrajectoryWriter,
  type TrajectoryWriter,
} from "../reverb/trajectory_writer.ts";
import { newWriter, type Writer } from "../reverb/writer.ts";
import type {
  StructuredWriterOptions,
  TrajectoryWriterOptions,
  WriterOptions,
} from "../reverb/writer_options.ts";
import {
  checkFolderPermitted,
  folderPath,
  makeFolder,
  readDescription,
  writeDescription,
} from "../storage/described_folder.ts";
import { DURABLE_NAMES, type DurableOptions, splitOptions } from "../storage/durable_options.ts";
import type { Mark } from "../storage/folder.ts";
import {
  readFrom,
  type SerializeTarget,
  type UnserializeSource,
  writeTo,
  writeToBytes,
} from "../storage/io.ts";
import { type Key, KeySource, toBigInt } from "../wire/keys.ts";
import { SampleDecoder } from "../reverb/sample_decoder.ts";
import { ChunkEncoder } from "../wire/new_rows.ts";
import { Inserting } from "./_inserting.ts";
import { columnsOf, KnownColumns } from "./_item_data.ts";
import { LocalChannel, Outbox } from "./_local_channel.ts";
import { Sampling } from "./_sampling.ts";
import { type TablesDurability, TablesLog } from "./durable.ts";
import {
  checkSameTables,
  configJson,
  configOf,
  FOLDER,
  type NamedTable,
  type TablesConfig,
} from "./durable_config.ts";
import { type LoadedTables, readTables, writeTables } from "./saving.ts";
import type { TableCore, TablesCore } from "./_tables_core.ts";
import { beginWait, WAIT_NAMES } from "./_wait.ts";
import { KernelTables } from "./kernel_tables.ts";
import { checkTableNames } from "./table_names.ts";
import { Table } from "./table.ts";
import type { InsertIntoOptions, TablesInfo, TablesOptions } from "./tables_options.ts";
import { fillTableOptions, kernelTable } from "./table_options.ts";

/** The options of {@linkcode Tables.create}. */
const NAMES = ["tables", "seed", "backend", "kernelPath", "kernelCache"];

function randomSeed(): number {
  return Math.floor(Math.random() * 2 ** 53);
}

/** Checks the options of all tables, and fills the defaults in. */
function checkTables(
  where: string,
  tables: TablesOptions["tables"],
  isNew: boolean,
): readonly NamedTable[] {
  if (typeof tables !== "object" || tables === null) {
    throw new TypeError(
      `${where}: tables must be an object of tables by name, got ${show(tables)}`,
    );
  }
  const filled = Object.entries(tables).map(([name, table]) => ({
    name,
    options: fillTableOptions(`${where}: tables.${name}`, table, isNew),
  }));
  checkTableNames("tables", filled.map(({ name }) => name));
  return filled;
}

/** The same tables in the kernel: messages in, messages out. Servers use them. */
export let kernelTablesOf: (tables: Tables) => KernelTables;

/** Makes tables as a checkpoint has them: a rate limiter is taken as it is, even if inserts and samples deadlock unless a client deletes items. */
export let restoreTables: (options: TablesOptions) => Promise<Tables>;

/** The pieces of a snapshot with the mark of a checkpoint. */
export let writeCheckpoint: (
  tables: Tables,
  mark: Mark,
) => Generator<Uint8Array<ArrayBuffer>>;

/**
 * Fills an empty set of the same tables, which then takes the place of what there is. Where `fill` throws, the tables are as they were.
 *
 * @throws {ReplayError} `busy` while a writer, a client's call or a call that waits is open, or while a snapshot is being written. `disposed`.
 */
export let replaceContents: (
  tables: Tables,
  operation: string,
  fill: (fresh: KernelTables) => void | Promise<void>,
) => Promise<void>;

/**
 * Tables of items that are inserted, sampled and removed by rules, as those of DeepMind's Reverb, in this process and without a server.
 *
 * A {@linkcode Table} has a sampler and a remover, each any selector that runs in the kernel, and a rate limiter. Items share their data: an item in
 * two tables is stored once. `serve()` of `@exrp/replay/server` offers the same tables to Reverb's clients.
 *
 * @example
 * ```ts
 * import { oldest, prioritized, samplesPerInsert } from "@exrp/replay";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({
 *   tables: {
 *     replay: {
 *       sampler: prioritized({ alpha: 0.8 }),
 *       remover: oldest(),
 *       maxSize: 100_000,
 *       rateLimiter: samplesPerInsert(8, { minSize: 2, error: 64 }),
 *     },
 *   },
 *   seed: 1,
 * });
 * const replay = tables.table<{ state: Float32Array; action: number }>("replay");
 * await replay.insert({ state: Float32Array.of(0, 1), action: 3 }, { priority: 1 });
 * await replay.insert({ state: Float32Array.of(1, 0), action: 2 }, { priority: 2 });
 *
 * const { data, keys } = await replay.getBatch(16, { timeoutMs: 1000 });
 * console.log(data.state.shape); // [16, 1, 2]
 * console.log(data.action.shape); // [16, 1]
 * replay.setPriority(keys, new Float64Array(16).fill(0.5));
 * ```
 */
export class Tables implements Disposable {
  readonly #shared: TablesCore;
  readonly #tables = new Map<string, TableCore>();
  #log: TablesLog | undefined;
  #isDisposed = false;

  private constructor(core: TablesCore, tables: readonly TableCore[]) {
    this.#shared = core;
    for (const table of tables) this.#tables.set(table.name, table);
  }

  static {
    kernelTablesOf = (tables) => tables.#core.kernelTables;
    restoreTables = (options) => Tables.#create(options, false);
    writeCheckpoint = (tables, mark) =>
      writeTables(tables.#core.kernelTables, [...tables.#tables.values()], mark);
    replaceContents = async (tables, operation, fill) => {
      tables.#checkQuiet(operation);
      const fresh = tables.#core.kernelTables.fresh();
      try {
        await fill(fresh);
        tables.#adopt(operation, { kernelTables: fresh, columns: new Map() });
      } catch (error) {
        fresh[dispose]();
        throw error;
      }
    };
  }

  /**
   * Makes tables.
   *
   * @throws {TypeError} For an option that is unknown or of the wrong kind.
   * @throws {RangeError} For a number out of its range, no table, or a rate limiter that is none for its table, as {@linkcode Table.setRateLimiter} says.
   * @throws {ReplayError} `kernel-missing`, `memory` or `limit`.
   */
  static create(options: TablesOptions): Promise<Tables> {
    return Tables.#create(options, true);
  }

  /**
   * Opens durable tables: they live in a folder, and outlive the process. What you insert, sample and change goes to a log in that folder, in the background.
   * After `await tables.flush()`, all of it is on the disk. Opened again, the tables go on as they would have.
   *
   * What waits for a rate limiter is not in the log until it is let in, and neither are streams of clients.
   *
   * @param directory The folder. It is made if it is not there.
   * @param options Those of {@linkcode Tables.create}, and {@linkcode DurableOptions}. For a folder that has tables you may leave `tables` and `seed` out; if you
   * give them, they must be the same.
   * @throws {TypeError} As `create`; also for a new folder without `tables`.
   * @throws {RangeError} As `create`.
   * @throws {ReplayError} `log-taken`, if somebody has the folder open; `log-mismatch`, if it has other tables, and which option differs; `log-damaged`; `disk`;
   * `file`, in a browser outside of a dedicated Worker; `permission`, or as `create`.
   * @example
   * ```ts
   * import { prioritized } from "@exrp/replay";
   * import { Tables } from "@exrp/replay/tables";
   *
   * const directory = await Deno.makeTempDir();
   * {
   *   using tables = await Tables.open(directory, { tables: { steps: { sampler: prioritized(), maxSize: 1000 } } });
   *   await tables.insert({ reward: 7 }, { steps: 1 });
   *   await tables.flush();
   * }
   *
   * using tables = await Tables.open(directory); // in another process, on another day
   * const { data } = await tables.table<{ reward: number }>("steps").getBatch(1);
   * console.log([...data.reward.data]); // [7]
   * ```
   */
  static async open(
    directory: string | URL,
    options: Partial<TablesOptions> & DurableOptions = {},
  ): Promise<Tables> {
    return await withOpenAhead(
      FOLDER.operation,
      directory,
      FOLDER.name,
      () => Tables.#open(directory, options),
    );
  }

  static async #open(
    directory: string | URL,
    options: Partial<TablesOptions> & DurableOptions,
  ): Promise<Tables> {
    const where = FOLDER.operation;
    checkOptions(where, options, [...NAMES, ...DURABLE_NAMES]);
    const [durable, rest] = splitOptions<Partial<TablesOptions>>(where, options);
    const { tables, seed, ...place } = rest;
    const path = folderPath(FOLDER, directory);
    checkFolderPermitted(FOLDER, path);
    const { config: json, repairedByte } = readDescription(FOLDER, path) ?? {};
    if (json === undefined && tables === undefined) {
      throw new TypeError(
        `${where}: there are no tables in ${path}: give the options of new ones, such as { tables: { replay: { maxSize: 100_000 } } }`,
      );
    }
    const given = tables === undefined ? undefined : checkTables(where, tables, true);
    if (seed !== undefined) checkInteger(`${where}: seed`, seed, 0, 2 ** 53);
    const config = json === undefined
      ? { tables: given ?? [], seed: seed ?? randomSeed() }
      : configOf(json);
    if (json !== undefined) checkSameTables(path, given ?? config.tables, seed, config);
    const kernel = await openKernel(place);
    if (json === undefined) makeFolder(FOLDER, path);
    const made = await Tables.#of(kernel, config);
    try {
      const log = new TablesLog(
        made.#shared.kernelTables,
        [...made.#tables.values()],
        path,
        json === undefined,
        repairedByte !== undefined,
        durable,
      );
      // Only who has the folder open says what is in it.
      if (json === undefined || repairedByte !== undefined) {
        await writeDescription(FOLDER, path, json as object | undefined ?? configJson(config));
      }
      log.begin();
      made.#log = log;
      made.#shared.noteChange = () => log.note();
    } catch (error) {
      made.#shared.kernelTables[dispose]();
      throw error;
    }
    return made;
  }

  static async #create(options: TablesOptions, isNew: boolean): Promise<Tables> {
    const where = "Tables.create()";
    checkOptions(where, options, NAMES);
    const { tables, seed = randomSeed(), ...place } = options;
    checkInteger(`${where}: seed`, seed, 0, 2 ** 53);
    const filled = checkTables(where, tables, isNew);
    return await Tables.#of(await openKernel(place), { tables: filled, seed });
  }

  static async #of(kernel: Kernel, { tables, seed }: TablesConfig): Promise<Tables> {
    await freeForgotten(kernel);
    const kernelTables = KernelTables.create(
      kernel,
      tables.map(({ name, options }) => kernelTable(name, options)),
      seed,
    );
    const keys = new KeySource();
    const core: TablesCore = {
      kernelTables,
      encoder: new ChunkEncoder(kernel),
      decoder: new SampleDecoder(kernel),
      keys,
      inserting: new Inserting(kernelTables, keys),
      outbox: new Outbox(),
    };
    return new Tables(
      core,
      tables.map(({ name, options }, number) => ({
        name,
        number,
        options,
        sampling: new Sampling(kernelTables, number),
        known: new KnownColumns(options.signature),
      })),
    );
  }

  /**
   * Returns once all that was done before is on the disk: it survives a crash of this process, of the system, and of its power.
   *
   * @throws {ReplayError} `disk`, if the disk is full or has failed, with what the system said; `file`, if the tables are in memory only; `disposed`.
   * @example
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * const directory = await Deno.makeTempDir();
   * using tables = await Tables.open(directory, { tables: { steps: { maxSize: 1000 } } });
   * await tables.insert({ reward: 7 }, { steps: 1 });
   * await tables.flush();
   * console.log((tables.durability?.writtenBytes ?? 0) > 0); // true
   * ```
   */
  async flush(): Promise<void> {
    const { kernelTables } = this.#core;
    if (kernelTables.isDisposed) {
      throw new ReplayError("disposed", "flush(): the tables are disposed");
    }
    if (this.#log === undefined) {
      throw new ReplayError(
        "file",
        "flush(): these tables are in memory only; make them by Tables.open(directory, options)",
      );
    }
    await this.#log.flush();
  }

  /**
   * What is known of the folder of durable tables; undefined for tables in memory.
   *
   * @example
   * ```ts
   * import { type TablesDurability, Tables } from "@exrp/replay/tables";
   *
   * const directory = await Deno.makeTempDir();
   * (await Tables.open(directory, { tables: { steps: { maxSize: 9 } } }))[Symbol.dispose]();
   * using tables = await Tables.open(directory, { flushIntervalMs: 100, segmentBytes: 2 ** 24 });
   * const known: TablesDurability | undefined = tables.durability;
   * console.log(known?.recovered); // { cutBytes: 0, repairedCount: 0, lostItemCount: 0, damage: undefined }
   * console.log([known?.directory === directory, known?.hasFailed]); // [true, false]
   * ```
   */
  get durability(): TablesDurability | undefined {
    return this.#log?.durability;
  }

  /** The names of the tables. */
  get names(): string[] {
    return [...this.#tables.keys()];
  }

  /**
   * A table by its name. The type parameter is that of your data, so that TypeScript knows the columns of its batches.
   *
   * @throws {ReplayError} `table-unknown`.
   */
  table<D = StepData>(name: string): Table<D> {
    return new Table<D>(this.#core, this.#find(name));
  }

  #find(name: string): TableCore {
    const table = this.#tables.get(name);
    if (table !== undefined) return table;
    this.#core.kernelTables.numberOf(name); // throws
    throw new ReplayError("table-unknown", `there is no table ${show(name)}`);
  }

  /**
   * Inserts one step into several tables, each with a priority of its own, and returns the keys of the items by table. The data is stored once.
   *
   * @throws {TypeError} If the data does not fit a table, or there is a priority for the remover of another table.
   * @throws {RangeError} If a priority is negative, infinite or NaN.
   * @throws {ReplayError} `table-unknown`, `timeout`, `item-bytes` or `disposed`. After a `timeout`, some tables may have their item; the text says how
   * many do.
   * @example
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { all: { maxSize: 100 }, latest: { maxSize: 2 } } });
   * for (let k = 0; k < 4; k++) {
   *   await tables.insert({ reward: k }, { all: 1, latest: 1 }, { removerPriorities: { all: k } });
   * }
   * console.log([tables.table("all").size, tables.table("latest").size]); // [4, 2]
   * console.log(tables.info().chunks); // 4
   * ```
   */
  async insert(
    data: StepData,
    priorities: Readonly<Record<string, number>>,
    options: InsertIntoOptions = {},
  ): Promise<Record<string, bigint>> {
    const where = "insert()";
    checkOptions(where, options, ["removerPriorities", ...WAIT_NAMES]);
    const own = options.removerPriorities;
    if (own !== undefined) checkRemoverPriorities(where, own, priorities);
    beginWait(where, options);
    const { keys, inserting } = this.#core;
    const places = Object.entries(priorities).map(([name, priority]) => ({
      table: this.#find(name),
      priority: checkNumber(`${where}: the priority for table ${show(name)}`, priority, 0),
    }));
    if (places.length === 0) {
      throw new TypeError(`${where} needs a priority for at least one table`);
    }
    const columns = columnsOf(where, data, "step", places.map(({ table }) => table.known));
    const orders = places.map(({ table }) => {
      const ordered = table.known.inOrder(where, columns);
      table.known.check(where, ordered);
      return ordered.map((column) => columns.indexOf(column));
    });
    const items = places.map(({ table, priority }, k) => ({
      table: table.number,
      key: keys.next(),
      priority,
      removerPriority: own?.[table.name],
      columns: (orders[k] ?? []).map((column) => ({
        chunk: 0,
        column,
        offset: 0,
        length: 1,
        isSqueezed: false,
      })),
    }));
    const tables = places.map(({ table }) => table);
    await inserting.insert(where, { chunks: [columns], items, tables, columns }, options);
    const made = (k: number): Key => items[k]?.key ?? { low: 0, high: 0 };
    return Object.fromEntries(places.map(({ table }, k) => [table.name, toBigInt(made(k))]));
  }

  /** A writer of items that are the latest steps: the `Writer` of `@exrp/replay/reverb`, without a server. */
  writer(options: WriterOptions): Writer {
    return newWriter(this.#door(), options);
  }

  /**
   * A writer of items whose columns are any parts of the latest steps: the `TrajectoryWriter` of `@exrp/replay/reverb`, without a server. Steps that
   * several items share are stored once.
   *
   * @example
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { pairs: { maxSize: 100 } } });
   * await using writer = tables.trajectoryWriter<{ state: Float32Array }>({ numKeepAliveRefs: 2 });
   * for (let k = 0; k < 5; k++) {
   *   writer.append({ state: Float32Array.of(k) });
   *   if (k > 0) await writer.createItem("pairs", 1, { states: writer.history.state.slice(-2) });
   * }
   * await writer.flush();
   * const { columns } = await tables.table("pairs").getBatch(8);
   * console.log(columns.map(({ shape }) => shape)); // [[8, 2, 1]]
   * ```
   */
  trajectoryWriter<D = FlatStep>(options: TrajectoryWriterOptions): TrajectoryWriter<D> {
    return newTrajectoryWriter<D>(this.#door(), options);
  }

  /** A writer that makes items by patterns and conditions: the `StructuredWriter` of `@exrp/replay/reverb`, without a server. */
  structuredWriter(
    configs: readonly PatternConfig[],
    options: StructuredWriterOptions = {},
  ): StructuredWriter {
    return newStructuredWriter(this.#door(), configs, options);
  }

  /** What the tables share, with the items of writers so far. */
  get #core(): TablesCore {
    this.#shared.outbox.empty();
    return this.#shared;
  }

  #door(): WriterDoor {
    const { kernelTables, encoder, outbox } = this.#core;
    const signatures = new Map(
      [...this.#tables].map(([name, { options }]) => [
        name,
        options.signature && flatSignature(options.signature),
      ]),
    );
    const stream = new ItemStream(new LocalChannel(kernelTables), outbox.add);
    const note: WriterDoor["note"] = (where, table, columns) => {
      this.#tables.get(table)?.known.note(where, columns);
    };
    return { stream, encoder, signatures, note };
  }

  /** What the whole set holds. */
  info(): TablesInfo {
    const info = this.#core.kernelTables.storeInfo();
    return {
      chunks: info[EXRP_TABLES_STORE_CHUNKS] ?? 0,
      chunkBytes: info[EXRP_TABLES_STORE_CHUNK_BYTES] ?? 0,
      memoryBytes: info[EXRP_TABLES_STORE_MEMORY_BYTES] ?? 0,
    };
  }

  /**
   * Writes all tables as one snapshot of this moment, and returns it as bytes. You may use the tables while a file or a stream is written: the snapshot
   * does not change.
   *
   * A snapshot has the items with their keys, priorities and counts, what the selectors and rate limiters know, and the random numbers. It has no
   * calls that wait.
   *
   * @throws {ReplayError} `busy` while another snapshot of these tables is being written; `memory`; `disposed`.
   */
  serialize(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Writes all tables as one snapshot of this moment.
   *
   * @param target A path or file URL: the file is replaced once everything is on the disk. Or a stream, which gets pieces of at most 1 MiB and is
   * closed at the end.
   * @throws {ReplayError} `busy` while another snapshot of these tables is being written; `memory`; `disposed`. `permission` or `file` if the file
   * can't be written, with the system's error as `cause`: the old file is as it was.
   * @example
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * const path = await Deno.makeTempFile();
   * const options = { tables: { steps: { maxSize: 100 } }, seed: 1 };
   * using tables = await Tables.create(options);
   * await tables.insert({ reward: 7 }, { steps: 1 });
   * await tables.serialize(path);
   *
   * using copy = await Tables.create(options);
   * await copy.unserialize(path);
   * const { data } = await copy.table<{ reward: number }>("steps").getBatch(1);
   * console.log([...data.reward.data]); // [7]
   * await Deno.remove(path);
   * ```
   */
  serialize(target: SerializeTarget): Promise<void>;
  async serialize(target?: SerializeTarget): Promise<Uint8Array<ArrayBuffer> | void> {
    const { kernelTables } = this.#core;
    const pieces = writeTables(kernelTables, [...this.#tables.values()]);
    if (target === undefined) return writeToBytes({ pieces });
    await writeTo(target, { pieces });
  }

  /**
   * Replaces all items by those of a snapshot. Everything goes on as in the tables that were saved: the next draws are the same.
   *
   * These tables must have all tables of the snapshot by name, with the same sampler, remover and signature. Tables that the snapshot lacks are empty
   * afterwards. Limits and rate limiters stay as they are here, and may differ from those that were saved, if the items have room.
   *
   * @param source The bytes, a path, a file URL, or a stream, which is read to its end.
   * @throws {ReplayError} `snapshot-foreign`, `snapshot-version`, `snapshot-truncated`, `snapshot-corrupt` or `snapshot-mismatch`. `busy` while a
   * writer, a client's call or a call that waits is open, or while a snapshot is being written. `permission` or `file` if the file can't be read;
   * `memory`; `disposed`. The tables are then as they were.
   * @example
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * using small = await Tables.create({ tables: { steps: { maxSize: 1 } } });
   * using large = await Tables.create({ tables: { steps: { maxSize: 9 }, more: { maxSize: 9 } } });
   * await small.insert(5, { steps: 1 });
   * await large.unserialize(await small.serialize());
   * console.log([large.table("steps").size, large.table("more").size]); // [1, 0]
   *
   * await large.insert(6, { steps: 1 });
   * const bytes = await large.serialize();
   * await small.unserialize(bytes).catch((error) => console.log(error.code)); // snapshot-mismatch
   * console.log(small.table("steps").size); // 1
   * ```
   */
  async unserialize(source: UnserializeSource): Promise<void> {
    const operation = "unserialize()";
    this.#checkQuiet(operation);
    const reading = readFrom(
      source,
      readTables(this.#core.kernelTables, [...this.#tables.values()]),
    );
    const loaded = reading instanceof Promise ? await reading : reading;
    try {
      this.#adopt(operation, loaded);
    } catch (error) {
      loaded.kernelTables[dispose]();
      throw error;
    }
  }

  /** Throws unless nobody would lose tables that take the place of these. */
  #checkQuiet(operation: string): void {
    const { kernelTables } = this.#core;
    if (kernelTables.isDisposed) {
      throw new ReplayError("disposed", `${operation}: the tables are disposed`);
    }
    if (this.#log !== undefined) {
      throw new ReplayError(
        "busy",
        `${operation}: durable tables have their own folder, and take no snapshot; load the snapshot into tables of create()`,
      );
    }
    if (kernelTables.isSaving) {
      throw new ReplayError("busy", `${operation}: a snapshot of these tables is being written`);
    }
    const open = kernelTables.toldCount;
    if (open === 0) return;
    throw new ReplayError(
      "busy",
      `${operation}: ${
        numberOf(open, "stream")
      } of writers, clients or calls that wait must be closed first`,
    );
  }

  /** Puts loaded tables in the place of what there is. */
  #adopt(operation: string, { kernelTables: loaded, columns }: LoadedTables): void {
    this.#checkQuiet(operation);
    this.#core.kernelTables.takeOver(loaded);
    for (const { name, known } of this.#tables.values()) known.load(columns.get(name));
  }

  /** Frees the tables. Calls that wait end with the error `disposed`. A second call does nothing. */
  [dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    const { kernelTables } = this.#core;
    this.#log?.end();
    kernelTables[dispose]();
  }
}
