/**
 * What the items of a table look like, as Reverb's clients are told it: a nest of dtypes and shapes.
 *
 * @module
 */
import { create } from "@bufbuild/protobuf";
import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type { StepPath } from "./path.ts";
import { dtypeOfName, dtypeOfNumber, DTYPES } from "./dtypes.ts";
import {
  DataType,
  type StructuredValue,
  StructuredValueSchema,
  type TensorShapeProto,
  TensorShapeProtoSchema,
} from "./messages/tensorflow_pb.ts";
import type { StepNest } from "./structure.ts";

/** The dtype and shape of one column of a table's items. A {@linkcode Signature} has one for each. */
export interface TensorSpec {
  /** The dtype, by the name that NumPy and TensorFlow give it, such as `"float32"` or `"string"`. */
  readonly dtype: string;
  /**
   * The shape of the whole column: its first size is the number of steps, if the column has steps. `null` in it stands for any size, and `null` in
   * its place for any shape.
   */
  readonly shape: readonly (number | null)[] | null;
  /** What the column is called in TensorFlow; empty by default. */
  readonly name?: string;
}

/**
 * Columns by name that keep their own order, as those of a `namedtuple` in Python do; those of an object come by sorted names. A
 * {@linkcode Signature} may have some.
 */
export interface NamedTuple {
  /** What the tuple's class is called, such as `"Step"`. */
  readonly namedTuple: string;
  /** Each name with what it stands for. */
  readonly fields: readonly (readonly [name: string, part: Signature])[];
}

/**
 * A column, or columns in an array (a tuple in Python), by name (a dict in Python) or in a {@linkcode NamedTuple}: what a {@linkcode ServerTable}
 * says of its items.
 */
export type Signature =
  | TensorSpec
  | NamedTuple
  | readonly Signature[]
  | { readonly [name: string]: Signature };

/** A column or a tuple as somebody wrote it: only one property is sure. */
type Claimed<T, K extends keyof T> = Partial<T> & Pick<T, K>;

/** What says its dtype is meant as a column. A column of the name `dtype` is an object. */
function isSpec(value: object): value is Claimed<TensorSpec, "dtype"> {
  return "dtype" in value && typeof value.dtype === "string";
}

/** What says its class is meant as a tuple with names. A column of the name `namedTuple` is an object. */
function isNamedTuple(value: object): value is Claimed<NamedTuple, "namedTuple"> {
  return "namedTuple" in value && typeof value.namedTuple === "string";
}

/**
 * The same structure with something else in each column's place. The columns come in the order that they have in items. A tuple with names becomes
 * an object.
 */
export function mapSignature<T>(
  signature: Signature,
  change: (spec: TensorSpec, path: StepPath) => T,
  path: StepPath = [],
): StepNest<T> {
  if (isSpec(signature)) return change(signature, path);
  if (Array.isArray(signature)) {
    return signature.map((part, k) => mapSignature(part, change, [...path, k]));
  }
  const parts = isNamedTuple(signature)
    ? signature.fields
    : Object.entries(signature as Readonly<Record<string, Signature>>).sort(byName);
  return Object.fromEntries(
    parts.map(([name, part]) => [name, mapSignature(part, change, [...path, name])]),
  );
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A signature as TensorFlow's message.
 *
 * @param where What stands before the words of an error, such as `tables.replay.signature`.
 * @throws {TypeError} If it is no signature.
 * @throws {RangeError} For a size of a shape that is no whole number from 0 on.
 */
export function structuredOf(where: string, value: unknown): StructuredValue {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(
      `${where} must be { dtype, shape }, an array of such, or an object of such, got ${
        show(value)
      }`,
    );
  }
  if (Array.isArray(value)) {
    const values = value.map((one, k) => structuredOf(`${where}[${k}]`, one));
    return create(StructuredValueSchema, { kind: { case: "tupleValue", value: { values } } });
  }
  if (isSpec(value)) return tensorSpec(where, value);
  if (isNamedTuple(value)) return namedTuple(where, value);
  const fields = Object.entries(value).map((
    [name, one],
  ) => [name, structuredOf(`${where}.${name}`, one)]);
  return create(StructuredValueSchema, {
    kind: { case: "dictValue", value: { fields: Object.fromEntries(fields) } },
  });
}

/** The words that Python keeps for itself. */
const KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield"
    .split(" "),
);

/** Throws for a name that Python's `namedtuple` refuses: its clients could read no table of the server. */
function checkPythonName(where: string, name: string, isField: boolean): void {
  const isName = /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(name) && !KEYWORDS.has(name);
  if (isName && !(isField && name.startsWith("_"))) return;
  throw new TypeError(
    `${where} must be a name that a namedtuple in Python can have${
      isField ? ", without _ at its begin" : ""
    }, got ${show(name)}`,
  );
}

