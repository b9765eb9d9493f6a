/**
 * The steps that an actor has made and the replay does not have yet: for each environment a row of steps, column by column.
 *
 * Invariants:
 * 1. The steps of environment e are those `e * room` to `e * room + counts[e] - 1` of each column, the oldest first.
 * 2. `endedCounts[e]` is at most `counts[e]`. All steps before it belong to episodes that have ended.
 *
 * Cost: no call allocates, but those that make views.
 *
 * @module
 */

import { StagedColumn } from "../replay/record/staged_column.ts";
import { leavesAs, type StagedState, stageState } from "../replay/record/staged_state.ts";
import { type AnyColumnArray, bool, float64, type NamedColumn, viewOf } from "../schema/columns.ts";
import type { NamedColumns } from "../schema/record_columns.ts";
import type { StateTree } from "../schema/state.ts";

/** The call that errors name if it has one step; the other one has a step of each environment. */
export const STEP = "step()";
/** The call that errors name if it has a step of each environment. */
export const STEP_BATCH = "stepBatch()";

/** `set` is faster than a loop for this many elements or more. */
const SET_COUNT_MIN = 48;

/** One column of all steps. */
export class LocalColumn {
  /** The value that the newest step of each environment has, before it is kept. */
  readonly staged: AnyColumnArray;
  /** How many elements a step has. */
  readonly width: number;
  /** Checks and stages the value of one step. */
  readonly one: StagedColumn;
  /** Checks and stages the values of a step of each environment. */
  readonly many: StagedColumn;
  readonly #all: AnyColumnArray;
  readonly #room: number;

  /** Room for `room` steps of each environment. */
  constructor(named: NamedColumn, environments: number, room: number) {
    const { dtype, elementBytes, elementCount } = named.column;
    const count = environments * elementCount;
    const buffer = new ArrayBuffer(count * elementBytes);
    this.one = new StagedColumn(named, { operation: { name: STEP }, buffer });
    const steps = environments;
    this.many = new StagedColumn(named, { operation: { name: STEP_BATCH }, buffer, steps });
    this.staged = this.many.view;
    this.#all = viewOf(dtype, new ArrayBuffer(room * count * elementBytes), 0, room * count);
    this.width = elementCount;
    this.#room = room;
  }

  /** Stages the value of one step, or those of a step of each environment. `missing` stands for what is not given, where that may be. */
  stage(isOne: boolean, value: unknown, missing?: number): void {
    if (value !== undefined || missing === undefined) (isOne ? this.one : this.many).write(value);
    else for (let k = 0; k < this.staged.length; k++) this.staged[k] = missing;
  }

  /** Stages numbers that a step may have beside its columns, such as values of states. A missing one is NaN. */
  stageNumbers(isOne: boolean, value: unknown): void {
    this.stage(isOne, value, NaN);
    if (value === undefined) return;
    const { staged } = this;
    for (let e = 0; e < staged.length; e++) {
      if (Math.abs(staged[e] as number) !== Infinity) continue;
      const { name } = this.one.named;
      const where = isOne ? `${STEP}: ${name}` : `${STEP_BATCH}: ${name}[${e}]`;
      throw new RangeError(`${where} must be a finite number, got ${staged[e]}`);
    }
  }

  /** Refuses NaN and infinite values among those that are staged. */
  checkFinite(isOne: boolean): void {
    (isOne ? this.one : this.many).checkFinite();
  }

