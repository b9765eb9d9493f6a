/**
 * Drawing: from a selector to a batch.
 *
 * @module
 */

import { checkNumber } from "../../base/checks.ts";
import { numberOf } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import { ReplayError } from "../../base/errors.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { EXRP_STATUS_EMPTY } from "../../ffi/symbols.ts";
import type { AnySchema, Schema } from "../../schema/schema.ts";
import type { Selection } from "../../selectors/pick_selector.ts";
import type { ReplayCore } from "../core.ts";
import { isHeldBack, whileLimited } from "../rate_limiter/waiting.ts";
import type { PickView } from "../register/pick_view.ts";
import type { Register, SelectorEntry } from "../register/register.ts";
import type { Selector } from "../register/selector.ts";
import type { CustomSelector } from "../rules/custom_selectors.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { emptyError } from "./_empty_error.ts";
import { ViewLayouts } from "./_view_layouts.ts";
import type { Batch } from "../../schema/batch.ts";
import type { BatchLayout } from "./batch_layout.ts";
import type { BatchStreamSource } from "./batches.ts";
import { OwnedBatch } from "./owned_batch.ts";

/** The options of {@linkcode ExperienceReplay.getBatch}; `S` is the schema of its batches. */
export interface GetBatchOptions<S extends Schema = AnySchema> {
  /**
   * The exponent of importance weights, at least 0. With 0 they do not correct the bias of the draws, and with 1 they do so fully. 1 by default.
   * A number above 1 is no error: it weighs likely picks down even more than the correction does.
   */
  readonly beta?: number;
  /** A batch of the same size to write into. `getBatch` returns it and allocates nothing. */
  readonly into?: Batch<S>;
}

/** A batch that is being filled. */
interface Filling {
  readonly layout: BatchLayout;
  readonly batch: OwnedBatch;
  readonly beta: number;
  /** The selector that you asked. */
  readonly whole: Selector;
}

/** A selector that asks a part of its own for some picks, and who asked the selector itself. */
interface Asking {
  readonly by: Asking | undefined;
  readonly whole: Selector;
  readonly part: Selector;
  readonly count: number;
}

/** The same as words, for errors: from the selector that you asked to the part. */
function askingText({ by, whole, part, count }: Asking): string {
  const from = by === undefined
    ? `getBatch(): ${whole.kind} ${whole.id}`
    : `${askingText(by)}, which`;
  const picks = count === 0 ? "" : ` for ${numberOf(count, "pick")}`;
  return `${from} ${count === 0 ? "has" : "asks"} its part ${part.kind} ${part.id}${picks}`;
}

const OPTIONS = ["beta", "into"] as const;

/** The kernel takes no larger beta. */
const BETA_MAX = 2 ** 53;

/** Draws from one replay. */
export class Drawer {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #rules: UserRules;
  /** The layouts of each pick view's batches, by the view's number; only of views that were drawn from. */
  readonly #views: ViewLayouts[] = [];
  /** The latest candidates of each composed selector, by its id. The next ones use their memory again. */
  readonly #candidates = new Map<number, OwnedBatch>();

  /** Draws from the replay of `core`. */
  constructor(core: ReplayCore, register: Register, rules: UserRules) {
    this.#core = core;
    this.#register = register;
    this.#rules = rules;
    core.countBuffers(() => this.#views.reduce((sum, layouts) => sum + layouts.spareBytes, 0));
  }

  /** Draws a batch. */
  getBatch(
    size: number,
    selector: Selector,
    options: GetBatchOptions | undefined,
  ): OwnedBatch {
    let beta = 1;
    let into: Batch | undefined;
    if (options !== undefined) {
      checkOptions("getBatch()", options, OPTIONS);
      into = options.into;
      if (options.beta !== undefined) {
        beta = checkNumber("getBatch(): beta", options.beta, 0, BETA_MAX);
      }
    }
    if (into !== undefined && OwnedBatch.isOne(into)) {
      OwnedBatch.checkYours("getBatch(): into", into);
    }
    return this.#draw(size, selector, beta, into);
  }

  /** Draws a batch, into the memory of another where one is given. */
  #draw(size: number, selector: Selector, beta: number, into: Batch | undefined): OwnedBatch {
    this.#core.checkUsable("getBatch()");
    const entry = this.#register.entry("getBatch()", selector);
    const layout = this.#layouts(entry.selector.view).of(size);
    const misfit = into === undefined ? undefined : OwnedBatch.misfit(into, layout);
    if (misfit !== undefined) throw misfit;
    const batch = into === undefined ? new OwnedBatch(layout) : into as OwnedBatch;
    const filling = { layout, batch, beta, whole: selector };
    if (entry.composed === undefined) this.#fillAsAllowed(entry, filling, size);
    else this.#fillByParts(entry, filling, size);
    this.#core.changed();
    // Views of other policies may have batches of the same layout, and `into` may be one of those.
    if (into !== undefined) OwnedBatch.setLayout(batch, layout);
    return batch;
  }

