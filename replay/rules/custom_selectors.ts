/**
 * Serves selectors written in TypeScript: reads the kernel's journal of the pick view and tells each rule of it.
 *
 * @module
 */

import { ReplayError, type ReplayErrorOptions } from "../../base/errors.ts";
import { show } from "../../base/checks.ts";
import { checkHonest, countOf, isNumeric, lengthOf } from "../../base/typed_arrays.ts";
import { checkStatus, type Kernel } from "../../ffi/library.ts";
import { EXRP_INDEX_NONE } from "../../ffi/symbols.ts";
import type { PickSelector, Selection } from "../../selectors/pick_selector.ts";
import { RANDOM_STREAM_BYTES, RandomStream } from "../../selectors/random_stream.ts";
import { savedBytes } from "./_saved_bytes.ts";

/** After this many records, the events are read even if nobody draws, so that the journals stay small. */
const READ_EVERY = 4096;

/** A drawn probability may exceed 1 by what rounding does to a sum of many weights. */
const PROBABILITY_MAX = 1 + 1e-6;

/** One rule with its random stream and its arrays. */
export class CustomSelector {
  /** The user's object. */
  readonly rule: PickSelector;
  /** The random numbers that the rule draws with. */
  readonly random: RandomStream;
  /** How many picks the rule was told of. */
  count = 0;
  /** What the rule threw while it was told of changes. */
  #failure: { readonly cause: unknown } | undefined;
  #out: Selection | undefined;

  /** Serves `rule`, with stream number `stream` of the replay's seed. */
  constructor(rule: PickSelector, seed: number, stream: number) {
    this.rule = rule;
    this.random = new RandomStream(seed, stream);
  }

  /** Tells the rule of events of the journal, each a pair of numbers. */
  tell(events: Uint32Array<ArrayBuffer>): void {
    this.#attempt(() => this.#tell(events));
  }

  #tell(events: Uint32Array<ArrayBuffer>): void {
    const { rule } = this;
    for (let k = 0; k < events.length; k += 2) {
      const from = events[k] as number;
      const to = events[k + 1] as number;
      if (from === to) {
        // The event after "pick i was given a priority" holds the priority.
        k += 2;
        rule.setPriority(Uint32Array.of(to), new Float64Array(events.slice(k, k + 2).buffer));
      } else if (from === EXRP_INDEX_NONE) {
        this.count = to + 1;
        rule.pushed(to);
      } else if (to === EXRP_INDEX_NONE) {
        this.count = from;
        rule.popped(from);
      } else rule.moved(from, to);
    }
  }

  /** Tells the rule of priorities that came with records. */
  tellPriorities(indices: Uint32Array<ArrayBuffer>, priorities: Float64Array<ArrayBuffer>): void {
    this.#attempt(() => this.rule.setPriority(indices, priorities));
  }

  /** Tells the rule that all picks it knew are gone, and that there are `count` picks now. */
  refill(count: number): void {
    this.#attempt(() => {
      while (this.count > 0) this.rule.popped(--this.count);
      while (this.count < count) this.rule.pushed(this.count++);
    });
  }

  /** Tells the rule something. A rule that threw is told nothing more, because it does not know the view any more. */
  #attempt(tell: () => void): void {
    if (this.#failure !== undefined) return;
    try {
      tell();
    } catch (cause) {
      this.#failure = { cause };
    }
  }

  /** Throws if the rule threw while it was told of changes. */
  checkSound(): void {
    if (this.#failure === undefined) return;
    const { cause } = this.#failure;
    const methods = "pushed(), moved() or popped()";
    throw this.#error(`threw in ${methods}, and can't be used any more: ${cause}`, { cause });
  }

  #error(what: string, options?: ReplayErrorOptions): ReplayError {
    return new ReplayError("rule", `the selector ${this.rule.name} ${what}`, options);
  }

  /** Asks the rule for the priorities of picks, and checks what it answers. */
  readPriorities(indices: Uint32Array<ArrayBuffer>): ArrayLike<number> {
    const count = lengthOf(indices);
    const known: unknown = this.rule.getPriority?.(indices);
    checkHonest(`the priorities of the selector ${this.rule.name}`, known);
    const isArray = Array.isArray(known) || isNumeric(known);
    if (isArray && countOf(known) === count) return known;
    throw new ReplayError(
      "rule",
      `getPriority() of the selector ${this.rule.name} must return ${count} numbers, one for each index, got ${
        show(known)
      }`,
    );
  }

  /** Lets the rule draw, and checks what it drew. */
  select(size: number): Selection {
    this.checkSound();
    if (this.#out === undefined || lengthOf(this.#out.index) !== size) {
      const [index, probability] = [new Uint32Array(size), new Float64Array(size)];
      this.#out = Object.freeze({ index, probability });
    }
    const out = this.#out;
    out.index.fill(EXRP_INDEX_NONE);
    out.probability.fill(NaN);
    const before = this.random.save();
    try {
      this.rule.select(size, out, this.random);
      this.#checkSelection(size, out);
    } catch (error) {
      this.#out = undefined;
      this.random.load(before);
      throw error;
    }
    return out;
  }

  #checkSelection(size: number, { index, probability }: Selection): void {
    if (lengthOf(index) !== size || lengthOf(probability) !== size) {
      throw this.#error("took away the arrays it was to fill: they are lent for the call only");
    }
    for (let k = 0; k < size; k++) {
      const drawn = index[k] as number;
      const chance = probability[k] as number;
      if (drawn >= this.count) {
        const what = drawn === EXRP_INDEX_NONE ? "nothing" : drawn;
        throw this.#error(
          `drew ${what} as pick ${k} of ${size}; there are picks 0 to ${this.count - 1}`,
          { detail: [k, drawn, this.count] },
        );
      }
      if (!(chance > 0 && chance <= PROBABILITY_MAX)) {
        throw this.#error(
          `gave probability ${chance} for pick ${k} of ${size}; it must be more than 0 and at most 1`,
          { detail: [k, chance] },
        );
      }
      if (chance > 1) probability[k] = 1;
    }
  }

  /** The random state, then the rule's own bytes. */
  save(): Uint8Array<ArrayBuffer> {
    this.checkSound();
    return savedBytes(`the selector ${this.rule.name}`, this.rule, this.random);
  }

  /** Loads what {@linkcode CustomSelector.save} gave, for a view of `count` picks. */
  load(count: number, bytes: Uint8Array): void {
    this.#failure = undefined;
    this.refill(count);
    this.checkSound();
    this.random.load(bytes.subarray(0, RANDOM_STREAM_BYTES));
    this.rule.load?.(bytes.slice(RANDOM_STREAM_BYTES));
  }
}

