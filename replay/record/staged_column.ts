/**
 * The staging of one column: its values in the memory that the kernel will read, of one step or of many, with every value checked.
 *
 * This is the hot path of `record`: an array of the column's own kind is copied, and anything else is checked element by element.
 *
 * @module
 */

import { checkNumbers, isNumbers, show } from "../../base/checks.ts";
import { numberOf } from "../../base/inspect.ts";
import { bufferOf, byteOffsetOf, countOf, kindOf, lengthOf } from "../../base/typed_arrays.ts";
import {
  type AnyColumnArray,
  type DType,
  DTYPES,
  type NamedColumn,
  viewOf,
  VIEWS,
} from "../../schema/columns.ts";

/** For one step, `set` is faster than a loop for this many elements or more. */
const SET_COUNT_MIN = 48;

/** The kind of array that has the values of each dtype as they are stored. */
const KINDS: Readonly<Partial<Record<DType, string>>> = Object.fromEntries(
  DTYPES.map((dtype) => [dtype, VIEWS[dtype]?.name]),
);

const INTEGER_RANGE: Readonly<Partial<Record<DType, readonly [number, number]>>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
};

/** Where and how the values of a column are staged. */
export interface Staging {
  /** The call that errors name, such as `record()`. Columns may share one object, whose name changes. */
  readonly operation: { readonly name: string };
  /** The memory of the values. */
  readonly buffer: ArrayBuffer;
  /** The byte at which they begin; 0 by default. */
  readonly offset?: number;
  /** How many steps there are. Without it there is one, whose value may be a number, and errors count no steps. */
  readonly steps?: number | undefined;
  /** Whether NaN and infinite values are refused; false by default. */
  readonly isFinite?: boolean;
}

/** A column of what is on its way to the kernel. */
export class StagedColumn {
  /** The column and its name. */
  readonly named: NamedColumn;
  /** The values, step after step. */
  readonly view: AnyColumnArray;
  readonly #operation: { readonly name: string };
  readonly #steps: number | undefined;
  readonly #length: number;
  readonly #isScalar: boolean;
  readonly #isShort: boolean;
  readonly #isFloat: boolean;
  readonly #isInt32: boolean;
  readonly #isFinite: boolean;
  /** The kind of array that is copied as it is; empty for `bool`, whose elements are always checked. */
  readonly #kind: string;

