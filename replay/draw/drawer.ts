/**
 * Drawing: selectors, priorities and batches.
 *
 * @module
 */

import { checkInteger, checkNumber, checkOptions, show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { checkHonest, countOf, isKind, isOwn, kindOf, lengthOf } from "../../base/typed_arrays.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import {
  EXRP_EVICTION_LOWEST_PRIORITY_FIRST,
  EXRP_INDEX_NONE,
  EXRP_INFO_RECORD_COUNT,
  EXRP_INFO_SEGMENT_LENGTH,
  EXRP_LIMIT_BATCH,
  EXRP_STATUS_ARGUMENT,
  EXRP_STATUS_EMPTY,
  EXRP_STATUS_PRIORITY_INVALID,
  EXRP_TABLE_INFO_COUNT,
  EXRP_TABLE_PICK_COUNT,
} from "../../ffi/symbols.ts";
import type { NativeSelector } from "../../selectors/native_selector.ts";
import { checkSelectorRule } from "../../selectors/check_selector.ts";
import type { SelectorRule } from "../../selectors/composed_selector.ts";
import type { Selection } from "../../selectors/pick_selector.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import {
  checkPlans,
  inOrder,
  planSelector,
  type SelectorPlan,
} from "../register/_selector_plan.ts";
import { TableEntry } from "./_table_layouts.ts";
import { Batch } from "./batch.ts";
import type { BatchLayout } from "./batch_layout.ts";
import type { BatchStreamSource } from "./batches.ts";
import { ComposedEntry } from "../rules/composed_entry.ts";
import type { ReplayCore } from "../core.ts";
import { CustomSelector, CustomSelectors } from "../rules/custom_selectors.ts";
import type { ExternalEviction } from "../rules/external_eviction.ts";
import { rewardDType } from "../../schema/create_options.ts";
import {
  checkPick,
  kernelPolicy,
  type PickOptions,
  type PickPolicy,
} from "../../schema/pick_options.ts";
import { PickTable } from "../register/pick_table.ts";
import type { Column, Columns } from "../../schema/columns.ts";
import { Selector } from "../register/selector.ts";

/** The type of the batches of a selector that has `B`, in a replay whose first table has batches of type `D`. */
export type BatchOf<B, D> = unknown extends B ? D : B;

/** The options of `getBatch`; `B` is the type of its batches. */
export interface GetBatchOptions<B = Batch<Column, Column, Column, Columns>> {
  /** How strongly importance weights correct: 0 not at all, 1 fully (the default). */
  readonly beta?: number;
  /** A batch of the same size to write into: it is returned, and nothing is allocated. */
  readonly into?: B;
}

/** Numbers in a plain or typed array. */
export type NumberArray = ArrayLike<number>;

/** One selector: its reference, its rule, and where that runs. */
export interface SelectorEntry {
  /** The reference that the user holds. */
  readonly selector: Selector;
  /** The kernel's rule, undefined for one in TypeScript. */
  readonly native: NativeSelector | undefined;
  /** Its number in the kernel. */
  readonly nativeId: number;
  /** The rule in TypeScript that draws itself. */
  readonly custom: CustomSelector | undefined;
  /** The rule that draws by means of others. */
  readonly composed: ComposedEntry<SelectorEntry> | undefined;
}

type AnyBatch = Batch<Column, Column, Column, Columns>;

/** A batch that is being filled. */
interface Filling {
  readonly layout: BatchLayout;
  readonly batch: Batch<Column, Column, Column, Columns>;
  readonly beta: number;
  readonly external: ExternalEviction | undefined;
}

const OPTIONS = ["beta", "into"] as const;

/** An entry of no rule at all. */
const NO_RULE = { native: undefined, nativeId: -1, custom: undefined, composed: undefined };

/** The kernel's bound. */
const BETA_MAX = 2 ** 53;

/** Draws from one replay. */
export class Drawer {
  /** All selectors in order of creation. */
  readonly entries: SelectorEntry[] = [];
  /** Those in TypeScript. */
  readonly customs: CustomSelectors;
  readonly #core: ReplayCore;
  readonly #owner = Symbol("replay");
  readonly #tables: TableEntry[] = [];
  readonly #number = new Uint32Array(1);
  /** The latest candidates of each composed selector, by its id: their memory is used again. */
  readonly #candidates = new Map<number, AnyBatch>();