/** All custom selectors of one replay. */
export class CustomSelectors {
  readonly #kernel: Kernel;
  /** Those of each pick view whose journal is open. */
  readonly #views = new Map<number, Set<CustomSelector>>();
  readonly #number = new Uint32Array(1);
  #unreadCount = 0;

  /** No selector yet. */
  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** How many views have custom selectors. */
  get size(): number {
    return this.#views.size;
  }

  /** Adds a rule to a view and tells it of the `pickCount` picks that there are now. */
  add(id: number, view: number, selector: CustomSelector, pickCount: number): void {
    // The events that wait are not for this rule.
    this.drain(id);
    selector.refill(pickCount);
    this.#tellFirstPriorities(id, view, selector, pickCount);
    selector.checkSound();
    const there = this.#views.get(view);
    if (there === undefined) this.#openJournal(id, view);
    this.#views.set(view, (there ?? new Set()).add(selector));
  }

  /** Forgets a rule that was just added to a view. */
  remove(view: number, selector: CustomSelector): void {
    this.#views.get(view)?.delete(selector);
  }

  /** Tells a new rule of the priorities that came with records. */
  #tellFirstPriorities(
    id: number,
    view: number,
    selector: CustomSelector,
    pickCount: number,
  ): void {
    if (pickCount === 0) return;
    const found = new Float64Array(pickCount);
    const { symbols } = this.#kernel;
    const status = symbols.exrp_pick_priorities(id, view, 0, pickCount, found);
    checkStatus(this.#kernel, "newPickSelector()", status);
    const isGiven = (priority: number): boolean => priority >= 0;
    const indices = new Uint32Array(found.keys()).filter((index) =>
      isGiven(found[index] as number)
    );
    if (indices.length > 0) selector.tellPriorities(indices, found.filter(isGiven));
  }

  #openJournal(id: number, view: number): void {
    const status = this.#kernel.symbols.exrp_journal_open(id, view);
    checkStatus(this.#kernel, "newPickSelector()", status);
  }

  /** From now on the kernel replay `id` keeps a journal of each view that has custom selectors. */
  openJournals(id: number): void {
    for (const view of this.#views.keys()) this.#openJournal(id, view);
    this.#unreadCount = 0;
  }

  /** Call it after records. */
  recorded(id: number, count = 1): void {
    this.#unreadCount += count;
    if (this.#unreadCount >= READ_EVERY) this.drain(id);
  }

  /** Reads all events and tells the rules. */
  drain(id: number): void {
    this.#unreadCount = 0;
    for (const [view, selectors] of this.#views) {
      const events = this.#read(id, view);
      for (const selector of selectors) selector.tell(events);
    }
  }

  /** The events in a journal that nobody has read. */
  #read(id: number, view: number): Uint32Array<ArrayBuffer> {
    const { symbols } = this.#kernel;
    const check = (status: number): void => checkStatus(this.#kernel, "the journal", status);
    check(symbols.exrp_journal_count(id, view, this.#number));
    const count = this.#number[0] ?? 0;
    const events = new Uint32Array(2 * count);
    if (count > 0) check(symbols.exrp_journal_read(id, view, events, count, this.#number));
    return events;
  }
}
