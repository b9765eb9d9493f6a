/**
 * Priorities: what `setPriority` takes, which rules hear of them, and how `getPriority` reads them back.
 *
 * @module
 */

import { checkInteger, show } from "../../base/checks.ts";
import { checkHonest, countOf, isKind, isOwn, kindOf, lengthOf } from "../../base/typed_arrays.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import {
  EXRP_EVICTION_LOWEST_PRIORITY_FIRST,
  EXRP_INDEX_NONE,
  EXRP_LIMIT_BATCH,
  EXRP_STATUS_ARGUMENT,
  EXRP_STATUS_PRIORITY_INVALID,
} from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import type { Batch } from "../../schema/batch.ts";
import { policyDifferences } from "../../schema/pick_options.ts";
import { OwnedBatch } from "./owned_batch.ts";
import type { Register, SelectorEntry } from "../register/register.ts";
import type { Selector } from "../register/selector.ts";
import type { CustomSelector, CustomSelectors } from "../rules/custom_selectors.ts";

/** Numbers in a plain or typed array, which {@linkcode ExperienceReplay.setPriority} takes. */
export type NumberArray = ArrayLike<number>;

const OPERATION = "setPriority()";
const GET = "getPriority()";

/** Sets and reads priorities of one replay's picks. */
export class Priorities {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #customs: CustomSelectors;
  readonly #number = new Uint32Array(1);

  /** Sets priorities in the replay of `core`; `customs` serves the rules in TypeScript. */
  constructor(core: ReplayCore, register: Register, customs: CustomSelectors) {
    this.#core = core;
    this.#register = register;
    this.#customs = customs;
  }

  /** Sets priorities of picks; returns how many of the picks are in the table. */
  set(
    selector: Selector,
    picks: Batch | NumberArray,
    second: NumberArray,
    third: NumberArray | undefined,
  ): number {
    if (OwnedBatch.isOne(picks)) {
      if (third !== undefined) {
        throw new TypeError(`${OPERATION} takes a batch and its priorities, got a third array`);
      }
      OwnedBatch.checkYours(`${OPERATION}: batch`, picks);
      return this.#set(selector, picks.pickEpisode, picks.pickPosition, second, picks);
    }
    return this.#set(selector, picks as NumberArray, second, third as NumberArray);
  }

  /** Reads priorities of picks; NaN for those that are gone, or whose priority is not known. */
  get(
    selector: Selector,
    picks: Batch | NumberArray,
    second: NumberArray | undefined,
  ): Float64Array<ArrayBuffer> {
    const core = this.#core;
    core.checkUsable(GET);
    const entry = this.#register.entry(GET, selector);
    let episodes: Float64Array<ArrayBuffer>;
    let positions: Int32Array<ArrayBuffer>;
    if (OwnedBatch.isOne(picks)) {
      if (second !== undefined) {
        throw new TypeError(`${GET} takes a batch alone, got a second argument after it`);
      }
      OwnedBatch.checkYours(`${GET}: batch`, picks);
      this.#checkTable(GET, entry.selector, picks);
      [episodes, positions] = [picks.pickEpisode, picks.pickPosition];
    } else {
      episodes = float64("pickEpisode", picks, GET);
      positions = int32("pickPosition", second, GET);
    }
    const count = lengthOf(episodes);
    if (lengthOf(positions) !== count) {
      throw new RangeError(
        `${GET} takes as many episodes as positions, got ${count} and ${lengthOf(positions)}`,
      );
    }
    if (count > EXRP_LIMIT_BATCH) {
      throw new RangeError(
        `${GET} reads at most ${EXRP_LIMIT_BATCH} priorities at once, got ${count}`,
      );
    }
    const found = entry.composed === undefined
      ? this.#read(entry, episodes, positions)
      : core.together(GET, () => this.#read(entry, episodes, positions));
    if (found !== undefined) return found;
    throw new TypeError(
      `${GET}: ${
        entry.custom === undefined
          ? `the rule ${selector.kind} keeps no priorities`
          : `the rule ${selector.kind} has no method getPriority()`
      }, so there are none to read`,
    );
  }

  /** The priorities that a selector keeps; undefined if it keeps none. */
  #read(
    { custom, composed, nativeId, selector }: SelectorEntry,
    episodes: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
  ): Float64Array<ArrayBuffer> | undefined {
    if (composed !== undefined) {
      let all: Float64Array<ArrayBuffer> | undefined;
      for (const part of composed.parts) {
        const own = this.#read(part, episodes, positions);
        if (own === undefined) continue;
        all ??= own;
        for (let k = 0; k < all.length; k++) if (Number.isNaN(all[k])) all[k] = own[k] as number;
      }
      return all;
    }
    const core = this.#core;
    const count = lengthOf(episodes);
    const priorities = new Float64Array(count);
    if (custom !== undefined) return this.#readCustom(custom, selector.table, episodes, positions);
    const { symbols } = core.kernel;
    const status = symbols.exrp_priority_get(
      core.id,
      nativeId,
      episodes,
      positions,
      count,
      priorities,
    );
    if (status === EXRP_STATUS_ARGUMENT && positions.every((position) => position >= 0)) {
      return undefined;
    }
    if (status !== 0) throw this.#priorityError(status, positions, GET);
    return priorities;
  }