  /** A column that no value was written to yet. */
  constructor(named: NamedColumn, { operation, buffer, offset = 0, steps, isFinite }: Staging) {
    const { dtype, elementCount, shape } = named.column;
    this.named = named;
    this.#operation = operation;
    this.#steps = steps;
    this.#length = (steps ?? 1) * elementCount;
    this.view = viewOf(dtype, buffer, offset, this.#length);
    this.#isScalar = steps === undefined && shape.length === 0;
    this.#isShort = steps === undefined && elementCount < SET_COUNT_MIN;
    this.#isFloat = dtype.startsWith("float");
    this.#isInt32 = dtype === "int32";
    this.#isFinite = this.#isFloat && isFinite === true;
    this.#kind = dtype === "bool" ? "" : kindOf(this.view) ?? "";
  }

  /**
   * Writes the values of all steps.
   *
   * @throws {TypeError} When the value is of another kind than the column.
   * @throws {RangeError} When there is another number of elements, or a number is out of range.
   */
  write(value: unknown): void {
    if (this.#isScalar && this.#fits(value)) this.view[0] = value;
    else this.#writeOther(value);
    if (this.#isFinite) this.checkFinite();
  }

  /** The values, of which there must be as many as `steps` steps take. */
  check(value: unknown, steps: number | undefined = this.#steps): ArrayLike<unknown> {
    const { column } = this.named;
    const values = numbersOf(this.#operation.name, this.named, value, steps === undefined);
    const length = (steps ?? 1) * column.elementCount;
    const given = countOf(values);
    if (given === length) return values;
    const all = steps === undefined ? "" : ` for ${numberOf(steps, "step")}`;
    throw new RangeError(
      `${this.#place(-1)} is ${column} and takes ${numberOf(length, "value")}${all}, got ${given}${
        nestedHint(values[0])
      }`,
    );
  }

  /** Writes the values of step `from` as those of step `to`, from what {@linkcode StagedColumn.check} gave. */
  writeStep(values: ArrayLike<unknown>, from: number, to: number): void {
    const { elementCount } = this.named.column;
    this.#copy(values, from * elementCount, elementCount, to * elementCount);
    if (this.#isFinite) this.checkFinite(to, to + 1, from - to);
  }

  /**
   * Refuses NaN and infinite values of steps `first` to `end`, which were written. It looks at the values as they will be stored. So it
   * also refuses a finite number that is infinite as a float32. The error counts the steps from `-shift`.
   *
   * @throws {RangeError} When a value is not finite. The text has its column, step and place.
   */
  checkFinite(first = 0, end: number = this.#steps ?? 1, shift = 0): void {
    if (!this.#isFloat) return;
    const { view } = this;
    const { name, column: { dtype, elementCount } } = this.named;
    const to = end * elementCount;
    // NaN and the infinities times 0 are NaN, every other number is 0. Two sums, because each addition waits for the one before.
    let [sum, other] = [0, 0];
    let k = first * elementCount;
    for (; k + 1 < to; k += 2) {
      sum += (view[k] as number) * 0;
      other += (view[k + 1] as number) * 0;
    }
    if (k < to) sum += (view[k] as number) * 0;
    if (sum + other === 0) return;
    for (k = first * elementCount; Number.isFinite(view[k]); k++);
    const element = k % elementCount;
    const step = this.#steps === undefined
      ? ""
      : ` of step ${(k - element) / elementCount + shift}`;
    const place = elementCount > 1 ? `element ${element} of ${name}${step}` : `${name}${step}`;
    throw new RangeError(
      `${this.#operation.name}: ${place} is ${
        view[k]
      } as ${dtype}; this replay takes only finite states, actions and rewards (checkFinite)`,
    );
  }

  /** Writes all but a single number that is stored as it is. */
  #writeOther(value: unknown): void {
    const { view } = this;
    if (this.#isScalar) {
      view[0] = this.#element(value, -1);
    } else if (kindOf(value) === this.#kind && lengthOf(value as AnyColumnArray) === this.#length) {
      const values = value as AnyColumnArray;
      if (this.#isShort) {
        for (let k = 0; k < this.#length; k++) view[k] = values[k] as number;
      } else view.set(values);
    } else this.#copy(this.check(value), 0, this.#length, 0);
  }

  /** Writes `count` elements, those of `values` from `first` on, to `at`. */
  #copy(values: ArrayLike<unknown>, first: number, count: number, at: number): void {
    const { view } = this;
    if (!Array.isArray(values)) {
      const typed = values as AnyColumnArray;
      if (kindOf(typed) === this.#kind) {
        const { dtype, elementBytes } = this.named.column;
        // The array's `subarray` may be the user's code, so it is not called.
        const offset = byteOffsetOf(typed) + first * elementBytes;
        return view.set(viewOf(dtype, bufferOf(typed), offset, count), at);
      }
      // Every number is a float, so there is nothing to check.
      if (this.#isFloat && count === lengthOf(typed)) return view.set(typed, at);
    }
    for (let k = 0; k < count; k++) {
      const value = values[first + k];
      view[at + k] = this.#fits(value) ? value : this.#element(value, first + k);
    }
  }

  /** Whether an element is stored as it is, as nearly all are. The comparison is true only for whole numbers of 32 bits. */
  #fits(value: unknown): value is number {
    return typeof value === "number" &&
      (this.#isFloat || (this.#isInt32 && (value | 0) === value));
  }

  /** One element as the number to store. `index` is its place in an array; a single number has a negative one. */
  #element(value: unknown, index: number): number {
    const { dtype } = this.named.column;
    if (dtype === "bool") {
      if (value === true || value === 1) return 1;
      if (value === false || value === 0) return 0;
      const message = `${this.#place(index)} must be true, false, 1 or 0, got ${show(value)}`;
      throw typeof value === "number" ? new RangeError(message) : new TypeError(message);
    }
    if (typeof value !== "number") {
      throw new TypeError(
        `${this.#place(index)} must be a number (it is ${this.named.column}), got ${show(value)}${
          index < 0 ? "" : nestedHint(value)
        }`,
      );
    }
    const range = INTEGER_RANGE[dtype];
    if (
      range !== undefined && !(Number.isInteger(value) && value >= range[0] && value <= range[1])
    ) {
      throw new RangeError(
        `${this.#place(index)} must be an integer from ${range[0]} to ${
          range[1]
        } (${dtype}), got ${value}`,
      );
    }
    return value;
  }

  #place(index: number): string {
    const { name, column: { elementCount } } = this.named;
    const place = `${this.#operation.name}: ${name}`;
    if (index < 0) return place;
    const hasSteps = this.#steps !== undefined && elementCount > 1;
    return `${place}[${index}]${hasSteps ? ` (step ${Math.floor(index / elementCount)})` : ""}`;
  }
}

/** A hint for an error if an element is an array itself; else an empty text. */
function nestedHint(element: unknown): string {
  return Array.isArray(element) || ArrayBuffer.isView(element)
    ? "; an array is flat, in row-major order"
    : "";
}

/** The values of one step or of many, which must be a plain or typed array of numbers. */
function numbersOf(
  operation: string,
  { name, column }: NamedColumn,
  value: unknown,
  isOne: boolean,
): ArrayLike<unknown> {
  if (isNumbers(value)) return value;
  const takes = isOne
    ? `${numberOf(column.elementCount, "value")} as a`
    : "the values of all steps as one";
  const needed = `is ${column} and takes ${takes} plain or typed array of numbers`;
  return checkNumbers(operation, name, value, needed);
}

/** How many steps the values of a column belong to. */
export function countSteps(operation: string, named: NamedColumn, value: unknown): number {
  const { name, column } = named;
  // An array of the column's own kind is taken by its memory, as write() does.
  if (kindOf(value) === KINDS[column.dtype]) {
    const count = lengthOf(value as AnyColumnArray) / column.elementCount;
    if (Number.isInteger(count) && count > 0) return count;
  }
  const values = numbersOf(operation, named, value, false);
  const length = countOf(values);
  const count = length / column.elementCount;
  const hint = nestedHint(values[0]);
  if (!Number.isInteger(count) || count === 0) {
    throw new RangeError(
      `${operation}: ${name} is ${column} and takes ${column.elementCount} values for each of one or more steps, got ${length}${hint}`,
    );
  }
  if (hint === "") return count;
  // Rows in the place of numbers would be counted as numbers, and other columns blamed for their count.
  throw new TypeError(
    `${operation}: ${name}[0] must be a number (it is ${column}), got ${show(values[0])}${hint}`,
  );
}
