/**
 * The staging row: one record's bytes as the kernel reads them, filled column by column with every value checked.
 *
 * This is the hot path of `record`. Each column knows its kind as one small integer, and each kind has its own place
 * in the code. So V8 sees one type of array at each store whatever schemas a process uses.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import {
  checkHonest,
  countOf,
  isKind,
  isNumeric,
  kindOf,
  lengthOf,
} from "../../base/typed_arrays.ts";
import { checkStatus, type Kernel } from "../../ffi/library.ts";
import {
  EXRP_ROW_BYTES,
  EXRP_ROW_COLUMN,
  EXRP_ROW_FINAL_STATE,
  EXRP_ROW_PRIORITY,
  EXRP_ROW_TAG,
} from "../../ffi/symbols.ts";
import { type ArrayOfDType, type DType, type NamedColumn, viewOf } from "../../schema/columns.ts";
import { canBeNaN, checkFinite, type StagedValues } from "./finite.ts";

const KIND: Readonly<Record<DType, number>> = {
  uint8: 0,
  int8: 1,
  int16: 2,
  int32: 3,
  float16: 4,
  float32: 5,
  float64: 6,
  bool: 7,
};
const KIND_ARRAY = 8;

/** `set` is faster than a loop for this many elements or more. */
const SET_COUNT_MIN = 48;

const INTEGER_RANGE: Readonly<Partial<Record<DType, readonly [number, number]>>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
};

/** What an error says about a column: the call, the column's name, and what the column takes. */
export interface ColumnPlace {
  /** The call, such as `record()`. All columns share one object, because the name changes. */
  readonly operation: { name: string };
  /** `state`, `extras.logProb`. */
  readonly name: string;
  /** The kind of element. */
  readonly dtype: DType;
  /** The column as its schema has it: `float32(4)`. */
  readonly shapeText: string;
  /** In a call with many steps: how many elements a step has. Errors then say which step it is. */
  readonly stepElements?: number;
}

/** One element as the number to store. `index` is its place in an array; a single number has a negative one. */
export function checkElement(place: ColumnPlace, value: unknown, index: number): number {
  const { dtype } = place;
  if (dtype === "bool") {
    if (value === true || value === 1) return 1;
    if (value === false || value === 0) return 0;
    const message = `${placeText(place, index)} must be true, false, 1 or 0, got ${show(value)}`;
    throw typeof value === "number" ? new RangeError(message) : new TypeError(message);
  }
  if (typeof value !== "number") {
    throw new TypeError(
      `${placeText(place, index)} must be a number (it is ${place.shapeText}), got ${show(value)}${
        index < 0 ? "" : nestedHint(value)
      }`,
    );
  }
  const range = INTEGER_RANGE[dtype];
  if (range !== undefined && !(Number.isInteger(value) && value >= range[0] && value <= range[1])) {
    throw new RangeError(
      `${placeText(place, index)} must be an integer from ${range[0]} to ${
        range[1]
      } (${dtype}), got ${value}`,
    );
  }
  return value;
}

/** A hint for an error if an element is an array itself; else an empty text. */
export function nestedHint(element: unknown): string {
  return Array.isArray(element) || ArrayBuffer.isView(element)
    ? "; an array is flat, in row-major order"
    : "";
}

function placeText({ operation, name, stepElements = 1 }: ColumnPlace, index: number): string {
  if (index < 0) return `${operation.name}: ${name}`;
  const step = stepElements > 1 ? ` (step ${Math.floor(index / stepElements)})` : "";
  return `${operation.name}: ${name}[${index}]${step}`;
}

/** One column's place in the row. */
export class RowColumn {
  /** The values in the row. */
  readonly staged: StagedValues;
  readonly #place: ColumnPlace;
  readonly #shapeText: string;
  readonly #operation: { name: string };
  readonly #name: string;
  readonly #dtype: DType;
  readonly #kind: number;
  readonly #count: number;
  readonly #offset: number;
  readonly #row: DataView<ArrayBuffer>;
  readonly #view: ArrayOfDType[DType];