  #readCustom(
    custom: CustomSelector,
    table: number,
    episodes: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
  ): Float64Array<ArrayBuffer> | undefined {
    if (custom.rule.getPriority === undefined) return undefined;
    const core = this.#core;
    this.#customs.drain(core.id);
    custom.checkSound();
    const count = lengthOf(episodes);
    const found = new Uint32Array(count);
    const { symbols } = core.kernel;
    const status = symbols.exrp_pick_find(core.id, table, episodes, positions, count, found);
    if (status !== 0) throw this.#priorityError(status, positions, GET);
    const there = found.filter((index) => index !== EXRP_INDEX_NONE);
    const known = custom.readPriorities(there);
    let at = 0;
    return Float64Array.from(
      found,
      (index) => index === EXRP_INDEX_NONE ? NaN : known[at++] ?? NaN,
    );
  }

  #set(
    selector: Selector,
    pickEpisode: NumberArray,
    pickPosition: NumberArray,
    priority: NumberArray,
    batch?: OwnedBatch,
  ): number {
    const core = this.#core;
    core.checkUsable(OPERATION);
    const entry = this.#register.entry(OPERATION, selector);
    if (batch !== undefined) this.#checkTable(OPERATION, entry.selector, batch);
    const episodes = float64("pickEpisode", pickEpisode);
    const positions = int32("pickPosition", pickPosition);
    const priorities = isOwn("Float32Array", priority) ? priority : float64("priority", priority);
    const count = lengthOf(episodes);
    if (lengthOf(positions) !== count || lengthOf(priorities) !== count) {
      throw this.#countError(pickEpisode, pickPosition, priority, batch);
    }
    if (count === 0) {
      checkHonest(`${OPERATION}: pickEpisode`, pickEpisode);
      return 0;
    }
    if (count > EXRP_LIMIT_BATCH) {
      throw new RangeError(
        `${OPERATION} takes at most ${EXRP_LIMIT_BATCH} priorities at once, got ${count}`,
      );
    }
    if (entry.composed !== undefined) {
      return this.#setParts(entry, episodes, positions, priorities);
    }
    if (entry.custom !== undefined) {
      // The rule is the user's code and could take the arrays' memory away, so it gets copies.
      const own = [new Float64Array(episodes), new Int32Array(positions)] as const;
      const values = new Float64Array(priorities);
      return this.#setCustomPriority(entry.custom, selector.table, ...own, values);
    }
    const status = core.kernel.symbols.exrp_priority_set(
      core.id,
      entry.nativeId,
      episodes,
      positions,
      priorities,
      elementBytes(priorities),
      count,
      this.#number,
    );
    if (status !== 0) throw this.#priorityError(status, positions);
    return this.#number[0] ?? 0;
  }

  /** Sets priorities in every part. A method of its own, as a closure would make `#set` slower. */
  #setParts(
    entry: SelectorEntry,
    episodes: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
    priorities: Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>,
  ): number {
    return this.#core.together(OPERATION, () => {
      // Every part gets the same picks. Parts on one table have the same count.
      const counts = new Map<number, number>();
      for (const { selector } of leavesOf(entry)) {
        counts.set(selector.table, this.#set(selector, episodes, positions, priorities));
      }
      if (this.#areApart(entry.tables)) return [...counts.values()].reduce((a, b) => a + b, 0);
      return this.#countIn(entry.tables, episodes, positions);
    });
  }

  /** Whether no pick is in two of the tables. */
  #areApart(tables: readonly number[]): boolean {
    if (tables.length === 1) return true;
    const tags = tables.map((table) => this.#register.tables[table]?.policy.where?.tag);
    return !tags.includes(undefined) && new Set(tags.flat()).size === tags.flat().length;
  }

  /** How many of the picks are in one of the tables, or in several. */
  #countIn(
    tables: readonly number[],
    episodes: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
  ): number {
    const core = this.#core;
    const count = lengthOf(episodes);
    const indices = new Uint32Array(count);
    const isIn = new Uint8Array(count);
    const { symbols } = core.kernel;
    for (const table of tables) {
      const status = symbols.exrp_pick_find(core.id, table, episodes, positions, count, indices);
      core.check(OPERATION, status);
      for (let k = 0; k < count; k++) if (indices[k] !== EXRP_INDEX_NONE) isIn[k] = 1;
    }
    return isIn.reduce((sum, each) => sum + each, 0);
  }

  /**
   * Refuses a batch of another replay, and one of a pick table whose options differ in more than `where`: the same handles stand for
   * other picks there.
   */
  #checkTable(operation: string, selector: Selector, batch: OwnedBatch): void {
    const { table } = selector;
    const policy = OwnedBatch.policyOf(batch);
    const { tables } = this.#register;
    // Each pick table has a policy object of its own, which its batches refer to.
    const own = tables[table]?.policy;
    if (own === policy) return;
    const from = tables.find((each) => each.policy === policy);
    if (from !== undefined && own !== undefined) {
      if (policyDifferences(own, from.policy).length === 0) return;
    }
    throw new TypeError(
      from === undefined
        ? `${operation}: the batch is one of another replay; give it to the replay that drew it`
        : `${operation}: the batch is one of pick table ${from.id}, but the selector ${selector.kind} ${selector.id} draws from pick table ${table}; use a selector of pick table ${from.id}, or name the picks by pickEpisode and pickPosition`,
    );
  }

  #countError(
    episodes: NumberArray,
    positions: NumberArray,
    priorities: NumberArray,
    batch: OwnedBatch | undefined,
  ): RangeError {
    checkHonest(`${OPERATION}: pickEpisode`, episodes);
    checkHonest(`${OPERATION}: pickPosition`, positions);
    checkHonest(`${OPERATION}: priority`, priorities);
    if (batch !== undefined) return batchCountError(batch, priorities);
    return new RangeError(
      `${OPERATION} takes as many episodes as positions and priorities, got ${countOf(episodes)}, ${
        countOf(positions)
      } and ${countOf(priorities)}`,
    );
  }

  #priorityError(status: number, positions: Int32Array, operation = OPERATION): Error {
    const negative = positions.findIndex((position) => position < 0);
    if (status !== EXRP_STATUS_ARGUMENT || negative < 0) {
      return this.#core.error(operation, status);
    }
    return new RangeError(
      `${operation}: pickPosition[${negative}] must not be negative, got ${positions[negative]}`,
    );
  }

  #setCustomPriority(
    custom: CustomSelector,
    table: number,
    episodes: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
    priorities: Float64Array<ArrayBuffer>,
  ): number {
    const core = this.#core;
    const count = lengthOf(episodes);
    for (let k = 0; k < count; k++) {
      const value = priorities[k] as number;
      if (!(value >= 0 && value < Infinity)) {
        throw errorOfStatus(OPERATION, EXRP_STATUS_PRIORITY_INVALID, [k, value]);
      }
    }
    this.#customs.drain(core.id);
    custom.checkSound();
    const found = new Uint32Array(count);
    const { symbols } = core.kernel;
    const status = symbols.exrp_pick_find(core.id, table, episodes, positions, count, found);
    if (status !== 0) throw this.#priorityError(status, positions);
    const values = new Float64Array(count);
    let applied = 0;
    for (let k = 0; k < count; k++) {
      const index = found[k] as number;
      if (index === EXRP_INDEX_NONE) continue;
      found[applied] = index;
      values[applied++] = priorities[k] as number;
    }
    if (applied > 0) custom.rule.setPriority(found.slice(0, applied), values.slice(0, applied));
    this.#tellEviction(table, episodes, positions, priorities);
    return applied;
  }

  /** Tells the kernel's eviction policy of the priorities of a selector in TypeScript, where the policy goes by priorities. */
  #tellEviction(
    table: number,
    episodes: Float64Array<ArrayBuffer>,
    positions: Int32Array<ArrayBuffer>,
    priorities: Float64Array<ArrayBuffer>,
  ): void {
    const { id, kernel, config } = this.#core;
    if (!("native" in config.eviction)) return;
    if (config.eviction.native !== EXRP_EVICTION_LOWEST_PRIORITY_FIRST) return;
    const status = kernel.symbols.exrp_priority_set(
      id,
      EXRP_INDEX_NONE - table,
      episodes,
      positions,
      priorities,
      elementBytes(priorities),
      lengthOf(episodes),
      this.#number,
    );
    this.#core.check(OPERATION, status);
  }
}

