/**
 * What the items of a table look like, as Reverb's clients are told it: a nest of dtypes and shapes.
 *
 * @module
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import {
  DataType,
  type StructuredValue,
  StructuredValueSchema,
  type TensorShapeProto,
  TensorShapeProtoSchema,
} from "./messages/tensorflow_pb.ts";

/** The dtype and shape of one column of a table's items. A {@linkcode Signature} has one for each. */
export interface TensorSpec {
  /** The dtype, by the name that NumPy and TensorFlow give it, such as `"float32"` or `"string"`. */
  readonly dtype: string;
  /** The shape of the whole column: its first size is the number of steps, if the column has steps. `null` stands for any size. */
  readonly shape: readonly (number | null)[];
  /** What the column is called in TensorFlow; empty by default. */
  readonly name?: string;
}

/** A column, or columns in an array (a tuple in Python) or by name (a dict in Python): what a {@linkcode ServerTable} says of its items. */
export type Signature =
  | TensorSpec
  | readonly Signature[]
  | { readonly [name: string]: Signature };

const dtypes: ReadonlyMap<string, DataType> = new Map([
  ["float16", DataType.DT_HALF],
  ["bfloat16", DataType.DT_BFLOAT16],
  ["float32", DataType.DT_FLOAT],
  ["float64", DataType.DT_DOUBLE],
  ["int8", DataType.DT_INT8],
  ["int16", DataType.DT_INT16],
  ["int32", DataType.DT_INT32],
  ["int64", DataType.DT_INT64],
  ["uint8", DataType.DT_UINT8],
  ["uint16", DataType.DT_UINT16],
  ["uint32", DataType.DT_UINT32],
  ["uint64", DataType.DT_UINT64],
  ["bool", DataType.DT_BOOL],
  ["string", DataType.DT_STRING],
  ["complex64", DataType.DT_COMPLEX64],
  ["complex128", DataType.DT_COMPLEX128],
]);
const names = new Map([...dtypes].map(([name, number]) => [number, name]));

/** What says its dtype is meant as a column. A column of the name `dtype` is an object. */
function isSpec(value: object): value is Partial<TensorSpec> & Pick<TensorSpec, "dtype"> {
  return "dtype" in value && typeof value.dtype === "string";
}

/**
 * A signature as the bytes of TensorFlow's message StructuredValue.
 *
 * @param where What stands before the words of an error, such as `tables.replay.signature`.
 * @throws {TypeError} If it is no signature.
 * @throws {RangeError} For a size of a shape that is no whole number from 0 on.
 */
export function encodeSignature(where: string, signature: unknown): Uint8Array {
  return toBinary(StructuredValueSchema, structured(where, signature));
}

function structured(where: string, value: unknown): StructuredValue {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(
      `${where} must be { dtype, shape }, an array of such, or an object of such, got ${
        show(value)
      }`,
    );
  }
  if (Array.isArray(value)) {
    const values = value.map((one, k) => structured(`${where}[${k}]`, one));
    return create(StructuredValueSchema, { kind: { case: "tupleValue", value: { values } } });
  }
  if (isSpec(value)) return tensorSpec(where, value);
  const fields = Object.entries(value).map((
    [name, one],
  ) => [name, structured(`${where}.${name}`, one)]);
  return create(StructuredValueSchema, {
    kind: { case: "dictValue", value: { fields: Object.fromEntries(fields) } },
  });
}

function tensorSpec(
  where: string,
  spec: Partial<TensorSpec> & Pick<TensorSpec, "dtype">,
): StructuredValue {
  checkOptions(where, spec, ["dtype", "shape", "name"]);
  const dtype = dtypes.get(spec.dtype);
  if (dtype === undefined) {
    throw new TypeError(
      `${where}.dtype must be one of ${[...dtypes.keys()].join(", ")}, got ${show(spec.dtype)}`,
    );
  }
  const { name = "" } = spec;
  if (typeof name !== "string") {
    throw new TypeError(`${where}.name must be a string, got ${show(name)}`);
  }
  if (!Array.isArray(spec.shape)) {
    throw new TypeError(
      `${where}.shape must be an array of sizes, such as [4] or [null], got ${show(spec.shape)}`,
    );
  }
  const dim = spec.shape.map((size, k) => {
    if (size !== null && !(Number.isSafeInteger(size) && size >= 0)) {
      throw new RangeError(
        `${where}.shape[${k}] must be a whole number from 0 on, or null for any size, got ${
          show(size)
        }`,
      );
    }
    return { size: BigInt(size ?? -1) };
  });
  const shape = create(TensorShapeProtoSchema, { dim });
  return create(StructuredValueSchema, {
    kind: { case: "tensorSpecValue", value: { name, shape, dtype } },
  });
}

/**
 * Reads a signature from the bytes of a StructuredValue. Lists, tuples and named tuples become arrays and objects.
 *
 * @throws {TypeError} If something in it is no tensor, array or dict of tensors, or has a dtype that the library does not know.
 */
export function decodeSignature(bytes: Uint8Array): Signature {
  return destructured("the signature", fromBinary(StructuredValueSchema, bytes));
}

function destructured(where: string, { kind }: StructuredValue): Signature {
  switch (kind.case) {
    case "tensorSpecValue":
    case "boundedTensorSpecValue": {
      const { dtype, shape, name } = kind.value;
      const known = names.get(dtype);
      if (known === undefined) {
        throw new TypeError(
          `${where} has the dtype ${DataType[dtype] ?? dtype}, which is not known`,
        );
      }
      return { dtype: known, shape: sizes(where, shape), ...name === "" ? {} : { name } };
    }
    case "listValue":
    case "tupleValue":
      return kind.value.values.map((one, k) => destructured(`${where}[${k}]`, one));
    case "dictValue":
      return Object.fromEntries(
        Object.entries(kind.value.fields).map((
          [name, one],
        ) => [name, destructured(`${where}.${name}`, one)]),
      );
    case "namedTupleValue":
      return Object.fromEntries(
        kind.value.values.map(({ key, value }) => {
          if (value === undefined) throw new TypeError(`${where}.${key} has no value`);
          return [key, destructured(`${where}.${key}`, value)];
        }),
      );
    default:
      throw new TypeError(
        `${where} is a ${kind.case ?? "value of an unknown kind"}, and no tensor`,
      );
  }
}

function sizes(where: string, shape: TensorShapeProto | undefined): (number | null)[] {
  if (shape?.unknownRank) throw new TypeError(`${where} has a shape of unknown rank`);
  return (shape?.dim ?? []).map(({ size }) => size < 0n ? null : Number(size));
}
