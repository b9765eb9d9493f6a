/**
 * The options of hindsight: where goals are, which goals are chosen, and how rewards follow from them.
 *
 * @module
 */

import { checkInteger, checkNumber, checkWord, show } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import type { Batch } from "../../schema/batch.ts";
import type { NamedColumns } from "../../schema/record_columns.ts";
import { type AnyState, type IsAny, takeApart } from "../../schema/state.ts";
import type { Column, ColumnArray, ColumnArrays } from "../../schema/columns.ts";
import type {
  AnyPick,
  AnySchema,
  ExtrasOf,
  Schema,
  StateOf,
  ViewSchema,
  Written,
} from "../../schema/schema.ts";

/**
 * A goal that is part of the state: elements `first` to before `end` of each state, in row-major order. If the state has several leaves,
 * say which one: `{ state: { place: [0, 2] } }`.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * // A state has the place where the agent is, and the place that it is to reach.
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 * const hindsight = replay.newHindsight({
 *   achieved: { state: [0, 1] },
 *   desired: { state: [1, 2] },
 *   reward: (achieved, desired) => achieved.map((place, k) => place === desired[k] ? 1 : 0),
 *   share: 1,
 * });
 * replay.record(replay.newEpisode(), [0, 9], 1, 0, { finalState: [1, 9] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 * hindsight.relabel(batch);
 * console.log([...batch.state, ...batch.reward]); // [0, 1, 1]
 * ```
 */
export interface StateSlice<State = AnyState> {
  /** The index of the first element, and the index after the last one. Of several leaves, that of one. */
  readonly state: SliceOf<State>;
}

/** What a {@linkcode StateSlice} has: a part of a state, or of one of its leaves. It is the index of the first element, and the index after the last one. */
export type SliceOf<T> = IsAny<T> extends true ? AnyState
  : T extends Column ? readonly [first: number, end: number]
  : { readonly [K in keyof T]?: SliceOf<T[K]> };

/** The typed array of the leaf of a state that a {@linkcode SliceOf} is of. */
export type SliceArray<T, Slice> = IsAny<T> extends true ? AnyState
  : T extends Column ? ColumnArray<T>
  : { [K in keyof Slice & keyof T]: SliceArray<T[K], Slice[K]> }[keyof Slice & keyof T];

/** Where a goal is, for {@linkcode ExperienceReplay.newHindsight}: an extra, by name, or a part of the state. */
export type GoalColumn<S extends Schema = AnySchema> =
  | (keyof ExtrasOf<S> & string)
  | StateSlice<StateOf<S>>;

/** The typed array that holds goals of this place, a {@linkcode GoalColumn}. */
export type GoalArray<S extends Schema, G> = G extends keyof ColumnArrays<ExtrasOf<S>>
  ? ColumnArrays<ExtrasOf<S>>[G]
  : G extends { readonly state: infer Slice } ? SliceArray<StateOf<S>, Slice>
  : never;

/** Which achieved goal replaces the desired one: an option of {@linkcode ExperienceReplay.newHindsight}. */
export type HindsightStrategy = "future" | "final" | "episode" | "random";

/** A {@linkcode Batch} of the schema, from any pick view. */
export type BatchOfAny<S extends Schema> = Batch<ViewSchema<S, AnyPick>>;

/** The steps whose rewards are asked for: the third argument of `reward` of {@linkcode HindsightOptions}. */
export interface RelabelledRows<S extends Schema = AnySchema> {
  /** How many there are. */
  readonly count: number;
  /** `[count]`: the row of each step in the batch, pick · length + step. Use it if rewards depend on more than the goals. */
  readonly row: Int32Array<ArrayBuffer>;
  /** The batch, before it is changed. */
  readonly batch: BatchOfAny<S>;
}

/**
 * Rewards, and which steps end the task by reaching the goal. The option `reward` of {@linkcode ExperienceReplay.newHindsight} may return
 * them.
 */
export interface RelabelledRewards {
  /** `[count, ...shape]`: the rewards, each with the shape of the reward column. */
  readonly reward: ArrayLike<number>;
  /**
   * `[count]`: whether the step terminates the episode under its new goal. If it does, its `discount` becomes 0, and otherwise gamma. With
   * `ends`, its `terminated` becomes 1 or 0.
   * Without this part, `discount` stays as it was.
   */
  readonly terminated?: ArrayLike<number | boolean>;
}

/** The options of {@linkcode ExperienceReplay.newHindsight}. */
export type HindsightOptions<
  S extends Schema = AnySchema,
  G extends GoalColumn<S> = GoalColumn<S>,
> = Written<{
  /**
   * Where the goal is that a step achieved. An extra holds the goal **after** the step, and you record it with the step. If the goal
   * is part of the state, the goal after a step is in the next state.
   */
  readonly achieved: G;
  /** Where the desired goal is, which the new goal replaces. It must have the dtype and number of elements of `achieved`. */
  readonly desired: GoalColumn<S>;
  /** Which achieved goal becomes the new one; `future` by default. */
  readonly strategy?: HindsightStrategy;
  /** The probability that a pick is relabelled, 0 to 1; 0.8 by default. That is k / (k + 1) with the paper's k = 4. */
  readonly share?: number;
  /**
   * Returns the rewards of all relabelled steps of a batch, in one call. `achieved`, `[count, ...shape]`, has the goals that the
   * steps achieved, and `desired` their new goals. You may change both arrays.
   */
  reward(
    achieved: GoalArray<S, G>,
    desired: GoalArray<S, G>,
    rows: RelabelledRows<S>,
  ): ArrayLike<number> | RelabelledRewards;
}>;

