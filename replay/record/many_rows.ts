/**
 * The staging rows: many records' bytes as the kernel reads them, column by column, with every value checked.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import {
  bufferOf,
  byteOffsetOf,
  checkHonest,
  countOf,
  isKind,
  kindOf,
  lengthOf,
} from "../../base/typed_arrays.ts";
import {
  EXRP_STEPS_COLUMN,
  EXRP_STEPS_FINAL_STATE,
  EXRP_STEPS_FLAGS,
  EXRP_STEPS_PRIORITY,
} from "../../ffi/symbols.ts";
import {
  type ArrayOfDType,
  arrayTypeOf,
  type Column,
  type DType,
  type NamedColumn,
  viewOf,
} from "../../schema/columns.ts";
import type { ReplayCore } from "../core.ts";
import { checkElement, type ColumnPlace, nestedHint } from "./row.ts";

/** An array of values, in whatever kind of array. */
export type Values = ArrayOfDType[DType] | readonly unknown[];

/** Refuses what is no array that this column takes: its own typed array, or a plain one. */
export function checkValues(
  operation: string,
  { name, column }: NamedColumn,
  value: unknown,
): Values {
  if (Array.isArray(value)) return value;
  const wanted = arrayTypeOf(column.dtype);
  if (kindOf(value) === wanted?.name) return value as ArrayOfDType[DType];
  checkHonest(`${operation}: ${name}`, value);
  throw new TypeError(
    `${operation}: ${name} is ${column} and takes the values of all steps as one ${wanted?.name} or plain array, got ${
      show(value)
    }`,
  );
}

/** How many steps the values of a column are. */
export function countSteps(operation: string, named: NamedColumn, values: Values): number {
  const { elementCount } = named.column;
  const length = countOf(values);
  const count = length / elementCount;
  if (Number.isInteger(count) && count > 0) return count;
  checkHonest(`${operation}: ${named.name}`, values);
  throw new RangeError(
    `${operation}: ${named.name} is ${named.column} and takes ${elementCount} values for each of one or more steps, got ${length}${
      nestedHint(values[0])
    }`,
  );
}

/** One column of the staging rows. */
export class ManyRowsColumn {
  readonly #named: NamedColumn;
  readonly #view: ArrayOfDType[DType];
  readonly #place: ColumnPlace;
  readonly #operation: string;

  /** A column at `offset` bytes, for `count` steps. */
  constructor(
    operation: string,
    named: NamedColumn,
    buffer: ArrayBuffer,
    offset: number,
    count: number,
  ) {
    const { dtype, elementCount } = named.column;
    this.#operation = operation;
    this.#named = named;
    this.#view = viewOf(dtype, buffer, offset, count * elementCount);
    this.#place = {
      operation: { name: operation },
      name: named.name,
      dtype,
      shapeText: String(named.column),
    };
  }

  /** The values, when there are as many as the steps take. */
  check(value: unknown): Values {
    const values = checkValues(this.#operation, this.#named, value);
    const { length } = this.#view;
    const given = countOf(values);
    if (given === length) return values;
    checkHonest(`${this.#operation}: ${this.#named.name}`, values);
    const { elementCount } = this.#named.column;
    throw new RangeError(
      `${this.#operation}: ${this.#named.name} is ${this.#named.column} and takes ${length} values for ${
        length / elementCount
      } steps, got ${given}${nestedHint(values[0])}`,
    );
  }

  /** Puts in the values of all steps. */
  write(value: unknown): void {
    const view = this.#view;
    // The kinds that nearly all columns have, each with an array of its own in V8's eyes.
    if (view instanceof Float32Array && isKind("Float32Array", value)) {
      if (lengthOf(value) === view.length) return view.set(value);
    } else if (view instanceof Int32Array && isKind("Int32Array", value)) {
      if (lengthOf(value) === view.length) return view.set(value);
    }
    this.#copy(this.check(value), 0, view.length);
  }

  /** Puts in the values of one step, from what {@linkcode ManyRowsColumn.check} gave. */
  writeStep(values: Values, step: number): void {
    const { elementCount } = this.#named.column;
    this.#copy(values, step * elementCount, (step + 1) * elementCount);
  }

  #copy(values: Values, from: number, to: number): void {
    const view = this.#view;
    if (ArrayBuffer.isView(values)) {
      if (this.#place.dtype === "bool") {
        for (let k = from; k < to; k++) checkElement(this.#place, values[k], k);
      }
      view.set(this.#part(values, from, to), from);
    } else {
      for (let k = from; k < to; k++) view[k] = checkElement(this.#place, values[k], k);
    }
  }

  /** Elements `from` to `to` of the caller's array; not by its `subarray`, which may be anyone's. */
  #part(values: ArrayOfDType[DType], from: number, to: number): ArrayOfDType[DType] {
    if (from === 0 && to === lengthOf(values)) return values;
    const { dtype, elementBytes } = this.#named.column;
    const offset = byteOffsetOf(values) + from * elementBytes;
    return viewOf(dtype, bufferOf(values), offset, to - from);
  }
}

/** Steps on their way to the kernel. */
export class ManyRows {
  /** How many. */
  readonly count: number;
  /** All bytes but final states that are not read. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** `EXRP_RECORD_` of each. */
  readonly flags: Uint8Array<ArrayBuffer>;
  /** The first priority of the pick that begins at each. */
  readonly priorities: Float64Array<ArrayBuffer>;
  /** State, action, reward. */
  readonly columns: readonly ManyRowsColumn[];
  /** The final states. */
  readonly finalState: ManyRowsColumn;
  /** The bytes of the final states. */
  readonly finalBytes: Uint8Array<ArrayBuffer>;

  /** `count` steps as the kernel lays them out, with room for `finalCount` final states. */
  constructor(
    core: ReplayCore,
    operation: string,
    count: number,
    finalName: string,
    finalCount: number,
  ) {
    const { columns } = core.config;
    const offsets = new Float64Array(EXRP_STEPS_COLUMN + columns.length);
    const { symbols } = core.kernel;
    const status = symbols.exrp_steps_layout(core.id, count, offsets, offsets.length);
    core.check(operation, status);
    const state: Column = (columns[0] as NamedColumn).column;
    const finalOffset = offsets[EXRP_STEPS_FINAL_STATE] ?? 0;
    const finalSize = finalCount * state.elementBytes * state.elementCount;
    const buffer = new ArrayBuffer(finalOffset + finalSize);
    this.count = count;
    this.bytes = new Uint8Array(buffer);
    this.flags = new Uint8Array(buffer, offsets[EXRP_STEPS_FLAGS] ?? 0, count);
    this.priorities = new Float64Array(buffer, offsets[EXRP_STEPS_PRIORITY] ?? 0, count);
    this.columns = columns.map((named, k) =>
      new ManyRowsColumn(operation, named, buffer, offsets[EXRP_STEPS_COLUMN + k] ?? 0, count)
    );
    const final = { name: finalName, column: state };
    this.finalState = new ManyRowsColumn(operation, final, buffer, finalOffset, finalCount);
    this.finalBytes = new Uint8Array(buffer, finalOffset, finalSize);
  }
}
