/**
 * The register of one replay: its pick views and its selectors, in order of creation.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { showUnlike } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import {
  EXRP_DRAWS_DRAWN_COUNT,
  EXRP_DRAWS_INFO_COUNT,
  EXRP_LIMIT_LOGS,
  EXRP_LIMIT_SELECTORS,
  EXRP_PICK_VIEW_INFO_COUNT,
  EXRP_PICK_VIEW_PICK_COUNT,
} from "../../ffi/symbols.ts";
import { type AnyPickPolicy, checkPick, type PickOptions } from "../../schema/pick_options.ts";
import { shownColumns } from "../../schema/pick_transforms.ts";
import { checkSelectorRule, ruleName } from "../../selectors/check_selector.ts";
import {
  type AnySelectorRule,
  type ComposedSelector,
  type Composition,
  isRemakable,
} from "../../selectors/composed_selector.ts";
import type { NativeSelector } from "../../selectors/native_selector.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { ignoreErrors } from "../../storage/file.ts";
import type { ReplayCore } from "../core.ts";
import { ComposedEntry } from "../rules/composed_entry.ts";
import { CustomSelector, type CustomSelectors } from "../rules/custom_selectors.ts";
import { serving } from "../rules/serving.ts";
import { makePickView, makeSelector } from "./make.ts";
import { checkShareCount, notSharable } from "./sharable.ts";
import {
  checkPlans,
  checkSameLayout,
  inOrder,
  planSelector,
  type SelectorPlan,
} from "./_selector_plan.ts";
import { OwnedPickView, type PickView } from "./pick_view.ts";
import { OwnedSelector, type Selector } from "./selector.ts";

/** One selector: its reference, its rule, and where the rule runs. */
export interface SelectorEntry {
  /** The reference that you hold. */
  readonly selector: Selector;
  /** The rule of the library; undefined for a rule in TypeScript. */
  readonly native: NativeSelector | undefined;
  /** The selector's number in the kernel; -1 for a rule in TypeScript. */
  readonly nativeId: number;
  /** The number of the kernel's log of its draws. */
  readonly log: number;
  /** The rule in TypeScript that draws by itself. */
  readonly custom: CustomSelector | undefined;
  /** The rule that draws by means of others. */
  readonly composed: ComposedEntry<SelectorEntry> | undefined;
  /** The numbers of the pick views that it draws from, itself or by its parts. */
  readonly views: readonly number[];
}

const OPERATION = "newPickSelector()";

/** An entry without a rule. */
const NO_RULE = { native: undefined, nativeId: -1, custom: undefined, composed: undefined };

/** The pick views and the selectors of one replay. */
export class Register {
  /** All selectors in order of creation. */
  readonly entries: SelectorEntry[] = [];
  readonly #core: ReplayCore;
  readonly #customs: CustomSelectors;
  readonly #owner = Symbol("replay");
  #views: readonly PickView[] = [];
  /** How many picks each selector had drawn when the snapshot was saved that this replay was loaded from. */
  drawnBefore: readonly number[] = [];
  #drawnAsPart: number[] | Float64Array = [];

  /** Enters the first pick view of `core`; `customs` serves the rules in TypeScript. */
  constructor(core: ReplayCore, customs: CustomSelectors) {
    this.#core = core;
    this.#customs = customs;
    this.addTable(core.config.pick);
  }

  /** All pick views in order of creation. */
  get views(): readonly PickView[] {
    return this.#views;
  }

  /** Adds a pick view. */
  newPickView(options: PickOptions): PickView {
    const core = this.#core;
    const where = "newPickView()";
    core.checkUsable(where);
    const { segmentLength, capacity, pick } = core.config;
    const segment = segmentLength || undefined;
    const lengthMax = segmentLength || capacity;
    const policy = checkPick(where, options, core.config, segment, pick.discount);
    if (policy.length > lengthMax) {
      throw new RangeError(
        `${where}: length must be at most the replay's ${
          segmentLength ? "segmentLength" : "capacity"
        }, as no episode has more records: ${lengthMax}, got ${policy.length}`,
      );
    }
    shownColumns(`${where}: transform`, core.config.columns, policy.transform);
    return core.together(where, () => {
      const before = this.#views;
      // A thread may end at any moment. So the others hear of a view before it is made, and look whether it was.
      const view = this.addTable(policy);
      try {
        core.announce();
        core.check(where, makePickView(core.kernel, core.id, policy, core.config));
        return view;
      } catch (error) {
        this.#views = before;
        ignoreErrors(() => core.announce());
        throw error;
      }
    });
  }

