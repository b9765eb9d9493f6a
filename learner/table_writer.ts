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
import { type Tensor, tensor } from "../reverb/tensor.ts";
import type { TrajectoryWriter } from "../reverb/trajectory_writer.ts";
import { checkFlag, FLAG_HINTS } from "../replay/record/record_input.ts";
import type { Column, Columns, NoColumns } from "../schema/columns.ts";
import type { RecordColumns } from "../schema/record_columns.ts";
import type { Schema, SchemaOf } from "../schema/schema.ts";
import type { Tables } from "../tables/tables.ts";
import { checkItemColumns, StepColumn } from "./_columns.ts";
import type { ReplayWriter, TransitionColumns, WriterStep } from "./types.ts";
import { Turns } from "./_turns.ts";
import { Waits } from "./_waits.ts";

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
  State extends Column,
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
  const checked = checkItemColumns(WHERE, columns);
  if ("table" in tables) tables.table(table); // throws if there is none
  const writer = tables.trajectoryWriter<Row>({
    numKeepAliveRefs: nStep + 1,
    maxPendingItems: PENDING_MAX + nStep + 1,
  });
  return new OwnTableWriter(writer, table, checked, { nStep, discount, priority });
}

/** What a row of the history may have. */
interface Row {
  readonly state?: Tensor;
  readonly action?: Tensor;
  readonly extras?: Readonly<Record<string, Tensor>>;
  /** The return of a transition that is now complete, and its discount. */
  readonly reward?: Tensor;
  readonly discount?: Tensor;
}

/** A step that was checked. */
interface Parts {
  readonly row: Row;
  readonly reward: Float32Array;
  readonly nextState: Tensor;
  readonly isTerminated: boolean;
  readonly isOver: boolean;
}

const APPEND = "append()";
const PARTS = ["state", "action", "reward", "terminated", "truncated", "nextState", "extras"];

class OwnTableWriter<S extends Schema> implements ReplayWriter<S> {
  static readonly name = "ReplayWriter";
  readonly #writer: TrajectoryWriter<Row>;
  readonly #table: string;
  readonly #state: StepColumn;
  readonly #action: StepColumn;
  readonly #reward: StepColumn;
  readonly #nextState: StepColumn;
  readonly #extras: ReadonlyMap<string, StepColumn>;
  readonly #rewardColumn: Column;
  readonly #options: Required<TableWriterOptions>;
  readonly #waits = new Waits("writer");
  readonly #turns = new Turns(this.#waits);
  /** The rewards of the latest steps whose transitions are not complete. */
  readonly #rewards: Float32Array[] = [];
  /** The state that the latest step led to. */
  #last: Tensor | undefined;
  /** Why the writer can't go on. */
  #failure: unknown;
  /** Whether an episode ended, and the writer was not told yet. */
  #isOver = false;

