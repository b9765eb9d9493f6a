/**
 * A pick table, as you hold it.
 *
 * @module
 */

import { numberOf, showAs } from "../../base/inspect.ts";
import { displayAs, htmlTable } from "../../base/notebook.ts";
import { describePolicy, type PickPolicy } from "../../schema/pick_options.ts";
import type { AnySchema, Known, known, Schema } from "../../schema/schema.ts";
import type { AnySelectorRule, SelectorRule } from "../../selectors/composed_selector.ts";
import type { Batch } from "../../schema/batch.ts";
import type { Selector } from "./selector.ts";

/**
 * One of a replay's pick tables: the picks that one pick policy allows. All tables share the records. `newPickTable` makes a
 * table; `replay.pickTables[0]` is the one that `create` made. A table lives as long as its replay.
 *
 * `S` is the schema of its batches. `PickTable` alone is a pick table of any replay.
 *
 * @example One store, two ways to draw from it
 * ```ts
 * import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(2) });
 * const steps = replay.newPickSelector(uniform());
 * const sequences = replay.newPickTable({ length: 8, stride: 4, allowShort: true });
 * const selector = sequences.newPickSelector(prioritized());
 *
 * let episode = replay.newEpisode();
 * for (let t = 0; t < 9; t++) episode = replay.record(episode, [t, t], 0, 1);
 * replay.record(episode, [9, 9], 0, 1, { finalState: [10, 10] });
 *
 * console.log([replay.pickCount, sequences.pickCount]); // [10, 3]: at 0, 4 and 8
 * console.log(replay.getBatch(5, steps).shape.state); // [5, 1, 2]
 * console.log(replay.getBatch(5, selector).shape.state); // [5, 8, 2]
 * ```
 */
export interface PickTable<S extends Schema = AnySchema> {
  /** The type of its batches, for TypeScript alone. */
  readonly [known]?: Known<S>;
  /** The table's number: 0, 1, … in order of creation. */
  readonly id: number;
  /** The pick policy, with every option filled in. */
  readonly policy: PickPolicy;
  /** How many picks may be drawn now. */
  readonly pickCount: number;
  /**
   * Adds a rule that draws picks of this table. `replay.newPickSelector` does the same for table 0.
   *
   * @throws {TypeError} If the value is not a rule.
   * @throws {ReplayError} `limit` if the replay has 64 selectors in the kernel already.
   */
  newPickSelector(rule: SelectorRule<Batch<S>>): Selector<S>;
}

/** What a pick table asks its replay for. */
export interface PickTableOwner {
  /** How many picks table `id` has. */
  pickCount(id: number): number;
  /** Adds a selector to table `id`. */
  newPickSelector(rule: AnySelectorRule, id: number): Selector;
}

/** The object behind a {@linkcode PickTable}. */
export class OwnedPickTable implements PickTable {
  /** You see it under this name. */
  static readonly name = "PickTable";
  readonly id: number;
  readonly policy: PickPolicy;
  readonly #owner: PickTableOwner;

  /** Makes a reference; call `newPickTable` instead. */
  constructor(owner: PickTableOwner, id: number, policy: PickPolicy) {
    this.#owner = owner;
    this.id = id;
    this.policy = policy;
    Object.freeze(this);
  }

  /** See {@linkcode PickTable}. */
  get pickCount(): number {
    return OwnedPickTable.#ownerOf(this, "pickCount").pickCount(this.id);
  }

  /** See {@linkcode PickTable}. */
  newPickSelector(rule: AnySelectorRule): Selector {
    return OwnedPickTable.#ownerOf(this, "newPickSelector()").newPickSelector(rule, this.id);
  }

  /** The owner of a pick table: its prototype alone makes none. */
  static #ownerOf(table: OwnedPickTable, operation: string): PickTableOwner {
    if (#owner in table) return table.#owner;
    throw new TypeError(`${operation} is that of a pick table which newPickTable() made`);
  }
}

showAs(OwnedPickTable, (table) => {
  const { id, policy } = table;
  const more = describePolicy(policy);
  return `PickTable ${id}: ${countText(table)} of length ${policy.length}${more && `, ${more}`}`;
});

/** How many picks there are, where that can be asked now. */
function countText(table: PickTable): string {
  try {
    return numberOf(table.pickCount, "pick");
  } catch {
    return "picks";
  }
}

displayAs(
  OwnedPickTable.prototype,
  (table) =>
    htmlTable(`PickTable ${table.id}: ${countText(table)}`, [
      ...Object.entries(table.policy).map(([name, value]) => [
        name,
        Array.isArray(value) ? `[${value.join(", ")}]` : String(value),
      ]),
    ], ["option", "value"]),
);
