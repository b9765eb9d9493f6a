/**
 * The steps that an actor has made and the replay does not have yet: for each environment a row of steps, column by column.
 *
 * Invariants:
 * 1. The steps of environment e are those `e * room` to `e * room + counts[e] - 1` of each column, the oldest first.
 * 2. `settled[e]` is at most `counts[e]`. All steps before it belong to episodes that have ended.
 *
 * Cost: no call allocates, but those that make views.
 *
 * @module
 */

import { isKind } from "../base/typed_arrays.ts";
import { checkNumber, show } from "../base/checks.ts";
import { checkFinite } from "../replay/record/finite.ts";
import { ManyRowsColumn } from "../replay/record/many_rows.ts";
import { RowColumn } from "../replay/record/row.ts";
import { type AnyColumnArray, type NamedColumn, viewOf } from "../schema/columns.ts";

/** The call that errors name if it has one step; the other one has a step of each environment. */
export const STEP = "step()";
/** The call that errors name if it has a step of each environment. */
export const STEP_BATCH = "stepBatch()";

/** One column of all steps. */
export class LocalColumn {
  readonly #named: NamedColumn;
  readonly #buffer: ArrayBuffer;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #stepBytes: number;
  readonly #room: number;
  /** The values of the newest steps, before they are kept. */
  readonly #one: RowColumn | undefined;
  readonly #many: ManyRowsColumn;
  readonly #staged: readonly Uint8Array<ArrayBuffer>[];
  readonly #environments: number;

