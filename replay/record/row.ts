/**
 * The staging row: one record's bytes as the kernel reads them, filled column by column with every value checked.
 *
 * This is the hot path of `record`: an array of the column's own kind is copied, and anything else is checked element by element.
 *
 * @module
 */

import { checkNumbers, isNumbers, show } from "../../base/checks.ts";
import { countOf, kindOf, lengthOf } from "../../base/typed_arrays.ts";
import { checkStatus, type Kernel } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import { type ArrayOfDType, type DType, type NamedColumn, viewOf } from "../../schema/columns.ts";
import { canBeNaN, checkFinite, type StagedValues } from "./finite.ts";

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
  readonly #isScalar: boolean;
  readonly #isFloat: boolean;
  readonly #isInt32: boolean;
  /** The kind of array that is copied as it is; undefined for `bool`, whose elements are always checked. */
  readonly #kind: string | undefined;
  readonly #count: number;
  readonly #view: ArrayOfDType[DType];

  /** The place of a column at `offset` bytes in a row. */
  constructor(
    { column }: NamedColumn,
    name: string,
    row: ArrayBuffer,
    offset: number,
    operation: { name: string },
  ) {
    const { dtype, elementCount, shape } = column;
    this.#isScalar = shape.length === 0;
    this.#isFloat = canBeNaN(dtype);
    this.#isInt32 = dtype === "int32";
    this.#count = elementCount;
    this.#view = viewOf(dtype, row, offset, elementCount);
    this.#kind = dtype === "bool" ? undefined : kindOf(this.#view);
    this.staged = { name, dtype, elementCount, view: this.#view };
    this.#place = { operation, name, dtype, shapeText: String(column) };
  }

  /**
   * Puts a value into the row.
   *
   * @throws {TypeError} When the value is of another kind than the column.
   * @throws {RangeError} When the value has another number of elements, or a number is out of range.
   */
  write(value: unknown): void {
    const view = this.#view;
    const count = this.#count;
    if (this.#isScalar) {
      // The comparison is true only for whole numbers of 32 bits.
      const fits = typeof value === "number" &&
        (this.#isFloat || (this.#isInt32 && (value | 0) === value));
      view[0] = fits ? value : checkElement(this.#place, value, -1);
    } else if (this.#isOwn(value)) {
      if (count < SET_COUNT_MIN) { for (let k = 0; k < count; k++) view[k] = value[k] as number; }
      else view.set(value);
    } else this.#writeChecked(value);
  }

  /** Whether a value is an array of the column's own kind, with as many elements. */
  #isOwn(value: unknown): value is ArrayOfDType[DType] {
    return this.#kind !== undefined && kindOf(value) === this.#kind &&
      lengthOf(value as ArrayBufferView) === this.#count;
  }

  /** Writes arrays of other kinds and plain arrays, and refuses everything else. */
  #writeChecked(value: unknown): void {
    const view = this.#view;
    const values = isNumbers(value) ? value : checkNumbers(
      this.#place.operation.name,
      this.#place.name,
      value,
      `${this.#takes()} as a plain or typed array of numbers`,
    );
    if (countOf(values) !== this.#count) {
      const { operation, name } = this.#place;
      throw new RangeError(
        `${operation.name}: ${name} ${this.#takes()}, got ${countOf(values)}${
          nestedHint(values[0])
        }`,
      );
    }
    for (let k = 0; k < view.length; k++) view[k] = checkElement(this.#place, values[k], k);
  }

  #takes(): string {
    return `is ${this.#place.shapeText} and takes ${this.#count} values`;
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

  /** A row with the layout that the kernel gives for replay `id`. `isFinite` says whether NaN and infinite values are refused. */
  constructor(kernel: Kernel, id: number, columns: readonly NamedColumn[], isFinite: boolean) {
    const offsets = new Float64Array(abi.EXRP_ROW_COLUMN + columns.length);
    const status = kernel.symbols.exrp_row_layout(id, offsets, lengthOf(offsets));
    checkStatus(kernel, "ExperienceReplay.create()", status);
    this.byteCount = offsets[abi.EXRP_ROW_BYTES] ?? 0;
    const buffer = new ArrayBuffer(this.byteCount);
    this.bytes = new Uint8Array(buffer);
    this.view = new DataView(buffer);
    this.priorityOffset = offsets[abi.EXRP_ROW_PRIORITY] ?? 0;
    this.tagOffset = offsets[abi.EXRP_ROW_TAG] ?? 0;
    this.columns = columns.map((named, k) =>
      new RowColumn(
        named,
        named.name,
        buffer,
        offsets[abi.EXRP_ROW_COLUMN + k] ?? 0,
        this.operation,
      )
    );
    const [state, action, reward] = this.columns;
    const [first] = columns;
    if (!state || !action || !reward || !first) {
      throw new TypeError("a row has three columns at least");
    }
    this.state = state;
    this.action = action;
    this.reward = reward;
    const at = offsets[abi.EXRP_ROW_FINAL_STATE] ?? 0;
    this.finalState = new RowColumn(first, "finalState", buffer, at, this.operation);
    this.nextState = new RowColumn(first, "nextState", buffer, at, this.operation);
    const { elementBytes, elementCount } = first.column;
    this.finalBytes = new Uint8Array(buffer, at, elementBytes * elementCount);
    this.isFinite = isFinite;
  }

  /** Writes a final state by itself. */
  writeFinal(operation: string, value: unknown): void {
    this.turn++;
    this.operation.name = operation;
    this.finalState.write(value);
    if (this.isFinite) this.checkFinite(operation, this.finalState);
  }

  /**
   * Refuses NaN and infinite values in columns.
   *
   * @throws {RangeError} When there is one.
   */
  checkFinite(operation: string, ...columns: readonly RowColumn[]): void {
    for (const { staged } of columns) checkFinite(operation, staged, 0, staged.elementCount);
  }
}