function namedTuple(where: string, tuple: Claimed<NamedTuple, "namedTuple">): StructuredValue {
  checkOptions(where, tuple, ["namedTuple", "fields"]);
  const { namedTuple: name, fields } = tuple;
  if (!Array.isArray(fields)) {
    throw new TypeError(
      `${where}.fields must be an array of [name, column], such as [["reward", { dtype: "float32", shape: [null] }]], got ${
        show(fields)
      }`,
    );
  }
  checkPythonName(`${where}.namedTuple`, name, false);
  const keys = new Set<string>();
  const values = fields.map((field: unknown, k) => {
    const [key, value, ...rest] = Array.isArray(field) ? field as unknown[] : [];
    if (typeof key !== "string" || keys.has(key) || rest.length > 0) {
      throw new TypeError(
        `${where}.fields[${k}] must be [name, column] with a name of its own, got ${show(field)}`,
      );
    }
    checkPythonName(`${where}.fields[${k}]`, key, true);
    keys.add(key);
    return { key, value: structuredOf(`${where}.${key}`, value) };
  });
  return create(StructuredValueSchema, {
    kind: { case: "namedTupleValue", value: { name, values } },
  });
}

function tensorSpec(where: string, spec: Claimed<TensorSpec, "dtype">): StructuredValue {
  checkOptions(where, spec, ["dtype", "shape", "name"]);
  const dtype = dtypeOfName(spec.dtype);
  if (dtype === undefined) {
    throw new TypeError(
      `${where}.dtype must be one of ${DTYPES.map(({ name }) => name).join(", ")}, got ${
        show(spec.dtype)
      }`,
    );
  }
  const { name = "" } = spec;
  if (typeof name !== "string") {
    throw new TypeError(`${where}.name must be a string, got ${show(name)}`);
  }
  if (spec.shape !== null && !Array.isArray(spec.shape)) {
    throw new TypeError(
      `${where}.shape must be an array of sizes, such as [4] or [null], or null for any shape, got ${
        show(spec.shape)
      }`,
    );
  }
  const dim = (spec.shape ?? []).map((size, k) => {
    if (size !== null && !(Number.isSafeInteger(size) && size >= 0)) {
      throw new RangeError(
        `${where}.shape[${k}] must be a whole number from 0 on, or null for any size, got ${
          show(size)
        }`,
      );
    }
    return { size: BigInt(size ?? -1) };
  });
  const shape = create(TensorShapeProtoSchema, { dim, unknownRank: spec.shape === null });
  return create(StructuredValueSchema, {
    kind: { case: "tensorSpecValue", value: { name, shape, dtype: dtype.number } },
  });
}

/**
 * The signature of a message. Lists and tuples become arrays.
 *
 * @param where What stands before the words of an error.
 * @throws {TypeError} If something in it is no tensor, array or dict of tensors, or has a dtype that the library does not know.
 */
export function signatureOf(
  { kind }: StructuredValue,
  where: string = "the signature",
): Signature {
  switch (kind.case) {
    case "tensorSpecValue":
    case "boundedTensorSpecValue": {
      const { dtype, shape, name } = kind.value;
      const known = dtypeOfNumber(dtype);
      if (known === undefined) {
        throw new TypeError(
          `${where} has the dtype ${DataType[dtype] ?? dtype}, which is not known`,
        );
      }
      return { dtype: known.name, shape: sizes(shape), ...name === "" ? {} : { name } };
    }
    case "listValue":
    case "tupleValue":
      return kind.value.values.map((one, k) => signatureOf(one, `${where}[${k}]`));
    case "dictValue":
      return Object.fromEntries(
        Object.entries(kind.value.fields).map((
          [name, one],
        ) => [name, signatureOf(one, `${where}.${name}`)]),
      );
    case "namedTupleValue":
      return {
        namedTuple: kind.value.name,
        fields: kind.value.values.map(({ key, value }) => {
          if (value === undefined) throw new TypeError(`${where}.${key} has no value`);
          return [key, signatureOf(value, `${where}.${key}`)] as const;
        }),
      };
    default:
      throw new TypeError(
        `${where} is a ${kind.case ?? "value of an unknown kind"}, and no tensor`,
      );
  }
}

function sizes(shape: TensorShapeProto | undefined): (number | null)[] | null {
  if (shape?.unknownRank) return null;
  return (shape?.dim ?? []).map(({ size }) => size < 0n ? null : Number(size));
}
