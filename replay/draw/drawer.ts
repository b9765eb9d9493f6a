/**
 * Drawing: from a selector to a batch.
 *
 * @module
 */

import { checkInteger, checkNumber } from "../../base/checks.ts";
import { numberOf } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import { ReplayError } from "../../base/errors.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import { EXRP_LIMIT_BATCH, EXRP_STATUS_EMPTY } from "../../ffi/symbols.ts";
import type { AnySchema, Schema } from "../../schema/schema.ts";
import type { Selection } from "../../selectors/pick_selector.ts";
import type { ReplayCore } from "../core.ts";
import { whileLimited } from "../rate_limiter/waiting.ts";
import type { PickView } from "../register/pick_view.ts";
import type { Register, SelectorEntry } from "../register/register.ts";
import type { Selector } from "../register/selector.ts";
import type { CustomSelector } from "../rules/custom_selectors.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { emptyError } from "./_empty_error.ts";
import type { Batch } from "../../schema/batch.ts";
import { type AddressedColumns, BatchLayout } from "./batch_layout.ts";
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

/** A selector with what it asks of a part, as words for errors; `by` is the selector, and who asked it. */
function askingText(by: string, { kind, id }: Selector, count: number): string {
  if (count === 0) return `${by} has its part ${kind} ${id}`;
  return `${by} asks its part ${kind} ${id} for ${numberOf(count, "pick")}`;
}

/** A selector that you asked for a batch, as words for errors. */
function askedText({ kind, id }: Selector): string {
  return `getBatch(): ${kind} ${id}`;
}

/** A batch of this layout: `spare`, if it is one and has its memory still, else a new one. */
function roomIn(spare: OwnedBatch | undefined, layout: BatchLayout): OwnedBatch {
  const fits = spare !== undefined && OwnedBatch.misfit(spare, layout) === undefined;
  return fits ? spare : new OwnedBatch(layout);
}

const OPTIONS = ["beta", "into"] as const;

/** The kernel takes no larger beta. */
const BETA_MAX = 2 ** 53;

/** At most this many layouts of a pick view are kept. */
const LAYOUTS_MAX = 32;

const BATCHES = "batches()";

/** Draws from one replay. */
export class Drawer {
  readonly #core: ReplayCore;
  readonly #register: Register;
  readonly #rules: UserRules;
  readonly #addressed: AddressedColumns | undefined;
  /** Ends the counting of its buffers: for one that is not used any more. */
  readonly uncount: () => void;
  /** The layouts of batches, by the pick view's number and the size; only of views that were drawn from. */
  readonly #layouts: Map<number, BatchLayout>[] = [];
  /** The latest candidates of each composed selector, by its id. The next ones use their memory again. */
  readonly #candidates = new Map<number, OwnedBatch>();

  /** Draws from the replay of `core`. Of `addressed` columns, batches have addresses, while the kernel has a mirror of them. */
  constructor(
    core: ReplayCore,
    register: Register,
    rules: UserRules,
    addressed?: AddressedColumns,
  ) {
    this.#core = core;
    this.#register = register;
    this.#rules = rules;
    this.#addressed = addressed;
    this.uncount = core.countBuffers(() => {
      const layouts = this.#layouts.flatMap((sizes) => [...sizes.values()]);
      return layouts.reduce((sum, { spareBytes }) => sum + spareBytes, 0);
    });
  }

  /** What draws from the same replay batches that have addresses of these columns. */
  withAddresses(columns: AddressedColumns): Drawer {
    return new Drawer(this.#core, this.#register, this.#rules, columns);
  }

  /** Draws a batch. */
  getBatch(
    size: number,
    selector: Selector,
    options: GetBatchOptions | undefined,
  ): OwnedBatch {
    if (options !== undefined) checkOptions("getBatch()", options, OPTIONS);
    const { beta = 1, into } = options ?? {};
    checkNumber("getBatch(): beta", beta, 0, BETA_MAX);
    OwnedBatch.checkYours("getBatch(): into", into);
    return this.#draw(size, selector, beta, into);
  }

  /** Draws a batch, into the memory of another where one is given. */
  #draw(size: number, selector: Selector, beta: number, into: Batch | undefined): OwnedBatch {
    this.#core.checkUsable("getBatch()");
    const entry = this.#register.entry("getBatch()", selector);
    const layout = this.#layout(entry.selector.view, size);
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
      this.#check(entry, size, () => askedText(entry.selector));
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
    const layout = this.#layout(view, count, operation);
    const batch = roomIn(into, layout);
    const selection = { index: indices, probability: new Float64Array(count).fill(probability) };
    const status = this.#gather(view, selection, { layout, batch, beta: 0 }, 0, count, false);
    if (status !== 0) throw this.#error(operation, status, view);
    this.#rules.eviction?.sampled(batch.pickEpisode);
    return batch;
  }

