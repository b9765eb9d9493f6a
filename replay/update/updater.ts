/**
 * `update`: other values for columns of records that are stored.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { Batch } from "../../schema/batch.ts";
import type { Column } from "../../schema/columns.ts";
import type { ReplayCore } from "../core.ts";
import { OwnedBatch } from "../draw/owned_batch.ts";
import { numbersOf } from "../draw/priorities.ts";
import type { Register } from "../register/register.ts";
import {
  type AnyPickPolicy,
  contextCount,
  firstRow,
  leafPolicies,
} from "../../schema/pick_options.ts";
import type { AnySchema, ExtrasOf, Recordable, RecordArray, Schema } from "../../schema/schema.ts";
import { type SomeLeaves, takeApart } from "../../schema/state.ts";
import type { ExtraArrays, StepColumns } from "../record/many_steps.ts";
import { StagedColumn } from "../record/staged_column.ts";

/** What {@linkcode ExperienceReplay.update} takes: new values of one or more columns. */
export type UpdateColumns<S extends Schema = AnySchema> = Recordable<
  S,
  Partial<Pick<StepColumns<S>, "action" | "reward">> & {
    /** `[n, ...shape]`: the states, or those of the leaves that change. */
    readonly state?: SomeLeaves<RecordArray<S, "state">>;
    /** `[n, ...shape]` of each extra that changes, by name. */
    readonly extras?: Partial<ExtraArrays<ExtrasOf<S>>>;
  }
>;

const UPDATE = "update()";

/** Where records are: pairs of an episode and a position. */
interface Places {
  readonly episodes: Float64Array<ArrayBuffer>;
  readonly positions: Int32Array<ArrayBuffer>;
}

/** New values of one column, in the order of their places. */
interface Change extends Places {
  /** The column's number. */
  readonly column: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Overwrites columns of the records of one replay. */
export class Updater {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #number = new Uint32Array(1);

  /** Changes records of the replay of `core`. */
  constructor(core: ReplayCore, register: Register) {
    this.#core = core;
    this.#register = register;
  }

  /** Changes the records of a batch, or those that two arrays name. Returns how many records were changed. */
  update(given: unknown, second: unknown, third: unknown): number {
    this.#core.checkUsable(UPDATE);
    const changes = OwnedBatch.isOne(given)
      ? this.#changesOfBatch(given, second, third)
      : this.#changesOfPlaces(given, second, third);
    return this.#core.together(UPDATE, () => {
      // All memory is taken before the first column changes.
      if (changes.length > 1) { for (const change of changes) this.#prepare(change); }
      let updated = 0;
      for (const change of changes) updated = Math.max(updated, this.#change(change));
      return updated;
    });
  }

  #prepare({ column, episodes, positions }: Change): void {
    const { id, kernel: { symbols } } = this.#core;
    const count = lengthOf(positions);
    this.#core.check(UPDATE, symbols.exrp_rows_prepare(id, column, episodes, positions, count));
  }

