/**
 * Values with a dtype and a shape, as they go into columns.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { bytesOf, countOf, kindOf, lengthOf } from "../base/typed_arrays.ts";
import { showPath, type StepPath } from "./path.ts";
import {
  type DTypeInfo,
  dtypeOfKind,
  dtypeOfName,
  type ReverbArray,
  type ReverbArrayOfDType,
  type ReverbDType,
} from "./dtypes.ts";

const utf8 = new TextEncoder();

/**
 * A value with a dtype and a shape. {@linkcode tensor} makes one.
 *
 * @example
 * ```ts
 * import { type Tensor, tensor } from "@exrp/replay/reverb";
 *
 * const image: Tensor<"uint8"> = tensor(new Uint8Array(84 * 84), { shape: [84, 84] });
 * console.log(image.dtype); // uint8
 * ```
 */
export interface Tensor<D extends ReverbDType = ReverbDType> {
  /** Its dtype. */
  readonly dtype: D;
  /** Its shape; `[]` for one value. */
  readonly shape: readonly number[];
  /** Its values in row-major order. {@linkcode ReverbDType} says which array each dtype has. */
  readonly data: ReverbArrayOfDType[D];
}

/** How {@linkcode tensor} is to read its value. */
export interface TensorOptions<D extends ReverbDType = ReverbDType> {
  /** The dtype. Without it, a typed array has its own, numbers are `float64`, booleans `bool`, `bigint`s `int64`, and texts `string`. */
  readonly dtype?: D;
  /** The shape. Without it, an array has one dimension, and one value has none. */
  readonly shape?: readonly number[];
}

/** A tensor of the library: a leaf of what you append. */
class OwnTensor<D extends ReverbDType> implements Tensor<D> {
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly data: ReverbArrayOfDType[D];
  readonly info: DTypeInfo;

  constructor(info: DTypeInfo, shape: readonly number[], data: ReverbArrayOfDType[D]) {
    this.dtype = info.name as D;
    this.shape = shape;
    this.data = data;
    this.info = info;
  }
}

/** One value of a {@linkcode tensor}. */
export type TensorElement = number | bigint | boolean | string | Uint8Array;

/**
 * Gives a value a dtype and a shape.
 *
 * Numbers need a dtype where the server expects another one than `float64`. Typed arrays need a shape where they have more than one
 * dimension, and a dtype where their class does not say it, such as `bool`. The array is not copied until you append it.
 *
 * @throws {TypeError} If there is no such dtype, or the value can't have it.
 * @throws {RangeError} If the shape has another number of values.
 *
 * @example
 * ```ts
 * import { tensor } from "@exrp/replay/reverb";
 *
 * const action = tensor(3, { dtype: "int32" });
 * console.log([action.shape, action.data]); // [[], Int32Array(1) [3]]
 * const names = tensor(["left", "right"]);
 * console.log([names.dtype, names.shape]); // ["string", [2]]
 * ```
 */
export function tensor<D extends ReverbDType = ReverbDType>(
  value: ArrayBufferView | TensorElement | readonly TensorElement[],
  options: TensorOptions<D> = {},
): Tensor<D> {
  const { dtype, shape } = options;
  const info = dtype === undefined ? dtypeOfValue(value) : dtypeOfName(dtype);
  if (info === undefined) {
    throw new TypeError(
      dtype === undefined
        ? `tensor() takes a typed array, a number, a boolean, a bigint, a text or an array of those, got ${
          show(value)
        }`
        : `tensor() knows no dtype ${show(dtype)}`,
    );
  }
  const data = dataOf(info, value);
  const count = data.length / info.parts;
  const isOne = kindOf(value) === undefined && !Array.isArray(value) ||
    (value instanceof Uint8Array && info.array === undefined);
  const own = shape ?? (isOne ? [] : [count]);
  if (own.some((size) => !Number.isInteger(size) || size < 0)) {
    throw new RangeError(`the shape of a tensor must have integers from 0 on, got [${own}]`);
  }
  const needed = own.reduce((product, size) => product * size, 1);
  if (needed !== count) {
    throw new RangeError(`a tensor of shape [${own}] has ${needed} values, got ${count}`);
  }
  return new OwnTensor(info, [...own], data as ReverbArrayOfDType[D]);
}

