/**
 * Writes transitions to a table, of this process or of a server.
 *
 * A row of the history is a step. The transition of a step is complete once the state is known that n steps later lead to. So the row of that
 * state also has the return and the discount of the transition, and the item takes its columns from both rows. Each state is stored once.
 * At the end of an episode, a row with the final state and n - 1 rows without a state have the returns that are shorter.
 *
 * @module
 */

import { checkInteger, checkNumber } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type { WaitOptions } from "../mod.ts";
import type { ReverbClient } from "../reverb/client.ts";
import type { StepNest } from "../reverb/structure.ts";
import { type Tensor, tensor } from "../reverb/tensor.ts";
import type { TrajectoryWriter } from "../reverb/trajectory_writer.ts";
import { checkFlag, FLAG_HINTS } from "../replay/record/record_input.ts";
import type { Column, Columns, NamedColumn, NoColumns } from "../schema/columns.ts";
import type { NamedColumns } from "../schema/record_columns.ts";
import type { Schema, SchemaOf } from "../schema/schema.ts";
import type { Tables } from "../tables/tables.ts";
import { arrange, mapLeaves, type StateColumns, takeApart } from "../schema/state.ts";
import { leavesAs } from "../replay/record/staged_state.ts";
import { checkItemColumns, stepColumn } from "./_columns.ts";
import type { ReplayWriter, TransitionColumns, WriterStep } from "./types.ts";
import { Turns } from "./_turns.ts";

/** The options of {@linkcode tableWriter}. */
export interface TableWriterOptions {
  /** n of the n-step returns: from 1 to 65,536; 1 by default. */
  readonly nStep?: number;
  /** Gamma: from 0 to 1; 1 by default, as that of a replay. */
  readonly discount?: number;
  /** The priority of new items, finite and not negative; 1 by default. */
  readonly priority?: number;
}

const WHERE = "tableWriter()";
const N_STEP_MAX = 65_536;
/** `append` waits while more items are unconfirmed. */
const PENDING_MAX = 256;
/** How long a lost connection is tried anew, as that of a reader's `batches`. */
const RECONNECT_MS = 10_000;

/**
 * Makes the {@linkcode ReplayWriter} of one environment for a table: of `Tables` in this process, or of a server, through its `ReverbClient`.
 *
 * Each transition becomes an item, once its next state is known. A replay computes n-step returns when it draws. An item holds what was
 * written, so here you choose n and the discount before.
 *
 * @param tables The tables, or the client of a server.
 * @param table The table's name.
 * @param columns The columns of a transition.
 * @throws {TypeError} For columns that are none, or an unknown option.
 * @throws {RangeError} For a number out of its range.
 * @throws {ReplayError} `table-unknown` if there is no such table. Of a server, `append` throws a `ReverbError`, `not-found`.
 * @example
 * ```ts
 * import { float32 } from "@exrp/replay";
 * import { tableWriter } from "@exrp/replay/learner";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { steps: { maxSize: 1000 } } }); // or a ReverbClient
 * await using writer = tableWriter(tables, "steps", { state: float32() }, { nStep: 3, discount: 0.9 });
 * for (let state = 0; state < 5; state++) {
 *   await writer.append({ state, action: 0, reward: 1, nextState: state + 1, terminated: state === 4 });
 * }
 * await writer.flush();
 * console.log(tables.table("steps").size); // 5
 * ```
 */
export function tableWriter<
  const State extends StateColumns,
  Action extends Column = Column<"int32", []>,
  Reward extends Column = Column<"float32", []>,
  Extras extends Columns = NoColumns,
>(
  tables: Tables | ReverbClient,
  table: string,
  columns: TransitionColumns<State, Action, Reward, Extras>,
  options: TableWriterOptions = {},
): ReplayWriter<
  SchemaOf<State, Action, Reward, Extras, NoColumns>