  /** Enters a pick view that the kernel has already. */
  addTable(policy: AnyPickPolicy): PickView {
    const view = new OwnedPickView(this, this.#views.length, Object.freeze(policy));
    this.#views = Object.freeze([...this.#views, view]);
    return view;
  }

  /** How many picks a view has. */
  pickCount(view: number, id: number = this.#core.id): number {
    const core = this.#core;
    const info = new Float64Array(EXRP_PICK_VIEW_INFO_COUNT);
    core.check(
      "pickCount",
      core.kernel.symbols.exrp_pick_view_info(id, view, info, lengthOf(info)),
    );
    return info[EXRP_PICK_VIEW_PICK_COUNT] ?? 0;
  }

  /** Adds a selector; where it draws by means of others, they are added first. */
  newPickSelector(value: AnySelectorRule, view = 0): Selector {
    const core = this.#core;
    core.checkUsable(OPERATION);
    return core.together(OPERATION, () => this.#newPickSelector(value, view));
  }

  #newPickSelector(value: AnySelectorRule, view: number): Selector {
    const core = this.#core;
    const plan = planSelector(checkSelectorRule(OPERATION, value));
    const nodes = inOrder(plan);
    for (const each of nodes) {
      if (each.kind !== "there") continue;
      const { selector } = each;
      this.entry(OPERATION, selector);
      const [own, whole] = [this.#views[selector.view], this.#views[view]];
      if (own !== undefined && whole !== undefined) checkSameLayout(selector.kind, own, whole);
    }
    const plans = nodes.filter((each) => each.kind !== "there");
    const { entries } = this;
    if (core.shared !== undefined || core.durable !== undefined) {
      for (const each of plans) {
        if (each.kind === "native" || isRemakable(each.rule)) continue;
        core.durable?.checkRule(OPERATION, each.rule.name);
        throw notSharable(OPERATION, `the rule ${each.rule.name}`);
      }
    }
    if (core.shared !== undefined) {
      checkShareCount(OPERATION, entries.length + plans.length);
    }
    const customs = this.#customs;
    checkPlans(
      plans,
      this.nativeCount,
      (rule) => entries.some(({ custom }) => custom?.rule === rule),
    );
    // The rules in TypeScript come first: they hear of all picks, and may throw.
    const added = new Map<SelectorPlan, CustomSelector>();
    try {
      for (const [k, each] of plans.entries()) {
        if (each.kind !== "custom") continue;
        const custom = new CustomSelector(each.rule, core.seed, entries.length + k);
        added.set(each, custom);
        serving.add(each.rule);
        customs.add(core.id, view, custom, this.pickCount(view));
      }
      return this.#addPlanned(plan, view, added);
    } catch (error) {
      for (const custom of added.values()) {
        customs.remove(view, custom);
        serving.delete(custom.rule);
      }
      throw error;
    }
  }

  #addPlanned(
    plan: SelectorPlan,
    view: number,
    customs: ReadonlyMap<SelectorPlan, CustomSelector>,
  ): Selector {
    if (plan.kind === "there") return plan.selector;
    if (plan.kind === "native") return this.#createNative(plan.rule, view);
    if (plan.kind === "custom") {
      return this.#add({ ...NO_RULE, custom: customs.get(plan) }, plan.rule.name, view);
    }
    const parts = plan.parts.map((part) => this.#addPlanned(part, view, customs));
    const selector = this.#addComposed(plan.rule, plan.composition, parts, view);
    return this.#announced(selector, () => {});
  }

  /** Announces a selector and makes it, or takes its entry back. */
  #announced(selector: Selector, make: () => void): Selector {
    const core = this.#core;
    try {
      core.announce();
      make();
      return selector;
    } catch (error) {
      this.entries.pop();
      ignoreErrors(() => core.announce());
      throw error;
    }
  }

  #addComposed(
    rule: ComposedSelector,
    composition: Composition,
    parts: readonly Selector[],
    view: number,
  ): Selector {
    const entries = parts.map(({ id }) => this.entries[id] as SelectorEntry);
    const random = new RandomStream(this.#core.threadSeed, this.entries.length);
    const composed = new ComposedEntry(rule, composition, entries, random);
    const views = [...new Set(entries.flatMap((entry) => entry.views))];
    return this.#add({ ...NO_RULE, composed, views }, rule.name, view, parts);
  }

  /** Enters a selector that another thread made of those of these numbers. */
  addComposed(rule: ComposedSelector, parts: readonly number[], view: number): Selector {
    const selectors = parts.map((id) => (this.entries[id] as SelectorEntry).selector);
    return this.#addComposed(rule, rule.begin(), selectors, view);
  }

  #createNative(rule: NativeSelector, view: number): Selector {
    const core = this.#core;
    // See newPickView().
    const selector = this.addNative(rule, this.nativeCount, view);
    return this.#announced(
      selector,
      () => core.check(OPERATION, makeSelector(core.kernel, core.id, view, rule)),
    );
  }

  /** Enters a selector that the kernel has already. */
  addNative(native: NativeSelector, nativeId: number, view: number): Selector {
    return this.#add({ ...NO_RULE, native, nativeId }, native.kind, view);
  }

  #add(
    entry: Omit<SelectorEntry, "selector" | "log" | "views"> & {
      readonly views?: readonly number[];
    },
    kind: string,
    view: number,
    parts: readonly Selector[] = [],
  ): Selector {
    const selector = new OwnedSelector(this.#owner, this.entries.length, kind, view, parts);
    this.entries.push({ views: [view], ...entry, selector, log: this.#logOf(entry) });
    return selector;
  }

  /** A selector in the kernel has the log of its number. The others share what is left, and the last log serves all that come late. */
  #logOf({ nativeId }: Pick<SelectorEntry, "nativeId">): number {
    if (nativeId >= 0) return nativeId;
    const others = this.entries.filter((entry) => entry.nativeId < 0).length;
    return Math.min(EXRP_LIMIT_SELECTORS + others, EXRP_LIMIT_LOGS - 1);
  }

  /** Tells the rules in TypeScript what happened to their views. */
  tellRules(): void {
    if (this.#customs.size > 0) this.#customs.drain(this.#core.id);
  }

  /** How many picks a selector drew as a part of others; they are among those that it drew. */
  drawnAsPart(selector: number): number {
    return this.#drawnAsPart[selector] ?? 0;
  }

  /** A selector drew `count` picks as a part of another. */
  noteDrawnAsPart(selector: number, count: number): void {
    this.#drawnAsPart[selector] = this.drawnAsPart(selector) + count;
  }

  /** How many picks a selector ever drew. */
  drawnCount(operation: string, { selector, log }: SelectorEntry): number {
    const core = this.#core;
    const info = new Float64Array(EXRP_DRAWS_INFO_COUNT);
    core.check(operation, core.kernel.symbols.exrp_draws_info(core.id, log, info, lengthOf(info)));
    return (this.drawnBefore[selector.id] ?? 0) + (info[EXRP_DRAWS_DRAWN_COUNT] ?? 0);
  }

  /** From now on, the counts of picks that were drawn as parts are in this memory, which all threads see. The first one fills it. */
  shareCounts(counts: Float64Array<SharedArrayBuffer>, isFirst: boolean): void {
    if (isFirst) counts.set(this.#drawnAsPart);
    this.#drawnAsPart = counts;
  }

  /** What is composed of other selectors, in order. */
  get composed(): readonly ComposedEntry<SelectorEntry>[] {
    return this.entries.flatMap(({ composed }) => composed ?? []);
  }

  /** How many selectors the kernel has. */
  get nativeCount(): number {
    return this.entries.filter(({ native }) => native !== undefined).length;
  }

  /** A snapshot was loaded whose selectors had drawn so many picks, and so many of them as parts. */
  setDrawn(counts: readonly number[], asPart: readonly number[]): void {
    this.drawnBefore = counts;
    this.#drawnAsPart = [...asPart];
  }

  /** The entry of a selector. Refuses a value that is not a selector of this replay. */
  entry(operation: string, selector: Selector): SelectorEntry {
    if (OwnedSelector.belongs(selector, this.#owner)) {
      const entry = this.entries[selector.id];
      if (entry !== undefined) return entry;
    }
    if (!OwnedSelector.isReal(selector)) {
      throw notSelector(operation, selector);
    }
    throw new ReplayError(
      "foreign-selector",
      `${operation}: the selector ${selector.kind} ${selector.id} is another replay's; make one by this replay's newPickSelector()`,
    );
  }
}

/** How the calls are written that take a number before the selector. */
const SIZE_FIRST: ReadonlyMap<string, string> = new Map([
  ["getBatch()", "getBatch(size, selector)"],
  ["batches()", "batches(size, selector)"],
]);

/** The error for a value that is not a selector of any replay. */
function notSelector(operation: string, value: unknown): TypeError {
  const needed = `${operation} takes a selector that newPickSelector() gave`;
  const rule = ruleName(value);
  if (rule !== undefined) {
    return new TypeError(`${needed}, got the rule ${rule}; give it to newPickSelector() first`);
  }
  const got = showUnlike(value, OwnedSelector);
  if (operation === "setPriority()" && got === "Batch") {
    return new TypeError(`${operation}: the selector comes first, got a Batch`);
  }
  const written = SIZE_FIRST.get(operation);
  const hint = written === undefined || typeof value === "object" ? "" : `; write ${written}`;
  return new TypeError(`${needed}, got ${got}${hint}`);
}