  /** What `batches` draws with, one batch after the other. Refuses a wrong selector or size at once. */
  source(size: number, selector: Selector): BatchStreamSource<OwnedBatch> {
    const core = this.#core;
    core.checkUsable(BATCHES);
    const { native } = this.#register.entry(BATCHES, selector);
    const layout = this.#layout(selector.view, size, BATCHES);
    // You may have handed a batch's memory back, or transferred it.
    const draw = (beta: number, into: OwnedBatch | undefined): OwnedBatch =>
      this.#draw(size, selector, beta, roomIn(into, layout));
    // Rules in TypeScript run on this thread only.
    const isNative = native !== undefined && this.#rules.eviction === undefined;
    return {
      draw,
      drawAhead: (beta, into) =>
        isNative ? this.#order(size, selector, beta, into) : draw(beta, into),
      drawInTime: (beta, into, signal) => whileLimited(core, () => draw(beta, into), signal),
      epoch: () => core.occupiedId,
      lend: (batch, isLent) => {
        OwnedBatch.lend(batch, isLent);
        if (isLent || OwnedBatch.hasMemory(batch)) return;
        throw new TypeError(
          "batches(): the buffer of a batch was transferred while another batch was drawn into it; with reuse a batch is yours only until you ask for the next one",
        );
      },
    };
  }