> {
  checkOptions(WHERE, options, ["nStep", "discount", "priority"]);
  const { nStep = 1, discount = 1, priority = 1 } = options;
  checkInteger(`${WHERE}: nStep`, nStep, 1, N_STEP_MAX);
  checkNumber(`${WHERE}: discount`, discount, 0, 1);
  checkNumber(`${WHERE}: priority`, priority, 0);
  const { named } = checkItemColumns(WHERE, columns);
  if ("table" in tables) tables.table(table); // throws if there is none
  const writer = tables.trajectoryWriter<Row>({
    numKeepAliveRefs: nStep + 1,
    maxPendingItems: PENDING_MAX + nStep + 1,
    reconnectMs: RECONNECT_MS,
  });
  return new OwnTableWriter(writer, table, named, { nStep, discount, priority });
}

/** Copies a value of a step. */
type TakeValue = (value: unknown) => Tensor;

/** The state of a step: one value, or one for each leaf in the structure of the state. */
type TensorState = StepNest<Tensor>;

/** What a row of the history may have. */
interface Row {
  readonly state?: TensorState;
  readonly action?: Tensor;
  readonly extras?: Readonly<Record<string, Tensor>>;
  /** The return of a transition that is now complete, and its discount. */
  readonly reward?: Tensor;
  readonly discount?: Tensor;
}

const APPEND = "append()";
const PARTS = ["state", "action", "reward", "terminated", "truncated", "nextState", "extras"];

class OwnTableWriter<S extends Schema> implements ReplayWriter<S> {
  static readonly name = "ReplayWriter";
  readonly #writer: TrajectoryWriter<Row>;
  readonly #table: string;
  readonly #named: NamedColumns;
  readonly #take: Readonly<Record<"action" | "reward", TakeValue>>;
  readonly #takeStates: Readonly<Record<"state" | "nextState", readonly TakeValue[]>>;
  readonly #takeExtras: readonly (readonly [string, TakeValue])[];
  readonly #options: Required<TableWriterOptions>;
  readonly #turns = new Turns();
  /** The rewards of the latest steps whose transitions are not complete. */
  readonly #rewards: Tensor[] = [];
  /** The state that the latest step led to. */
  #last: TensorState | undefined;
  /** Why the writer can't go on. */
  #failure: unknown;
  /** Whether an episode ended, and the writer was not told yet. */
  #isOver = false;

