/**
 * The option `transform` of a pick policy: its check, the columns that batches show by it, and its numbers for the kernel.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import * as abi from "../ffi/symbols.ts";
import { Column, type DType, KeptColumn, type NamedColumn } from "./columns.ts";
import { partName } from "./state.ts";
import type {
  Channels,
  CropTransform,
  PickTransforms,
  Transform,
  TransformList,
} from "./transform_types.ts";
import { clip, crop, linear, normalize, randomShift } from "./transforms.ts";

/** Of one column. In the kernel, toFloat16() may be two. */
const LIST_MAX = abi.EXRP_LIMIT_TRANSFORMS - 1;

/** A transform, made anew: it may come from JSON. */
const MAKERS: {
  readonly [K in Transform["kind"]]: (given: Transform & { readonly kind: K }) => Transform;
} = {
  toFloat32: ({ kind: _, ...options }) => linear("toFloat32", options),
  toFloat16: ({ kind: _, ...options }) => linear("toFloat16", options),
  clip: ({ min, max }) => clip(min, max),
  normalize: ({ kind: _, ...options }) => normalize(options),
  randomShift: ({ kind: _, pad, ...options }) => randomShift(pad, options),
  randomCrop: remakeCrop,
  centerCrop: remakeCrop,
};

function remakeCrop({ kind, height, width, ...options }: CropTransform): Transform {
  return crop(kind, height, width, options);
}

function checkList(where: string, value: unknown): TransformList {
  if (!Array.isArray(value)) {
    throw new TypeError(
      `${where} must be a list of transforms, such as [toFloat32()], got ${show(value)}`,
    );
  }
  if (value.length > LIST_MAX) {
    throw new RangeError(
      `${where} takes at most ${LIST_MAX} transforms, got ${value.length}`,
    );
  }
  const list = value.map((each: unknown, k): Transform => {
    const kind = typeof each === "object" && each !== null && "kind" in each ? each.kind : "";
    if (typeof kind === "string" && Object.hasOwn(MAKERS, kind)) {
      const make: (given: never) => Transform = MAKERS[kind as Transform["kind"]];
      return make(each as never);
    }
    throw new TypeError(
      `${where}[${k}] must be a transform, made by one of ${Object.keys(MAKERS).join(", ")}; got ${
        show(each)
      }`,
    );
  });
  for (const [k, { kind }] of list.entries()) {
    if (kind === "normalize" && k > 0) {
      throw new TypeError(
        `${where}: normalize() must come first, as the statistics are of the stored values`,
      );
    }
    if (kind === "toFloat16" && k < list.length - 1) {
      throw new TypeError(
        `${where}: toFloat16() must come last, as all other transforms compute in float32`,
      );
    }
  }
  return Object.freeze(list);
}

/** Checks the option `transform`. Lists without any transform are left out; where there is no other, it is undefined. */
export function checkTransforms(where: string, value: unknown): PickTransforms | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(
      `${where} must be an object of lists by column, such as { state: [toFloat32()] }, got ${
        show(value)
      }`,
    );
  }
  const given = value as PickTransforms;
  checkOptions(where, given, ["state", "action", "reward", "extras"]);
  const { state, extras, ...others } = given;
  if (
    extras !== undefined && (typeof extras !== "object" || extras === null || Array.isArray(extras))
  ) {
    throw new TypeError(`${where}.extras must be an object of lists by extra, got ${show(extras)}`);
  }
  const checkedState = checkParts(`${where}.state`, state, 0);
  const checked: [string, unknown][] = checkedState === undefined ? [] : [["state", checkedState]];
  checked.push(...listsIn(where, others));
  const checkedExtras = listsIn(`${where}.extras`, extras ?? {});
  if (checkedExtras.length > 0) {
    checked.push(["extras", Object.freeze(Object.fromEntries(checkedExtras))]);
  }
  return checked.length === 0 ? undefined : Object.freeze(Object.fromEntries(checked));
}

/** Whether a value has lists for parts of a state, and is no list of transforms itself. */
function hasLists(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  if (!Array.isArray(value)) return !("kind" in value && typeof value.kind === "string");
  return value.some((part) => Array.isArray(part) || hasLists(part));
}

