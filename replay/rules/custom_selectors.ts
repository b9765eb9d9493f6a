/**
 * Serves selectors written in TypeScript: reads the kernel's journal of the pick view and tells each rule of it.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { show } from "../../base/checks.ts";
import { checkHonest, countOf, isNumeric, lengthOf } from "../../base/typed_arrays.ts";
import { checkStatus, type Kernel } from "../../ffi/library.ts";
import { EXRP_INDEX_NONE } from "../../ffi/symbols.ts";
import type { PickSelector, Selection } from "../../selectors/pick_selector.ts";
import { RANDOM_STREAM_BYTES, RandomStream } from "../../selectors/random_stream.ts";
import { checkSaved } from "./_saved_bytes.ts";

/** Events read in one call. */
const CHUNK_EVENTS = 8192;

/** If more events wait, they are read at the next look. */
const WAITING_MAX = 2 ** 15;

/** After this many records, a look at how many events wait. */
const LOOK_EVERY = 4096;

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
  #failure: unknown;
  #failed = false;
  #out: Selection | undefined;

  /** Serves `rule`, with stream number `stream` of the replay's seed. */
  constructor(rule: PickSelector, seed: number, stream: number) {
    this.rule = rule;
    this.random = new RandomStream(seed, stream);
  }

  /** Tells the rule of one event. A rule that threw is told nothing more. */
  tell(from: number, to: number): void {
    if (from === EXRP_INDEX_NONE) this.count = to + 1;
    else if (to === EXRP_INDEX_NONE) this.count = from;
    if (this.#failed) return;
    try {
      if (from === EXRP_INDEX_NONE) this.rule.pushed(to);
      else if (to === EXRP_INDEX_NONE) this.rule.popped(from);
      else this.rule.moved(from, to);
    } catch (error) {
      this.#failed = true;
      this.#failure = error;
    }
  }

  /** Tells the rule of priorities that came with records. */
  tellPriorities(indices: Uint32Array<ArrayBuffer>, priorities: Float64Array<ArrayBuffer>): void {
    if (this.#failed) return;
    try {
      this.rule.setPriority(indices, priorities);
    } catch (error) {
      this.#failed = true;
      this.#failure = error;
    }
  }

  /** Tells the rule that all picks it knew are gone, and that there are `count` picks now. */
  refill(count: number): void {
    for (let index = this.count - 1; index >= 0; index--) this.tell(index, EXRP_INDEX_NONE);
    this.count = 0;
    for (let index = 0; index < count; index++) this.tell(EXRP_INDEX_NONE, index);
  }

  /** Throws if the rule threw while it was told of changes, because it does not know the view any more. */
  checkSound(): void {
    if (!this.#failed) return;
    throw new ReplayError(
      "rule",
      `the selector ${this.rule.name} threw in pushed(), moved() or popped(), and can't be used any more: ${this.#failure}`,
      { cause: this.#failure },
    );
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
      throw new ReplayError(
        "rule",
        `the selector ${this.rule.name} took away the arrays it was to fill: they are lent for the call only`,
      );
    }
    for (let k = 0; k < size; k++) {
      const drawn = index[k] as number;
      const chance = probability[k] as number;
      if (drawn >= this.count) {
        throw new ReplayError(
          "rule",
          `the selector ${this.rule.name} drew ${
            drawn === EXRP_INDEX_NONE ? "nothing" : drawn
          } as pick ${k} of ${size}; there are picks 0 to ${this.count - 1}`,
          { detail: [k, drawn, this.count] },
        );
      }
      if (!(chance > 0 && chance <= PROBABILITY_MAX)) {
        throw new ReplayError(
          "rule",
          `the selector ${this.rule.name} gave probability ${chance} for pick ${k} of ${size}; it must be more than 0 and at most 1`,
          { detail: [k, chance] },
        );
      }
      if (chance > 1) probability[k] = 1;
    }
  }

  /** The random state, then the rule's own bytes. */
  save(): Uint8Array<ArrayBuffer> {
    this.checkSound();
    const { rule } = this;
    if (rule.save === undefined) {
      throw new ReplayError("not-savable", `the selector ${rule.name} has no save() and load()`);
    }
    const own = rule.save();
    checkSaved(`the selector ${rule.name}`, own);
    const bytes = new Uint8Array(RANDOM_STREAM_BYTES + lengthOf(own));
    bytes.set(this.random.save());
    bytes.set(own, RANDOM_STREAM_BYTES);
    return bytes;
  }

  /** Loads what {@linkcode CustomSelector.save} gave, for a view of `count` picks. */
  load(count: number, bytes: Uint8Array): void {
    this.#failed = false;
    this.#failure = undefined;
    this.refill(count);
    this.checkSound();
    this.random.load(bytes.subarray(0, RANDOM_STREAM_BYTES));
    this.rule.load?.(bytes.slice(RANDOM_STREAM_BYTES));
  }
}

/** All custom selectors of one pick view, and how far they have read its journal. */
class TableCustoms {
  readonly #kernel: Kernel;
  readonly #view: number;
  readonly #events = new Uint32Array(2 * CHUNK_EVENTS);
  readonly #number = new Uint32Array(1);
  readonly #all: CustomSelector[] = [];
  /** The pick whose priority the next event holds. */
  #given: number | undefined;

  /** No selector yet. */
  constructor(kernel: Kernel, view: number) {
    this.#kernel = kernel;
    this.#view = view;
  }

  /** Adds a rule and tells it of the `pickCount` picks that there are now. */
  add(id: number, selector: CustomSelector, pickCount: number): void {
    // The rules that heard of the view may all have been removed. The events that wait are not for this rule.
    this.drain(id);
    selector.refill(pickCount);
    this.#tellFirstPriorities(id, selector, pickCount);
    selector.checkSound();
    if (this.#all.length === 0) this.openJournal(id);
    this.#all.push(selector);
  }

  /** Forgets a rule that was just added. */
  remove(selector: CustomSelector): void {
    const index = this.#all.indexOf(selector);
    if (index >= 0) this.#all.splice(index, 1);
  }

  /** Tells a new rule of the priorities that came with records. */
  #tellFirstPriorities(id: number, selector: CustomSelector, pickCount: number): void {
    for (let first = 0; first < pickCount; first += CHUNK_EVENTS) {
      const found = new Float64Array(Math.min(CHUNK_EVENTS, pickCount - first));
      const { symbols } = this.#kernel;
      const status = symbols.exrp_pick_priorities(id, this.#view, first, lengthOf(found), found);
      checkStatus(this.#kernel, "newPickSelector()", status);
      const given = [...found.keys()].filter((k) => (found[k] ?? -1) >= 0);
      if (given.length === 0) continue;
      selector.tellPriorities(
        Uint32Array.from(given, (k) => first + k),
        Float64Array.from(given, (k) => found[k] ?? 0),
      );
    }
  }

  /** From now on the kernel replay `id` keeps a journal of the view. */
  openJournal(id: number): void {
    const status = this.#kernel.symbols.exrp_journal_open(id, this.#view);
    checkStatus(this.#kernel, "newPickSelector()", status);
  }

  /** Reads the events if many of them wait. */
  look(id: number): void {
    const status = this.#kernel.symbols.exrp_journal_count(id, this.#view, this.#number);
    checkStatus(this.#kernel, "record()", status);
    if ((this.#number[0] ?? 0) > WAITING_MAX) this.drain(id);
  }

  /** Reads all events and tells the rules. */
  drain(id: number): void {
    const events = this.#events;
    for (;;) {
      const status = this.#kernel.symbols.exrp_journal_read(
        id,
        this.#view,
        events,
        CHUNK_EVENTS,
        this.#number,
      );
      checkStatus(this.#kernel, "the journal", status);
      const count = this.#number[0] ?? 0;
      let given = this.#given;
      for (const selector of this.#all) {
        given = this.#given;
        for (let k = 0; k < count; k++) {
          const [from, to] = [events[2 * k] as number, events[2 * k + 1] as number];
          if (given !== undefined) {
            // The event after "pick i was given a priority" holds the priority.
            const priority = new Float64Array(Uint32Array.of(from, to).buffer);
            selector.tellPriorities(Uint32Array.of(given), priority);
            given = undefined;
          } else if (from === to) given = from;
          else selector.tell(from, to);
        }
      }
      this.#given = given;
      if (count < CHUNK_EVENTS) return;
    }
  }
}

/** All custom selectors of one replay. */
export class CustomSelectors {
  readonly #kernel: Kernel;
  readonly #views = new Map<number, TableCustoms>();
  #recordsSinceLook = 0;

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
    let customs = this.#views.get(view);
    if (customs !== undefined) {
      customs.add(id, selector, pickCount);
      return;
    }
    customs = new TableCustoms(this.#kernel, view);
    customs.add(id, selector, pickCount);
    this.#views.set(view, customs);
  }

  /** Forgets a rule that was just added to a view. */
  remove(view: number, selector: CustomSelector): void {
    this.#views.get(view)?.remove(selector);
  }

  /** From now on the kernel replay `id` keeps a journal of each view that has custom selectors. */
  openJournals(id: number): void {
    for (const customs of this.#views.values()) customs.openJournal(id);
    this.#recordsSinceLook = 0;
  }

  /** Call it after records. It looks now and then, so that the journals stay small even if nobody draws. */
  recorded(id: number, count = 1): void {
    this.#recordsSinceLook += count;
    if (this.#recordsSinceLook < LOOK_EVERY) return;
    this.#recordsSinceLook = 0;
    for (const customs of this.#views.values()) customs.look(id);
  }

  /** Reads all events and tells the rules. */
  drain(id: number): void {
    for (const customs of this.#views.values()) customs.drain(id);
  }
}
