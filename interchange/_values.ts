/**
 * The numbers of files: their types, and the columns and arrays that they become here.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { type AnyColumnArray, Column, type DType, VIEWS } from "../schema/columns.ts";

/** The types of number that files have: those of columns, and four more. */
export type FileDType = DType | "uint16" | "uint32" | "int64" | "uint64";

/** Numbers as they were read. */
export type Values = AnyColumnArray | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** The error for a file that has not what it needs. */
export function dataError(words: string, cause?: unknown): ReplayError {
  return new ReplayError("data-set", words, cause === undefined ? {} : { cause });
}

interface ArrayClass {
  new (buffer: ArrayBuffer): Values | BigInt64Array | BigUint64Array;
  readonly BYTES_PER_ELEMENT: number;
}

const CLASSES: Readonly<Record<FileDType, ArrayClass>> = {
  ...VIEWS as unknown as Record<DType, ArrayClass>,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
};

/** Bytes of one element. */
export function bytesOf(dtype: FileDType): number {
  return CLASSES[dtype].BYTES_PER_ELEMENT;
}

/** Whether a text is the name of a type of number. */
export function isDType(name: string): name is FileDType {
  return Object.hasOwn(CLASSES, name);
}

/** How many elements a shape has. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The numbers in bytes that are little-endian and begin where a buffer does. */
export function valuesIn(dtype: FileDType, bytes: Uint8Array<ArrayBuffer>, name: string): Values {
  const { buffer } = bytes.byteOffset === 0 && bytes.length === bytes.buffer.byteLength
    ? bytes
    : bytes.slice();
  return toNumbers(new CLASSES[dtype](buffer), name);
}

/** Numbers of any class as numbers that this language counts with: integers of 64 bits must be exact. */
export function toNumbers(
  values: ArrayLike<number> | ArrayLike<bigint>,
  name: string,
): Values {
  const [first] = [values[0]];
  if (typeof first !== "bigint") {
    return ArrayBuffer.isView(values)
      ? values as unknown as Values
      : Float64Array.from(values as ArrayLike<number>);
  }
  const numbers = new Float64Array(values.length);
  for (let k = 0; k < numbers.length; k++) {
    const number = Number(values[k]);
    if (!Number.isSafeInteger(number)) {
      throw dataError(`${name} has ${values[k]}, and whole numbers are exact up to 2^53 only`);
    }
    numbers[k] = number;
  }
  return numbers;
}

/** The column that keeps numbers of a file. Integers that no column has become `int32`, or `float64` where they need not be small. */
export function columnFor(
  dtype: FileDType,
  shape: readonly number[],
  isSmall: boolean,
): Column {
  const own = Object.hasOwn(VIEWS, dtype);
  const kept = own ? dtype as DType : dtype === "uint16" || isSmall ? "int32" : "float64";
  try {
    return new Column(kept, shape);
  } catch (cause) {
    throw dataError(`rows of the shape [${shape}] fit no column: ${reasonOf(cause)}`, cause);
  }
}

/** The rows `from` to `to` of an array whose rows have `width` elements, without a copy. */
export function rowsOf<V extends Values>(values: V, width: number, from: number, to: number): V {
  return values.subarray(from * width, to * width) as V;
}

/** Numbers that JSON has not, as Python writes and reads them. */
const PYTHON = ["NaN", "-Infinity", "Infinity"];

/** JSON with `Infinity` and `NaN`, which Python reads and writes. */
export function pythonJson(value: object, indent = 0): string {
  const text = JSON.stringify(
    value,
    (_, each) => typeof each === "number" && !Number.isFinite(each) ? `\u0000${each}` : each,
    indent,
  );
  return PYTHON.reduce((all, word) => all.replaceAll(`"\\u0000${word}"`, word), text);
}