  /** Fills a batch by a selector that is made of others. A method of its own, as a closure would make `#draw` slower. */
  #fillByParts(entry: SelectorEntry, filling: Filling, size: number): void {
    this.#core.together("getBatch()", () => {
      this.#checkParts(entry, size, undefined);
      this.#fillAsAllowed(entry, filling, size);
    });
  }

  /** A batch of the picks of a view at these indices, of which each was as likely; in the memory of another where it fits. */
  gather(
    operation: string,
    view: number,
    indices: Uint32Array<ArrayBuffer>,
    probability: number,
    into: OwnedBatch | undefined,
  ): OwnedBatch {
    const count = lengthOf(indices);
    const layout = this.#layouts(view).of(count, operation);
    const fits = into !== undefined && OwnedBatch.misfit(into, layout) === undefined;
    const batch = fits ? into : new OwnedBatch(layout);
    const selection = { index: indices, probability: new Float64Array(count).fill(probability) };
    const status = this.#gather(view, selection, { layout, batch, beta: 0 }, 0, count, false);
    if (status !== 0) throw this.#error(operation, status, view);
    this.#rules.eviction?.sampled(batch.pickEpisode);
    return batch;
  }

  /** What `batches` draws with, one batch after the other. Refuses a wrong selector or size at once. */
  source(size: number, selector: Selector): BatchStreamSource<OwnedBatch> {
    this.#core.checkUsable("batches()");
    const { native } = this.#register.entry("batches()", selector);
    this.#layouts(selector.view).of(size, "batches()");
    // You may have handed a batch's memory back, or transferred it.
    const usable = (into: OwnedBatch | undefined): OwnedBatch | undefined =>
      into !== undefined && OwnedBatch.hasMemory(into) ? into : undefined;
    const draw: BatchStreamSource<OwnedBatch>["draw"] = (beta, into) =>
      this.#draw(size, selector, beta, usable(into));
    return {
      draw,
      epoch: () => this.#core.occupiedId,
      isHeldBack,
      drawInTime: (beta, into, signal) => whileLimited(this.#core, () => draw(beta, into), signal),
      lend: (batch, isLent) => {
        OwnedBatch.lend(batch, isLent);
        if (isLent || OwnedBatch.hasMemory(batch)) return;
        throw new TypeError(
          "batches(): the buffer of a batch was transferred while another batch was drawn into it; with reuse a batch is yours only until you ask for the next one",
        );
      },
      // Rules in TypeScript run on this thread only.
      order: (beta, into) =>
        native === undefined || this.#rules.eviction !== undefined
          ? undefined
          : this.#order(size, selector, beta, usable(into)),
    };
  }

  async #order(
    size: number,
    selector: Selector,
    beta: number,
    into: OwnedBatch | undefined,
  ): Promise<OwnedBatch> {
    const core = this.#core;
    const operation = "batches()";
    core.checkUsable(operation);
    const { id, kernel: { symbols } } = core;
    const entry = this.#register.entry(operation, selector);
    const layout = this.#layouts(selector.view).of(size);
    const batch = into ?? new OwnedBatch(layout);
    const bytes = OwnedBatch.memoryOf(batch);
    const order = new Float64Array(1);
    const { nativeId } = entry;
    const byteCount = lengthOf(bytes);
    const ordered = symbols.exrp_batch_order(id, nativeId, size, beta, bytes, byteCount, order);
    if (ordered !== 0) throw this.#error(operation, ordered, selector.view);
    // The call keeps the memory while the kernel writes to it: even when this isolate ends.
    const ran = await symbols.exrp_batch_run(id, order[0] ?? 0, bytes, lengthOf(bytes));
    // If a snapshot was loaded meanwhile, the stream draws the batch from what it brought.
    if (core.occupiedId !== id && !core.isDisposed) return batch;
    if (ran !== 0) throw this.#error(operation, ran, selector.view);
    const taken = symbols.exrp_batch_take(id, order[0] ?? 0);
    if (taken !== 0) throw this.#error(operation, taken, selector.view);
    core.changed();
    return batch;
  }

  /** Fills a batch, if the rate limiter allows it. Of a rule in TypeScript the kernel sees only parts, so the whole is asked for and counted here. */
  #fillAsAllowed(entry: SelectorEntry, filling: Filling, size: number): void {
    if (entry.native !== undefined) return this.#fill(entry, filling, 0, size);
    const { id, kernel: { symbols } } = this.#core;
    this.#core.check("getBatch()", symbols.exrp_rate_limiter_grant(id, size));
    let drawnCount = 0;
    try {
      this.#fill(entry, filling, 0, size);
      drawnCount = size;
    } finally {
      symbols.exrp_rate_limiter_settle(id, drawnCount);
    }
  }

  /** Draws `count` picks into the places of a batch from `first` on. */
  #fill(entry: SelectorEntry, filling: Filling, first: number, count: number): void {
    if (entry.composed !== undefined) {
      this.#compose(entry, filling, first, count);
      return this.#note(entry, filling, first, count);
    }
    const core = this.#core;
    const { layout, batch, beta } = filling;
    const { view: view } = entry.selector;
    const draws = entry.custom === undefined ? undefined : this.#select(entry.custom, view, count);
    const bytes = OwnedBatch.memoryOf(batch);
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
      : this.#gather(view, draws, filling, first, count, entry.custom?.rule.weighted === true);
    if (status !== 0) {
      const { selector } = entry;
      const { whole } = filling;
      const operation = selector === whole
        ? "getBatch()"
        : askingText({ by: undefined, whole, part: selector, count });
      throw this.#error(operation, status, view);
    }
    if (draws !== undefined) this.#note(entry, filling, first, count);
    const { eviction } = this.#rules;
    if (eviction === undefined) return;
    const all = count === layout.size;
    eviction.sampled(all ? batch.pickEpisode : batch.pickEpisode.slice(first, first + count));
  }

  /** Copies picks that are chosen into the places of a batch from `first` on; returns the kernel's status. */
  #gather(
    view: number,
    { index, probability }: Selection,
    { layout, batch, beta }: Omit<Filling, "whole">,
    first: number,
    count: number,
    isWeighted: boolean,
  ): number {
    const { id, kernel: { symbols } } = this.#core;
    const bytes = OwnedBatch.memoryOf(batch);
    return symbols.exrp_batch_gather(
      id,
      view,
      index,
      probability,
      first,
      count,
      layout.size,
      beta,
      0,
      isWeighted ? 1 : 0,
      bytes,
      lengthOf(bytes),
    );
  }

  /** Tells the kernel's log what a rule in TypeScript drew; the kernel's own rules do so themselves. */
  #note({ log }: SelectorEntry, { batch, layout }: Filling, first: number, count: number): void {
    const { kernel: { symbols }, id } = this.#core;
    const all = count === layout.size;
    const end = first + count;
    const episodes = all ? batch.pickEpisode : batch.pickEpisode.subarray(first, end);
    const positions = all ? batch.pickPosition : batch.pickPosition.subarray(first, end);
    const status = symbols.exrp_draws_note(id, log, episodes, positions, count);
    this.#core.check("getBatch()", status);
  }

  /**
   * Asks the parts of a composition, and theirs, whether each can give the picks that it will be asked for, before one of them draws.
   * Each needs a pick in its view, even if its share is nothing this time. `by` says who asks.
   */
  #checkParts({ composed, selector }: SelectorEntry, count: number, by: Asking | undefined): void {
    if (composed === undefined) return;
    const asks = count === 0 ? undefined : composed.asks(count);
    for (const [k, part] of composed.parts.entries()) {
      const size = asks?.[k] ?? 0;
      const asking = { by, whole: selector, part: part.selector, count: size };
      if (part.composed !== undefined) this.#checkParts(part, size, asking);
      else this.#checkPart(part, asking);
    }
  }

  /** Asks a part that draws by itself. A rule in TypeScript can only be asked whether it hears of its picks. */
  #checkPart({ custom, nativeId, selector }: SelectorEntry, asking: Asking): void {
    const { id, kernel: { symbols } } = this.#core;
    let status = 0;
    if (custom === undefined) status = symbols.exrp_batch_check(id, nativeId, asking.count);
    else {
      this.#rules.selectors.drain(id);
      custom.checkSound();
      if (custom.count === 0) status = EXRP_STATUS_EMPTY;
    }
    if (status !== 0) throw this.#error(askingText(asking), status, selector.view);
  }

  /** Lets a composition fill the places. */
  #compose(
    { composed, selector }: SelectorEntry,
    filling: Filling,
    first: number,
    count: number,
  ): void {
    if (composed === undefined) return;
    const layouts = this.#layouts(selector.view);
    // What a composition does not say before can only be asked when it draws.
    const check = (part: SelectorEntry, size: number): void => {
      if (part.composed === undefined || composed.saysWhatItAsks) return;
      const asking = { by: undefined, whole: selector, part: part.selector, count: size };
      this.#checkParts(part, size, asking);
    };
    composed.run(count, {
      draw: (part, from, size) => {
        check(part, size);
        this.#fill(part, filling, first + from, size);
        this.#register.noteDrawnAsPart(part.selector.id, size);
      },
      candidates: (part, size) => {
        const layout = layouts.of(size);
        check(part, size);
        const lent = this.#candidates.get(selector.id);
        const batch = lent !== undefined && OwnedBatch.misfit(lent, layout) === undefined
          ? lent
          : new OwnedBatch(layout);
        this.#candidates.set(selector.id, batch);
        this.#fill(part, { ...filling, layout, batch }, 0, size);
        this.#register.noteDrawnAsPart(part.selector.id, size);
        return batch;
      },
      keep: (from, candidates, index, probability, weight) => {
        if (!OwnedBatch.hasMemory(candidates) || !OwnedBatch.hasMemory(filling.batch)) {
          throw new ReplayError(
            "rule",
            `the selector ${selector.kind} took away the memory of candidates or of the batch: both are lent for the call only`,
          );
        }
        OwnedBatch.copyPicks(candidates, index, filling.batch, first + from);
        for (let k = 0; k < index.length; k++) {
          const at = first + from + k;
          filling.batch.probability[at] = probability[k] ?? NaN;
          filling.batch.importanceWeight[at] = (filling.batch.importanceWeight[at] ?? NaN) *
            (weight[k] ?? NaN);
        }
      },
    });
  }

  /** The layouts of a view's batches. */
  #layouts(view: number): ViewLayouts {
    let layouts = this.#views[view];
    if (layouts === undefined) {
      layouts = new ViewLayouts(this.#core, this.#register.views[view] as PickView);
      this.#views[view] = layouts;
    }
    return layouts;
  }

  /** The error for a status of drawing from a view. */
  #error(operation: string, status: number, view: number): ReplayError {
    if (status !== EXRP_STATUS_EMPTY) return this.#core.error(operation, status);
    const { policy } = this.#register.views[view] as PickView;
    return emptyError(this.#core, operation, policy);
  }

  #select(custom: CustomSelector, view: number, size: number): Selection {
    this.#rules.selectors.drain(this.#core.id);
    if (custom.count === 0) throw this.#error("getBatch()", EXRP_STATUS_EMPTY, view);
    return custom.select(size);
  }
}
