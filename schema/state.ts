/**
 * What a state is made of: one column, or several leaves by name or in a list, nested as you like.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { unknownOption } from "../base/option_names.ts";
import { EXRP_LIMIT_LEAVES } from "../ffi/symbols.ts";
import {
  type ArrayValue,
  checkColumn,
  type Column,
  type ColumnArray,
  type ColumnValue,
  type NamedColumn,
} from "./columns.ts";

/**
 * What a state is made of: a column; or columns by name, or in a list. Both may be nested. Each column is a leaf. It is the option `state` of
 * {@linkcode ExperienceReplay.create}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uint8, uniform } from "@exrp/replay";
 * import type { StateColumns } from "@exrp/replay/types";
 *
 * const state = { image: uint8(2), body: [float32(3), float32()] } satisfies StateColumns;
 * using replay = await ExperienceReplay.create({ capacity: 100, state, pick: { stack: { image: 4 } } });
 * const finalState = { image: [3, 4], body: [[0, 0, 0], 1] } as const;
 * replay.record(replay.newEpisode(), { image: [1, 2], body: [[0, 0, 0], 0.5] }, 0, 0, { finalState });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * console.log(batch.shape.state.image); // [1, 1, 4, 2]
 * console.log(batch.nextState.body[1]); // Float32Array(1) [1]
 * ```
 */
export type StateColumns = Column | StateParts | StateList;

/** The parts of a state by name, in {@linkcode StateColumns}. */
export interface StateParts {
  /** A leaf, or more parts. */
  readonly [name: string]: StateColumns;
}

/** The parts of a state in a list, in {@linkcode StateColumns}. */
export interface StateList extends ReadonlyArray<StateColumns> {}

/** The state of any replay, as in a {@linkcode Batch} of any. TypeScript does not know what it is made of, so it checks nothing. */
// deno-lint-ignore no-explicit-any -- the state may be one array or parts of any names, and code for any replay would get no further
export type AnyState = any;

/** Whether a type is {@linkcode AnyState}, or a state of which TypeScript does not know the structure. */
export type IsAny<T> = 0 extends 1 & T ? true : StateColumns extends T ? true : false;

/** The typed arrays of a state in a {@linkcode Batch}: one array, or one for each leaf, in the structure of the state. */
export type StateArrays<T> = IsAny<T> extends true ? AnyState
  : T extends Column ? ColumnArray<T>
  : { readonly [K in keyof T]: StateArrays<T[K]> };

/** What {@linkcode ExperienceReplay.record} takes for a state: a value for each leaf, in the structure of the state. */
export type StateValue<T> = IsAny<T> extends true ? AnyState
  : T extends Column ? ColumnValue<T>
  : { readonly [K in keyof T]: StateValue<T[K]> };

/** What {@linkcode ExperienceReplay.recordMany} takes for the states of many steps: an array for each leaf, in the structure of the state. */
export type StateValues<T> = IsAny<T> extends true ? AnyState
  : T extends Column ? ArrayValue<T>
  : { readonly [K in keyof T]: StateValues<T[K]> };

/** Some leaves of a state, such as those that {@linkcode ExperienceReplay.update} changes. In a list, undefined stands for one that is left out. */
export type SomeLeaves<T> = T extends Readonly<Record<string, unknown>>
  ? { readonly [K in keyof T]?: SomeLeaves<T[K]> }
  : T extends readonly unknown[]
  // A list of parts has a length that is known; a list of numbers has not.
    ? number extends T["length"] ? T : { readonly [K in keyof T]?: SomeLeaves<T[K]> | undefined }
  : T;

/**
 * An option of {@linkcode PickOptions} that leaves may have for themselves: a value for all leaves, or values in the structure of the state. A leaf
 * that is left out has the default.
 */
export type LeafOption<V> =
  | V
  | { readonly [leaf: string]: LeafOption<V> | undefined }
  | readonly (
    | LeafOption<V>
    | undefined
  )[];

/** What a {@linkcode LeafOption} is for the part `K` of a state. */
export type OptionOf<Option, K, Default> = Option extends number | boolean ? Option
  : K extends keyof Option ? Exclude<Option[K], undefined>
  : Default;