  /** Draws from the replay of `core`. */
  constructor(core: ReplayCore) {
    this.#core = core;
    this.customs = new CustomSelectors(core.kernel);
    this.addTable(core.config.pick);
  }

  /** All pick tables in order of creation. */
  get tables(): readonly PickTable[] {
    return this.#tables.map(({ table }) => table);
  }

  /** Adds a pick table. */
  newPickTable(options: PickOptions): PickTable {
    const core = this.#core;
    const where = "newPickTable()";
    core.checkUsable(where);
    const segmentLength = core.info(where)[EXRP_INFO_SEGMENT_LENGTH] ?? 1;
    const policy = checkPick(where, options, segmentLength);
    if (policy.length > segmentLength) {
      throw new RangeError(
        `${where}: length must be at most the replay's segmentLength, as no episode has more records: ${segmentLength}, got ${policy.length}`,
      );
    }
    const numbers = kernelPolicy(policy, rewardDType(core.config));
    const { symbols } = core.kernel;
    const status = symbols.exrp_table_create(core.id, numbers, numbers.length, this.#number);
    core.check(where, status);
    return this.addTable(policy);
  }

  /** Takes note of a pick table that the kernel has. */
  addTable(policy: PickPolicy): PickTable {
    const table = new PickTable(this, this.#tables.length, Object.freeze(policy));
    this.#tables.push(new TableEntry(this.#core, table));
    return table;
  }

  /** How many picks a table has. */
  pickCount(table: number, id: number = this.#core.id): number {
    const core = this.#core;
    const info = new Float64Array(EXRP_TABLE_INFO_COUNT);
    core.check("pickCount", core.kernel.symbols.exrp_table_info(id, table, info, info.length));
    return info[EXRP_TABLE_PICK_COUNT] ?? 0;
  }

  /** Adds a selector: of one made of others the parts first. */
  newPickSelector(value: SelectorRule, table = 0): Selector {
    const core = this.#core;
    core.checkUsable("newPickSelector()");
    const plan = planSelector(checkSelectorRule("newPickSelector()", value));
    const plans = inOrder(plan);
    const { entries, customs } = this;
    const nativeCount = entries.filter(({ native }) => native !== undefined).length;
    checkPlans(plans, nativeCount, (rule) => entries.some(({ custom }) => custom?.rule === rule));
    // The rules in TypeScript first: they hear of all picks, and may throw.
    const added = new Map<SelectorPlan, CustomSelector>();
    try {
      for (const [k, each] of plans.entries()) {
        if (each.kind !== "custom") continue;
        const custom = new CustomSelector(each.rule, core.seed, entries.length + k);
        customs.add(core.id, table, custom, this.pickCount(table));
        added.set(each, custom);
      }
      return this.#addPlanned(plan, table, added);
    } catch (error) {
      for (const custom of added.values()) customs.remove(table, custom);
      throw error;
    }
  }

  #addPlanned(
    plan: SelectorPlan,
    table: number,
    customs: ReadonlyMap<SelectorPlan, CustomSelector>,
  ): Selector {
    if (plan.kind === "native") return this.#createNative(plan.rule, table);
    const { name } = plan.rule;
    if (plan.kind === "custom") {
      return this.#add({ ...NO_RULE, custom: customs.get(plan) }, name, table);
    }
    const parts = plan.parts.map((part) => this.#addPlanned(part, table, customs));
    const entries = parts.map(({ id }) => this.entries[id] as SelectorEntry);
    const random = new RandomStream(this.#core.seed, this.entries.length);
    const composed = new ComposedEntry(plan.rule, plan.composition, entries, random);
    return this.#add({ ...NO_RULE, composed }, name, table, parts);
  }

  #createNative(rule: NativeSelector, table: number): Selector {
    const core = this.#core;
    const numbers = new Float64Array(Math.max(1, rule.numbers.length));
    numbers.set(rule.numbers);
    const status = core.kernel.symbols.exrp_selector_create(
      core.id,
      table,
      rule.native,
      numbers,
      rule.numbers.length,
      this.#number,
    );
    core.check("newPickSelector()", status);
    return this.addNative(rule, this.#number[0] ?? 0, table);
  }

  /** Takes note of a selector that the kernel has. */
  addNative(native: NativeSelector, nativeId: number, table: number): Selector {
    return this.#add({ ...NO_RULE, native, nativeId }, native.kind, table);
  }

  #add(
    entry: Omit<SelectorEntry, "selector">,
    kind: string,
    table: number,
    parts: readonly Selector[] = [],
  ): Selector {
    const selector = new Selector(this.#owner, this.entries.length, kind, table, parts);
    this.entries.push({ ...entry, selector });
    return selector;
  }

  #entry(operation: string, selector: Selector): SelectorEntry {
    if (Selector.belongs(selector, this.#owner)) {
      const entry = this.entries[selector.id];
      if (entry !== undefined) return entry;
    }
    if (!(selector instanceof Selector)) {
      throw new TypeError(
        `${operation} takes a selector that newPickSelector() gave, got ${show(selector)}`,
      );
    }
    throw new ReplayError(
      "foreign-selector",
      `${operation}: the selector ${selector.kind} ${selector.id} is another replay's; make one by this replay's newPickSelector()`,
    );
  }

  /** Sets priorities. */
  setPriority(
    selector: Selector,
    pickEpisode: NumberArray,
    pickPosition: NumberArray,
    priority: NumberArray,
  ): number {
    const core = this.#core;
    core.checkUsable("setPriority()");
    const entry = this.#entry("setPriority()", selector);
    const episodes = float64("pickEpisode", pickEpisode);
    const positions = int32("pickPosition", pickPosition);
    const priorities = isOwn("Float32Array", priority) ? priority : float64("priority", priority);
    const count = lengthOf(episodes);
    if (lengthOf(positions) !== count || lengthOf(priorities) !== count) {
      throw this.#countError(pickEpisode, pickPosition, priority);
    }
    if (count === 0) {
      checkHonest("setPriority(): pickEpisode", pickEpisode);
      return 0;
    }
    if (count > EXRP_LIMIT_BATCH) {
      throw new RangeError(
        `setPriority() takes at most ${EXRP_LIMIT_BATCH} priorities at once, got ${count}`,
      );
    }
    if (entry.composed !== undefined) {
      // Picks and priorities are the same for all, and so is the count.
      return Math.max(
        ...entry.composed.parts.map((part) =>
          this.setPriority(part.selector, episodes, positions, priorities)
        ),
      );
    }
    if (entry.custom !== undefined) {
      // The rule is the user's code, and could take the arrays' memory away while they are needed.
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

  #countError(episodes: NumberArray, positions: NumberArray, priorities: NumberArray): RangeError {
    checkHonest("setPriority(): pickEpisode", episodes);
    checkHonest("setPriority(): pickPosition", positions);
    checkHonest("setPriority(): priority", priorities);
    return new RangeError(
      `setPriority() takes as many episodes as positions and priorities, got ${
        countOf(episodes)
      }, ${countOf(positions)} and ${countOf(priorities)}`,
    );
  }

  #priorityError(status: number, positions: Int32Array): Error {
    const negative = positions.findIndex((position) => position < 0);
    if (status !== EXRP_STATUS_ARGUMENT || negative < 0) {
      return this.#core.error("setPriority()", status);
    }
    return new RangeError(
      `setPriority(): pickPosition[${negative}] must not be negative, got ${positions[negative]}`,
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
    const count = episodes.length;
    for (let k = 0; k < count; k++) {
      const value = priorities[k] as number;
      if (!(value >= 0 && value < Infinity)) {
        throw errorOfStatus("setPriority()", EXRP_STATUS_PRIORITY_INVALID, [k, value]);
      }
    }
    this.customs.drain(core.id);
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

  /** Lets a policy of the kernel that goes by priorities hear of those of a selector in TypeScript. */
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
    this.#core.check("setPriority()", status);
  }

  /** Draws a batch. */
  getBatch<B extends Batch<Column, Column, Column, Columns>>(
    size: number,
    selector: Selector,
    options: GetBatchOptions<B> | undefined,
    external: ExternalEviction | undefined,
  ): B {
    const core = this.#core;
    let beta = 1;
    let into: B | undefined;
    if (options !== undefined) {
      checkOptions("getBatch()", options, OPTIONS);
      into = options.into;
      if (options.beta !== undefined) {
        beta = checkNumber("getBatch(): beta", options.beta, 0, BETA_MAX);
      }
    }
    core.checkUsable("getBatch()");
    const entry = this.#entry("getBatch()", selector);
    const layout = (this.#tables[entry.selector.table] as TableEntry).layout(size);
    if (into !== undefined) {
      const misfit = Batch.misfit(into, layout);
      if (misfit !== undefined) throw misfit;
    }
    const batch = into ?? new Batch<Column, Column, Column, Columns>(layout);
    this.#fill(entry, { layout, batch, beta, external }, 0, size);
    // The picks of another table may be laid out alike: whoever reads the batch goes by what it holds now.
    if (into !== undefined) Batch.setPolicy(batch, layout.policy);
    return batch as B;
  }

  /** What batches of `size` are drawn with, one after the other; the selector's and the size's mistakes are found now. */
  source<B extends Batch<Column, Column, Column, Columns>>(
    size: number,
    selector: Selector,
    external: ExternalEviction | undefined,
  ): BatchStreamSource<B> {
    this.#core.checkUsable("batches()");
    const { native } = this.#entry("batches()", selector);
    (this.#tables[selector.table] as TableEntry).layout(size);
    // Who had a batch may have handed its memory back, or transferred it.
    const usable = (into: B | undefined): B | undefined =>
      into !== undefined && Batch.hasMemory(into) ? into : undefined;
    const draw: BatchStreamSource<B>["draw"] = (beta, into) => {
      const found = usable(into);
      const options = found === undefined ? { beta } : { beta, into: found };
      return this.getBatch<B>(size, selector, options, external);
    };
    return {
      draw,
      lend: (batch, isLent) => Batch.lend(batch, isLent),
      // Rules in TypeScript have to be asked on this thread.
      order: (beta, into) =>
        native === undefined || external !== undefined
          ? undefined
          : this.#order(size, selector, beta, usable(into), draw),
    };
  }

  async #order<B extends Batch<Column, Column, Column, Columns>>(
    size: number,
    selector: Selector,
    beta: number,
    into: B | undefined,
    draw: BatchStreamSource<B>["draw"],
  ): Promise<B> {
    const core = this.#core;
    const operation = "batches()";
    core.checkUsable(operation);
    const { id, kernel: { symbols } } = core;
    const entry = this.#entry(operation, selector);
    const layout = (this.#tables[selector.table] as TableEntry).layout(size);
    const batch = into ?? new Batch<Column, Column, Column, Columns>(layout);
    const bytes = Batch.memoryOf(batch);
    const order = new Float64Array(1);
    const { nativeId } = entry;
    core.check(
      operation,
      symbols.exrp_batch_order(id, nativeId, size, beta, bytes, lengthOf(bytes), order),
    );
    const ran = await symbols.exrp_batch_run(id, bytes, lengthOf(bytes));
    // A snapshot took the replay's place meanwhile: the batch is drawn from what there is now.
    if (core.occupiedId !== id && !core.isDisposed) return draw(beta, batch as B);
    core.check(operation, ran);
    core.check(operation, symbols.exrp_batch_take(id, order[0] ?? 0));
    return batch as B;
  }

  /** Draws `count` picks into the places of a batch from `first` on. */
  #fill(entry: SelectorEntry, filling: Filling, first: number, count: number): void {
    if (entry.composed !== undefined) return this.#compose(entry, filling, first, count);
    const core = this.#core;
    const { layout, batch, beta, external } = filling;
    const draws = entry.custom === undefined ? undefined : this.#select(entry.custom, count);
    const bytes = Batch.memoryOf(batch);
    const status = draws === undefined
      ? core.kernel.symbols.exrp_batch_get(
        core.id,
        entry.nativeId,
        first,
        count,
        layout.size,
        beta,
        bytes,
        lengthOf(bytes),
      )
      : core.kernel.symbols.exrp_batch_gather(
        core.id,
        entry.selector.table,
        draws.index,
        draws.probability,
        first,
        count,
        layout.size,
        beta,
        0,
        entry.custom?.rule.weighted === true ? 1 : 0,
        bytes,
        lengthOf(bytes),
      );
    if (status !== 0) throw core.error("getBatch()", status);
    if (external === undefined) return;
    const all = count === layout.size;
    external.sampled(all ? batch.pickEpisode : batch.pickEpisode.slice(first, first + count));
  }

  /** Lets a composition fill the places. */
  #compose(
    { composed, selector }: SelectorEntry,
    filling: Filling,
    first: number,
    count: number,
  ): void {
    const table = this.#tables[selector.table];
    if (composed === undefined || table === undefined) return;
    if (this.pickCount(selector.table) === 0) throw this.#empty();
    composed.run(count, {
      draw: (part, from, size) => this.#fill(part, filling, first + from, size),
      candidates: (part, size) => {
        const layout = table.layout(size);
        const lent = this.#candidates.get(selector.id);
        const batch = lent !== undefined && Batch.misfit(lent, layout) === undefined
          ? lent
          : new Batch<Column, Column, Column, Columns>(layout);
        this.#candidates.set(selector.id, batch);
        this.#fill(part, { ...filling, layout, batch }, 0, size);
        return batch;
      },
      keep: (from, candidates, index, probability, weight) => {
        if (!Batch.hasMemory(candidates) || !Batch.hasMemory(filling.batch)) {
          throw new ReplayError(
            "rule",
            `the selector ${selector.kind} took away the memory of candidates or of the batch: both are lent for the call only`,
          );
        }
        Batch.copyPicks(candidates, index, filling.batch, first + from);
        for (let k = 0; k < index.length; k++) {
          const at = first + from + k;
          filling.batch.probability[at] = probability[k] ?? NaN;
          filling.batch.importanceWeight[at] = (filling.batch.importanceWeight[at] ?? NaN) *
            (weight[k] ?? NaN);
        }
      },
    });
  }

  #empty(): ReplayError {
    const info = this.#core.info("getBatch()");
    return errorOfStatus("getBatch()", EXRP_STATUS_EMPTY, [info[EXRP_INFO_RECORD_COUNT] ?? 0]);
  }

  #select(custom: CustomSelector, size: number): Selection {
    this.customs.drain(this.#core.id);
    if (custom.count === 0) throw this.#empty();
    return custom.select(size);
  }
}

function elementBytes(priorities: Float64Array | Float32Array): number {
  return isKind("Float32Array", priorities) ? 4 : 8;
}

function arrayLike(name: string, value: unknown): ArrayLike<unknown> {
  checkHonest(`setPriority(): ${name}`, value);
  if (Array.isArray(value) || kindOf(value) !== undefined) {
    return value as ArrayLike<unknown>;
  }
  throw new TypeError(
    `setPriority(): ${name} must be a plain or typed array of numbers, got ${show(value)}`,
  );
}

function float64(name: string, value: unknown): Float64Array<ArrayBuffer> {
  if (isOwn("Float64Array", value)) return value;
  const from = arrayLike(name, value);
  const numbers = new Float64Array(from.length);
  for (let k = 0; k < from.length; k++) {
    const element = from[k];
    if (typeof element !== "number") {
      throw new TypeError(`setPriority(): ${name}[${k}] must be a number, got ${show(element)}`);
    }
    numbers[k] = element;
  }
  return numbers;
}

function int32(name: string, value: unknown): Int32Array<ArrayBuffer> {
  if (isOwn("Int32Array", value)) return value;
  const from = arrayLike(name, value);
  const numbers = new Int32Array(from.length);
  for (let k = 0; k < from.length; k++) {
    numbers[k] = checkInteger(`setPriority(): ${name}[${k}]`, from[k], -(2 ** 31), 2 ** 31 - 1);
  }
  return numbers;
}
