/**
 * The columns of a record, by the names that the schema gives them.
 *
 * @module
 */

import { showOneAs } from "../base/inspect.ts";
import type { Column } from "./columns.ts";
import type { ReplayConfig } from "./create_options.ts";
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

/** The columns of a replay's configuration. */
export function columnsOf({ columns, extraNames }: ReplayConfig): RecordColumns {
  const [state, action, reward, ...extras] = columns.map(({ column }) => column) as [
    Column,
    Column,
    Column,
    ...Column[],
  ];
  const named = extraNames.map((name, k) => [name, extras[k]]);
  const all = { state, action, reward, extras: Object.freeze(Object.fromEntries(named)) };
  return Object.freeze(showOneAs(all, columnsText));
}

/** Columns as one line, such as `RecordColumns { state: float32(4), action: int32(), reward: float32() }`. */
function columnsText({ state, action, reward, extras }: RecordColumns): string {
  const parts = Object.entries({ state, action, reward, ...extras }).map(([name, column]) =>
    `${name}: ${column}`
  );
  return `RecordColumns { ${parts.join(", ")} }`;
}
