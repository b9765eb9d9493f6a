/**
 * Patterns and conditions for a {@linkcode StructuredWriter}: which parts of the latest steps become an item, and when.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkPriority, checkTable } from "./check_item.ts";
import { samePath, showPath, type StepPath } from "./path.ts";
import { eachLeaf, type StepLeaf, type StepNest } from "./structure.ts";

/**
 * A part of one column, counted from the newest step. {@linkcode ReferenceColumn} makes it.
 *
 * @example
 * ```ts
 * import { createPatternConfig, PatternNode } from "@exrp/replay/reverb";
 *
 * const { nodes } = createPatternConfig<{ a: number }>({ table: "t", pattern: (step) => [step.a.slice(-3, -1)] });
 * const [node] = nodes;
 * console.log(node instanceof PatternNode); // true
 * console.log([node?.start, node?.stop, node?.step, node?.isSqueezed]); // [-3, -1, 1, false]
 * ```
 */
export class PatternNode {
  /** The column. */
  readonly path: StepPath;
  /** The first step, below 0: -1 is the newest one. */
  readonly start: number;
  /** The step before which the part ends, at most 0. */
  readonly stop: number;
  /** Every how manyth step. */
  readonly step: number;
  /** Whether the only step comes without a dimension for steps. */
  readonly isSqueezed: boolean;

  /** Made by a reference only. */
  constructor(path: StepPath, start: number, stop: number, step: number, isSqueezed: boolean) {
    this.path = path;
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.isSqueezed = isSqueezed;
  }
}

/** Stands for a column in a pattern of {@linkcode createPatternConfig}. */
export interface ReferenceColumn {
  /** One step: `at(-1)` is the newest. The item has it without a dimension for steps. */
  at(position: number): PatternNode;
  /** The steps from `start` (below 0) to before `stop` (at most 0, which is the default), every `step`th. */
  slice(start: number, stop?: number, step?: number): PatternNode;
}

/** Stands for a step in a pattern of {@linkcode createPatternConfig}: with the names of its columns. */
export type ReferenceStep<D> = D extends StepLeaf ? ReferenceColumn
  : D extends readonly (infer E)[] ? readonly ReferenceStep<NonNullable<E>>[]
  : { readonly [K in keyof D]-?: ReferenceStep<NonNullable<D[K]>> };

/** What a {@linkcode PatternCondition} looks at. */
export type ConditionSource = "stepIndex" | "stepsSinceApplied" | "isEndEpisode" | StepPath;

/** A condition for an item. {@linkcode Condition} makes it. */
export interface PatternCondition {
  /** What it looks at. */
  readonly source: ConditionSource;
  /** Whether it holds for a value. */
  holds(value: number): boolean;
}

/**
 * A number that is to be compared. {@linkcode Condition} makes it.
 *
 * @example
 * ```ts
 * import { Condition, type ConditionValue } from "@exrp/replay/reverb";
 *
 * const index: ConditionValue = Condition.stepIndex();
 * console.log([index.ge(3).holds(3), index.lt(3).holds(3)]); // [true, false]
 * ```
 */
export class ConditionValue {
  readonly #source: ConditionSource;
  readonly #mod: number;

  /** Made by a condition only. */
  constructor(source: ConditionSource, mod = 0) {
    this.#source = source;
    this.#mod = mod;
  }