function dtypeOfValue(value: unknown): DTypeInfo | undefined {
  const one = Array.isArray(value) ? value[0] : value;
  const kind = kindOf(value);
  if (kind !== undefined) return dtypeOfKind(kind);
  if (typeof one === "number") return dtypeOfName("float64");
  if (typeof one === "bigint") return dtypeOfName("int64");
  if (typeof one === "boolean") return dtypeOfName("bool");
  if (typeof one === "string" || one instanceof Uint8Array) return dtypeOfName("string");
  return undefined;
}

/** A value in the array of its dtype. A typed array with the right elements stays where it is. */
function dataOf(info: DTypeInfo, value: unknown): ReverbArray | Uint8Array[] {
  const { array: wanted } = info;
  if (wanted === undefined) return stringsOf(value);
  const kind = kindOf(value);
  const isFlat = kind !== undefined || Array.isArray(value);
  const values = (isFlat ? value : [value]) as ReverbArray;
  if (kind === wanted.name) return values;
  const isBytes = wanted.BYTES_PER_ELEMENT === 1 && values.BYTES_PER_ELEMENT === 1;
  if (isBytes || (kind === "Float16Array" && info.name === "float16")) {
    const bytes = bytesOf(values);
    return new wanted(bytes.buffer, bytes.byteOffset, lengthOf(values));
  }
  const data = new wanted(countOf(values));
  for (let k = 0; k < data.length; k++) setNumber(info, data, k, values[k]);
  return data;
}

/** The dtypes whose elements are bits, not numbers. */
const BITS: ReadonlySet<ReverbDType> = new Set([
  "float16",
  "bfloat16",
  "float8_e5m2",
  "float8_e4m3fn",
]);

/** Sets one element, and refuses a number that the dtype can't have. */
export function setNumber(info: DTypeInfo, data: ReverbArray, at: number, value: unknown): void {
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  if (BITS.has(info.name)) {
    throw new TypeError(`${info.name} takes a typed array with its bits, got ${show(value)}`);
  }
  if (isBig) {
    if (typeof value !== "bigint" && !Number.isSafeInteger(value)) {
      throw new TypeError(`${info.name} takes a bigint or a whole number, got ${show(value)}`);
    }
    data[at] = BigInt(value as number | bigint);
    if (data[at] !== BigInt(value as number | bigint)) throw outOf(info, value);
    return;
  }
  const number = typeof value === "boolean" || typeof value === "bigint" ? Number(value) : value;
  if (typeof number !== "number") {
    throw new TypeError(`${info.name} takes a number, got ${show(value)}`);
  }
  data[at] = number;
  const isFloat = data instanceof Float32Array || data instanceof Float64Array;
  if (!isFloat && data[at] !== number) throw outOf(info, value);
}

function outOf(info: DTypeInfo, value: unknown): RangeError {
  return new RangeError(`${info.name} can't hold ${show(value)}`);
}

/** The error of a value that a column can't hold, with the column's name before its words. */
export function ofColumn(column: string, error: unknown): unknown {
  if (!(error instanceof TypeError) && !(error instanceof RangeError)) return error;
  const Kind = error instanceof TypeError ? TypeError : RangeError;
  return new Kind(`${column}: ${error.message}`, { cause: error });
}

function stringsOf(value: unknown): Uint8Array[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => {
    if (typeof one === "string") return utf8.encode(one);
    if (one instanceof Uint8Array) return one.slice();
    throw new TypeError(`a string must be a text or a Uint8Array, got ${show(one)}`);
  });
}

/** The dtype and the shape of a column's rows. */
export interface RowSpec {
  /** The dtype of each value. */
  readonly dtype: DTypeInfo;
  /** The shape of one row. */
  readonly shape: readonly number[];
  /** The elements of one row in its array: twice as many as values for complex numbers. */
  readonly elements: number;
}

/** A dtype and a shape as the spec of rows. */
export function rowSpec(dtype: DTypeInfo, shape: readonly number[]): RowSpec {
  const elements = shape.reduce((product, size) => product * size, dtype.parts);
  return { dtype, shape, elements };
}

