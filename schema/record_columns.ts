/**
 * The columns of a record, by the names that the schema gives them.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { showOneAs } from "../base/inspect.ts";
import { checkColumn, type Column, float32, int32, type NamedColumn } from "./columns.ts";
import type { AnySchema, ColumnOf, ExtrasOf, Schema, StateOf } from "./schema.ts";
import { type AnyState, arrange, checkState, leavesOf, type StateLeaves } from "./state.ts";

/** The columns of a record, by name. {@linkcode ExperienceReplay.columns} has them. */
export interface RecordColumns<S extends Schema = AnySchema> {
  /** The state: a column, or one for each leaf. */
  readonly state: StateOf<S>;
  /** The action. */
  readonly action: ColumnOf<S, "action">;
  /** The reward. */
  readonly reward: ColumnOf<S, "reward">;
  /** Further columns. */
  readonly extras: { readonly [K in keyof ExtrasOf<S>]: ExtrasOf<S>[K] };
}

/** Columns in their order: the leaves of the state, the action, the reward, then the extras. */
export interface NamedColumns extends StateLeaves {
  /** Each with its name. */
  readonly columns: readonly NamedColumn[];
  /** The names of the extras, in the order of their columns. */
  readonly extraNames: readonly string[];
}

/** What to do with an action or an extra that has parts. */
const severalColumns =
  "; only the state may have parts, so put each part of another value into extras, under a name of its own";

/** Checks the columns that options give by name, and fills in the defaults. */
export function checkColumns(
  where: string,
  given: Readonly<Partial<Record<"state" | "action" | "reward" | "extras", unknown>>>,
): NamedColumns {
  const extras = given.extras ?? {};
  if (typeof extras !== "object" || Array.isArray(extras)) {
    throw new TypeError(
      `${where}: extras must be an object of columns by name, got ${show(extras)}`,
    );
  }
  const state = checkState(where, given.state);
  const others: readonly (readonly [string, unknown])[] = [
    ["action", given.action ?? int32()],
    ["reward", given.reward ?? float32()],
    ...Object.entries(extras).map(([name, column]) => [`extras.${name}`, column] as const),
  ];
  const named = others.map(([name, column]) => ({
    name,
    column: checkColumn(`${where}: ${name}`, column, severalColumns),
  }));
  return {
    ...state,
    columns: [...state.leaves, ...named],
    extraNames: Object.keys(extras),
  };
}

/** The columns by name. */
export function columnsOf(named: NamedColumns): RecordColumns {
  const { extras, ...others } = byName(named, named.columns.map(({ column }) => column));
  const all = { ...others, extras: Object.freeze(extras) };
  return Object.freeze(showOneAs(all as RecordColumns, (columns) => columnsText(columns, named)));
}

/** What there is for each column, by the names of the columns. */
export interface ByName<T> {
  /** That of the state: one, or one for each leaf. */
  readonly state: AnyState;
  /** That of the action. */
  readonly action: T;
  /** That of the reward. */
  readonly reward: T;
  /** That of each extra. */
  readonly extras: Readonly<Record<string, T>>;
}

/** Names what a list has for each column. */
export function byName<T>(
  { leaves, tree, extraNames }: Pick<NamedColumns, "leaves" | "tree" | "extraNames">,
  list: readonly T[],
): ByName<T> {
  const [action, reward, ...others] = list.slice(leaves.length);
  const extras = Object.fromEntries(extraNames.map((name, k) => [name, others[k] as T]));
  return { state: arrange(tree, list), action: action as T, reward: reward as T, extras };
}

/** Steps as the calls take them that record many, from what a list has for each column: without extras where the schema has none. */
export function stepsOf(
  named: Pick<NamedColumns, "leaves" | "tree" | "extraNames">,
  list: readonly unknown[],
): object {
  const { extras, ...steps } = byName(named, list);
  return named.extraNames.length === 0 ? steps : { ...steps, extras };
}

/** Columns as one line, such as `RecordColumns { state: float32(4), action: int32(), reward: float32() }`. */
function columnsText(
  { state, action, reward, extras }: RecordColumns,
  { leaves, tree }: StateLeaves,
): string {
  const columns = leavesOf<Column>(tree, state).map((column, k) => [leaves[k]?.name, column]);
  const others = Object.entries({ action, reward, ...extras });
  const parts = [...columns, ...others].map(([name, column]) => `${name}: ${column}`);
  return `RecordColumns { ${parts.join(", ")} }`;
}