  constructor(
    writer: TrajectoryWriter<Row>,
    table: string,
    { state, action, reward, extras }: RecordColumns,
    options: Required<TableWriterOptions>,
  ) {
    this.#writer = writer;
    this.#table = table;
    this.#state = new StepColumn(APPEND, "state", state);
    this.#action = new StepColumn(APPEND, "action", action);
    this.#reward = new StepColumn(APPEND, "reward", reward);
    this.#nextState = new StepColumn(APPEND, "nextState", state);
    this.#extras = new Map(
      Object.entries(extras).map((
        [name, column],
      ) => [name, new StepColumn(APPEND, `extras.${name}`, column)]),
    );
    this.#rewardColumn = reward;
    this.#options = options;
  }

  async append(step: WriterStep<S>, options: WaitOptions = {}): Promise<void> {
    const parts = this.#parts(step);
    await this.#turns.run(APPEND, options, async (limits) => {
      await this.#relieve(APPEND, limits);
      await this.#change(() => this.#take(parts));
    });
  }

  async endEpisode(options: WaitOptions = {}): Promise<void> {
    const where = "endEpisode()";
    await this.#turns.run(where, options, async (limits) => {
      await this.#relieve(where, limits);
      await this.#change(() => this.#finish(false));
    });
  }

  async flush(options: WaitOptions = {}): Promise<void> {
    await this.#turns.run("flush()", options, (limits) => this.#flush("flush()", limits));
  }

  close(options: WaitOptions = {}): Promise<void> {
    const where = "close()";
    return this.#turns.close(options, async (limits) => {
      const failure = this.#failure;
      if (failure === undefined) {
        await this.#flush(where, limits);
        await this.#change(() => this.#finish(false));
        await this.#flush(where, limits);
      }
      this.#waits.close();
      await this.#writer.close(failure === undefined ? {} : limits);
      if (failure !== undefined) throw failure;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #flush(where: string, options: WaitOptions): Promise<void> {
    await this.#relieve(where, options);
    await this.#waits.run(where, options, (limits) => this.#writer.flush(limits));
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
  async #relieve(where: string, options: WaitOptions): Promise<void> {
    this.#waits.check(where);
    if (this.#failure !== undefined) throw this.#failure;
    options.signal?.throwIfAborted();
    if (this.#isOver) {
      await this.#waits.run(where, options, (limits) => this.#writer.endEpisode(limits));
      this.#isOver = false;
    }
    if (this.#writer.pendingItems <= PENDING_MAX) return;
    const blockUntilItems = PENDING_MAX;
    await this.#waits.run(
      where,
      options,
      (limits) => this.#writer.flush({ blockUntilItems, ...limits }),
    );
  }

  /** Copies of the values of a step, each checked. */
  #parts(step: object): Parts {
    checkOptions(APPEND, step, PARTS, FLAG_HINTS);
    const given = step as Readonly<Record<string, unknown>>;
    const own = (given["extras"] ?? {}) as Readonly<Record<string, unknown>>;
    checkOptions(`${APPEND}: extras`, own, [...this.#extras.keys()]);
    const extras = [...this.#extras].map(([name, column]) => [name, column.take(own[name])]);
    const isTerminated = checkFlag(`${APPEND}: terminated`, given["terminated"]);
    const isTruncated = checkFlag(`${APPEND}: truncated`, given["truncated"] ?? false);
    return {
      row: {
        state: this.#state.take(given["state"]),
        action: this.#action.take(given["action"]),
        ...extras.length === 0 ? {} : { extras: Object.fromEntries(extras) },
      },
      reward: this.#reward.take(given["reward"]).data as Float32Array,
      nextState: this.#nextState.take(given["nextState"]),
      isTerminated,
      isOver: isTerminated || isTruncated,
    };
  }

  /** Takes a step, and makes the item that it completes. */
  async #take({ row, reward, nextState, isTerminated, isOver }: Parts): Promise<void> {
    const { nStep } = this.#options;
    const isComplete = this.#rewards.length === nStep;
    this.#writer.append({ ...row, ...isComplete ? this.#returnOf(false) : {} });
    if (isComplete) {
      this.#rewards.shift();
      await this.#create(nStep, 0);
    }
    this.#rewards.push(reward);
    this.#last = nextState;
    if (isOver) await this.#finish(isTerminated);
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
    const { shape, elementCount } = this.#rewardColumn;
    const sum = new Float64Array(elementCount);
    let discount = 1;
    for (const reward of this.#rewards) {
      for (let k = 0; k < elementCount; k++) {
        sum[k] = (sum[k] as number) + discount * (reward[k] as number);
      }
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
    const own = Object.entries(extras ?? {}).map(([name, column]) => [name, column.at(first)]);
    await this.#writer.createItem(this.#table, this.#options.priority, {
      state: state.at(first),
      action: action.at(first),
      reward: reward.at(-1),
      nextState: state.at(-1 - after),
      discount: discount.at(-1),
      ...own.length === 0 ? {} : { extras: Object.fromEntries(own) },
    });
  }
}
