/**
 * One table of a set.
 *
 * The file is long because a third of it is the documentation of its methods.
 *
 * @module
 */

import { checkBoolean, checkInteger, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import * as abi from "../ffi/symbols.ts";
import { checkForTable, checkRateLimiter } from "../rate_limiters/checks.ts";
import { kernelNumbers, type RateLimiter } from "../rate_limiters/rate_limiter.ts";
import { checkPriority } from "../reverb/check_item.ts";
import { mutationOf } from "../reverb/priority_changes.ts";
import { toBigInt } from "../wire/keys.ts";
import type { StepData } from "../reverb/structure.ts";
import { newest, oldest } from "../selectors/age_end.ts";
import type { Insertion, NewColumn, NewItem } from "./_inserting.ts";
import { type ColumnData, columnsOf } from "./_item_data.ts";
import type { TableCore, TablesCore } from "./_tables_core.ts";
import { decodeBatch, type TableBatch } from "./table_batch.ts";
import type { ItemsOptions, TableItem } from "./table_item.ts";
import { beginWait, type TableWaitOptions, WAIT_NAMES } from "./_wait.ts";
import {
  type FilledTableOptions,
  onceFrom,
  type QueueOptions,
  type TableOptions,
} from "./table_options.ts";

/** The options of {@linkcode Table.insert}. */
export interface InsertOptions extends TableWaitOptions {
  /** The item's priority, finite and not negative; 1 by default. */
  readonly priority?: number;
  /**
   * A priority of its own for the remover, finite and not negative. The item keeps it when its priority changes. By default it has the same
   * priority for both.
   */
  readonly removerPriority?: number;
}

/** The options of {@linkcode Table.insert} for many steps. */
export interface InsertManyOptions extends TableWaitOptions {
  /** The priority of each item, finite and not negative. There are as many as there are steps. */
  readonly priorities: ArrayLike<number>;
  /** The priority of its own of each item for the remover, as many; by default the items have the same for both. */
  readonly removerPriorities?: ArrayLike<number>;
}

/**
 * The options of {@linkcode Table.getBatch}.
 *
 * @example As many as come within 10 ms
 * ```ts
 * import { Table, Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { jobs: Table.queue(100) } });
 * const jobs = tables.table("jobs");
 * await jobs.insert(1);
 * const batch = await jobs.getBatch(32, { timeoutMs: 10, isPartialAllowed: true });
 * console.log(batch.size); // 1
 * ```
 */
export interface TableGetBatchOptions extends TableWaitOptions {
  /** Whether fewer items may be returned, if at least one came before `timeoutMs` or the `signal` ended the wait; false by default. */
  readonly isPartialAllowed?: boolean;
}

/** The options of {@linkcode Table.setPriority}. */
export interface SetPriorityOptions {
  /**
   * Priorities of their own for the remover, one for each key. By default, an item that has one keeps it, and another one has the same priority
   * for both.
   */
  readonly removerPriorities?: ArrayLike<number>;
}

/** What {@linkcode Table.info} says. */
export interface TableInfo {
  /** Items. */
  readonly size: number;
  /** Bytes of their data as it is stored. Data that several items share counts once. */
  readonly bytes: number;
  /** Items inserted since the last reset. */
  readonly inserts: number;
  /** Items sampled since the last reset. */
  readonly samples: number;
  /** Items deleted since the last reset, by whatever cause. */
  readonly deletes: number;
  /** Items sampled at least once, since the last reset. */
  readonly uniqueSamples: number;
  /** Episodes of the items. Each insert is an episode of its own; a writer says where one ends. */
  readonly episodes: number;
  /** Episodes that no item refers to any more, since the last reset. */
  readonly deletedEpisodes: number;
  /** Items that wait for the rate limiter. */
  readonly insertsWaiting: number;
  /** Calls and streams that wait for samples. */
  readonly samplersWaiting: number;
  /** The largest priority of an item; 0 without any. */
  readonly largestPriority: number;
}

/**
 * A table of items: each with data, a key, a priority, and how often it was sampled. {@linkcode Tables} makes it.
 *
 * Inserts and samples wait for the table's rate limiter. Each wait takes `timeoutMs` and a `signal`. All calls of a set of tables come from one thread.
 *
 * @example
 * ```ts
 * import { Table, Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { jobs: Table.queue(100) } });
 * const jobs: Table<{ name: string }> = tables.table("jobs");
 * await jobs.insert({ name: "first" });
 * console.log([jobs.size, jobs.canSample(1), jobs.canSample(2)]); // [1, true, false]
 * ```
 */
export class Table<D = StepData> {
  readonly #shared: TablesCore;
  readonly #table: TableCore;

  /** Made by {@linkcode Tables}. */
  constructor(core: TablesCore, table: TableCore) {
    this.#shared = core;
    this.#table = table;
  }

  /**
   * The options of a table that gives each item once, the oldest first. Inserts wait while it has `maxSize` items.
   *
   * @param maxSize Items, 1 to 2^28.
   * @throws {RangeError} For a size out of its range.
   * @example
   * ```ts
   * import { Table, Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { jobs: Table.queue(100) } });
   * const jobs = tables.table<{ number: number }>("jobs");
   * await jobs.insert({ number: 1 });
   * await jobs.insert({ number: 2 });
   * const { data } = await jobs.getBatch(2);
   * console.log([...data.number.data]); // [1, 2]
   * console.log(jobs.size); // 0
   * ```
   */
  static queue(maxSize: number, options: QueueOptions = {}): TableOptions {
    return onceFrom("Table.queue()", oldest(), maxSize, options);
  }

  /**
   * The options of a table that gives each item once, the newest first. Inserts wait while it has `maxSize` items.
   *
   * @param maxSize Items, 1 to 2^28.
   * @throws {RangeError} For a size out of its range.
   * @example
   * ```ts
   * import { Table, Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { jobs: Table.stack(100) } });
   * const jobs = tables.table<{ number: number }>("jobs");
   * await jobs.insert({ number: 1 });
   * await jobs.insert({ number: 2 });
   * const { data } = await jobs.getBatch(2);
   * console.log([...data.number.data]); // [2, 1]
   * ```
   */
  static stack(maxSize: number, options: QueueOptions = {}): TableOptions {
    return onceFrom("Table.stack()", newest(), maxSize, options);
  }

  /** Its name. */
  get name(): string {
    return this.#table.name;
  }

  /** Its options, with the defaults filled in. `setRateLimiter` changes the rate limiter here too. */
  get options(): FilledTableOptions {
    return this.#table.options;
  }

  /** Items in the table. */
  get size(): number {
    return this.#info(abi.EXRP_TABLES_INFO_SIZE);
  }

  /** The largest priority of an item; 0 without any. */
  get largestPriority(): number {
    return this.#info(abi.EXRP_TABLES_INFO_PRIORITY_MAX);
  }

  /**
   * Inserts one step as an item, and returns its key. With `priorities`, inserts many steps, each as an item, and returns their keys.
   *
   * A step is nested data, whose leaves are numbers, typed arrays, texts or `tensor()`s. Each leaf is a column. For many steps, each leaf has a
   * first dimension of steps: a typed array has a number for each step, and `tensor(values, { shape: [steps, ...] })` has more.
   *
   * Waits while the rate limiter holds the items back. Many items go in one by one, as the rate limiter lets them.
   *
   * @throws {TypeError} If the data does not fit the signature, or else the first item that was inserted here.
   * @throws {RangeError} If a priority is negative, infinite or NaN.
   * @throws {ReplayError} `timeout`: what was not let in until then is not inserted; the text says how many were. `item-bytes`: the data alone is
   * more than `maxBytes`. `disposed`.
   * @example
   * ```ts
   * import { tensor } from "@exrp/replay/reverb";
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { steps: { maxSize: 100 } } });
   * const steps = tables.table("steps");
   * await steps.insert({ state: Float32Array.of(1, 2), reward: 0.5 }, { priority: 2 });
   * const states = tensor(new Float32Array(6), { shape: [3, 2] });
   * const keys = await steps.insert({ state: states, reward: Float64Array.of(1, 2, 3) }, {
   *   priorities: [1, 1, 4],
   * });
   * console.log([keys.length, steps.size, steps.largestPriority]); // [3, 4, 4]
   * ```
   */
  insert(data: D, options?: InsertOptions): Promise<bigint>;
  /** Inserts many steps, each as an item, as `insert` says. */
  insert(data: StepData, options: InsertManyOptions): Promise<BigUint64Array<ArrayBuffer>>;
  async insert(
    data: unknown,
    options: InsertOptions | InsertManyOptions = {},
  ): Promise<bigint | BigUint64Array<ArrayBuffer>> {
    const where = "insert()";
    if (typeof options === "object" && options !== null && "priorities" in options) {
      checkOptions(where, options, ["priorities", "removerPriorities", ...WAIT_NAMES]);
      return await this.#insertMany(where, data as StepData, options);
    }
    checkOptions(where, options, ["priority", "removerPriority", ...WAIT_NAMES]);
    beginWait(where, options);
    const item = this.#itemOf(where, options);
    const { known } = this.#table;
    const columns = known.inOrder(where, columnsOf(where, data as StepData, "step", [known]));
    known.check(where, columns);
    const items = [{ ...item, columns: rowOf(columns, 0) }];
    await this.#insert(where, { chunks: [columns], items, columns }, options);
    return toBigInt(item.key);
  }

  async #insertMany(
    where: string,
    data: StepData,
    options: InsertManyOptions,
  ): Promise<BigUint64Array<ArrayBuffer>> {
    beginWait(where, options);
    const { priorities, removerPriorities: own } = options;
    const { keys } = this.#core;
    const { known } = this.#table;
    const columns = known.inOrder(where, columnsOf(where, data, "steps", [known]));
    const count = columns[0]?.rows ?? 0;
    for (const { rows } of columns) {
      if (rows !== count) {
        throw new RangeError(`${where}: all columns need as many steps, got ${count} and ${rows}`);
      }
    }
    for (
      const [name, numbers] of Object.entries({ priorities, removerPriorities: own ?? priorities })
    ) {
      if (numbers?.length === count) continue;
      throw new RangeError(
        `${where}: ${name} must have a number for each of ${count} steps, got ${show(numbers)}`,
      );
    }
    if (count === 0) throw new RangeError(`${where} needs at least one step`);
    known.check(where, columns, 1);
    const items = Array.from({ length: count }, (_, k): NewItem => ({
      table: this.#table.number,
      key: keys.next(),
      priority: checkPriority(`${where}: priorities[${k}]`, priorities[k]),
      removerPriority: own &&
        checkPriority(`${where}: removerPriorities[${k}]`, own[k]),
      columns: rowOf(columns, k),
    }));
    await this.#insert(where, { chunks: [columns], items, columns }, options);
    return BigUint64Array.from(items, ({ key }) => toBigInt(key));
  }

  /**
   * Inserts one item whose columns have numbers of steps of their own, and returns its key. Each leaf has a first dimension of steps, but for plain
   * numbers and texts: these come back without one.
   *
   * @throws {TypeError} If the data does not fit the signature, or else the first item that was inserted here.
   * @throws {RangeError} If a priority is negative, infinite or NaN.
   * @throws {ReplayError} `timeout`, `item-bytes` or `disposed`. Then the item is not inserted.
   * @example Sequences of different lengths
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { sequences: { maxSize: 100 } }, seed: 1 });
   * type Sequence = { reward: Float32Array; total: number };
   * const sequences = tables.table<Sequence>("sequences");
   * await sequences.insertTrajectory({ reward: Float32Array.of(1, 2, 3), total: 6 });
   * await sequences.insertTrajectory({ reward: Float32Array.of(4), total: 4 });
   * const { reward, total } = (await sequences.getBatch(4)).data;
   * console.log(total.shape); // [4]
   * const lengths = [...reward.lengths ?? []]; // 3 or 1 for each item
   * console.log(reward.shape); // [8]
   * ```
   */
  async insertTrajectory(data: D, options: InsertOptions = {}): Promise<bigint> {
    const where = "insertTrajectory()";
    checkOptions(where, options, ["priority", "removerPriority", ...WAIT_NAMES]);
    beginWait(where, options);
    const item = this.#itemOf(where, options);
    const { known } = this.#table;
    const columns = known.inOrder(where, columnsOf(where, data as StepData, "trajectory", [known]));
    known.check(where, columns);
    const parts = columns.map(({ path, rows, isSqueezed }, chunk): NewColumn => {
      if (rows > 0) return { chunk, column: 0, offset: 0, length: rows, isSqueezed };
      throw new RangeError(`${where}: ${path.join("/")} needs at least one step`);
    });
    const chunks = columns.map((column) => [column]);
    const items = [{ ...item, columns: parts }];
    await this.#insert(where, { chunks, items, columns }, options);
    return toBigInt(item.key);
  }

  #itemOf(
    where: string,
    { priority = 1, removerPriority }: InsertOptions,
  ): Omit<NewItem, "columns"> {
    checkPriority(`${where}: priority`, priority);
    if (removerPriority !== undefined) checkPriority(`${where}: removerPriority`, removerPriority);
    return { table: this.#table.number, key: this.#core.keys.next(), priority, removerPriority };
  }

  async #insert(
    where: string,
    content: Omit<Insertion, "tables">,
    options: TableWaitOptions,
  ): Promise<void> {
    await this.#core.inserting.insert(where, { ...content, tables: [this.#table] }, options);
  }

  /**
   * Samples items as one batch. The same item may come several times. If the sampler is `withoutReplacement()`, each item comes once in an epoch, and none twice in a
   * batch that is not larger than the table.
   *
   * Waits while the rate limiter holds samples back. They are drawn one by one, as the rate limiter lets them through, and count as sampled. If the wait ends
   * early, also by the `signal`, `isPartialAllowed` gives you what was drawn, if anything was. Otherwise, a table with `maxTimesSampled` keeps it, and the next call gets it first. With
   * `timeoutMs: 0`, nothing is drawn unless all can be.
   *
   * @param count Items, 1 to 2^24.
   * @throws {ReplayError} `timeout`; `samples-differ` if the items have different columns; `disposed`.
   * @example
   * ```ts
   * import { prioritized } from "@exrp/replay";
   * import { Tables } from "@exrp/replay/tables";
   *
   * const sampler = prioritized({ alpha: 1, epsilon: 0 });
   * using tables = await Tables.create({ tables: { steps: { maxSize: 100, sampler } } });
   * const steps = tables.table<{ state: Float32Array }>("steps");
   * await steps.insert({ state: Float32Array.of(1, 2) }, { priority: 1 });
   * await steps.insert({ state: Float32Array.of(3, 4) }, { priority: 0 });
   * const batch = await steps.getBatch(32, { timeoutMs: 1000 });
   * const { state } = batch.data;
   * console.log(state.shape); // [32, 1, 2]: items, steps, the state
   * console.log([...state.data.slice(0, 2)]); // [1, 2]
   * console.log(batch.probability[0]); // 1
   * steps.setPriority(batch.keys.slice(0, 1), [3]);
   * console.log(steps.largestPriority); // 3
   * ```
   */
  async getBatch(count: number, options: TableGetBatchOptions = {}): Promise<TableBatch<D>> {
    const where = "getBatch()";
    checkInteger(`${where}: count`, count, 1, 2 ** 24);
    checkOptions(where, options, ["isPartialAllowed", ...WAIT_NAMES]);
    beginWait(where, options);
    const isPartialAllowed = checkBoolean(
      `${where}: isPartialAllowed`,
      options.isPartialAllowed ?? false,
    );
    const { decoder } = this.#core;
    const { sampling, known } = this.#table;
    const drawn = sampling.sample(where, count, options, isPartialAllowed);
    const message = drawn instanceof Uint8Array ? drawn : await drawn;
    return decodeBatch<D>(decoder, message, known.nest);
  }

  /**
   * Sets priorities of items by their keys. Keys of items that have gone are passed over. All is checked first: a call that throws has
   * changed nothing. An item that has a priority of its own for the remover keeps that, unless `removerPriorities` gives it another one.
   *
   * @param priorities One for each key, finite and not negative.
   * @throws {RangeError} If there is not one priority for each key, or one is negative, infinite or NaN.
   * @throws {ReplayError} `disposed`.
   * @example A remover with priorities of its own
   * ```ts
   * import { highestPriority, lowestPriority } from "@exrp/replay";
   * import { Tables } from "@exrp/replay/tables";
   *
   * const rules = { sampler: highestPriority(), remover: lowestPriority() };
   * using tables = await Tables.create({ tables: { steps: { maxSize: 2, ...rules } } });
   * const steps = tables.table<number>("steps");
   * const keys = [await steps.insert(10), await steps.insert(20)];
   * steps.setPriority(keys, [5, 1], { removerPriorities: [0, 9] });
   * steps.setPriority(keys, [6, 1]); // for the sampler only
   * await steps.insert(30, { priority: 2 }); // 10 goes, although it is drawn first
   * console.log([...(await steps.getBatch(1)).data.data]); // [30]
   * ```
   */
  setPriority(
    keys: ArrayLike<bigint>,
    priorities: ArrayLike<number>,
    options: SetPriorityOptions = {},
  ): void {
    const where = "setPriority()";
    checkOptions(where, options, ["removerPriorities"]);
    const { removerPriorities } = options;
    checkCount(where, "priorities", keys, priorities);
    if (removerPriorities !== undefined) {
      checkCount(where, "removerPriorities", keys, removerPriorities);
    }
    const updates = removerPriorities === undefined
      ? { keys, priorities }
      : { keys, priorities, removerPriorities };
    this.#core.kernelTables.mutate(mutationOf(where, this.name, { updates }));
  }

  /**
   * Deletes items by their keys. Keys of items that have gone are passed over.
   *
   * @throws {ReplayError} `disposed`.
   */
  delete(keys: ArrayLike<bigint>): void {
    this.#core.kernelTables.mutate(
      mutationOf("delete()", this.name, { deletes: Array.from(keys) }),
    );
  }

  /** Removes all items, and sets all counts to 0, those of the rate limiter too. Items that wait may go in now. */
  clear(): void {
    this.#table.known.forget();
    this.#core.kernelTables.reset(this.#table.number);
  }

  /** What the table holds, and what it has counted. */
  info(): TableInfo {
    const info = this.#core.kernelTables.info(this.#table.number);
    const at = (index: number): number => info[index] ?? 0;
    return {
      size: at(abi.EXRP_TABLES_INFO_SIZE),
      bytes: at(abi.EXRP_TABLES_INFO_BYTES),
      inserts: at(abi.EXRP_TABLES_INFO_INSERTS),
      samples: at(abi.EXRP_TABLES_INFO_SAMPLES),
      deletes: at(abi.EXRP_TABLES_INFO_DELETES),
      uniqueSamples: at(abi.EXRP_TABLES_INFO_UNIQUE_SAMPLES),
      episodes: at(abi.EXRP_TABLES_INFO_EPISODES),
      deletedEpisodes: at(abi.EXRP_TABLES_INFO_EPISODES_DELETED),
      insertsWaiting: at(abi.EXRP_TABLES_INFO_INSERTS_WAITING),
      samplersWaiting: at(abi.EXRP_TABLES_INFO_SAMPLERS_WAITING),
      largestPriority: at(abi.EXRP_TABLES_INFO_PRIORITY_MAX),
    };
  }

  /**
   * Lists the items, in no order that means anything. It reads no data of theirs, and counts as no sample.
   *
   * Cost: an object for each item, so ask a large table for some only.
   *
   * @throws {RangeError} A `limit` that is no integer from 1 to 2^32 - 1.
   *
   * @example
   * ```ts
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { steps: { maxSize: 100 } } });
   * const steps = tables.table("steps");
   * const key = await steps.insert(7, { priority: 2 });
   * await steps.getBatch(3);
   * const [item] = steps.items({ limit: 1 });
   * console.log([item?.key === key, item?.priority, item?.timesSampled]); // [true, 2, 3]
   * ```
   */
  items(options: ItemsOptions = {}): TableItem[] {
    const where = "items()";
    checkOptions(where, options, ["limit"]);
    const { limit = this.size } = options;
    if (options.limit !== undefined) checkInteger(`${where}: limit`, limit, 1, 2 ** 32 - 1);
    return this.#core.kernelTables.items(this.#table.number, 0, Math.min(limit, this.size));
  }

  /** Whether the rate limiter lets `count` items in now. */
  canInsert(count = 1): boolean {
    checkInteger("canInsert(): count", count, 1, 2 ** 32 - 1);
    return this.#core.kernelTables.canInsert(this.#table.number, count);
  }

  /**
   * Whether `count` samples can be drawn now: the rate limiter lets them through, and the items suffice, whichever of them are drawn. Then
   * `sample(count, { timeoutMs: 0 })` succeeds; otherwise it draws nothing. Items that wait to be inserted do not count.
   */
  canSample(count = 1): boolean {
    checkInteger("canSample(): count", count, 1, 2 ** 32 - 1);
    return this.#core.kernelTables.canSample(this.#table.number, count);
  }

  /**
   * Gives the table another rate limiter from now on. Counts stay, and what waits and is now allowed goes on.
   *
   * @throws {TypeError} If it is none.
   * @throws {RangeError} If it waits for more items than the table may hold, if its band is so narrow that inserts and samples could deadlock,
   *   or for a `queue()` of more items than a table may hold that gives each item once.
   * @example
   * ```ts
   * import { minSize } from "@exrp/replay";
   * import { Tables } from "@exrp/replay/tables";
   *
   * using tables = await Tables.create({ tables: { steps: { maxSize: 100, rateLimiter: minSize(10) } } });
   * const steps = tables.table("steps");
   * const waiting = steps.getBatch(1);
   * await steps.insert(7);
   * steps.setRateLimiter(minSize(1));
   * console.log((await waiting).size); // 1
   * ```
   */
  setRateLimiter(rateLimiter: RateLimiter): void {
    const where = "setRateLimiter(): rateLimiter";
    checkRateLimiter(where, rateLimiter);
    checkForTable(where, rateLimiter, this.#table.options);
    this.#core.kernelTables.setRateLimiter(this.#table.number, kernelNumbers(rateLimiter.numbers));
    this.#table.options = { ...this.#table.options, rateLimiter };
    this.#shared.noteChange?.();
  }

  /** What the tables share, with the items of writers so far. */
  get #core(): TablesCore {
    this.#shared.outbox.empty();
    return this.#shared;
  }

  #info(index: number): number {
    return this.#core.kernelTables.info(this.#table.number)[index] ?? 0;
  }
}

/** One row of each column of the only chunk. */
function rowOf(columns: readonly ColumnData[], offset: number): NewColumn[] {
  return columns.map((_, column) => ({ chunk: 0, column, offset, length: 1, isSqueezed: false }));
}

function checkCount(
  where: string,
  name: string,
  keys: ArrayLike<bigint>,
  numbers: ArrayLike<number>,
): void {
  if (typeof keys?.length === "number" && numbers?.length === keys.length) return;
  throw new RangeError(
    `${where}: ${name} must have a number for each key, got ${show(keys)} and ${show(numbers)}`,
  );
}