  constructor(
    writer: TrajectoryWriter<Row>,
    table: string,
    named: NamedColumns,
    options: Required<TableWriterOptions>,
  ) {
    this.#writer = writer;
    this.#table = table;
    this.#named = named;
    const { columns, leaves, extraNames } = named;
    const take = (column: NamedColumn): TakeValue => stepColumn(APPEND, column);
    const others = columns.slice(leaves.length).map(take);
    const [action, reward, ...extras] = others as [TakeValue, TakeValue, ...TakeValue[]];
    this.#take = { action, reward };
    this.#takeStates = {
      state: leaves.map(take),
      nextState: leavesAs("nextState", leaves).map(take),
    };
    this.#takeExtras = extraNames.map((name, k) => [name, extras[k] as TakeValue] as const);
    this.#options = options;
  }

  async append(step: WriterStep<S>, options: WaitOptions = {}): Promise<void> {
    const add = this.#prepare(step);
    await this.#turns.run(APPEND, options, async (limits) => {
      await this.#relieve(limits);
      await this.#change(add);
    });
  }

  async endEpisode(options: WaitOptions = {}): Promise<void> {
    await this.#turns.run("endEpisode()", options, async (limits) => {
      await this.#relieve(limits);
      await this.#change(() => this.#finish(false));
    });
  }

  async flush(options: WaitOptions = {}): Promise<void> {
    await this.#turns.run("flush()", options, (limits) => this.#flush(limits));
  }

  close(options: WaitOptions = {}): Promise<void> {
    return this.#turns.close(options, async (limits) => {
      const failure = this.#failure;
      if (failure === undefined) {
        await this.#flush(limits);
        await this.#change(() => this.#finish(false));
        await this.#flush(limits);
      }
      try {
        await this.#writer.close(failure === undefined ? {} : limits);
      } finally {
        this.#turns.end();
      }
      if (failure !== undefined) throw failure;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #flush(limits: WaitOptions): Promise<void> {
    await this.#relieve(limits);
    await this.#writer.flush(limits);
  }

  /** Makes a change. If it fails halfway, the writer can't go on: the history has the step, and the table lacks its item. */
  async #change(call: () => Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  /** Does what has to wait, before anything changes: the end of the last episode, and items that the table holds back. */
  async #relieve(limits: WaitOptions): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    limits.signal?.throwIfAborted();
    if (this.#isOver) {
      await this.#writer.endEpisode(limits);
      this.#isOver = false;
    }
    if (this.#writer.pendingItems <= PENDING_MAX) return;
    await this.#writer.flush({ blockUntilItems: PENDING_MAX, ...limits });
  }

  /** Copies the values of a step, each checked. What it returns takes the step, and makes the item that it completes. */
  #prepare(step: object): () => Promise<void> {
    checkOptions(APPEND, step, PARTS, FLAG_HINTS);
    const given = step as Readonly<Record<string, unknown>>;
    const own = (given["extras"] ?? {}) as Readonly<Record<string, unknown>>;
    checkOptions(`${APPEND}: extras`, own, this.#takeExtras.map(([name]) => name));
    const extras = this.#takeExtras.map(([name, take]) => [name, take(own[name])]);
    const isTerminated = checkFlag(`${APPEND}: terminated`, given["terminated"]);
    const isTruncated = checkFlag(`${APPEND}: truncated`, given["truncated"] ?? false);
    const row: Row = {
      state: this.#takeState("state", given["state"]),
      action: this.#take.action(given["action"]),
      extras: Object.fromEntries(extras),
    };
    const reward = this.#take.reward(given["reward"]);
    const nextState = this.#takeState("nextState", given["nextState"]);
    return async () => {
      const { nStep } = this.#options;
      const isComplete = this.#rewards.length === nStep;
      this.#writer.append({ ...row, ...isComplete ? this.#returnOf(false) : {} });
      if (isComplete) {
        this.#rewards.shift();
        await this.#create(nStep, 0);
      }
      this.#rewards.push(reward);
      this.#last = nextState;
      if (isTerminated || isTruncated) await this.#finish(isTerminated);
    };
  }

  /** Copies a state. */
  #takeState(name: "state" | "nextState", value: unknown): TensorState {
    const { tree } = this.#named;
    const values = takeApart(`${APPEND}: ${name}`, tree, value);
    return arrange(tree, this.#takeStates[name].map((take, k) => take(values[k])));
  }

  /** Completes the transitions that wait for the final state. */
  async #finish(isTerminated: boolean): Promise<void> {
    const count = this.#rewards.length;
    for (let k = 0; k < count; k++) {
      const state = k === 0 && this.#last !== undefined ? { state: this.#last } : {};
      this.#writer.append({ ...state, ...this.#returnOf(isTerminated) });
      this.#rewards.shift();
      await this.#create(count - k, k);
    }
    if (count > 0) this.#isOver = true;
  }

  /** The sum of the discounted rewards that wait, and the discount of what comes after them. */
  #returnOf(isTerminated: boolean): Required<Pick<Row, "reward" | "discount">> {
    const [{ shape, data: { length } }] = this.#rewards as [Tensor];
    const sum = new Float64Array(length);
    let discount = 1;
    for (const { data } of this.#rewards) {
      for (let k = 0; k < length; k++) (sum[k] as number) += discount * (data[k] as number);
      discount *= this.#options.discount;
    }
    return {
      reward: tensor(Float32Array.from(sum), { shape }),
      discount: tensor(isTerminated ? 0 : discount, { dtype: "float32" }),
    };
  }

  /** Makes the item of the transition that spans `steps` steps up to a state which stands `after` rows before the newest one. */
  async #create(steps: number, after: number): Promise<void> {
    const { state, action, extras, reward, discount } = this.#writer.history;
    const first = -1 - after - steps;
    const stateAt = (row: number): StepNest<ReturnType<typeof action.at>> =>
      mapLeaves(this.#named.tree, state, (leaf: typeof action) => leaf.at(row));
    const own = Object.entries(extras ?? {}).map(([name, column]) => [name, column.at(first)]);
    await this.#writer.createItem(this.#table, this.#options.priority, {
      state: stateAt(first),
      action: action.at(first),
      reward: reward.at(-1),
      nextState: stateAt(-1 - after),
      discount: discount.at(-1),
      extras: Object.fromEntries(own),
    });
  }
}
