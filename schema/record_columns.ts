/**
 * The columns of a record, by the names that the schema gives them.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { showOneAs } from "../base/inspect.ts";
import { checkColumn, float32, int32, type NamedColumn } from "./columns.ts";
import type { AnySchema, ColumnOf, ExtrasOf, Schema } from "./schema.ts";

/** The columns of a record, by name. {@linkcode ExperienceReplay.columns} has them. */
export interface RecordColumns<S extends Schema = AnySchema> {
  /** The state. */
  readonly state: ColumnOf<S, "state">;
  /** The action. */
  readonly action: ColumnOf<S, "action">;
  /** The reward. */
  readonly reward: ColumnOf<S, "reward">;
  /** Further columns. */
  readonly extras: { readonly [K in keyof ExtrasOf<S>]: ExtrasOf<S>[K] };
}

/** Columns in their order: state, action, reward, then the extras. */
export interface NamedColumns {
  /** Each with its name. */
  readonly columns: readonly NamedColumn[];
  /** The names of the extras, in the order of their columns. */
  readonly extraNames: readonly string[];
}

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
  const all: readonly (readonly [string, unknown])[] = [
    ["state", given.state],
    ["action", given.action ?? int32()],
    ["reward", given.reward ?? float32()],
    ...Object.entries(extras).map(([name, column]) => [`extras.${name}`, column] as const),
  ];
  return {
    columns: all.map(([name, column]) => ({
      name,
      column: checkColumn(`${where}: ${name}`, column),
    })),
    extraNames: Object.keys(extras),
  };
}

/** The columns by name. */
export function columnsOf({ columns, extraNames }: NamedColumns): RecordColumns {
  const [state, action, reward] = columns.map(({ column }) => column);
  const extras = extraNames.map((name, k) => [name, columns[3 + k]?.column]);
  const all = { state, action, reward, extras: Object.freeze(Object.fromEntries(extras)) };
  return Object.freeze(showOneAs(all as RecordColumns, columnsText));
}

/** Columns as one line, such as `RecordColumns { state: float32(4), action: int32(), reward: float32() }`. */
function columnsText({ state, action, reward, extras }: RecordColumns): string {
  const parts = Object.entries({ state, action, reward, ...extras }).map(([name, column]) =>
    `${name}: ${column}`
  );
  return `RecordColumns { ${parts.join(", ")} }`;
}