/** Where a goal is, checked: elements `first` to `first + count - 1` of each row of column k. */
export interface GoalPlace {
  /** The column's number; the first are the leaves of the state. */
  readonly k: number;
  /** The first element. */
  readonly first: number;
  /** How many elements. */
  readonly count: number;
}

/** The options, checked, with every default filled in. */
export interface HindsightConfig {
  /** Where achieved goals are. */
  readonly achieved: GoalPlace;
  /** Where desired goals are. */
  readonly desired: GoalPlace;
  /** Which goal is taken. */
  readonly strategy: HindsightStrategy;
  /** The probability of relabelling. */
  readonly share: number;
  /** The caller's callback. */
  readonly reward: (achieved: unknown, desired: unknown, rows: unknown) => unknown;
}

const OPTIONS = ["achieved", "desired", "strategy", "share", "reward"] as const;
const STRATEGIES = ["future", "final", "episode", "random"] as const;
const WHERE = "newHindsight()";

/** Checks the options for a replay with these columns, and fills in the defaults. */
export function checkHindsight(options: unknown, named: NamedColumns): HindsightConfig {
  const { columns } = named;
  checkOptions(WHERE, options, OPTIONS);
  const given = options as Readonly<Record<(typeof OPTIONS)[number], unknown>>;
  const achieved = placeOf("achieved", given.achieved, named);
  const desired = placeOf("desired", given.desired, named);
  const [from, to] = [columns[achieved.k]?.column, columns[desired.k]?.column];
  if (from?.dtype !== to?.dtype || achieved.count !== desired.count) {
    throw new TypeError(
      `${WHERE}: achieved and desired goals must be alike, got ${from?.dtype} [${achieved.count}] and ${to?.dtype} [${desired.count}]`,
    );
  }
  const isApart = achieved.k !== desired.k || achieved.first + achieved.count <= desired.first ||
    desired.first + desired.count <= achieved.first;
  if (!isApart) {
    throw new RangeError(`${WHERE}: achieved and desired goals must be in different places`);
  }
  if (typeof given.reward !== "function") {
    throw new TypeError(`${WHERE}: reward must be a function, got ${show(given.reward)}`);
  }
  return {
    achieved,
    desired,
    strategy: checkWord(`${WHERE}: strategy`, given.strategy ?? "future", STRATEGIES),
    share: checkNumber(`${WHERE}: share`, given.share ?? 0.8, 0, 1),
    reward: given.reward as HindsightConfig["reward"],
  };
}

function placeOf(name: string, value: unknown, named: NamedColumns): GoalPlace {
  const { columns, leaves, tree, extraNames } = named;
  if (typeof value === "string") {
    const k = columns.findIndex((column) => column.name === `extras.${value}`);
    const column = columns[k]?.column;
    if (column !== undefined && column.every > 1) {
      throw new TypeError(
        `newHindsight(): ${name} is extras.${value}, ${column}, which not all records keep`,
      );
    }
    if (column !== undefined) return { k, first: 0, count: column.elementCount };
    throw new TypeError(
      `${WHERE}: ${name}: this replay has no extra ${JSON.stringify(value)}; it has ${
        extraNames.length > 0 ? extraNames.join(", ") : "none"
      }`,
    );
  }
  const where = `${WHERE}: ${name}`;
  if (typeof value !== "object" || value === null) {
    throw new TypeError(
      `${where} must be an extra's name or { state: [first, end] }, got ${show(value)}`,
    );
  }
  checkOptions(where, value, ["state"]);
  const { state } = value as { readonly state?: unknown };
  const slices = takeApart(`${where}: state`, tree, state, "some");
  const chosen = leaves.flatMap((leaf, k) => slices[k] === undefined ? [] : [{ ...leaf, k }]);
  const [leaf] = chosen;
  if (chosen.length > 1 || (leaf === undefined && typeof tree !== "number")) {
    throw new TypeError(
      `${where}: a goal is in one leaf of the state, got ${chosen.length} of ${
        leaves.map((each) => each.name).join(", ")
      }`,
    );
  }
  const slice = slices[leaf?.k ?? 0];
  const path = leaf?.name ?? "state";
  if (!Array.isArray(slice) || slice.length !== 2) {
    throw new TypeError(`${where}: ${path} must be [first, end], got ${show(slice)}`);
  }
  const size = leaf?.column.elementCount ?? 0;
  const first = checkInteger(`${where}: ${path}[0]`, slice[0], 0, size - 1);
  const end = checkInteger(`${where}: ${path}[1]`, slice[1], first + 1, size);
  return { k: leaf?.k ?? 0, first, count: end - first };
}