  /** Room for `room` steps of each environment. */
  constructor(named: NamedColumn, environments: number, room: number) {
    const { elementBytes, elementCount } = named.column;
    this.#named = named;
    this.#stepBytes = elementBytes * elementCount;
    this.#room = room;
    this.#environments = environments;
    this.#buffer = new ArrayBuffer(environments * room * this.#stepBytes);
    this.#bytes = new Uint8Array(this.#buffer);
    const staging = new ArrayBuffer(environments * this.#stepBytes);
    this.#many = new ManyRowsColumn(STEP_BATCH, named, staging, 0, environments);
    if (environments === 1) {
      this.#one = new RowColumn(named, named.name, staging, 0, { name: STEP });
    }
    this.#staged = Array.from(
      { length: environments },
      (_, e) => new Uint8Array(staging, e * this.#stepBytes, this.#stepBytes),
    );
  }

  /** Checks and stages the value of one step. */
  stageOne(value: unknown, isFinite: boolean): void {
    const one = this.#one as RowColumn;
    one.write(value);
    if (isFinite) checkFinite(STEP, one.staged, 0, one.staged.elementCount);
  }

  /** Checks and stages the values of a step of each environment. */
  stageMany(value: unknown, isFinite: boolean): void {
    this.#many.write(value);
    if (isFinite) this.#many.checkFinite(0, this.#environments);
  }

  /** Keeps what was staged for an environment as its step `at`. */
  keep(environment: number, at: number): void {
    const staged = this.#staged[environment] as Uint8Array;
    this.#bytes.set(staged, (environment * this.#room + at) * this.#stepBytes);
  }

  /** Steps `from` to `to` of an environment: a view. */
  view(environment: number, from: number, to: number): AnyColumnArray {
    const { dtype, elementCount } = this.#named.column;
    const first = (environment * this.#room + from) * this.#stepBytes;
    return viewOf(dtype, this.#buffer, first, (to - from) * elementCount);
  }

  /** Moves steps `from` to `to` of an environment to the front. */
  moveToFront(environment: number, from: number, to: number): void {
    const first = environment * this.#room * this.#stepBytes;
    const size = this.#stepBytes;
    this.#bytes.copyWithin(first, first + from * size, first + to * size);
  }
}

/** A number of each step, which is not in the replay. */
export class LocalNumbers {
  readonly #name: string;
  readonly #room: number;
  readonly #staged: Float64Array;
  readonly #numbers: Float64Array;

  /** Room for `room` numbers of each environment. */
  constructor(name: string, environments: number, room: number) {
    this.#name = name;
    this.#room = room;
    this.#staged = new Float64Array(environments);
    this.#numbers = new Float64Array(environments * room);
  }

  /** Stages the number of one step: NaN without one. */
  stageOne(value: unknown): void {
    this.#staged[0] = value === undefined ? NaN : checkNumber(`${STEP}: ${this.#name}`, value);
  }

  /** Stages the numbers of a step of each environment: NaN without them. */
  stageMany(value: unknown): void {
    const staged = this.#staged;
    if (value === undefined) {
      staged.fill(NaN);
      return;
    }
    const isArray = Array.isArray(value) || isKind("Float32Array", value) ||
      isKind("Float64Array", value);
    if (!isArray || value.length !== staged.length) {
      throw new TypeError(
        `${STEP_BATCH}: ${this.#name} must be an array of ${staged.length} numbers, one for each environment, got ${
          show(value)
        }`,
      );
    }
    for (let e = 0; e < staged.length; e++) {
      // An environment without a value is NaN: that of the state after a step is needed at few steps only.
      const number: unknown = value[e];
      staged[e] = Number.isNaN(number)
        ? NaN
        : checkNumber(`${STEP_BATCH}: ${this.#name}[${e}]`, number);
    }
  }

  /** Keeps what was staged for an environment as its step `at`. */
  keep(environment: number, at: number): void {
    this.#numbers[environment * this.#room + at] = this.#staged[environment] as number;
  }

  /** The number of step `at` of an environment. */
  at(environment: number, at: number): number {
    return this.#numbers[environment * this.#room + at] as number;
  }

  /** Moves steps `from` to `to` of an environment to the front. */
  moveToFront(environment: number, from: number, to: number): void {
    const first = environment * this.#room;
    this.#numbers.copyWithin(first, first + from, first + to);
  }
}

/** The steps of all environments of one actor. */
export class LocalSteps {
  /** State, action, reward, then the extras. */
  readonly columns: readonly LocalColumn[];
  /** The states that the steps led to. */
  readonly nextState: LocalColumn;
  /** The numbers that only priorities need. */
  readonly value: LocalNumbers;
  /** Likewise. */
  readonly stateValue: LocalNumbers;
  /** Likewise. */
  readonly nextStateValue: LocalNumbers;
  /** How many steps each environment has. */
  readonly counts: Uint32Array;
  /** How many of them belong to episodes that have ended. */
  readonly settled: Uint32Array;
  /** How many steps an environment has room for. */
  readonly room: number;
  readonly #terminated: Uint8Array<ArrayBuffer>;
  readonly #truncated: Uint8Array<ArrayBuffer>;

  /** Room for `room` steps of each environment, with these columns. */
  constructor(named: readonly NamedColumn[], environments: number, room: number) {
    const [state] = named;
    if (state === undefined) throw new TypeError("steps have three columns at least");
    this.room = room;
    this.columns = named.map((each) => new LocalColumn(each, environments, room));
    const next = { name: "nextState", column: state.column };
    this.nextState = new LocalColumn(next, environments, room);
    this.value = new LocalNumbers("value", environments, room);
    this.stateValue = new LocalNumbers("stateValue", environments, room);
    this.nextStateValue = new LocalNumbers("nextStateValue", environments, room);
    this.counts = new Uint32Array(environments);
    this.settled = new Uint32Array(environments);
    this.#terminated = new Uint8Array(environments * room);
    this.#truncated = new Uint8Array(environments * room);
  }

  /** Keeps the staged step of an environment, with its flags. */
  keep(environment: number, isTerminated: boolean, isTruncated: boolean): void {
    const at = this.counts[environment] as number;
    for (const column of this.columns) column.keep(environment, at);
    this.nextState.keep(environment, at);
    this.value.keep(environment, at);
    this.stateValue.keep(environment, at);
    this.nextStateValue.keep(environment, at);
    const index = environment * this.room + at;
    this.#terminated[index] = isTerminated ? 1 : 0;
    this.#truncated[index] = isTruncated && !isTerminated ? 1 : 0;
    this.counts[environment] = at + 1;
    if (isTerminated || isTruncated) this.settled[environment] = at + 1;
  }

  /** Ends the episode of an environment after its newest step, as cut off. */
  cut(environment: number): void {
    const count = this.counts[environment] as number;
    if (this.settled[environment] === count) return;
    this.#truncated[environment * this.room + count - 1] = 1;
    this.settled[environment] = count;
  }

  /** Whether the task ended the episode at steps `from` to `to` of an environment: a view. */
  terminated(environment: number, from: number, to: number): Uint8Array<ArrayBuffer> {
    return this.#terminated.subarray(environment * this.room + from, environment * this.room + to);
  }

  /** Whether the episode was cut off there: a view. */
  truncated(environment: number, from: number, to: number): Uint8Array<ArrayBuffer> {
    return this.#truncated.subarray(environment * this.room + from, environment * this.room + to);
  }

  /** Forgets the oldest `count` steps of an environment. */
  forget(environment: number, count: number): void {
    const all = this.counts[environment] as number;
    if (count < all) {
      for (const column of this.columns) column.moveToFront(environment, count, all);
      this.nextState.moveToFront(environment, count, all);
      this.value.moveToFront(environment, count, all);
      this.stateValue.moveToFront(environment, count, all);
      this.nextStateValue.moveToFront(environment, count, all);
      const first = environment * this.room;
      for (const flags of [this.#terminated, this.#truncated]) {
        flags.copyWithin(first, first + count, first + all);
      }
    }
    this.counts[environment] = all - count;
    const settled = this.settled[environment] as number;
    this.settled[environment] = Math.max(0, settled - count);
  }
}
