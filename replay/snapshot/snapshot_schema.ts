/**
 * The first section of a snapshot: the replay's schema, as JSON. It decides whether a snapshot fits a replay.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import type { SelectorOption } from "../../selectors/native_selector.ts";
import { checkPick, type PickPolicy } from "../../schema/pick_options.ts";
import { tagsText } from "../../schema/pick_where.ts";
import {
  array,
  count,
  malformed,
  number,
  NUMBER_MAX,
  object,
  options,
  parseJson,
  string,
} from "../../snapshot/fields.ts";

/** A rule's name, and where it runs. */
export interface RuleSchema {
  /** Where the rule runs: in the kernel, in TypeScript, or by means of other selectors. */
  readonly runs: "kernel" | "typescript" | "parts";
  /** The rule's name. */
  readonly name: string;
}

/** A selector. */
export interface SelectorSchema extends RuleSchema {
  /** The number of its pick table. */
  readonly table: number;
  /** The numbers of the selectors that it draws with. */
  readonly parts: readonly number[];
  /** The kernel's number of the rule; 0 for a rule in TypeScript. */
  readonly native: number;
  /** The options by name. */
  readonly options: Readonly<Record<string, SelectorOption>>;
  /** The options as the kernel takes them. */
  readonly numbers: readonly number[];
  /** Bytes of a TypeScript rule's own section. */
  readonly bytes: number;
  /** How many picks it ever drew. */
  readonly drawnCount: number;
  /** How many of them it drew as a part of other selectors. */
  readonly drawnAsPart: number;
}

/** A kernel section. */
export interface SectionSchema {
  /** An `EXRP_SECTION_` number. */
  readonly section: number;
  /** How many items it has. */
  readonly itemCount: number;
  /** The bytes of one item. */
  readonly itemBytes: number;
}

/** A column. */
export interface ColumnSchema {
  /** `state`, `action`, `reward`, or `extras.` and a name. */
  readonly name: string;
  /** The dtype. */
  readonly dtype: string;
  /** The shape of one record's value. */
  readonly shape: readonly number[];
  /** n if only every nth record of an episode keeps the column; 1 if all do. */
  readonly every: number;
}

/** The schema of a snapshot. */
export interface SnapshotSchema {
  /** The library's version. */
  readonly library: string;
  /** The most records that the replay holds. */
  readonly capacity: number;
  /** The most bytes of records and final states; 0 is no limit. */
  readonly capacityBytes: number;
  /** An episode is forgotten before this many + 1 records are written since it began; 0 is no limit. */
  readonly maxAge: number;
  /** State, action, reward, then the extras. */
  readonly columns: readonly ColumnSchema[];
  /** The pick policies of the pick tables, in order. */
  readonly tables: readonly PickPolicy[];
  /** An open episode is cut after this many records. */
  readonly segmentLength: number;
  /** The seed. */
  readonly seed: number;
  /** The eviction policy with its options; `bytes` are those of its own section. */
  readonly eviction: RuleSchema & {
    readonly options: Readonly<Record<string, SelectorOption>>;
    readonly bytes: number;
  };
  /** The selectors in order. */
  readonly selectors: readonly SelectorSchema[];
  /** The extra state outside the kernel; `bytes` are those of its section. */
  readonly side: { readonly bytes: number };
  /** The kernel's sections in order. */
  readonly sections: readonly SectionSchema[];
}

/** Reads the JSON and checks all of it. */
export function parseSchema(bytes: Uint8Array): SnapshotSchema {
  const root = parseJson(bytes);
  const eviction = object("eviction", root.eviction);
  return {
    library: string("library", root.library),
    capacity: count("capacity", root.capacity),
    // Older versions did not have these fields.
    capacityBytes: count("capacityBytes", root.capacityBytes ?? 0),
    maxAge: count("maxAge", root.maxAge ?? 0),
    columns: array("columns", root.columns).map((value, k) => {
      const column = object(`columns[${k}]`, value);
      return {
        name: string(`columns[${k}].name`, column.name),
        dtype: string(`columns[${k}].dtype`, column.dtype),
        shape: array(`columns[${k}].shape`, column.shape).map((size) => count("shape", size)),
        every: count(`columns[${k}].every`, column.every),
      };
    }),
    tables: array("tables", root.tables).map((value, k) => policy(`tables[${k}]`, value)),
    segmentLength: count("segmentLength", root.segmentLength),
    seed: count("seed", root.seed),
    eviction: {
      runs: runs("eviction", eviction.runs),
      name: string("eviction.name", eviction.name),
      options: options("eviction.options", eviction.options ?? {}),
      bytes: count("eviction.bytes", eviction.bytes),
    },
    selectors: array("selectors", root.selectors).map((value, k) => {
      const where = `selectors[${k}]`;
      const selector = object(where, value);
      return {
        runs: runs(where, selector.runs),
        name: string(`${where}.name`, selector.name),
        table: count(`${where}.table`, selector.table, NUMBER_MAX),
        parts: array(`${where}.parts`, selector.parts).map((part) => count(`${where}.parts`, part)),
        native: count(`${where}.native`, selector.native, NUMBER_MAX),
        options: options(`${where}.options`, selector.options),
        numbers: array(`${where}.numbers`, selector.numbers).map((value) => number(where, value)),
        bytes: count(`${where}.bytes`, selector.bytes),
        // Older versions did not count.
        drawnCount: count(`${where}.drawnCount`, selector.drawnCount ?? 0),
        drawnAsPart: count(`${where}.drawnAsPart`, selector.drawnAsPart ?? 0),
      };
    }),
    // The field is missing if there is no extra state.
    side: {
      bytes: root.side === undefined ? 0 : count("side.bytes", object("side", root.side).bytes),
    },
    sections: array("sections", root.sections).map((value, k) => {
      const where = `sections[${k}]`;
      const section = object(where, value);
      return {
        section: count(`${where}.section`, section.section),
        itemCount: count(`${where}.itemCount`, section.itemCount),
        itemBytes: count(`${where}.itemBytes`, section.itemBytes),
      };
    }),
  };
}