  /** The place of a column at `offset` bytes in a row. */
  constructor(
    { column }: NamedColumn,
    name: string,
    row: ArrayBuffer,
    offset: number,
    operation: { name: string },
  ) {
    this.#name = name;
    this.#operation = operation;
    this.#dtype = column.dtype;
    this.#kind = KIND[column.dtype] + (column.shape.length > 0 ? KIND_ARRAY : 0);
    this.#count = column.elementCount;
    this.#offset = offset;
    this.#row = new DataView(row);
    this.#view = viewOf(column.dtype, row, offset, column.elementCount);
    const { dtype, elementCount } = column;
    this.staged = { name, dtype, elementCount, view: this.#view };
    this.#shapeText = String(column);
    this.#place = { operation, name, dtype: column.dtype, shapeText: this.#shapeText };
  }

  /**
   * Puts a value into the row.
   *
   * @throws {TypeError} When the value is of another kind than the column.
   * @throws {RangeError} When the value has another number of elements, or a number is out of range.
   */
  write(value: unknown): void {
    switch (this.#kind) {
      case 3:
        // The comparison is true only for whole numbers of 32 bits.
        if (typeof value === "number" && (value | 0) === value) {
          this.#row.setInt32(this.#offset, value, true);
          return;
        }
        break;
      case 5:
        if (typeof value === "number") {
          this.#row.setFloat32(this.#offset, value, true);
          return;
        }
        break;
      case 6:
        if (typeof value === "number") {
          this.#row.setFloat64(this.#offset, value, true);
          return;
        }
        break;
      case 8:
        if (isKind("Uint8Array", value) && lengthOf(value) === this.#count) {
          const view = this.#view as Uint8Array;
          const count = this.#count;
          if (count < SET_COUNT_MIN) {
            for (let k = 0; k < count; k++) view[k] = value[k] as number;
          } else view.set(value);
          return;
        }
        break;
      case 11:
        if (isKind("Int32Array", value) && lengthOf(value) === this.#count) {
          const view = this.#view as Int32Array;
          const count = this.#count;
          if (count < SET_COUNT_MIN) {
            for (let k = 0; k < count; k++) view[k] = value[k] as number;
          } else view.set(value);
          return;
        }
        break;
      case 13:
        if (isKind("Float32Array", value) && lengthOf(value) === this.#count) {
          const view = this.#view as Float32Array;
          const count = this.#count;
          if (count < SET_COUNT_MIN) {
            for (let k = 0; k < count; k++) view[k] = value[k] as number;
          } else view.set(value);
          return;
        }
        break;
      case 14:
        if (isKind("Float64Array", value) && lengthOf(value) === this.#count) {
          const view = this.#view as Float64Array;
          const count = this.#count;
          if (count < SET_COUNT_MIN) {
            for (let k = 0; k < count; k++) view[k] = value[k] as number;
          } else view.set(value);
          return;
        }
        break;
    }
    if (this.#kind < KIND_ARRAY) this.#view[0] = checkElement(this.#place, value, -1);
    else this.#writeArray(value);
  }

  /** Writes arrays of the rarer dtypes, arrays of other kinds and plain arrays, and refuses everything else. */
  #writeArray(value: unknown): void {
    const view = this.#view;
    const where = `${this.#operation.name}: ${this.#name}`;
    if (ArrayBuffer.isView(value)) checkHonest(where, value);
    if (!isNumeric(value) && !Array.isArray(value)) {
      throw new TypeError(
        `${where} is ${this.#shapeText} and takes ${this.#count} values as a plain or typed array of numbers, got ${
          show(value)
        }`,
      );
    }
    this.#checkLength(value);
    if (this.#dtype !== "bool" && kindOf(value) === kindOf(view)) view.set(value);
    else for (let k = 0; k < view.length; k++) view[k] = checkElement(this.#place, value[k], k);
  }

  #checkLength(value: ArrayLike<unknown>): void {
    const count = countOf(value);
    if (count === this.#count) return;
    throw new RangeError(
      `${this.#operation.name}: ${this.#name} is ${this.#shapeText} and takes ${this.#count} values, got ${count}${
        nestedHint(value[0])
      }`,
    );
  }
}

/** One record on its way to the kernel: the episode's handle, the columns, the final state. */
export class Row {
  /** All bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many they are. */
  readonly byteCount: number;
  /** State, action, reward, then the extras. */
  readonly columns: readonly RowColumn[];
  /** The state. */
  readonly state: RowColumn;
  /** The action. */
  readonly action: RowColumn;
  /** The reward. */
  readonly reward: RowColumn;
  /** The final state. */
  readonly finalState: RowColumn;
  /** The final state, under its name in `recordStep`. */
  readonly nextState: RowColumn;
  /** The bytes of the final state. */
  readonly finalBytes: Uint8Array<ArrayBuffer>;
  /** The call that errors name. */
  readonly operation: { name: string } = { name: "record()" };
  /** Counts the calls that write into the row, so that a call notices another one in between. */
  turn = 0;
  /** The same bytes; the handle is at 0. */
  readonly view: DataView<ArrayBuffer>;
  /** The offset of the priority, a float64. */
  readonly priorityOffset: number;
  /** The offset of the tag, an int32. */
  readonly tagOffset: number;

  /** Whether NaN and infinite values are refused. */
  readonly isFinite: boolean;
  /** Which of the state, action and reward can hold NaN. */
  readonly #floats: readonly RowColumn[];

  /** A row with the layout that the kernel gives for replay `id`. `isFinite` says whether NaN and infinite values are refused. */
  constructor(kernel: Kernel, id: number, columns: readonly NamedColumn[], isFinite: boolean) {
    const offsets = new Float64Array(EXRP_ROW_COLUMN + columns.length);
    const status = kernel.symbols.exrp_row_layout(id, offsets, lengthOf(offsets));
    checkStatus(kernel, "ExperienceReplay.create()", status);
    this.byteCount = offsets[EXRP_ROW_BYTES] ?? 0;
    const buffer = new ArrayBuffer(this.byteCount);
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.priorityOffset = offsets[EXRP_ROW_PRIORITY] ?? 0;
    this.tagOffset = offsets[EXRP_ROW_TAG] ?? 0;
    this.columns = columns.map((named, k) =>
      new RowColumn(named, named.name, buffer, offsets[EXRP_ROW_COLUMN + k] ?? 0, this.operation)
    );
    const [state, action, reward] = this.columns;
    const [first] = columns;
    if (!state || !action || !reward || !first) {
      throw new TypeError("a row has three columns at least");
    }
    this.state = state;
    this.action = action;
    this.reward = reward;
    const at = offsets[EXRP_ROW_FINAL_STATE] ?? 0;
    this.finalState = new RowColumn(first, "finalState", buffer, at, this.operation);
    this.nextState = new RowColumn(first, "nextState", buffer, at, this.operation);
    const { elementBytes, elementCount } = first.column;
    this.finalBytes = new Uint8Array(buffer, at, elementBytes * elementCount);
    this.isFinite = isFinite;
    this.#floats = [state, action, reward].filter(({ staged }) => canBeNaN(staged.dtype));
  }

  /**
   * Refuses NaN and infinite values in the state, action and reward.
   *
   * @throws {RangeError} When there is one.
   */
  checkFinite(operation: string): void {
    for (const column of this.#floats) this.checkFiniteOf(operation, column);
  }

  /** The same for one column, such as the final state. */
  checkFiniteOf(operation: string, { staged }: RowColumn): void {
    checkFinite(operation, staged, 0, staged.elementCount);
  }
}