  /** Draws a batch as of now on another thread. */
  async #order(
    size: number,
    selector: Selector,
    beta: number,
    into: OwnedBatch | undefined,
  ): Promise<OwnedBatch> {
    const core = this.#core;
    core.checkUsable(BATCHES);
    const { id, kernel: { symbols } } = core;
    const { nativeId } = this.#register.entry(BATCHES, selector);
    const batch = roomIn(into, this.#layout(selector.view, size));
    const bytes = OwnedBatch.memoryOf(batch);
    const order = new Float64Array(1);
    const byteCount = lengthOf(bytes);
    const ordered = symbols.exrp_batch_order(id, nativeId, size, beta, bytes, byteCount, order);
    if (ordered !== 0) throw this.#error(BATCHES, ordered, selector.view);
    // The call keeps the memory while the kernel writes to it: even when this isolate ends.
    const ran = await symbols.exrp_batch_run(id, order[0] ?? 0, bytes, lengthOf(bytes));
    // If a snapshot was loaded meanwhile, the stream draws the batch from what it brought.
    if (core.occupiedId !== id && !core.isDisposed) return batch;
    if (ran !== 0) throw this.#error(BATCHES, ran, selector.view);
    const taken = symbols.exrp_batch_take(id, order[0] ?? 0);
    if (taken !== 0) throw this.#error(BATCHES, taken, selector.view);
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
      symbols.exrp_rate_limiter_grant_end(id, drawnCount);
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
    const { nativeId, custom, selector } = entry;
    const { view } = selector;
    const bytes = OwnedBatch.memoryOf(batch);
    const status = custom === undefined
      ? core.kernel.symbols.exrp_batch_get(
        core.id,
        nativeId,
        first,
        count,
        layout.asked,
        beta,
        bytes,
        lengthOf(bytes),
      )
      : this.#gather(
        view,
        this.#select(custom, view, count),
        filling,
        first,
        count,
        custom.rule.weighted === true,
      );
    if (status !== 0) {
      const { whole } = filling;
      const isPart = selector !== whole;
      const operation = isPart ? askingText(askedText(whole), selector, count) : "getBatch()";
      throw this.#error(operation, status, view);
    }
    if (custom !== undefined) this.#note(entry, filling, first, count);
    this.#rules.eviction?.sampled(batch.pickEpisode.subarray(first, first + count));
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
      layout.asked,
      beta,
      0,
      isWeighted ? 1 : 0,
      bytes,
      lengthOf(bytes),
    );
  }

  /** Tells the kernel's log what a rule in TypeScript drew; the kernel's own rules do so themselves. */
  #note({ log }: SelectorEntry, { batch }: Filling, first: number, count: number): void {
    const { kernel: { symbols }, id } = this.#core;
    const { pickEpisode, pickPosition } = batch;
    const episodes = first === 0 ? pickEpisode : pickEpisode.subarray(first);
    const positions = first === 0 ? pickPosition : pickPosition.subarray(first);
    const status = symbols.exrp_draws_note(id, log, episodes, positions, count);
    this.#core.check("getBatch()", status);
  }

  /**
   * Asks a selector, or its parts, and theirs, whether each can give the picks that it will be asked for, before one of them draws.
   * Each part needs a pick in its view, even if its share is nothing this time. A rule in TypeScript can only be asked whether it hears
   * of its picks. `asked` says who asks.
   */
  #check(
    { composed, custom, nativeId, selector }: SelectorEntry,
    count: number,
    asked: () => string,
  ): void {
    if (composed !== undefined) {
      const asks = count === 0 ? undefined : composed.asks(count);
      for (const [k, part] of composed.parts.entries()) {
        const size = asks?.[k] ?? 0;
        const asking = (): string => askingText(asked(), part.selector, size);
        this.#check(part, size, part.composed === undefined ? asking : () => `${asking()}, which`);
      }
      return;
    }
    const { id, kernel: { symbols } } = this.#core;
    let status = 0;
    if (custom === undefined) status = symbols.exrp_batch_check(id, nativeId, count);
    else {
      this.#rules.selectors.drain(id);
      custom.checkSound();
      if (custom.count === 0) status = EXRP_STATUS_EMPTY;
    }
    if (status !== 0) throw this.#error(asked(), status, selector.view);
  }

  /** Lets a composition fill the places. */
  #compose(
    { composed, selector }: SelectorEntry,
    filling: Filling,
    first: number,
    count: number,
  ): void {
    if (composed === undefined) return;
    const fill = (part: SelectorEntry, into: Filling, at: number, size: number): void => {
      // What a composition does not say before can only be asked when it draws.
      if (part.composed !== undefined && !composed.saysWhatItAsks) {
        const asking = askingText(askedText(selector), part.selector, size);
        this.#check(part, size, () => `${asking}, which`);
      }
      this.#fill(part, into, at, size);
      this.#register.noteDrawnAsPart(part.selector.id, size);
    };
    composed.run(count, {
      draw: (part, from, size) => fill(part, filling, first + from, size),
      candidates: (part, size) => {
        if (this.#addressed !== undefined) {
          throw new TypeError(
            `${
              askedText(selector)
            } looks at the columns of candidates, some of which are on a device; draw with it by getBatch() of the replay`,
          );
        }
        const layout = this.#layout(selector.view, size);
        const batch = roomIn(this.#candidates.get(selector.id), layout);
        this.#candidates.set(selector.id, batch);
        fill(part, { ...filling, layout, batch }, 0, size);
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

  /** The layout of the batches of a selector's view. */
  layoutOf(selector: Selector, size: number): BatchLayout {
    this.#core.checkUsable("getBatch()");
    return this.#layout(this.#register.entry("getBatch()", selector).selector.view, size);
  }

  /** The layout of a view's batches of this size. */
  #layout(view: number, size: number, operation = "getBatch()"): BatchLayout {
    const layouts = this.#layouts[view] ??= new Map();
    const there = layouts.get(size);
    if (there !== undefined) return there;
    checkInteger(`${operation}: size`, size, 1, EXRP_LIMIT_BATCH);
    const of = this.#register.views[view] as PickView;
    const layout = new BatchLayout(this.#core, of, size, this.#addressed);
    if (layouts.size >= LAYOUTS_MAX) layouts.clear();
    layouts.set(size, layout);
    return layout;
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
