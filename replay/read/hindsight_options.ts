/**
 * The options of hindsight: where goals are, which goals are chosen, and how rewards follow from them.
 *
 * @module
 */

import { checkInteger, checkNumber, checkWord, show } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import type { Batch } from "../../schema/batch.ts";
import type { ColumnArray, ColumnArrays, NamedColumn } from "../../schema/columns.ts";
import type {
  AnyPick,
  AnySchema,
  ColumnOf,
  ExtrasOf,
  Schema,
  ViewSchema,
  Written,
} from "../../schema/schema.ts";

/**
 * A goal that is part of the state: elements `first` to before `end` of each state, in row-major order.
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
export interface StateSlice {
  /** The index of the first element, and the index after the last one. */
  readonly state: readonly [first: number, end: number];
}

/** Where a goal is, for {@linkcode ExperienceReplay.newHindsight}: an extra, by name, or a part of the state. */
export type GoalColumn<S extends Schema = AnySchema> = (keyof ExtrasOf<S> & string) | StateSlice;

/** The typed array that holds goals of this place, a {@linkcode GoalColumn}. */
export type GoalArray<S extends Schema, G> = G extends keyof ColumnArrays<ExtrasOf<S>>
  ? ColumnArrays<ExtrasOf<S>>[G]
  : ColumnArray<ColumnOf<S, "state">>;

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
  /** The column's number; 0 is the state. */
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
export function checkHindsight(options: unknown, columns: readonly NamedColumn[]): HindsightConfig {
  checkOptions(WHERE, options, OPTIONS);
  const given = options as Readonly<Record<(typeof OPTIONS)[number], unknown>>;
  const achieved = placeOf("achieved", given.achieved, columns);
  const desired = placeOf("desired", given.desired, columns);
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

function placeOf(name: string, value: unknown, columns: readonly NamedColumn[]): GoalPlace {
  if (typeof value === "string") {
    const k = columns.findIndex((column) => column.name === `extras.${value}`);
    const column = columns[k]?.column;
    if (column !== undefined && column.every > 1) {
      throw new TypeError(
        `newHindsight(): ${name} is extras.${value}, ${column}, which not all records keep`,
      );
    }
    if (column !== undefined) return { k, first: 0, count: column.elementCount };
    const names = columns.slice(3).map((each) => each.name.slice("extras.".length));
    throw new TypeError(
      `${WHERE}: ${name}: this replay has no extra ${JSON.stringify(value)}; it has ${
        names.length > 0 ? names.join(", ") : "none"
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
  if (!Array.isArray(state) || state.length !== 2) {
    throw new TypeError(`${where}: state must be [first, end], got ${show(state)}`);
  }
  const size = columns[0]?.column.elementCount ?? 0;
  const first = checkInteger(`${where}: state[0]`, state[0], 0, size - 1);
  const end = checkInteger(`${where}: state[1]`, state[1], first + 1, size);
  return { k: 0, first, count: end - first };
}
