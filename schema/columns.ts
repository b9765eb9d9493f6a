/**
 * What a record is made of: columns, each with a dtype and a shape.
 *
 * @module
 */

import { checkInteger, show, showUnlike } from "../base/checks.ts";
import { showAs } from "../base/inspect.ts";

/** The types of number that a {@linkcode Column} can have. `bool` is stored as a byte of 0 or 1. */
export type DType =
  | "uint8"
  | "int8"
  | "int16"
  | "int32"
  | "float16"
  | "float32"
  | "float64"
  | "bool";

/** The typed array that a {@linkcode Batch} has for a column. */
export type ColumnArray<C extends Column> = ArrayOfDType[C["dtype"]];

/** The typed arrays that a {@linkcode Batch} has for columns, by name. */
export type ColumnArrays<X extends Columns> = { readonly [K in keyof X]: ColumnArray<X[K]> };

/** The typed array of a column of any {@linkcode DType}. */
export type AnyColumnArray = ArrayOfDType[DType];

/** The typed array of each {@linkcode DType}. */
export interface ArrayOfDType {
  /** Whole numbers 0 to 255. */
  readonly uint8: Uint8Array<ArrayBuffer>;
  /** Whole numbers -128 to 127. */
  readonly int8: Int8Array<ArrayBuffer>;
  /** Whole numbers -32768 to 32767. */
  readonly int16: Int16Array<ArrayBuffer>;
  /** Whole numbers -2147483648 to 2147483647. */
  readonly int32: Int32Array<ArrayBuffer>;
  /** Half precision. */
  readonly float16: Float16Array<ArrayBuffer>;
  /** Single precision. */
  readonly float32: Float32Array<ArrayBuffer>;
  /** Double precision. */
  readonly float64: Float64Array<ArrayBuffer>;
  /** 0 or 1. */
  readonly bool: Uint8Array<ArrayBuffer>;
}

/**
 * A plain array of numbers, or a typed array of any kind whose elements are numbers. A `BigInt64Array` is none.
 * {@linkcode ExperienceReplay.recordMany} takes it.
 */
export type NumericArray =
  | readonly number[]
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float16Array
  | Float32Array
  | Float64Array;

/** What {@linkcode ExperienceReplay.record} takes for a column of one element. */
export type ScalarValue<C extends Column> = C["dtype"] extends "bool" ? boolean | number : number;

/**
 * What {@linkcode ExperienceReplay.record} takes for a column with a shape: a plain or typed array of numbers, for `bool` also one of
 * `true` and `false`. It is copied fastest if it is the typed array of the column's dtype. The values of any other are checked for the
 * range of the dtype.
 */
export type ArrayValue<C extends Column> = C["dtype"] extends "bool"
  ? NumericArray | readonly boolean[]
  : NumericArray;

/**
 * What {@linkcode ExperienceReplay.record} takes for a column. Without a shape it is a number, and for `bool` also `true` or `false`. With
 * a shape it is the values in row-major order.
 */
export type ColumnValue<C extends Column> = number extends C["shape"]["length"]
  ? ScalarValue<C> | ArrayValue<C>
  : C["shape"]["length"] extends 0 ? ScalarValue<C>
  : ArrayValue<C>;

/** Columns by name, as the option `extras` of {@linkcode ExperienceReplay.create} has them. */
export type Columns = Readonly<Record<string, Column>>;

/** No {@linkcode Columns} at all: the extras of a replay that has none. */
export type NoColumns = Readonly<Record<never, Column>>;

/** A class of typed arrays. */
interface ViewClass {
  new (buffer: ArrayBuffer, offset: number, count: number): AnyColumnArray;
  readonly BYTES_PER_ELEMENT: number;
}

/** The class of each dtype's arrays. Older engines have none for float16. */
export const VIEWS: Readonly<Record<DType, ViewClass>> = {
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  float16: globalThis.Float16Array,
  float32: Float32Array,
  float64: Float64Array,
  bool: Uint8Array,
};

const ELEMENTS_MAX = 2 ** 28;

/** All dtypes, in the order of the documentation. */
export const DTYPES: readonly DType[] = Object.freeze(Object.keys(VIEWS) as DType[]);

/** Only float16 needs `Float16Array`, which older engines lack, so only float16 asks for it. */
function checkHasFloat16(): void {
  if (typeof Float16Array === "function") return;
  throw new TypeError(
    "float16() needs Float16Array, which this JavaScript engine does not have; Deno has it, and Node from 24 on. Take float32() instead",
  );
}

