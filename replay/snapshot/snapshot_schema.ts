/**
 * The first section of a snapshot: the replay's schema, as JSON. It decides whether a snapshot fits a replay.
 *
 * @module
 */

import type { StateLeaves } from "../../schema/state.ts";
import { type AnyPickPolicy, checkPick, type PickOptions } from "../../schema/pick_options.ts";
import { transformsText } from "../../schema/pick_transforms.ts";
import { tagsText } from "../../schema/pick_where.ts";
import { mismatch } from "../../storage/errors.ts";
import {
  anyObject,
  count,
  type Field,
  type Fields,
  list,
  malformed,
  object,
  optional,
  options,
  rule,
  string,
  unsigned,
  word,
} from "../../storage/fields.ts";

/** Where a rule runs: in the kernel, in TypeScript, or by means of other selectors. */
const runs = word("kernel", "typescript", "parts");

/** A selector. One that is not the kernel's has 0 as the kernel's number. */
const selector = {
  ...rule,
  runs,
  /** The number of its pick view. */
  view: unsigned,
  /** The numbers of the selectors that it draws with. */
  parts: list(count),
  /** Bytes of a TypeScript rule's own section. */
  bytes: count,
  /** How many picks it ever drew. Older versions did not count. */
  drawnCount: optional(count, 0),
  /** How many of them it drew as a part of other selectors. */
  drawnAsPart: optional(count, 0),
} as const;

/** A kernel section: an `EXRP_SECTION_` number, how many items it has, and the bytes of one. */
const section = { section: count, itemCount: count, itemBytes: count } as const;

const schema = {
  /** The library's version. */
  library: string,
  /** The most records that the replay holds. */
  capacity: count,
  /** The most bytes of records and final states; 0 is no limit, as in older versions. */
  capacityBytes: optional(count, 0),
  /** An episode is forgotten before this many + 1 records are written since it began; 0 is no limit, as in older versions. */
  maxAge: optional(count, 0),
  /** State, action, reward, then the extras as `extras.` and a name. Only every nth record of an episode keeps the column; 1 if all do. */
  columns: list(object({ name: string, dtype: string, shape: list(count), every: count })),
  /** The pick policies of the pick views, in order. */
  views: list(policy),
  /** An open episode is cut after this many records. */
  segmentLength: count,
  /** The seed. */
  seed: count,
  /** The eviction policy with its options; `bytes` are those of its own section. */
  eviction: object({ runs, name: string, options: optional(options, {}), bytes: count }),
  /** The selectors in order. */
  selectors: list(object(selector)),
  /** The extra state outside the kernel; `bytes` are those of its section. */
  side: optional(object({ bytes: count }), { bytes: 0 }),
  /** The kernel's sections in order. */
  sections: list(object(section)),
} as const;

/** A selector. */
export type SelectorSchema = Fields<typeof selector>;

/** A kernel section. */
export type SectionSchema = Fields<typeof section>;

/** The schema of a snapshot. */
export type SnapshotSchema = Fields<typeof schema>;

/** What a replay itself says of it: not the sections, which only the kernel knows. */
export type OwnSchema = Omit<SnapshotSchema, "sections">;

/** Checks all of the JSON. */
export const readSchema: Field<SnapshotSchema> = object(schema);

/** Options that older versions did not have. A snapshot of theirs has the defaults. */
const LATER_OPTIONS: ReadonlySet<string> = new Set(["ends", "returnToGo"]);

/** A whole pick policy: its own check must accept it, and no other field may be missing. */
function policy(where: string, value: unknown): AnyPickPolicy {
  const given = anyObject(where, value);
  const checked = readPolicy(where, given, undefined);
  for (const name of Object.keys(checked)) {
    if (given[name] === undefined && !LATER_OPTIONS.has(name)) throw malformed(`${where}.${name}`);
  }
  return checked;
}

/** A pick policy that its own check accepts. */
function readPolicy(
  where: string,
  given: PickOptions,
  state: StateLeaves | undefined,
): AnyPickPolicy {
  try {
    return checkPick(where, given, state, 1);
  } catch {
    throw malformed(where);
  }
}

/** What must be equal in a replay and a snapshot, by its name in errors. */
function* factsOf(schema: OwnSchema): Generator<readonly [name: string, fact: unknown]> {
  yield ["capacity", schema.capacity];
  yield ["capacityBytes", schema.capacityBytes || undefined];
  yield ["maxAge", schema.maxAge || undefined];
  for (const [k, { name, dtype, shape, every }] of schema.columns.entries()) {
    yield [`column ${k}`, name];
    yield [`${name}'s dtype`, dtype];
    yield [`${name}'s shape`, `[${shape}]`];
    yield [`how many records keep ${name}: one in`, every];
  }
  for (const [k, { where, transform, ...policy }] of schema.views.entries()) {
    const name = k === 0 ? "pick" : `pick view ${k}: policy`;
    yield [name, "one"];
    for (const [option, value] of Object.entries(policy)) {
      yield [`${name}.${option}`, optionValue(value)];
    }
    yield [`${name}.where`, where && tagsText(where)];
    yield [`${name}.transform`, transform && transformsText(transform)];
  }
  yield ["segmentLength", schema.segmentLength];
  yield ["eviction", ruleText(schema.eviction)];
  yield ["the eviction's options", optionsText(schema.eviction)];
  for (const [k, selector] of schema.selectors.entries()) {
    yield [`selector ${k}`, ruleText(selector)];
    yield [`selector ${k}'s pick view`, selector.view];
    yield [`selector ${k}'s parts`, `${selector.parts}`];
    yield [`selector ${k}'s options`, optionsText(selector)];
    yield [`selector ${k}'s kernel rule`, kernelText(selector)];
  }
}

/** The value of a pick option as text. What leaves have for themselves is an object. */
function optionValue(value: unknown): string {
  return typeof value === "object" && !Array.isArray(value) ? JSON.stringify(value) : `${value}`;
}

/**
 * Compares a snapshot's schema with a replay's. A snapshot may have more pick views and selectors, which are made.
 *
 * @throws {ReplayError} `snapshot-mismatch`, naming the first field that differs.
 */
export function checkFits(mine: OwnSchema, found: OwnSchema, state: StateLeaves): void {
  const facts = new Map(factsOf(found));
  const columnAfter = [`column ${mine.columns.length}`, undefined] as const;
  for (const [name, fact] of [...factsOf(mine), columnAfter]) {
    const other = facts.get(name);
    if (fact === other) continue;
    throw mismatch(`${name}: this replay has ${fact ?? "none"}, the snapshot ${other ?? "none"}`);
  }
  for (const [k, view] of found.views.entries()) readPolicy(`views[${k}]`, view, state);
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

function ruleText(rule: Pick<SelectorSchema, "runs" | "name">): string {
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
