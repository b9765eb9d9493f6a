/**
 * Priorities: what `setPriority` takes, which rules hear of them, and how `getPriority` reads them back.
 *
 * @module
 */

import { checkInteger, checkNumbers, show } from "../../base/checks.ts";
import {
  type ArrayOfKind,
  checkHonest,
  countOf,
  isKind,
  isOwn,
  lengthOf,
} from "../../base/typed_arrays.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import * as abi from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import type { Batch } from "../../schema/batch.ts";
import { policyDifferences } from "../../schema/pick_options.ts";
import { OwnedBatch } from "./owned_batch.ts";
import type { Register, SelectorEntry } from "../register/register.ts";
import type { Selector } from "../register/selector.ts";
import type { CustomSelector, CustomSelectors } from "../rules/custom_selectors.ts";

/** Numbers in a plain or typed array, which {@linkcode ExperienceReplay.setPriority} takes. */
export type NumberArray = ArrayLike<number>;

/** Priorities as the kernel reads them. */
type Floats = Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** Where picks begin. */
interface Picks {
  readonly episodes: Float64Array<ArrayBuffer>;
  readonly positions: Int32Array<ArrayBuffer>;
  readonly count: number;
}

const SET = "setPriority()";
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

  /** Sets priorities of picks; returns how many of the picks are in the view. */
  set(
    selector: Selector,
    given: Batch | NumberArray,
    second: NumberArray,
    third: NumberArray | undefined,
  ): number {
    this.#core.checkUsable(SET);
    const entry = this.#register.entry(SET, selector);
    if (!OwnedBatch.isOne(given)) {
      return this.#setPicks(entry, given as NumberArray, second, third);
    }
    if (third !== undefined) {
      throw new TypeError(`${SET} takes a batch and its priorities, got a third array`);
    }
    this.#checkBatch(SET, entry.selector, given);
    return this.#setPicks(entry, given.pickEpisode, given.pickPosition, second, given);
  }

  /** Sets priorities of picks that two arrays name. */
  #setPicks(
    entry: SelectorEntry,
    episode: NumberArray,
    position: NumberArray,
    priority: NumberArray | undefined,
    batch?: OwnedBatch,
  ): number {
    const episodes = numbersOf("Float64Array", SET, "pickEpisode", episode);
    const positions = numbersOf("Int32Array", SET, "pickPosition", position);
    const priorities = isOwn("Float32Array", priority)
      ? priority
      : numbersOf("Float64Array", SET, "priority", priority);
    const count = lengthOf(episodes);
    const picks = { episodes, positions, count };
    checkCounts(SET, picks, priorities, batch);
    if (count === 0) return 0;
    if (entry.native !== undefined) return this.#setNative(entry.nativeId, picks, priorities);
    if (this.#customs.size === 0) return this.#set(entry, picks, priorities);
    // Rules in TypeScript are the user's code and could take the arrays' memory away, so they get copies.
    const own = {
      ...picks,
      episodes: new Float64Array(episodes),
      positions: new Int32Array(positions),
    };
    return this.#set(entry, own, new Float64Array(priorities));
  }

  /** Reads priorities of picks; NaN for those that are gone, or whose priority is not known. */
  get(
    selector: Selector,
    given: Batch | NumberArray,
    second: NumberArray | undefined,
  ): Float64Array<ArrayBuffer> {
    const core = this.#core;
    core.checkUsable(GET);
    const entry = this.#register.entry(GET, selector);
    if (OwnedBatch.isOne(given) && second !== undefined) {
      throw new TypeError(`${GET} takes a batch alone, got a second argument after it`);
    }
    const picks = this.#picksOf(GET, entry, given, second);
    checkCounts(GET, picks);
    const found = entry.composed === undefined
      ? this.#read(entry, picks)
      : core.together(GET, () => this.#read(entry, picks));
    if (found !== undefined) return found;
    throw new TypeError(
      `${GET}: ${
        entry.custom === undefined
          ? `the rule ${selector.kind} keeps no priorities`
          : `the rule ${selector.kind} has no method getPriority()`
      }, so there are none to read`,
    );
  }

  /** The picks of a batch, or those that two arrays name. */
  #picksOf(
    operation: string,
    { selector }: SelectorEntry,
    given: Batch | NumberArray,
    second: NumberArray | undefined,
  ): Picks {
    const isBatch = OwnedBatch.isOne(given);
    if (isBatch) this.#checkBatch(operation, selector, given);
    const episode = isBatch ? given.pickEpisode : given;
    const position = isBatch ? given.pickPosition : second;
    const episodes = numbersOf("Float64Array", operation, "pickEpisode", episode);
    const positions = numbersOf("Int32Array", operation, "pickPosition", position);
    return { episodes, positions, count: lengthOf(episodes) };
  }

  /** The priorities that a selector keeps; undefined if it keeps none. */
  #read(
    { custom, composed, nativeId, selector }: SelectorEntry,
    picks: Picks,
  ): Float64Array<ArrayBuffer> | undefined {
    if (composed !== undefined) {
      let all: Float64Array<ArrayBuffer> | undefined;
      for (const part of composed.parts) {
        const own = this.#read(part, picks);
        if (own === undefined) continue;
        all ??= own;
        for (let k = 0; k < all.length; k++) if (Number.isNaN(all[k])) all[k] = own[k] as number;
      }
      return all;
    }
    if (custom !== undefined) {
      if (custom.rule.getPriority === undefined) return undefined;
      const found = this.#findOf(GET, custom, selector.view, picks);
      const there = found.filter((index) => index !== abi.EXRP_INDEX_NONE);
      const known = custom.readPriorities(there);
      let at = 0;
      return Float64Array.from(
        found,
        (index) => index === abi.EXRP_INDEX_NONE ? NaN : known[at++] ?? NaN,
      );
    }
    const { id, kernel: { symbols } } = this.#core;
    const { episodes, positions, count } = picks;
    const priorities = new Float64Array(count);
    const status = symbols.exrp_priority_get(id, nativeId, episodes, positions, count, priorities);
    if (status === abi.EXRP_STATUS_ARGUMENT && positions.every((position) => position >= 0)) {
      return undefined;
    }
    this.#check(GET, status, positions);
    return priorities;
  }

  #set(entry: SelectorEntry, picks: Picks, priorities: Floats): number {
    const { composed, custom, nativeId, selector } = entry;
    if (composed !== undefined) return this.#setParts(entry, picks, priorities);
    if (custom !== undefined) return this.#setCustom(custom, selector.view, picks, priorities);
    return this.#setNative(nativeId, picks, priorities);
  }

  #setNative(id: number, { episodes, positions, count }: Picks, priorities: Floats): number {
    const core = this.#core;
    const elementBytes = isKind("Float32Array", priorities) ? 4 : 8;
    const status = core.kernel.symbols.exrp_priority_set(
      core.id,
      id,
      episodes,
      positions,
      priorities,
      elementBytes,
      count,
      this.#number,
    );
    if (status !== 0) this.#check(SET, status, positions);
    return this.#number[0] ?? 0;
  }

  /** Sets priorities in all parts, while no other thread's call comes in between; returns how many of the picks are in one of its views. */
  #setParts(entry: SelectorEntry, picks: Picks, priorities: Floats): number {
    return this.#core.together(SET, () => {
      const [first = 0] = leavesOf(entry).map((leaf) => this.#set(leaf, picks, priorities));
      if (entry.views.length === 1) return first;
      const found = entry.views.map((view) => this.#find(SET, view, picks));
      return picks.positions.filter((_, k) =>
        found.some((indices) => indices[k] !== abi.EXRP_INDEX_NONE)
      ).length;
    });
  }

  /** The place of each pick in a view. */
  #find(operation: string, view: number, { episodes, positions, count }: Picks): Uint32Array {
    const { id, kernel: { symbols } } = this.#core;
    const found = new Uint32Array(count);
    const status = symbols.exrp_pick_find(id, view, episodes, positions, count, found);
    this.#check(operation, status, positions);
    return found;
  }

  /** The same for a rule in TypeScript, which first hears what happened to its view. */
  #findOf(operation: string, custom: CustomSelector, view: number, picks: Picks): Uint32Array {
    this.#customs.drain(this.#core.id);
    custom.checkSound();
    return this.#find(operation, view, picks);
  }

  /**
   * Refuses a batch that was lent, a batch of another replay, and one of a pick view whose options differ in more than `where`: the same
   * handles stand for other picks there.
   */
  #checkBatch(operation: string, selector: Selector, batch: OwnedBatch): void {
    OwnedBatch.checkYours(`${operation}: batch`, batch);
    const { view: view } = selector;
    const policy = OwnedBatch.policyOf(batch);
    const { views } = this.#register;
    // Each pick view has a policy object of its own, which its batches refer to.
    const own = views[view]?.policy;
    if (own === policy) return;
    const from = views.find((each) => each.policy === policy);
    if (from !== undefined && own !== undefined) {
      if (policyDifferences(own, from.policy).length === 0) return;
    }
    throw new TypeError(
      from === undefined
        ? `${operation}: the batch is one of another replay; give it to the replay that drew it`
        : `${operation}: the batch is one of pick view ${from.id}, but the selector ${selector.kind} ${selector.id} draws from pick view ${view}; use a selector of pick view ${from.id}, or name the picks by pickEpisode and pickPosition`,
    );
  }

  /** Throws when a call did not succeed. */
  #check(operation: string, status: number, positions: Int32Array): void {
    if (status === 0) return;
    const negative = positions.findIndex((position) => position < 0);
    if (status !== abi.EXRP_STATUS_ARGUMENT || negative < 0) {
      throw this.#core.error(operation, status);
    }
    throw new RangeError(
      `${operation}: pickPosition[${negative}] must not be negative, got ${positions[negative]}`,
    );
  }

  /** Gives a rule in TypeScript the priorities of the picks that are there. An eviction policy of the kernel that goes by them gets them, too. */
  #setCustom(
    custom: CustomSelector,
    view: number,
    picks: Picks,
    priorities: Floats,
  ): number {
    for (const [k, value] of priorities.entries()) {
      if (value >= 0 && value < Infinity) continue;
      throw errorOfStatus(SET, abi.EXRP_STATUS_PRIORITY_INVALID, [k, value]);
    }
    const found = this.#findOf(SET, custom, view, picks);
    const isThere = (_: number, k: number): boolean => found[k] !== abi.EXRP_INDEX_NONE;
    const indices = found.filter(isThere);
    if (indices.length > 0) {
      custom.rule.setPriority(indices, new Float64Array(priorities.filter(isThere)));
    }
    const { eviction } = this.#core.config;
    if ("native" in eviction && eviction.native === abi.EXRP_EVICTION_LOWEST_PRIORITY_FIRST) {
      this.#setNative(abi.EXRP_INDEX_NONE - view, picks, priorities);
    }
    return indices.length;
  }
}