/**
 * A column of the records: a dtype and a shape. {@linkcode float32} and the functions of the other dtypes make one.
 *
 * @example
 * ```ts
 * import { uint8 } from "@exrp/replay";
 *
 * const column = uint8(84, 84);
 * console.log(column.dtype); // uint8
 * console.log(column.elementCount); // 7056: 84 * 84
 * ```
 */
export class Column<
  D extends DType = DType,
  S extends readonly number[] = readonly number[],
> {
  /** The type of its numbers. */
  readonly dtype: D;
  /** The shape of one record's value. It is empty for a single number. */
  readonly shape: Readonly<S>;
  /** How many elements one record's value has: the product of the shape. */
  readonly elementCount: number;
  /** The bytes of one element. */
  readonly elementBytes: number;
  /** n, if the first record of an episode and every nth record after it keep the value. 1 means all records. */
  readonly every: number;

  /**
   * Makes a column.
   *
   * @throws {TypeError} If a dimension is not a number, or if the dtype is float16 and this JavaScript engine has no `Float16Array`.
   * @throws {RangeError} If a dimension is not a whole number from 1, or if the column has more than 2^28 elements.
   */
  constructor(dtype: D, shape: S, every = 1) {
    if (dtype === "float16") checkHasFloat16();
    let elementCount = 1;
    for (const [axis, size] of shape.entries()) {
      checkDimension(dtype, shape, size);
      elementCount *= checkInteger(`${dtype}(): dimension ${axis}`, size, 1, ELEMENTS_MAX);
    }
    checkInteger(
      `${dtype}(${shape.join(", ")}): the number of elements`,
      elementCount,
      1,
      ELEMENTS_MAX,
    );
    this.dtype = dtype;
    this.shape = Object.freeze([...shape]) as readonly number[] as Readonly<S>;
    this.elementCount = elementCount;
    this.elementBytes = VIEWS[dtype].BYTES_PER_ELEMENT;
    this.every = checkInteger(`${dtype}(): every`, every, 1, ELEMENTS_MAX);
    if (new.target === Column) Object.freeze(this);
  }

  /** The column as you write it in code: `float32(84, 84)`. */
  toString(): string {
    const column = `${this.dtype}(${this.shape.join(", ")})`;
    return this.every === 1 ? column : `every(${this.every}, ${column})`;
  }
}

/**
 * A column that not all records keep; made by {@linkcode every}.
 *
 * @example
 * ```ts
 * import { every, float32, KeptColumn } from "@exrp/replay";
 *
 * // An LSTM's state, once every 16 records.
 * const column = every(16, float32(2, 64));
 * console.log(column instanceof KeptColumn); // true
 * console.log(column.every); // 16
 * ```
 */
export class KeptColumn<
  D extends DType = DType,
  S extends readonly number[] = readonly number[],
> extends Column<D, S> {
  /** Tells it from a column that all records keep. */
  readonly isKept = true;

  /** Makes a column that every `every`th record keeps. */
  constructor(dtype: D, shape: S, every: number) {
    super(dtype, shape, every);
    Object.freeze(this);
  }
}

/**
 * Makes an extra that only every nth record of an episode keeps, from its first record on. Use it for large values that you need now
 * and then. An example is the recurrent state at the start of a sequence (Kapturowski et al., "Recurrent Experience Replay in
 * Distributed Reinforcement Learning", 2019).
 *
 * You give it with each record, like any other extra. Each block of records has memory for as many values as it can hold, and for at
 * least one. If n is above `blockLength` (16 by default), it is one value for each block.
 *
 * A batch has one value for each pick, `[batch, ...shape]`: the newest one that was kept at or before the pick's first row. Rows of
 * `burnIn` count as rows here. If `stride` and `burnIn` of the pick policy are multiples of n, it is the value of the first row itself.
 * `drain` and `episodeRecords` give one value for each step, `[steps, ...shape]`. They repeat the newest kept value until the next one.
 *
 * @param n How many records there are from one kept value to the next: a whole number from 2 to 2^28.
 * @throws {RangeError} If `n` is out of its range.
 * @throws {TypeError} If `column` is not a column.
 * @example
 * ```ts
 * import { every, ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(1),
 *   extras: { hidden: every(2, float32(3)) },
 *   pick: { length: 4, stride: 2 },
 * });
 * let episode = replay.newEpisode();
 * for (let t = 0; t < 4; t++) {
 *   episode = replay.record(episode, [t], 0, 0, { extras: { hidden: [t, t, t] } });
 * }
 * replay.endEpisode(episode, { finalState: [4] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log(batch.shape.extras.hidden); // [1, 3]
 * console.log([...batch.extras.hidden]); // [0, 0, 0]
 * ```
 */