/** The selectors that draw by themselves, of one that is made of others. */
function leavesOf(entry: SelectorEntry): readonly SelectorEntry[] {
  return entry.composed === undefined ? [entry] : entry.composed.parts.flatMap(leavesOf);
}

/** The error for another number of priorities than a batch has picks. */
function batchCountError(batch: OwnedBatch, priorities: NumberArray): RangeError {
  const count = countOf(priorities);
  const isOfRows = batch.length > 1 && count === batch.size * batch.length;
  return new RangeError(
    `${OPERATION}: priority must have ${batch.size} numbers, one for each pick of the batch; got ${count}${
      isOfRows ? " (for the errors of single rows see sequencePriority())" : ""
    }`,
  );
}

function elementBytes(priorities: Float64Array | Float32Array): number {
  return isKind("Float32Array", priorities) ? 4 : 8;
}

function arrayLike(name: string, value: unknown, operation: string): ArrayLike<unknown> {
  checkHonest(`${operation}: ${name}`, value);
  if (Array.isArray(value) || kindOf(value) !== undefined) {
    return value as ArrayLike<unknown>;
  }
  throw new TypeError(
    `${operation}: ${name} must be a plain or typed array of numbers, got ${show(value)}`,
  );
}

function float64(
  name: string,
  value: unknown,
  operation = OPERATION,
): Float64Array<ArrayBuffer> {
  if (isOwn("Float64Array", value)) return value;
  const from = arrayLike(name, value, operation);
  const numbers = new Float64Array(countOf(from));
  for (let k = 0; k < countOf(from); k++) {
    const element = from[k];
    if (typeof element !== "number") {
      throw new TypeError(`${operation}: ${name}[${k}] must be a number, got ${show(element)}`);
    }
    numbers[k] = element;
  }
  return numbers;
}

function int32(name: string, value: unknown, operation = OPERATION): Int32Array<ArrayBuffer> {
  if (isOwn("Int32Array", value)) return value;
  const from = arrayLike(name, value, operation);
  const numbers = new Int32Array(countOf(from));
  for (let k = 0; k < countOf(from); k++) {
    numbers[k] = checkInteger(`${operation}: ${name}[${k}]`, from[k], -(2 ** 31), 2 ** 31 - 1);
  }
  return numbers;
}