/** The lists of a state's leaves, in the structure of the state; undefined where there is none. */
function checkParts(where: string, value: unknown, depth: number): unknown {
  // A list that was JSON has null for what is left out.
  if (value === undefined || value === null) return undefined;
  if (!hasLists(value)) {
    const list = checkList(where, value);
    return list.length === 0 ? undefined : list;
  }
  if (depth > abi.EXRP_LIMIT_LEAVES) throw new RangeError(`${where} is nested too deep`);
  const parts = Object.entries(value).map(([key, part]) => {
    const name = Array.isArray(value) ? Number(key) : key;
    return [key, checkParts(partName(where, name), part, depth + 1)] as const;
  });
  if (parts.every(([, part]) => part === undefined)) return undefined;
  if (Array.isArray(value)) return Object.freeze(parts.map(([, part]) => part));
  return Object.freeze(Object.fromEntries(parts.filter(([, part]) => part !== undefined)));
}

function listsIn(where: string, given: object): [string, unknown][] {
  return Object.entries(given).filter(([, list]) => list !== undefined)
    .map(([name, list]): [string, TransformList] => [name, checkList(`${where}.${name}`, list)])
    .filter(([, list]) => list.length > 0);
}

/** The lists by the names of their columns, of transforms that were checked. */
function listsOf({ state, extras = {}, ...others }: PickTransforms): Map<string, TransformList> {
  const lists = new Map<string, TransformList>();
  const visit = (name: string, value: unknown): void => {
    if (value === undefined || value === null) return;
    if (!hasLists(value)) return void lists.set(name, value as TransformList);
    for (const [key, part] of Object.entries(value)) {
      visit(partName(name, Array.isArray(value) ? Number(key) : key), part);
    }
  };
  visit("state", state);
  for (const [name, list] of Object.entries(others)) lists.set(name, list as TransformList);
  for (const [name, list] of Object.entries(extras)) lists.set(`extras.${name}`, list);
  return lists;
}

/** The names of the columns that have transforms. */
export function transformedNames(transforms: PickTransforms | undefined): string[] {
  return [...listsOf(transforms ?? {}).keys()];
}

/** A transform as you write it in code. */
function textOf(transform: Transform): string {
  const { kind, ...options } = transform;
  return `${kind}(${Object.values(options).join(", ")})`;
}

/** Transforms in words, such as `state: toFloat32(1, 0)`. */
export function transformsText(transforms: PickTransforms): string {
  return [...listsOf(transforms)].map(([name, list]) => `${name}: ${list.map(textOf).join(", ")}`)
    .join("; ");
}

// ---- columns ----

/** Height, width and channels of the pictures of a column. */
interface Pictures {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
}

function picturesOf(where: string, column: Column, kind: string, channels: Channels): Pictures {
  const [third = 1, second, last] = [1, 1, ...column.shape].slice(-3);
  const isLast = channels === "last";
  if (column.shape.length < (isLast ? 3 : 2)) {
    throw new TypeError(
      `${where}: ${kind}() needs a column of shape [${
        isLast ? "…, height, width, channels" : "…, height, width"
      }], got ${column}`,
    );
  }
  const [height, width, depth] = isLast ? [third, second, last] : [second, last, 1];
  return { height: height ?? 1, width: width ?? 1, channels: depth ?? 1 };
}

function columnLike({ every }: Column, dtype: DType, shape: readonly number[]): Column {
  return every > 1 ? new KeptColumn(dtype, shape, every) : new Column(dtype, shape);
}

/** A column after one transform. */
function afterOne(where: string, column: Column, transform: Transform): Column {
  const { kind } = transform;
  if (kind === "toFloat16") return columnLike(column, "float16", column.shape);
  if (!("channels" in transform)) return columnLike(column, "float32", column.shape);
  const { height, width } = picturesOf(where, column, kind, transform.channels);
  if (transform.kind === "randomShift") return column;
  if (transform.height > height || transform.width > width) {
    const [third = 0, second = 0] = column.shape.slice(-3);
    const isLast = transform.channels === "first" && column.shape.length > 2 &&
      transform.height <= third && transform.width <= second;
    const hint = isLast ? '; write { channels: "last" } for […, height, width, channels]' : "";
    throw new RangeError(
      `${where}: ${kind}(${transform.height}, ${transform.width}) is larger than the picture: the column is ${column}${hint}`,
    );
  }
  const shape = [...column.shape];
  shape.splice(transform.channels === "last" ? -3 : -2, 2, transform.height, transform.width);
  return columnLike(column, column.dtype, shape);
}