/** The dtype and the shape that a leaf has. */
export function specOfLeaf(path: StepPath, leaf: unknown): RowSpec {
  if (leaf instanceof OwnTensor) return rowSpec(leaf.info, leaf.shape);
  const info = Array.isArray(leaf) ? undefined : dtypeOfValue(leaf);
  if (info === undefined) {
    throw new TypeError(
      `${
        showPath(path)
      } must be a typed array, a number, a boolean, a bigint, a text or a tensor(), got ${
        show(leaf)
      }`,
    );
  }
  return rowSpec(info, kindOf(leaf) === undefined ? [] : [lengthOf(leaf as ReverbArray)]);
}

/** True for what is one leaf of a structure. */
export function isLeaf(value: unknown): boolean {
  return typeof value !== "object" || ArrayBuffer.isView(value) || value instanceof OwnTensor;
}

/**
 * Throws unless a leaf fits a column. A plain number, boolean or `bigint` takes the dtype of its column, if that can hold it.
 */
export function checkLeaf(path: StepPath, spec: RowSpec, leaf: unknown): void {
  if (leaf instanceof OwnTensor) {
    if (leaf.info === spec.dtype && sameShape(leaf.shape, spec.shape)) return;
  } else if (typeof leaf === "object") {
    const kind = kindOf(leaf);
    if (kind !== undefined && spec.shape.length === 1) {
      const info = dtypeOfKind(kind);
      if (info === spec.dtype && lengthOf(leaf as ReverbArray) === spec.elements) return;
    }
  } else if (spec.shape.length === 0) {
    if (typeof leaf === "number" && isPlainFloat(spec)) return;
    if (typeof leaf === "string" && spec.dtype.array === undefined) return;
    if (spec.dtype.array !== undefined && typeof leaf !== "string") {
      try {
        setNumber(spec.dtype, new spec.dtype.array(1), 0, leaf);
      } catch (error) {
        throw ofColumn(showPath(path), error);
      }
      return;
    }
  }
  const got = specOfLeaf(path, leaf);
  throw new TypeError(
    `${showPath(path)} is a column of ${showSpec(spec)}, got ${
      showSpec(got)
    }; a column keeps its dtype and shape`,
  );
}

function isPlainFloat({ dtype }: RowSpec): boolean {
  return dtype.name === "float32" || dtype.name === "float64";
}

/** Whether two shapes are the same. */
export function sameShape(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let k = 0; k < one.length; k++) if (one[k] !== other[k]) return false;
  return true;
}

/** A dtype and a shape in words. */
export function showSpec({ dtype, shape }: Pick<RowSpec, "dtype" | "shape">): string {
  return `${dtype.name} of shape [${shape}]`;
}

/** Copies a leaf that was checked into a row. */
export function writeLeaf(spec: RowSpec, rows: ReverbArray, row: number, leaf: unknown): void {
  const at = row * spec.elements;
  if (typeof leaf === "number" && isPlainFloat(spec)) {
    rows[at] = leaf;
    return;
  }
  if (typeof leaf !== "object") {
    setNumber(spec.dtype, rows, at, leaf);
    return;
  }
  const given = leaf instanceof OwnTensor ? leaf.data as ReverbArray : leaf as ReverbArray;
  if (spec.elements <= 16 && given.BYTES_PER_ELEMENT === rows.BYTES_PER_ELEMENT) {
    const own = spec.dtype.name === "float16" ? dataOf(spec.dtype, given) : given;
    const from = own as ReverbArray;
    for (let k = 0; k < spec.elements; k++) {
      const value = from[k];
      if (value !== undefined) rows[at + k] = value;
    }
    return;
  }
  const from = dataOf(spec.dtype, given);
  if (rows instanceof BigInt64Array || rows instanceof BigUint64Array) {
    rows.set(from as BigInt64Array, at);
  } else rows.set(from as Exclude<ReverbArray, BigInt64Array | BigUint64Array>, at);
}

/** The texts of a leaf that was checked for a column of strings. */
export function stringsOfLeaf(leaf: unknown): Uint8Array[] {
  return leaf instanceof OwnTensor ? leaf.data as Uint8Array[] : stringsOf(leaf);
}
