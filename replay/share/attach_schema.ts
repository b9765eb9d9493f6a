/**
 * The schema that you ask for when you attach to a replay, and how it is compared with what the replay has.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { checkOptions } from "../../base/option_names.ts";
import type { Column, Columns, NamedColumn } from "../../schema/columns.ts";
import type { CreateOptions, ReplayConfig } from "../../schema/create_options.ts";
import { type AnyPickPolicy, checkPick, type PickOptions } from "../../schema/pick_options.ts";
import { checkColumns } from "../../schema/record_columns.ts";
import type { LeafOption, StateColumns } from "../../schema/state.ts";
import type { PickTransforms } from "../../schema/transform_types.ts";

/**
 * What {@linkcode ExperienceReplay.attach} expects of a replay: the options of {@linkcode ExperienceReplay.create} that decide the types of
 * records and batches, with the same names and defaults.
 */
export interface AttachSchema<
  S extends StateColumns = StateColumns,
  A extends Column = Column,
  R extends Column = Column,
  X extends Columns = Columns,
  Stack extends LeafOption<number> = LeafOption<number>,
  Compact extends LeafOption<boolean> = LeafOption<boolean>,
  NStep extends number | readonly number[] = number | readonly number[],
  Transforms extends PickTransforms = PickTransforms,
> extends Pick<CreateOptions<S, A, R, X>, "state" | "action" | "reward" | "extras"> {
  /** The options of the first pick view that decide the types of its batches. By default, these are the defaults of `create`. */
  readonly pick?: Pick<
    PickOptions<Stack, Compact, NStep, Transforms>,
    "stack" | "stackCompact" | "nStep" | "transform"
  >;
}

const OPERATION = "ExperienceReplay.attach()";
const PARTS = ["state", "action", "reward", "extras", "pick"] as const;
const PICK = ["stack", "stackCompact", "nStep", "transform"] as const;

/** Part by part, what is asked for or what there is, as text. */
type Described = ReadonlyMap<string, string>;

/** Checks a schema; the result is for {@linkcode checkSame}. */
export function checkAttachSchema(schema: AttachSchema): Described {
  checkOptions(`${OPERATION}: the schema`, schema, PARTS);
  const named = checkColumns(OPERATION, schema);
  const { pick = {} } = schema;
  checkOptions(`${OPERATION}: pick`, pick, PICK);
  return describe(named.columns, checkPick(`${OPERATION}: pick`, pick, named, undefined));
}

function describe(columns: readonly NamedColumn[], pick: AnyPickPolicy): Described {
  return new Map([
    ...columns.map(({ name, column }) => [name, String(column)] as const),
    ...PICK.map((option) => [`pick.${option}`, JSON.stringify(pick[option], sorted)] as const),
  ]);
}

/** For JSON.stringify(): an object with its keys in order. That of the leaves of a state does not matter here. */
function sorted(_: string, value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value).sort()) : value;
}

/**
 * Compares what was asked for with what the replay has.
 *
 * @throws {ReplayError} `ticket-mismatch`, which names all differences.
 */
export function checkSame(asked: Described, config: ReplayConfig): void {
  const { columns, pick } = config;
  const has = describe(columns, pick);
  const names = [...new Set([...asked.keys(), ...has.keys()])];
  const differing = names.filter((name) => asked.get(name) !== has.get(name));
  if (differing.length === 0) return;
  const differences = differing.map((name) =>
    `${name} is ${has.get(name) ?? "not there"} in the replay, and ${
      asked.get(name) ?? "not there"
    } in the schema that you gave`
  );
  const hint = differing.some((name) => name.startsWith("pick."))
    ? `; ${pickHint(pick, checkPick("pick", {}, config, undefined))}`
    : "";
  throw new ReplayError(
    "ticket-mismatch",
    `${OPERATION}: the replay of the ticket has another schema: ${differences.join("; ")}${hint}`,
  );
}

/** How the options of `pick` are written for this replay. */
function pickHint(has: AnyPickPolicy, standard: AnyPickPolicy): string {
  const written = PICK.filter((option) => String(has[option]) !== String(standard[option])).map(
    (option) => {
      const value = has[option];
      const [first] = Array.isArray(value) && value.length === 1 ? value : [value];
      return `${option}: ${JSON.stringify(first).replaceAll(",", ", ")}`;
    },
  );
  if (written.length === 0) return "leave out pick";
  return `write pick: { ${written.join(", ")} } in the schema`;
}
