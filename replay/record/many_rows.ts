/**
 * The staging rows: many records' bytes as the kernel reads them, column by column, with every value checked.
 *
 * @module
 */

import { checkNumbers, isNumbers, show } from "../../base/checks.ts";
import { numberOf } from "../../base/inspect.ts";
import {
  bufferOf,
  byteOffsetOf,
  countOf,
  isKind,
  isNumeric,
  kindOf,
  lengthOf,
} from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import {
  type ArrayOfDType,
  type Column,
  type DType,
  type NamedColumn,
  viewOf,
} from "../../schema/columns.ts";
import type { ReplayCore } from "../core.ts";
import { canBeNaN, checkFinite } from "./finite.ts";
import { checkElement, type ColumnPlace, nestedHint } from "./row.ts";

/** The values, which must be a plain or typed array of numbers. */
export function checkValues(
  operation: string,
  { name, column }: NamedColumn,
  value: unknown,
): ArrayLike<unknown> {
  if (isNumbers(value)) return value;
  return checkNumbers(
    operation,
    name,
    value,
    `is ${column} and takes the values of all steps as one plain or typed array of numbers`,
  );
}

/** How many steps the values of a column belong to. */
export function countSteps(
  operation: string,
  named: NamedColumn,
  values: ArrayLike<unknown>,
): number {
  const { elementCount } = named.column;
  const length = countOf(values);
  const count = length / elementCount;
  if (Number.isInteger(count) && count > 0) {
    // Rows in the place of numbers would be counted as numbers, and other columns blamed for their count.
    if (Array.isArray(values) && nestedHint(values[0]) !== "") {
      throw new TypeError(
        `${operation}: ${named.name}[0] must be a number (it is ${named.column}), got ${
          show(values[0])
        }${nestedHint(values[0])}`,
      );
    }
    return count;
  }
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
      stepElements: elementCount,
    };
  }

  /** The values, of which there must be as many as the steps take. */
  check(value: unknown): ArrayLike<unknown> {
    const values = checkValues(this.#operation, this.#named, value);
    const { length } = this.#view;
    const given = countOf(values);
    if (given === length) return values;
    const { name, column } = this.#named;
    throw new RangeError(
      `${this.#operation}: ${name} is ${column} and takes ${numberOf(length, "value")} for ${
        numberOf(length / column.elementCount, "step")
      }, got ${given}${nestedHint(values[0])}`,
    );
  }

  /** Writes the values of all steps. */
  write(value: unknown): void {
    const view = this.#view;
    // Nearly all columns are of these two kinds. V8 sees one type of array at each store.
    if (view instanceof Float32Array && isKind("Float32Array", value)) {
      if (lengthOf(value) === view.length) return view.set(value);
    } else if (view instanceof Int32Array && isKind("Int32Array", value)) {
      if (lengthOf(value) === view.length) return view.set(value);
    }
    this.#copy(this.check(value), 0, view.length, 0);
  }

  /** Writes the values of step `from` as those of step `to`, from what `check` of a column of the same kind gave. */
  writeStep(values: ArrayLike<unknown>, from: number, to: number): void {
    const { elementCount } = this.#named.column;
    this.#copy(values, from * elementCount, elementCount, to * elementCount);
  }

  /**
   * Refuses NaN and infinite values of steps `first` to `end`, which were written. The error counts the steps from `-shift`.
   *
   * @throws {RangeError} When there is one.
   */
  checkFinite(first: number, end: number, shift = 0): void {
    const { name, column: { dtype, elementCount } } = this.#named;
    if (!canBeNaN(dtype)) return;
    const values = { name, dtype, elementCount, view: this.#view };
    checkFinite(this.#operation, values, first * elementCount, end * elementCount, shift);
  }

  /** Writes `count` elements, those of `values` from `first` on, to `at`. */
  #copy(values: ArrayLike<unknown>, first: number, count: number, at: number): void {
    const view = this.#view;
    const { dtype, elementBytes } = this.#named.column;
    if (dtype !== "bool" && isNumeric(values)) {
      const isWhole = count === lengthOf(values);
      // Every number is a float, so there is nothing to check.
      if (isWhole && (canBeNaN(dtype) || kindOf(values) === kindOf(view))) {
        return view.set(values, at);
      }
      if (kindOf(values) === kindOf(view)) {
        // The array's `subarray` may be the user's code, so it is not called.
        const offset = byteOffsetOf(values) + first * elementBytes;
        return view.set(viewOf(dtype, bufferOf(values), offset, count), at);
      }
    }
    for (let k = 0; k < count; k++) {
      view[at + k] = checkElement(this.#place, values[first + k], first + k);
    }
  }
}

/** What the views of a ManyRows take in the engine, about. */
const VIEW_BYTES = 8 * 1024;

/** Many records on their way to the kernel. */
export class ManyRows {
  /** How many. */
  readonly count: number;
  /** For how many final states there is room. */
  readonly finalCount: number;
  /** All bytes that the kernel reads. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The `EXRP_RECORD_` flags of each step. */
  readonly flags: Uint8Array<ArrayBuffer>;
  /** The first priority of the pick that begins at each step. */
  readonly priorities: Float64Array<ArrayBuffer>;
  /** The tag of each step, for episodes that begin there. */
  readonly tags: Int32Array<ArrayBuffer>;
  /** State, action, reward, then the extras. */
  readonly columns: readonly ManyRowsColumn[];
  /** The final states. */
  readonly finalState: ManyRowsColumn;
  /** The bytes of the final states. */
  readonly finalBytes: Uint8Array<ArrayBuffer>;
  /** The handle of the episode, where all steps are of one or follow it. */
  readonly handle: Float64Array<ArrayBuffer> = new Float64Array(1);
  /** How many steps the kernel has stored, and how many episodes got some. */
  readonly done: Uint32Array<ArrayBuffer> = new Uint32Array(2);

  /** The bytes of memory that it takes. */
  get memoryBytes(): number {
    return this.bytes.length + VIEW_BYTES;
  }

  /** `count` steps in the layout of the kernel, with room for `finalCount` final states. */
  constructor(
    core: ReplayCore,
    operation: string,
    count: number,
    finalName: string,
    finalCount: number,
  ) {
    const { columns } = core.config;
    const offsets = new Float64Array(abi.EXRP_STEPS_COLUMN + columns.length);
    const { symbols } = core.kernel;
    const status = symbols.exrp_steps_layout(core.id, count, offsets, lengthOf(offsets));
    core.check(operation, status);
    const state: Column = (columns[0] as NamedColumn).column;
    const finalOffset = offsets[abi.EXRP_STEPS_FINAL_STATE] ?? 0;
    const finalSize = finalCount * state.elementBytes * state.elementCount;
    const buffer = new ArrayBuffer(finalOffset + finalSize);
    this.count = count;
    this.finalCount = finalCount;
    this.bytes = new Uint8Array(buffer);
    this.flags = new Uint8Array(buffer, offsets[abi.EXRP_STEPS_FLAGS] ?? 0, count);
    this.priorities = new Float64Array(buffer, offsets[abi.EXRP_STEPS_PRIORITY] ?? 0, count);
    this.tags = new Int32Array(buffer, offsets[abi.EXRP_STEPS_TAG] ?? 0, count);
    this.columns = columns.map((named, k) =>
      new ManyRowsColumn(operation, named, buffer, offsets[abi.EXRP_STEPS_COLUMN + k] ?? 0, count)
    );
    const final = { name: finalName, column: state };
    this.finalState = new ManyRowsColumn(operation, final, buffer, finalOffset, finalCount);
    this.finalBytes = new Uint8Array(buffer, finalOffset, finalSize);
  }
}