export function every<D extends DType, const S extends readonly number[]>(
  n: number,
  column: Column<D, S>,
): KeptColumn<D, S> {
  checkInteger("every(): n", n, 2, ELEMENTS_MAX);
  const { dtype, shape } = checkColumn("every(): column", column) as Column<D, S>;
  return new KeptColumn(dtype, shape, n);
}

/**
 * Makes a column of whole numbers from 0 to 255, such as the bytes of a picture.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { uint8 } from "@exrp/replay";
 *
 * console.log(uint8(84, 84, 3).shape); // [84, 84, 3]
 * ```
 */
export function uint8<const S extends number[]>(...shape: S): Column<"uint8", S> {
  return new Column("uint8", shape);
}

/**
 * Makes a column of whole numbers from -128 to 127.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { int8 } from "@exrp/replay";
 *
 * console.log(int8(3).elementBytes); // 1
 * ```
 */
export function int8<const S extends number[]>(...shape: S): Column<"int8", S> {
  return new Column("int8", shape);
}

/**
 * Makes a column of whole numbers from -32768 to 32767.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { int16 } from "@exrp/replay";
 *
 * console.log(int16(3).elementBytes); // 2
 * ```
 */
export function int16<const S extends number[]>(...shape: S): Column<"int16", S> {
  return new Column("int16", shape);
}

/**
 * Makes a column of whole numbers from -2147483648 to 2147483647. `int32()` is the default of the action.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { int32 } from "@exrp/replay";
 *
 * console.log(int32().shape); // []
 * ```
 */
export function int32<const S extends number[]>(...shape: S): Column<"int32", S> {
  return new Column("int32", shape);
}

/**
 * Makes a column of half-precision numbers, with 11 bits of precision and values up to 65504. Node 20 and 22 lack the `Float16Array`
 * that it needs.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { float16 } from "@exrp/replay";
 *
 * console.log(float16(128).elementBytes); // 2
 * ```
 */
export function float16<const S extends number[]>(...shape: S): Column<"float16", S> {
  return new Column("float16", shape);
}

/**
 * Makes a column of single-precision numbers. `float32()` is the default of the reward.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { float32 } from "@exrp/replay";
 *
 * console.log(String(float32(84, 84))); // float32(84, 84)
 * ```
 */
export function float32<const S extends number[]>(...shape: S): Column<"float32", S> {
  return new Column("float32", shape);
}

/**
 * Makes a column of double-precision numbers.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single number.
 * @example
 * ```ts
 * import { float64 } from "@exrp/replay";
 *
 * console.log(float64().elementBytes); // 8
 * ```
 */
export function float64<const S extends number[]>(...shape: S): Column<"float64", S> {
  return new Column("float64", shape);
}

/**
 * Makes a column of boolean values, stored as bytes of 0 and 1. `record` also takes `true` and `false`.
 *
 * @param shape The shape of one record's value: whole numbers from 1. Without arguments, a record has a single one.
 * @example
 * ```ts
 * import { bool } from "@exrp/replay";
 *
 * console.log(bool(9).dtype); // bool
 * ```
 */
export function bool<const S extends number[]>(...shape: S): Column<"bool", S> {
  return new Column("bool", shape);
}

/** A column with its name in errors and snapshots: `state`, `action`, `reward`, `extras.logProb`. */
export interface NamedColumn {
  /** The name. */
  readonly name: string;
  /** The column. */
  readonly column: Column;
}

/** Refuses a shape given as an array. */
function checkDimension(dtype: DType, shape: readonly unknown[], size: unknown): void {
  if (!Array.isArray(size)) return;
  throw new TypeError(
    `${dtype}() takes each dimension as an argument, got ${show(size)}; write ${dtype}(${
      shape.flat().join(", ")
    })`,
  );
}

/** Refuses a value that is not a column. `advice` ends the error for an object or a list. */
export function checkColumn(where: string, value: unknown, advice = ""): Column {
  if (value instanceof Column && Object.hasOwn(value, "dtype")) return value;
  const isObject = typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
  const hint = DTYPES.includes(value as DType) ? `; write ${value}(…)` : isObject ? advice : "";
  throw new TypeError(
    `${where} must be a column such as float32(4), made by one of ${DTYPES.join(", ")}; got ${
      showUnlike(value, Column)
    }${hint}`,
  );
}

/** A typed array of a column's dtype over part of a buffer. */
export function viewOf(
  dtype: DType,
  buffer: ArrayBuffer,
  offset: number,
  count: number,
): AnyColumnArray {
  return new VIEWS[dtype](buffer, offset, count);
}

showAs(Column, (column: Column) => String(column));
