/**
 * Writes items whose columns are any parts of the latest steps.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { showPath, type StepPath } from "./path.ts";
import { type Place, type PlacedColumn, Steps } from "./_steps.ts";
import { dtypeOfName } from "./dtypes.ts";
import { ColumnHistory, isPartOfList, newColumnHistory, TrajectoryColumn } from "./history.ts";
import { ItemWriter, type WriterDoor } from "./item_writer.ts";
import { eachLeaf, type StepLeaf, type StepNest } from "./structure.ts";
import type {
  ColumnOptions,
  CreateItemOptions,
  TrajectoryWriterOptions,
  WriterEndOptions,
} from "./writer_options.ts";

/** Steps of a {@linkcode TrajectoryWriter} without parts: a value for each name. */
export type FlatStep = Readonly<Record<string, StepLeaf | null | undefined>>;

/** The history of each column, in the structure of the steps: a {@linkcode ColumnHistory} for each. */
export type HistoryOf<D> = D extends StepLeaf ? ColumnHistory
  : D extends readonly (infer E)[] ? readonly HistoryOf<NonNullable<E>>[]
  : { readonly [K in keyof D]-?: HistoryOf<NonNullable<D[K]>> };

const OPTIONS = [
  "numKeepAliveRefs",
  "validateItems",
  "chunkLength",
  "deltaEncoded",
  "maxPendingItems",
  "reconnectMs",
];

/** Makes a writer. */
export let newTrajectoryWriter: <D>(
  door: WriterDoor,
  options: TrajectoryWriterOptions,
) => TrajectoryWriter<D>;

/**
 * Writes items whose columns are any parts of the latest steps: `client.trajectoryWriter()` makes one.
 *
 * `append` takes a step, as nested data. Each leaf is a value of one column. `history` has the latest steps of each column. `createItem` makes an item of
 * parts of the history, which need not have the structure of a step, nor the same length.
 *
 * Await `createItem`: it waits while too many items are unconfirmed. What was appended is sent when an item needs it, and once. A lost connection is made anew, and
 * unconfirmed items are sent again, in order. An item has the same key then, so the server does not take it twice. But it can't know an item again that was removed meanwhile.
 *
 * One task uses a writer: calls must not overlap.
 *
 * @example
 * ```ts
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 *
 * // client.trajectoryWriter() of a ReverbClient is the same, on a server.
 * await using writer = tables.trajectoryWriter<{ state: Float32Array; reward?: number }>({ numKeepAliveRefs: 5 });
 * writer.append({ state: Float32Array.of(0) });
 * for (let t = 1; t <= 10; t++) {
 *   writer.append({ state: Float32Array.of(t), reward: 1 });
 *   if (writer.episodeSteps < 5) continue;
 *   const { state, reward } = writer.history;
 *   await writer.createItem("replay", 1, { states: state.slice(-5), rewards: reward.slice(-4) });
 *   await writer.flush({ blockUntilItems: 5 }); // not needed, but the tables then lag five items behind at most
 * }
 * await writer.endEpisode({ clearBuffers: true });
 * console.log(tables.table("replay").size); // 7
 * ```
 */
export class TrajectoryWriter<D = FlatStep> extends ItemWriter {
  readonly #steps: Steps;

  private constructor(steps: Steps) {
    super(steps);
    this.#steps = steps;
  }

  static {
    newTrajectoryWriter = <D>(door: WriterDoor, options: TrajectoryWriterOptions) => {
      const where = "trajectoryWriter()";
      checkOptions(where, options, OPTIONS);
      return new TrajectoryWriter<D>(new Steps(where, door, options));
    };
  }

  /** Complete steps since the episode began. */
  get episodeSteps(): number {
    return this.#steps.episodeSteps;
  }

  /** Whether the last `append` had `partialStep`, so that the next values belong to the same step. */
  get isStepOpen(): boolean {
    return this.#steps.isOpen;
  }

  /**
   * The latest steps of each column, in the structure of all steps so far.
   *
   * @throws {TypeError} Before the first `append`.
   */
  get history(): HistoryOf<D> {
    const { columns, root } = this.#steps;
    if (columns.length === 0) throw new TypeError("history: nothing was appended yet");
    return this.#historyOf(root) as HistoryOf<D>;
  }