/** The selectors that draw by themselves, of which a selector is made. */
function leavesOf(entry: SelectorEntry): readonly SelectorEntry[] {
  return entry.composed === undefined ? [entry] : entry.composed.parts.flatMap(leavesOf);
}

/** Refuses arrays of different lengths, and too many picks; `batch` has the picks if they are those of one. */
function checkCounts(
  operation: string,
  { episodes, positions, count }: Picks,
  priorities?: Floats,
  batch?: OwnedBatch,
): void {
  const places = lengthOf(positions);
  const values = priorities === undefined ? count : lengthOf(priorities);
  if (places === count && values === count && count <= abi.EXRP_LIMIT_BATCH && count > 0) return;
  refuseCounts(operation, { episodes, positions, count }, priorities, batch);
}

/** Throws where {@linkcode checkCounts} refuses. No picks at all are fine, if the arrays are what they say. */
function refuseCounts(
  operation: string,
  { episodes, positions, count }: Picks,
  priorities?: Floats,
  batch?: OwnedBatch,
): void {
  const places = lengthOf(positions);
  const values = priorities === undefined ? count : lengthOf(priorities);
  checkHonest(`${operation}: pickEpisode`, episodes);
  checkHonest(`${operation}: pickPosition`, positions);
  checkHonest(`${operation}: priority`, priorities);
  if (batch !== undefined && values !== count) {
    const isOfRows = batch.length > 1 && values === batch.size * batch.length;
    const hint = isOfRows ? " (for the errors of single rows see sequencePriority())" : "";
    throw new RangeError(
      `${operation}: priority must have ${batch.size} numbers, one for each pick of the batch; got ${values}${hint}`,
    );
  }
  if (count > abi.EXRP_LIMIT_BATCH) {
    throw new RangeError(
      `${operation} takes at most ${abi.EXRP_LIMIT_BATCH} priorities at once, got ${count}`,
    );
  }
  if (places === count && values === count) return;
  throw new RangeError(
    priorities === undefined
      ? `${operation} takes as many episodes as positions, got ${count} and ${places}`
      : `${operation} takes as many episodes as positions and priorities, got ${count}, ${places} and ${values}`,
  );
}

/** Numbers as an array of this kind: the given one, if it is of the kind. */
export function numbersOf<K extends "Float64Array" | "Int32Array">(
  kind: K,
  operation: string,
  name: string,
  value: unknown,
): ArrayOfKind[K] {
  return isOwn(kind, value) ? value : copyOf(kind, operation, name, value);
}

/** A copy of numbers as an array of this kind. A function of its own, as the engine inlines only short ones. */
function copyOf<K extends "Float64Array" | "Int32Array">(
  kind: K,
  operation: string,
  name: string,
  value: unknown,
): ArrayOfKind[K] {
  const from = checkNumbers(operation, name, value);
  const numbers = new (kind === "Int32Array" ? Int32Array : Float64Array)(countOf(from));
  for (let k = 0; k < numbers.length; k++) {
    const element = from[k];
    if (kind === "Int32Array") {
      checkInteger(`${operation}: ${name}[${k}]`, element, -(2 ** 31), 2 ** 31 - 1);
    } else if (typeof element !== "number") {
      throw new TypeError(`${operation}: ${name}[${k}] must be a number, got ${show(element)}`);
    }
    numbers[k] = element as number;
  }
  return numbers as ArrayOfKind[K];
}