  #change({ column, episodes, positions, bytes }: Change): number {
    const { id, kernel: { symbols } } = this.#core;
    const [count, size] = [lengthOf(positions), lengthOf(bytes)];
    if (count === 0) return 0;
    const updated = this.#number;
    this.#core.check(
      UPDATE,
      symbols.exrp_rows_set(id, column, episodes, positions, count, bytes, size, updated),
    );
    return updated[0] ?? 0;
  }

  #changesOfPlaces(given: unknown, second: unknown, values: unknown): Change[] {
    const episodes = numbersOf("Float64Array", UPDATE, "episode", given);
    const positions = numbersOf("Int32Array", UPDATE, "position", second);
    const [count, places] = [lengthOf(episodes), lengthOf(positions)];
    if (count !== places) {
      throw new RangeError(
        `${UPDATE} takes as many episodes as positions, got ${count} and ${places}`,
      );
    }
    checkCount(count);
    const negative = positions.findIndex((position) => position < 0);
    if (negative >= 0) {
      throw new RangeError(
        `${UPDATE}: position[${negative}] must not be negative, got ${positions[negative]}`,
      );
    }
    // The columns may be the user's getters, so the places are copied before they are read.
    const own = { episodes: episodes.slice(), positions: positions.slice() };
    return this.#columns(values).map(({ column, value }) => ({
      ...own,
      column,
      bytes: this.#stage(column, count, value),
    }));
  }

  #changesOfBatch(batch: OwnedBatch, values: unknown, third: unknown): Change[] {
    if (third !== undefined) {
      throw new TypeError(`${UPDATE} takes a batch and its columns, got a third argument`);
    }
    OwnedBatch.checkYours(`${UPDATE}: batch`, batch);
    const policy = OwnedBatch.policyOf(batch);
    if (policy === undefined || !this.#register.views.some((view) => view.policy === policy)) {
      throw new TypeError(
        `${UPDATE}: the batch is one of another replay; give it to the replay that drew it`,
      );
    }
    checkCount(batch.size * batch.length);
    const { rows, ...places } = realRows(policy, batch);
    const firsts = firstRows(policy, batch);
    const leaves = leafPolicies(policy, this.#core.config);
    return this.#columns(values).map(({ column: number, value }) => {
      const { name, column } = this.#column(number);
      const leaf = leaves[number];
      if (leaf !== undefined && (leaf.stack > 1 || leaf.nextState === "overlap")) {
        throw new TypeError(
          `${UPDATE}: the ${name.replace(/^state$/, "states")} of this batch are no single rows (${
            leaf.stack > 1 ? "stack" : 'nextState "overlap"'
          }); name the records by their episodes and positions`,
        );
      }
      if (column.every > 1) {
        return { ...firsts, column: number, bytes: this.#stage(number, batch.size, value) };
      }
      const all = this.#stage(number, batch.size * batch.length, value);
      return { ...places, column: number, bytes: rowsOf(all, rows, column) };
    });
  }

  /** The columns that an object names, each with its number, none of them frozen. */
  #columns(values: unknown): { column: number; value: unknown }[] {
    const { columns, extraNames, frozen, leaves, tree } = this.#core.config;
    checkOptions(UPDATE, values, ["state", "action", "reward", "extras"]);
    const { extras = {}, state, ...others } = values as Readonly<Record<string, unknown>>;
    checkOptions(`${UPDATE}: extras`, extras, extraNames);
    const states = takeApart(`${UPDATE}: state`, tree, state, "some");
    const named = [
      ...leaves.map(({ name }, k) => [name, states[k]] as const),
      ...Object.entries(others),
      ...Object.entries(extras as object).map(([name, value]) =>
        [`extras.${name}`, value] as const
      ),
    ].filter(([, value]) => value !== undefined);
    if (named.length === 0) {
      throw new TypeError(
        `${UPDATE} takes at least one column: state, action, reward or extras, got ${show(values)}`,
      );
    }
    return named.map(([name, value]) => {
      if (frozen.includes(name)) {
        throw new TypeError(
          `${UPDATE}: ${name} can't change, as the replay was created with it frozen`,
        );
      }
      return { column: columns.findIndex((each) => each.name === name), value };
    });
  }

  #column(number: number): { readonly name: string; readonly column: Column } {
    const named = this.#core.config.columns[number];
    if (named === undefined) throw new RangeError(`there is no column ${number}`);
    return named;
  }

  /** The bytes of `count` rows of a column, with every value checked. */
  #stage(number: number, count: number, value: unknown): Uint8Array<ArrayBuffer> {
    const { config } = this.#core;
    const named = this.#column(number);
    const { elementCount, elementBytes } = named.column;
    const buffer = new ArrayBuffer(count * elementCount * elementBytes);
    const isFinite = config.checkFinite && number < config.leaves.length + 2;
    const staging = { operation: { name: UPDATE }, buffer, steps: count, isFinite };
    new StagedColumn(named, staging).write(value);
    return new Uint8Array(buffer);
  }
}

/** Refuses more rows than the kernel takes at once. */
function checkCount(count: number): void {
  if (count <= abi.EXRP_LIMIT_BATCH) return;
  throw new RangeError(
    `${UPDATE} takes at most ${abi.EXRP_LIMIT_BATCH} records at once, got ${count}`,
  );
}

/** The record of the first real row of each pick. */
function firstRows(policy: AnyPickPolicy, batch: Batch): Places {
  return {
    episodes: batch.pickEpisode.slice(),
    positions: batch.pickPosition.map((position) => position - contextCount(policy, position)),
  };
}

/** All rows of a batch that stand for records, and these records. */
function realRows(policy: AnyPickPolicy, batch: Batch): Places & { readonly rows: Int32Array } {
  const rows: number[] = [];
  const episodes: number[] = [];
  const positions: number[] = [];
  for (let k = 0; k < batch.size; k++) {
    const position = batch.pickPosition[k] ?? 0;
    const oldest = position - contextCount(policy, position);
    const end = batch.seqLen[k] ?? 0;
    const first = firstRow(policy, position);
    for (let row = first; row < end; row++) {
      const step = policy.reversed ? end - 1 - row : row - first;
      rows.push(k * batch.length + row);
      episodes.push(batch.pickEpisode[k] ?? NaN);
      positions.push(oldest + step);
    }
  }
  return {
    rows: Int32Array.from(rows),
    episodes: Float64Array.from(episodes),
    positions: Int32Array.from(positions),
  };
}

/** Some rows of a column. */
function rowsOf(
  bytes: Uint8Array<ArrayBuffer>,
  rows: Int32Array,
  { elementCount, elementBytes }: Column,
): Uint8Array<ArrayBuffer> {
  const size = elementCount * elementBytes;
  if (rows.length * size === bytes.length) return bytes;
  const some = new Uint8Array(rows.length * size);
  for (const [k, row] of rows.entries()) {
    some.set(bytes.subarray(row * size, (row + 1) * size), k * size);
  }
  return some;
}