  #historyOf(place: Place): unknown {
    const { column, isArray, parts } = place;
    if (column !== undefined) return newColumnHistory(column, this.#steps);
    const entries = [...parts].map(([key, part]) => [key, this.#historyOf(part)]);
    const object = Object.fromEntries(entries);
    return isArray ? Array.from({ ...object, length: parts.size }) : object;
  }

  /**
   * Appends a step. Columns that are left out, or `null`, have no value in this step. A column that comes later has no value in earlier
   * steps. With `partialStep`, the next call adds other columns to the same step.
   *
   * @throws {TypeError} If a column changes its dtype or shape, or already has a value in this step. Nothing was appended then.
   */
  append(data: D, options: { readonly partialStep?: boolean } = {}): void {
    checkOptions("append()", options, ["partialStep"]);
    this.#steps.append(data, options.partialStep === true);
  }

  /**
   * Makes an item of parts of the history, and waits while too many items are unconfirmed. The server has it after `flush`.
   *
   * @param table The table. The server must have it.
   * @param priority Finite and not negative.
   * @param trajectory The item's columns, nested as you like. The server stores them flat: by sorted keys.
   * @param options `removerPriority`: another priority for the remover. Reverb's own server passes over it.
   * @throws {TypeError} If a leaf is no part of a history, or the item does not fit the table's signature.
   * @throws {RangeError} If a priority is negative, infinite or NaN.
   * @throws {ReverbError} `not-found` if the server has no such table. `resource-exhausted` if earlier calls still wait, because they were not
   * awaited. Else why the connection failed.
   */
  async createItem(
    table: string,
    priority: number,
    trajectory: StepNest<TrajectoryColumn>,
    options: CreateItemOptions = {},
  ): Promise<void> {
    const where = "createItem()";
    checkOptions(where, options, ["removerPriority", "timeoutMs", "signal"]);
    const columns = columnsOf(where, trajectory);
    const head = { table, priority, removerPriority: options.removerPriority };
    this.#steps.create(where, head, columns, { isConfigurable: true });
    await this.#steps.relieve(where, options);
  }

  /**
   * Sets the chunks of one column from its next chunk on. The path has the keys and positions that lead to the column: `["state"]`.
   * The column may come later.
   *
   * @throws {RangeError} If a chunk would be longer than the history.
   */
  configure(path: StepPath, options: ColumnOptions): void {
    const where = `configure() of ${showPath(path)}`;
    checkOptions(where, options, ["numKeepAliveRefs", "chunkLength", "deltaEncoded", "dtype"]);
    const { dtype, ...changes } = options;
    if (dtype !== undefined && dtypeOfName(dtype) === undefined) {
      throw new TypeError(`${where}: there is no dtype ${show(dtype)}`);
    }
    this.#steps.configure(path, changes, dtype);
  }

  /**
   * Flushes everything, and begins a new episode. If that fails, the episode goes on.
   *
   * @throws {ReverbError} `deadline-exceeded` after `timeoutMs`.
   */
  async endEpisode(options: WriterEndOptions = {}): Promise<void> {
    await this.#steps.endEpisode(options);
  }
}

/** The columns of an item, in the order in which they are stored. */
function columnsOf(where: string, trajectory: unknown): PlacedColumn[] {
  const columns: PlacedColumn[] = [];
  const isColumn = (value: unknown): boolean =>
    value instanceof TrajectoryColumn || value instanceof ColumnHistory ||
    typeof value !== "object" || ArrayBuffer.isView(value);
  eachLeaf(trajectory, isColumn, (path, column) => {
    if (!(column instanceof TrajectoryColumn)) {
      const hint = column instanceof ColumnHistory && isPartOfList(column)
        ? "; a list in a step is one column for each of its parts: append Float32Array.of(…) or tensor([…]) for a single column"
        : "";
      throw new TypeError(
        `${where}: ${
          showPath(path)
        } must be a part of writer.history, such as history.x.slice(-5), got ${
          show(column)
        }${hint}`,
      );
    }
    columns.push({ path, column });
  });
  if (columns.length === 0) throw new TypeError(`${where} needs at least one column`);
  return columns;
}