/**
 * The columns as a batch shows them.
 *
 * @throws {TypeError} If a column is not there, or if a transform does not fit it.
 * @throws {RangeError} If a crop is larger than the picture.
 */
export function shownColumns(
  where: string,
  columns: readonly NamedColumn[],
  transforms: PickTransforms | undefined,
): readonly NamedColumn[] {
  if (transforms === undefined) return columns;
  const lists = listsOf(transforms);
  for (const name of lists.keys()) {
    if (columns.some((each) => each.name === name)) continue;
    const names = columns.map((each) => each.name).join(", ");
    throw new TypeError(`${where} has a list for ${name}, which is no column; there are ${names}`);
  }
  return columns.map(({ name, column }) => {
    const list = lists.get(name) ?? [];
    const at = `${where}.${name}`;
    for (const { kind } of list) {
      if (kind === "normalize" && column.every > 1) {
        throw new TypeError(
          `${at}: normalize() needs a column that all records keep, got ${column}`,
        );
      }
      if (name === "reward" && (kind === "randomShift" || kind.endsWith("Crop"))) {
        throw new TypeError(`${at}: a reward is no picture, so it can't have ${kind}()`);
      }
    }
    return { name, column: list.reduce((each, one) => afterOne(at, each, one), column) };
  });
}

// ---- the kernel ----

/** A transform's numbers, each kind with what follows it; `column` is what comes in. */
function numbersOf(column: Column, transform: Transform): number[][] {
  switch (transform.kind) {
    case "toFloat32":
    case "toFloat16": {
      const { kind, scale, offset } = transform;
      const linear = [abi.EXRP_TRANSFORM_LINEAR, scale, offset];
      if (kind === "toFloat32") return [linear];
      const half = [abi.EXRP_TRANSFORM_FLOAT16];
      return scale === 1 && offset === 0 ? [half] : [linear, half];
    }
    case "clip":
      return [[abi.EXRP_TRANSFORM_CLIP, transform.min, transform.max]];
    case "normalize":
      return [[abi.EXRP_TRANSFORM_NORMALIZE, transform.epsilon, transform.clip || Infinity]];
    default: {
      const { height, width, channels } = picturesOf(
        "",
        column,
        transform.kind,
        transform.channels,
      );
      const isShift = transform.kind === "randomShift";
      const [pad, ...size] = isShift
        ? [transform.pad, height, width]
        : [0, transform.height, transform.width];
      const isRandom = transform.kind === "centerCrop" ? 0 : 1;
      return [[abi.EXRP_TRANSFORM_CROP, height, width, channels, pad ?? 0, ...size, isRandom]];
    }
  }
}

/** The transforms of each column as the kernel knows them: of each its kind, and then its numbers. The transforms fit the columns. */
export function kernelTransforms(
  columns: readonly NamedColumn[],
  transforms: PickTransforms | undefined,
): readonly (readonly (readonly number[])[])[] {
  const lists = listsOf(transforms ?? {});
  return columns.map(({ name, column }) => {
    let at = column;
    return (lists.get(name) ?? []).flatMap((transform) => {
      const numbers = numbersOf(at, transform);
      at = afterOne("", at, transform);
      return numbers;
    });
  });
}

/** The numbers of a pick policy with those of its transforms, which fit the columns. `types` are the kernel's numbers of dtypes. */
export function withTransforms(
  policy: Float64Array<ArrayBuffer>,
  columns: readonly NamedColumn[],
  transforms: PickTransforms | undefined,
  types: Readonly<Record<DType, number>>,
): Float64Array<ArrayBuffer> {
  if (transforms === undefined) return policy;
  const rows = kernelTransforms(columns, transforms).flatMap((list, k) => {
    const { column } = columns[k] as NamedColumn;
    return list.map(([kind = 0, ...rest]) => [k, kind, types[column.dtype], ...rest]);
  });
  const all = new Float64Array(policy.length + rows.length * abi.EXRP_TRANSFORM_COUNT + 1);
  all.set(policy);
  (all[abi.EXRP_POLICY_FLAGS] as number) += abi.EXRP_PICK_TRANSFORMS;
  for (const [k, row] of rows.entries()) all.set(row, policy.length + k * abi.EXRP_TRANSFORM_COUNT);
  all[all.length - 1] = rows.length;
  return all;
}
