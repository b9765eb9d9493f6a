/**
 * The dtypes of TensorFlow that Reverb stores, and the typed arrays that hold them here.
 *
 * @module
 */

/**
 * The dtype of a tensor, by its name in numpy or TensorFlow.
 *
 * | dtype | typed array |
 * |---|---|
 * | `float16`, `bfloat16` | `Uint16Array`, the bits; where there is a `Float16Array`, give it the same buffer |
 * | `float8_e5m2`, `float8_e4m3fn`, `bool`, `uint4`, `quint8` | `Uint8Array`, one byte a value |
 * | `int4`, `qint8` | `Int8Array`, one byte a value |
 * | `int64`, `uint64` | `BigInt64Array`, `BigUint64Array` |
 * | `complex64`, `complex128` | `Float32Array`, `Float64Array`: real and imaginary parts in turn, so twice as many elements |
 * | `string` | a plain array of `Uint8Array`: Reverb's strings are bytes |
 * | the others | the typed array of their name |
 *
 * See {@linkcode Tensor}.
 */
export type ReverbDType = keyof ReverbArrayOfDType;

/** The array that holds each dtype. {@linkcode ReverbDType} has the table. */
export interface ReverbArrayOfDType {
  /** `bool` */
  readonly bool: Uint8Array<ArrayBuffer>;
  /** `int8` */
  readonly int8: Int8Array<ArrayBuffer>;
  /** `uint8` */
  readonly uint8: Uint8Array<ArrayBuffer>;
  /** `int16` */
  readonly int16: Int16Array<ArrayBuffer>;
  /** `uint16` */
  readonly uint16: Uint16Array<ArrayBuffer>;
  /** `int32` */
  readonly int32: Int32Array<ArrayBuffer>;
  /** `uint32` */
  readonly uint32: Uint32Array<ArrayBuffer>;
  /** `int64` */
  readonly int64: BigInt64Array<ArrayBuffer>;
  /** `uint64` */
  readonly uint64: BigUint64Array<ArrayBuffer>;
  /** `float16` */
  readonly float16: Uint16Array<ArrayBuffer>;
  /** `bfloat16` */
  readonly bfloat16: Uint16Array<ArrayBuffer>;
  /** `float32` */
  readonly float32: Float32Array<ArrayBuffer>;
  /** `float64` */
  readonly float64: Float64Array<ArrayBuffer>;
  /** `complex64` */
  readonly complex64: Float32Array<ArrayBuffer>;
  /** `complex128` */
  readonly complex128: Float64Array<ArrayBuffer>;
  /** `string` */
  readonly string: Uint8Array<ArrayBuffer>[];
  /** `qint8` */
  readonly qint8: Int8Array<ArrayBuffer>;
  /** `quint8` */
  readonly quint8: Uint8Array<ArrayBuffer>;
  /** `qint16` */
  readonly qint16: Int16Array<ArrayBuffer>;
  /** `quint16` */
  readonly quint16: Uint16Array<ArrayBuffer>;
  /** `qint32` */
  readonly qint32: Int32Array<ArrayBuffer>;
  /** `float8_e5m2` */
  readonly float8_e5m2: Uint8Array<ArrayBuffer>;
  /** `float8_e4m3fn` */
  readonly float8_e4m3fn: Uint8Array<ArrayBuffer>;
  /** `int4` */
  readonly int4: Int8Array<ArrayBuffer>;
  /** `uint4` */
  readonly uint4: Uint8Array<ArrayBuffer>;
}

/** A typed array that holds a dtype other than `string`. {@linkcode ReverbDType} says which. */
export type ReverbArray = Exclude<ReverbArrayOfDType[ReverbDType], Uint8Array[]>;

/** What is known of a dtype. */
export interface DTypeInfo {
  /** Its name. */
  readonly name: ReverbDType;
  /** Its number in TensorFlow's `types.proto`. */
  readonly number: number;
  /** The class of its typed array; undefined for `string`. */
  readonly array: ReverbArrayClass | undefined;
  /** Elements of the typed array for one value: 2 for complex numbers. */
  readonly parts: number;
}

/** The class of a typed array. */
export interface ReverbArrayClass {
  new (length: number): ReverbArray;
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): ReverbArray;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
}

const of = (
  name: ReverbDType,
  number: number,
  array?: ReverbArrayClass,
  parts = 1,
): DTypeInfo => ({ name, number, array, parts });

/** All dtypes. Those whose typed array stands for them where none is named come first among the ones that share it. */
export const DTYPES: readonly DTypeInfo[] = [
  of("float32", 1, Float32Array),
  of("float64", 2, Float64Array),
  of("int32", 3, Int32Array),
  of("uint8", 4, Uint8Array),
  of("int16", 5, Int16Array),
  of("int8", 6, Int8Array),
  of("string", 7),
  of("complex64", 8, Float32Array, 2),
  of("int64", 9, BigInt64Array),
  of("bool", 10, Uint8Array),
  of("qint8", 11, Int8Array),
  of("quint8", 12, Uint8Array),
  of("qint32", 13, Int32Array),
  of("qint16", 15, Int16Array),
  of("uint16", 17, Uint16Array),
  of("quint16", 16, Uint16Array),
  of("bfloat16", 14, Uint16Array),
  of("complex128", 18, Float64Array, 2),
  of("float16", 19, Uint16Array),
  of("uint32", 22, Uint32Array),
  of("uint64", 23, BigUint64Array),
  of("float8_e5m2", 24, Uint8Array),
  of("float8_e4m3fn", 25, Uint8Array),
  of("int4", 29, Int8Array),
  of("uint4", 30, Uint8Array),
];

const byName = new Map(DTYPES.map((dtype) => [dtype.name as string, dtype]));
const byNumber = new Map(DTYPES.map((dtype) => [dtype.number, dtype]));

/** The dtype of this name, or undefined. */
export function dtypeOfName(name: string): DTypeInfo | undefined {
  return byName.get(name);
}

/** The dtype of this number of TensorFlow, or undefined. */
export function dtypeOfNumber(number: number): DTypeInfo | undefined {
  return byNumber.get(number);
}

const byKind = new Map([
  ...DTYPES.map((dtype) => [dtype.array?.name, dtype] as const).reverse(),
  ["Float16Array", byName.get("float16")] as const,
  ["Uint8ClampedArray", byName.get("uint8")] as const,
]);

/** The dtype of a typed array that comes without one, by the name of its class. */
export function dtypeOfKind(kind: string): DTypeInfo | undefined {
  return byKind.get(kind);
}