/** How a state is put together: the number of a leaf; or parts, with their names unless they are a list. */
export type StateTree = number | {
  readonly names?: readonly string[];
  readonly parts: readonly StateTree[];
};

/** A state's leaves in their order, and how they are put together. */
export interface StateLeaves {
  readonly leaves: readonly NamedColumn[];
  readonly tree: StateTree;
}

/** The name of a part, such as `state.image`, `state[0]` or `state["left eye"]`. */
export function partName(of: string, part: string | number): string {
  if (typeof part === "number") return `${of}[${part}]`;
  return /^[A-Za-z_$][\w$]*$/.test(part) ? `${of}.${part}` : `${of}[${JSON.stringify(part)}]`;
}

/** Whether a value has parts by name, or is a list of parts, and no array of numbers. */
function hasParts(value: unknown): value is Readonly<Record<string | number, unknown>> {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

/** Checks the columns of a state; `where` stands before their names in errors. */
export function checkState(where: string, value: unknown): StateLeaves {
  const leaves: NamedColumn[] = [];
  const visit = (name: string, of: unknown, depth: number): StateTree => {
    const isList = Array.isArray(of);
    if (!hasParts(of) || (!isList && Object.getPrototypeOf(of) !== Object.prototype)) {
      leaves.push({ name, column: checkColumn(`${where}: ${name}`, of) });
      return leaves.length - 1;
    }
    if (depth === EXRP_LIMIT_LEAVES) {
      throw new RangeError(`${where}: state is nested deeper than ${depth} parts, or in itself`);
    }
    const names = isList ? undefined : Object.keys(of);
    const keys = names ?? Array.from(of as readonly unknown[] & typeof of, (_, k) => k);
    if (keys.length === 0) throw new TypeError(`${where}: ${name} has no column`);
    const parts = keys.map((key) => visit(partName(name, key), of[key], depth + 1));
    return names === undefined ? { parts } : { names, parts };
  };
  const tree = visit("state", value, 0);
  if (leaves.length <= EXRP_LIMIT_LEAVES) return { leaves, tree };
  throw new RangeError(
    `${where}: a state has at most ${EXRP_LIMIT_LEAVES} leaves, got ${leaves.length}`,
  );
}

/** Puts together what there is for each leaf, in the structure of the state. What is undefined has no name. */
export function arrange(tree: StateTree, leaves: readonly unknown[]): AnyState {
  if (typeof tree === "number") return leaves[tree];
  const { names, parts } = tree;
  const values = parts.map((part) => arrange(part, leaves));
  if (names === undefined) return Object.freeze(values);
  const named = names.map((name, k) => [name, values[k]] as const);
  return Object.freeze(Object.fromEntries(named.filter(([, value]) => value !== undefined)));
}

/** One state, of an array for each of its leaves. A leaf without a shape is a number. */
export function oneState(
  { tree, leaves }: StateLeaves,
  arrays: readonly ArrayLike<number>[],
): AnyState {
  const isNumber = (k: number): boolean => leaves[k]?.column.shape.length === 0;
  return arrange(tree, arrays.map((array, k) => isNumber(k) ? array[0] : array));
}

/** What is there for each leaf, of what {@linkcode arrange} put together. */
export function leavesOf<T>(tree: StateTree, value: AnyState): readonly T[] {
  if (typeof tree === "number") return [value];
  return tree.parts.flatMap((part, k) => leavesOf<T>(part, value?.[tree.names?.[k] ?? k]));
}

/** Makes something else of what is there for each leaf. */
export function mapLeaves<T, U>(
  tree: StateTree,
  value: AnyState,
  make: (of: T, leaf: number) => U,
): AnyState {
  return arrange(tree, leavesOf<T>(tree, value).map(make));
}

/** The way to each leaf: the names of its parts, and their places in lists. */
export function leafPaths(tree: StateTree): readonly (readonly (string | number)[])[] {
  if (typeof tree === "number") return [[]];
  return tree.parts.flatMap((part, k) =>
    leafPaths(part).map((path) => [tree.names?.[k] ?? k, ...path])
  );
}

/** The numbers of the leaves of a part. */
function numbersIn(tree: StateTree): readonly number[] {
  return typeof tree === "number" ? [tree] : tree.parts.flatMap(numbersIn);
}

/** What a list of parts must be. */
function listOf(parts: readonly StateTree[], takes: "all" | "some" | "parts"): string {
  return `a list of ${takes === "all" ? "" : "at most "}${parts.length} parts`;
}

/**
 * Takes a value in the structure of the state apart: what it has for each leaf, in the order of the leaves. `name` is its name in errors.
 * `takes` says whether it must have all leaves or may have some, or what stands for a part stands for each leaf of it.
 *
 * @throws {TypeError} For a leaf that is missing or unknown, or a value of another structure.
 */
export function takeApart(
  name: string,
  tree: StateTree,
  value: unknown,
  takes: "all" | "some" | "parts" = "all",
  leaves: unknown[] = [],
): unknown[] {
  // A list that was JSON has null for what is left out.
  if (takes !== "all" && (value === undefined || value === null)) return leaves;
  if (typeof tree === "number" || (takes === "parts" && !hasParts(value))) {
    for (const leaf of numbersIn(tree)) leaves[leaf] = value;
    return leaves;
  }
  const { names, parts } = tree;
  if (!hasParts(value) || Array.isArray(value) !== (names === undefined)) {
    const needed = names === undefined
      ? listOf(parts, takes)
      : `an object with ${names.join(", ")}`;
    throw new TypeError(`${name} must be ${needed}, got ${show(value)}`);
  }
  const most = Array.isArray(value) ? value.length : 0;
  if (names === undefined && (most > parts.length || (takes === "all" && most < parts.length))) {
    throw new TypeError(`${name} must be ${listOf(parts, takes)}, got ${most}`);
  }
  if (names !== undefined) {
    for (const key in value) {
      if (!names.includes(key)) throw unknownOption(name, key, names, {}, "part");
    }
  }
  for (let k = 0; k < parts.length; k++) {
    const part = names?.[k] ?? k;
    takeApart(partName(name, part), parts[k] as StateTree, value[part], takes, leaves);
  }
  return leaves;
}

/**
 * An option that leaves may have for themselves, checked: a value for all leaves, if they have the same, or else values in the structure
 * of the state. `standard` gives that of a leaf that is not named. Without `state`, only the values are checked. `apart` means something else
 * for one leaf than for all, so leaves that all have it stay apart.
 */
export function checkLeafOption<V>(
  name: string,
  option: unknown,
  check: (name: string, value: unknown) => V,
  state: StateLeaves | undefined,
  standard: (leaf: number) => V | undefined,
  apart?: V,
): LeafOption<V> {
  if (!hasParts(option)) return check(name, option);
  if (state === undefined) {
    for (const [key, part] of Object.entries(option)) {
      if (part !== undefined && part !== null) {
        checkLeafOption(partName(name, key), part, check, undefined, standard);
      }
    }
    return option as LeafOption<V>;
  }
  const { tree, leaves } = state;
  if (typeof tree === "number") {
    throw new TypeError(
      `${name} must be one value, as the state is one column; got ${show(option)}`,
    );
  }
  const given = takeApart(name, tree, option, "parts");
  const values = leaves.map((leaf, k) =>
    given[k] === undefined
      ? standard(k)
      : check(`${name}${leaf.name.slice("state".length)}`, given[k])
  );
  return optionOf(values, state, apart);
}

/** The option for all leaves of what it is for each: one value, if they have the same, unless that is `apart`. */
export function optionOf<V>(
  values: readonly (V | undefined)[],
  { tree }: StateLeaves,
  apart?: V,
): LeafOption<V> {
  const [first] = values;
  const isOne = first !== undefined && first !== apart && values.every((value) => value === first);
  return isOne ? first : arrange(tree, values);
}

/** What an option is for each leaf. */
export function optionOfLeaves<V>(
  option: LeafOption<V>,
  { tree, leaves }: StateLeaves,
): readonly (V | undefined)[] {
  return hasParts(option) ? leavesOf<V | undefined>(tree, option) : leaves.map(() => option as V);
}