  /** Keeps the staged step of an environment as its step `at`. */
  keep(environment: number, at: number): void {
    const width = this.width;
    const from = environment * width;
    const to = (environment * this.#room + at) * width;
    if (width < SET_COUNT_MIN) {
      for (let k = 0; k < width; k++) this.#all[to + k] = this.staged[from + k] as number;
    } else this.#all.set(this.staged.subarray(from, from + width), to);
  }

  /** The steps `from` to `to` of an environment, as a view. */
  view(environment: number, from: number, to: number): AnyColumnArray {
    const first = environment * this.#room;
    return this.#all.subarray((first + from) * this.width, (first + to) * this.width);
  }

  /** The number of a step, of a column without a shape. */
  at(environment: number, at: number): number {
    return this.#all[environment * this.#room + at] as number;
  }

  /** Moves the steps from `from` on to the front. */
  moveToFront(environment: number, from: number, to: number): void {
    const first = environment * this.#room;
    const width = this.width;
    this.#all.copyWithin(first * width, (first + from) * width, (first + to) * width);
  }
}

/** What stages the values of one step, or of a step of each environment. */
export interface StagedStep {
  /** The state. */
  readonly state: StagedState;
  /** The action. */
  readonly action: StagedColumn;
  /** The reward. */
  readonly reward: StagedColumn;
  /** The extras. */
  readonly extras: readonly StagedColumn[];
  /** The state that the step led to. */
  readonly nextState: StagedState;
}

/** The steps of all environments that wait. */
export class LocalSteps {
  /** The leaves of the state, the action, the reward, then the extras. */
  readonly columns: readonly LocalColumn[];
  /** How the state is put together of its leaves. */
  readonly tree: StateTree;
  /** What stages the values of one step. */
  readonly one: StagedStep;
  /** What stages those of a step of each environment. */
  readonly many: StagedStep;
  /** The state that each step led to: its leaves. */
  readonly nextState: readonly LocalColumn[];
  /** What the actor's value function says of each step's action. */
  readonly value: LocalColumn;
  /** What it says of the best action in each step's state. */
  readonly stateValue: LocalColumn;
  /** What it says of the best action in the state that each step led to. */
  readonly nextStateValue: LocalColumn;
  /** 1 where the task ended the episode. */
  readonly terminated: LocalColumn;
  /** 1 where the episode was cut off. */
  readonly truncated: LocalColumn;
  /** How many steps of each environment wait. */
  readonly counts: Uint32Array;
  /** How many of these belong to episodes that have ended. */
  readonly endedCounts: Uint32Array;
  /** How many steps of each environment may wait. */
  readonly room: number;
  readonly #all: readonly LocalColumn[];

  /** None yet, with room for `room` steps of each environment. */
  constructor(
    { columns, leaves, tree }: Omit<NamedColumns, "extraNames">,
    environments: number,
    room: number,
  ) {
    const make = (each: NamedColumn): LocalColumn => new LocalColumn(each, environments, room);
    this.room = room;
    this.tree = tree;
    this.columns = columns.map(make);
    this.nextState = leavesAs("nextState", leaves).map(make);
    const stage = (name: string, which: "one" | "many"): StagedStep => {
      const staged = this.columns.map((column) => column[which]);
      const next = this.nextState.map((column) => column[which]);
      const [action, reward, ...extras] = staged.slice(leaves.length) as [
        StagedColumn,
        StagedColumn,
        ...StagedColumn[],
      ];
      return {
        state: stageState({ name }, "state", tree, staged.slice(0, leaves.length)),
        ...{ action, reward, extras },
        nextState: stageState({ name }, "nextState", tree, next),
      };
    };
    this.one = stage(STEP, "one");
    this.many = stage(STEP_BATCH, "many");
    this.value = make({ name: "value", column: float64() });
    this.stateValue = make({ name: "stateValue", column: float64() });
    this.nextStateValue = make({ name: "nextStateValue", column: float64() });
    this.terminated = make({ name: "terminated", column: bool() });
    this.truncated = make({ name: "truncated", column: bool() });
    this.#all = [
      ...this.columns,
      ...this.nextState,
      ...[this.value, this.stateValue, this.nextStateValue],
      ...[this.terminated, this.truncated],
    ];
    this.counts = new Uint32Array(environments);
    this.endedCounts = new Uint32Array(environments);
  }

  /** The columns of the state's leaves. */
  get state(): readonly LocalColumn[] {
    return this.columns.slice(0, this.nextState.length);
  }

  /** The columns of the action, the reward and the extras. */
  get others(): readonly LocalColumn[] {
    return this.columns.slice(this.nextState.length);
  }

  /** Keeps the staged step of an environment. */
  keep(environment: number): void {
    const at = this.counts[environment] as number;
    const isTerminated = this.terminated.staged[environment] === 1;
    if (isTerminated) this.truncated.staged[environment] = 0;
    for (const column of this.#all) column.keep(environment, at);
    this.counts[environment] = at + 1;
    const isOver = isTerminated || this.truncated.staged[environment] === 1;
    if (isOver) this.endedCounts[environment] = at + 1;
  }

  /** The newest step of an environment ends its episode, as if cut off. */
  cut(environment: number): void {
    const count = this.counts[environment] as number;
    if (this.endedCounts[environment] === count) return;
    this.truncated.view(environment, count - 1, count)[0] = 1;
    this.endedCounts[environment] = count;
  }

  /** Lets the `count` oldest steps of an environment go. */
  forget(environment: number, count: number): void {
    const all = this.counts[environment] as number;
    if (count < all) {
      for (const column of this.#all) column.moveToFront(environment, count, all);
    }
    this.counts[environment] = all - count;
    const endedCounts = this.endedCounts[environment] as number;
    this.endedCounts[environment] = Math.max(0, endedCounts - count);
  }
}