  /** The remainder of a division, to be compared by `eq` or `ne`. */
  mod(divisor: number): ConditionValue {
    return new ConditionValue(this.#source, checkInteger("Condition.mod()", divisor, 1, 2 ** 31));
  }

  /** Equal to a number. */
  eq(value: number): PatternCondition {
    return this.#when(value, (left) => left === value);
  }

  /** Not equal to a number. */
  ne(value: number): PatternCondition {
    return this.#when(value, (left) => left !== value);
  }

  /** A number or more. */
  ge(value: number): PatternCondition {
    return this.#inOrder(value, (left) => left >= value);
  }

  /** More than a number. */
  gt(value: number): PatternCondition {
    return this.#inOrder(value, (left) => left > value);
  }

  /** A number or less. */
  le(value: number): PatternCondition {
    return this.#inOrder(value, (left) => left <= value);
  }

  /** Less than a number. */
  lt(value: number): PatternCondition {
    return this.#inOrder(value, (left) => left < value);
  }

  #inOrder(value: number, holds: (left: number) => boolean): PatternCondition {
    if (this.#mod === 0) return this.#when(value, holds);
    throw new TypeError("Condition.mod() goes with eq() and ne() only");
  }

  #when(value: number, holds: (left: number) => boolean): PatternCondition {
    checkNumber("Condition", value);
    const mod = this.#mod;
    return { source: this.#source, holds: mod > 0 ? (left) => holds(left % mod) : holds };
  }
}

/** What the conditions of a pattern can look at: the type of {@linkcode Condition}. */
export interface Conditions {
  /** The number of the newest step in its episode, from 0 on. */
  stepIndex(): ConditionValue;
  /** The steps since the pattern last made an item, or since the writer began. */
  stepsSinceApplied(): ConditionValue;
  /** Holds when the episode ends. */
  isEndEpisode(): PatternCondition;
  /** The value of a column in the newest step: one number, or a boolean, which counts as 0 or 1. */
  data<D = unknown>(column: (step: ReferenceStep<D>) => unknown): ConditionValue;
}

/**
 * What the conditions of a pattern can look at.
 *
 * @example
 * ```ts
 * import { Condition } from "@exrp/replay/reverb";
 *
 * const everyFourth = Condition.stepIndex().mod(4).eq(0);
 * console.log([everyFourth.holds(8), everyFourth.holds(9)]); // [true, false]
 * ```
 */
export const Condition: Conditions = {
  stepIndex: () => new ConditionValue("stepIndex"),
  stepsSinceApplied: () => new ConditionValue("stepsSinceApplied"),
  isEndEpisode: () => new ConditionValue("isEndEpisode").eq(1),
  data: (column) => new ConditionValue(pathOf("Condition.data()", column)),
};

/** How the priority of an item is made. {@linkcode constantPriority} and {@linkcode tdError} make it. */
export type PatternPriority =
  | { readonly kind: "constant"; readonly value: number }
  | { readonly kind: "tdError"; readonly maxWeight: number; readonly path: StepPath };

/**
 * The same priority for each item.
 *
 * @throws {RangeError} If it is negative, infinite or NaN.
 *
 * @example
 * ```ts
 * import { constantPriority } from "@exrp/replay/reverb";
 *
 * console.log(constantPriority(2)); // { kind: "constant", value: 2 }
 * ```
 */
export function constantPriority(value: number): PatternPriority {
  return { kind: "constant", value: checkPriority("constantPriority()", value) };
}

/**
 * The priority of R2D2 (https://openreview.net/pdf?id=r1lyTjAqYX): of the TD errors d of the item's steps,
 * `maxWeight * max |d| + (1 - maxWeight) * mean |d|`.
 *
 * @param maxWeight The weight of the largest error, 0..1.
 * @param column The column with one TD error a step. It must be part of the pattern; the last part of it counts.
 *
 * @example
 * ```ts
 * import { tdError } from "@exrp/replay/reverb";
 *
 * const priority = tdError<{ error: number }>(0.9, (step) => step.error);
 * console.log(priority); // { kind: "tdError", maxWeight: 0.9, path: ["error"] }
 * ```
 */
export function tdError<D = unknown>(
  maxWeight: number,
  column: (step: ReferenceStep<D>) => unknown,
): PatternPriority {
  checkNumber("tdError(): maxWeight", maxWeight, 0, 1);
  return { kind: "tdError", maxWeight, path: pathOf("tdError()", column) };
}

/** What {@linkcode createPatternConfig} makes a pattern of. */
export interface PatternConfigOptions<D> {
  /** The table of the items. */
  readonly table: string;
  /** Makes the item's columns of the columns of a step. */
  readonly pattern: (step: ReferenceStep<D>) => StepNest<PatternNode>;
  /** All must hold for an item. That there are enough steps is always a condition. */
  readonly conditions?: readonly PatternCondition[];
  /** The priority of the items, 1 by default. */
  readonly priority?: PatternPriority;
  /** Another priority of the items for the table's remover. Tables of this library only: Reverb's own server passes over it. */
  readonly removerPriority?: PatternPriority;
}

/** A pattern with its table, conditions and priorities. {@linkcode createPatternConfig} makes it. */
export interface PatternConfig {
  /** The table. */
  readonly table: string;
  /** The item's columns, by sorted keys. */
  readonly nodes: readonly PatternNode[];
  /** The way to each of them in the item. */
  readonly paths: readonly StepPath[];
  /** The conditions. */
  readonly conditions: readonly PatternCondition[];
  /** The priority. */
  readonly priority: PatternPriority;
  /** The priority for the remover, if that has one of its own. */
  readonly removerPriority?: PatternPriority;
  /** The steps that an item reaches back. */
  readonly length: number;
}

/**
 * A pattern for a {@linkcode StructuredWriter}.
 *
 * @throws {TypeError} If something is no part of a column, or a priority is not {@linkcode constantPriority} or {@linkcode tdError}.
 * @throws {RangeError} If a part does not begin before it ends, or reaches beyond the newest step.
 *
 * @example
 * ```ts
 * import { Condition, createPatternConfig } from "@exrp/replay/reverb";
 *
 * const config = createPatternConfig<{ state: Float32Array; action: number }>({
 *   table: "replay",
 *   pattern: (step) => ({ states: step.state.slice(-5), lastAction: step.action.at(-1) }),
 *   conditions: [Condition.stepIndex().mod(5).eq(4)],
 * });
 * console.log(config.length); // 5
 * ```
 */
export function createPatternConfig<D = Record<string, StepLeaf>>(
  options: PatternConfigOptions<D>,
): PatternConfig {
  const where = "createPatternConfig()";
  checkOptions(where, options, ["table", "pattern", "conditions", "priority", "removerPriority"]);
  const { table, pattern, conditions = [], priority = constantPriority(1), removerPriority } =
    options;
  checkTable(`${where}: table`, table);
  if (typeof pattern !== "function") {
    throw new TypeError(`${where}: pattern must be a function of a step, got ${show(pattern)}`);
  }
  const nodes: PatternNode[] = [];
  const paths: StepPath[] = [];
  const nest = pattern(reference([]) as ReferenceStep<D>);
  const isNode = (value: unknown): boolean =>
    value instanceof PatternNode || typeof value !== "object" || ArrayBuffer.isView(value);
  eachLeaf(nest, isNode, (path, node) => {
    if (!(node instanceof PatternNode)) {
      throw new TypeError(
        `${where}: ${showPath(path)} must be a part of a column, such as step.x.slice(-5), got ${
          show(node)
        }`,
      );
    }
    nodes.push(node);
    paths.push(path);
  });
  if (nodes.length === 0) throw new TypeError(`${where}: the pattern has no column`);
  for (const [name, each] of Object.entries({ priority, removerPriority })) {
    if (each === undefined || each?.kind === "constant") continue;
    if (each?.kind !== "tdError") {
      throw new TypeError(
        `${where}: ${name} must be constantPriority() or tdError(), got ${show(each)}`,
      );
    }
    if (nodes.some(({ path }) => samePath(path, each.path))) continue;
    throw new TypeError(
      `${where}: the pattern has no part of ${showPath(each.path)}, which the priority needs`,
    );
  }
  const length = Math.max(...nodes.map(({ start }) => -start));
  const config = { table, nodes, paths, conditions: [...conditions], priority, length };
  return removerPriority === undefined ? config : { ...config, removerPriority };
}

const REFERENCE = Symbol("reference");

/** An object that gives a reference for each name. */
function reference(path: StepPath): unknown {
  const where = `the part of ${showPath(path)}`;
  const column: ReferenceColumn = {
    at: (position) => {
      checkInteger(`${where}: the position`, position, -(2 ** 30), -1);
      return new PatternNode(path, position, position + 1, 1, true);
    },
    slice: (start, stop = 0, step = 1) => {
      checkInteger(`${where}: the start`, start, -(2 ** 30), -1);
      checkInteger(`${where}: the stop`, stop, start + 1, 0);
      checkInteger(`${where}: the step`, step, 1, 2 ** 30);
      return new PatternNode(path, start, stop, step, false);
    },
  };
  return new Proxy(column, {
    get: (target, key) => {
      if (key === REFERENCE) return path;
      if (key === "at" || key === "slice") return target[key];
      if (typeof key === "symbol") return undefined;
      return reference([...path, /^\d+$/.test(key) ? Number(key) : key]);
    },
  });
}

function pathOf<D>(where: string, column: (step: ReferenceStep<D>) => unknown): StepPath {
  const found = column(reference([]) as ReferenceStep<D>);
  const path = typeof found === "object" && found !== null
    ? (found as { readonly [REFERENCE]?: StepPath })[REFERENCE]
    : undefined;
  if (path === undefined || path.length === 0) {
    throw new TypeError(
      `${where} must name a column, such as (step) => step.x, got ${show(found)}`,
    );
  }
  return path;
}