/** A whole pick policy: its own check must accept it, and no field may be missing. */
function policy(where: string, value: unknown): PickPolicy {
  const given = object(where, value);
  let checked: PickPolicy;
  try {
    checked = checkPick(where, given, 1);
  } catch {
    throw malformed(where);
  }
  for (const name of Object.keys(checked)) {
    if (given[name] === undefined) throw malformed(`${where}.${name}`);
  }
  return checked;
}

function runs(where: string, value: unknown): RuleSchema["runs"] {
  if (value !== "kernel" && value !== "typescript" && value !== "parts") {
    throw malformed(`${where}.runs`);
  }
  return value;
}

/**
 * Compares a snapshot's schema with a replay's.
 *
 * @throws {ReplayError} `snapshot-mismatch`, naming the first field that differs.
 */
export function checkFits(mine: SnapshotSchema, found: SnapshotSchema): void {
  same("capacity", mine.capacity, found.capacity);
  same("capacityBytes", mine.capacityBytes || undefined, found.capacityBytes || undefined);
  same("maxAge", mine.maxAge || undefined, found.maxAge || undefined);
  for (let k = 0; k < Math.max(mine.columns.length, found.columns.length); k++) {
    const [a, b] = [mine.columns[k], found.columns[k]];
    same(`column ${k}`, a?.name, b?.name);
    same(`${a?.name}'s dtype`, a?.dtype, b?.dtype);
    same(`${a?.name}'s shape`, `[${a?.shape}]`, `[${b?.shape}]`);
    same(`how many records keep ${a?.name}: one in`, a?.every, b?.every);
  }
  for (const [k, a] of mine.tables.entries()) {
    const b = found.tables[k];
    const name = k === 0 ? "pick" : `pick table ${k}: policy`;
    if (b === undefined) throw mismatch(`${name}: this replay has one, the snapshot none`);
    for (const key of Object.keys(a) as (keyof PickPolicy)[]) {
      if (key !== "where") same(`${name}.${key}`, String(a[key]), String(b[key]));
    }
    same(`${name}.where`, a.where && tagsText(a.where), b.where && tagsText(b.where));
  }
  same("segmentLength", mine.segmentLength, found.segmentLength);
  same("eviction", ruleText(mine.eviction), ruleText(found.eviction));
  same("the eviction's options", optionsText(mine.eviction), optionsText(found.eviction));
  for (const [k, a] of mine.selectors.entries()) {
    const b = found.selectors[k];
    same(`selector ${k}`, ruleText(a), b === undefined ? undefined : ruleText(b));
    same(`selector ${k}'s pick table`, a.table, b?.table);
    same(`selector ${k}'s parts`, String(a.parts), String(b?.parts));
    same(`selector ${k}'s options`, optionsText(a), b && optionsText(b));
    same(`selector ${k}'s kernel rule`, kernelText(a), b && kernelText(b));
  }
  for (const [k, b] of found.selectors.entries()) {
    if (k >= mine.selectors.length && b.runs !== "kernel") {
      throw mismatch(
        `the snapshot has as selector ${k} the rule ${JSON.stringify(b.name)}, ${
          b.runs === "parts"
            ? `composed of selectors ${b.parts.join(", ")}`
            : "written in TypeScript"
        }: give this replay one by newPickSelector() first`,
      );
    }
  }
}

function same(field: string, mine: unknown, found: unknown): void {
  if (mine === found) return;
  throw mismatch(
    `${field}: this replay has ${mine ?? "none"}, the snapshot ${found ?? "none"}`,
  );
}

function mismatch(what: string): ReplayError {
  return new ReplayError("snapshot-mismatch", `unserialize(): the snapshot does not fit: ${what}`);
}

function ruleText(rule: RuleSchema): string {
  if (rule.runs === "kernel") return `${rule.name}()`;
  return `${rule.name}, ${rule.runs === "parts" ? "composed of others" : "written in TypeScript"}`;
}

function kernelText({ native, numbers }: SelectorSchema): string {
  return `${native} (${numbers.join(", ")})`;
}

function optionsText(rule: Pick<SelectorSchema, "options">): string {
  const names = Object.keys(rule.options).sort();
  return `{ ${names.map((name) => `${name}: ${rule.options[name]}`).join(", ")} }`;
}
