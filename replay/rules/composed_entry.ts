/**
 * Serves selectors that draw by means of others.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type { ComposedSelector, Composition } from "../../selectors/composed_selector.ts";
import { RANDOM_STREAM_BYTES, type RandomStream } from "../../selectors/random_stream.ts";
import { savedBytes } from "./_saved_bytes.ts";

/** A batch, as far as this file knows it. */
interface Sized {
  readonly size: number;
}

/**
 * What the calls of a composition do with a batch. Places are counted from the first one that the composition fills. `Part` is a
 * part of the composition, and `Candidates` is a batch of candidates.
 */
export interface Places<Part, Candidates extends Sized> {
  /** Fills `count` places from `first` on with picks of a part. */
  draw(part: Part, first: number, count: number): void;
  /** Draws `count` candidates with a part; they are good until the next call. */
  candidates(part: Part, count: number): Candidates;
  /** Copies the candidates of these indices to the places from `first` on. */
  keep(
    first: number,
    candidates: Candidates,
    index: ArrayLike<number>,
    probability: ArrayLike<number>,
    importanceWeight: ArrayLike<number>,
  ): void;
}

/** A list with its values, or any other value. */
function showList(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(show).join(", ")}]` : show(value);
}

/** One composed rule, its parts, and its state. */
export class ComposedEntry<Part> {
  /** The rule. */
  readonly rule: ComposedSelector;
  /** Its parts. */
  readonly parts: readonly Part[];
  readonly #composition: Composition;
  readonly #random: RandomStream;
  #busy = false;

  /** Serves `rule`, which draws with `parts`. */
  constructor(
    rule: ComposedSelector,
    composition: Composition,
    parts: readonly Part[],
    random: RandomStream,
  ) {
    this.rule = rule;
    this.parts = parts;
    this.#composition = composition;
    this.#random = random;
  }

  /** Whether it says before it draws how many picks it will ask of each part. */
  get saysWhatItAsks(): boolean {
    return this.#composition.asks !== undefined;
  }

  /** How many picks it will ask of each part for `count` places; undefined where it does not say. */
  asks(count: number): readonly number[] | undefined {
    const composition = this.#composition;
    if (composition.asks === undefined) return undefined;
    const counts: unknown = composition.asks(count);
    const isRight = Array.isArray(counts) && counts.length === this.parts.length &&
      counts.every((each) => Number.isInteger(each) && each >= 0 && each < 2 ** 32);
    if (isRight) return counts;
    const needed = `${this.parts.length} whole numbers, one for each part`;
    throw this.#error(`must say by asks() ${needed}, got ${showList(counts)}`);
  }

  /** Lets the composition fill `count` places. A composition that fails is as before; parts that drew before that have drawn. */
  run<B extends Sized>(count: number, places: Places<Part, B>): void {
    if (this.#busy) {
      throw new ReplayError(
        "busy",
        `getBatch(): the selector ${this.rule.name} is drawing a batch; what it calls can't draw with it`,
      );
    }
    const [random, state] = [this.#random.save(), this.#composition.save()];
    this.#busy = true;
    try {
      this.#compose(count, places);
    } catch (error) {
      this.#random.load(random);
      this.#composition.load(state);
      throw error;
    } finally {
      this.#busy = false;
    }
  }

  #compose<B extends Sized>(count: number, places: Places<Part, B>): void {
    let filled = 0;
    let lent: B | undefined;
    const take = (size: number): number => {
      if (!(Number.isInteger(size) && size >= 0 && filled + size <= count)) {
        throw this.#error(`would fill ${show(size)} places after ${filled} of ${count}`);
      }
      filled += size;
      return filled - size;
    };
    this.#composition.compose(count, {
      draw: (part, size) => {
        const from = take(size);
        if (size > 0) places.draw(this.#part(part), from, size);
      },
      candidates: (part, size) => {
        lent = places.candidates(this.#part(part), size);
        return lent;
      },
      keep: (index, probability, importanceWeight) => {
        if (lent === undefined) throw this.#error("would keep candidates without drawing any");
        this.#checkKept(lent.size, index, probability, importanceWeight);
        places.keep(take(index.length), lent, index, probability, importanceWeight);
      },
    }, this.#random);
    if (filled !== count) throw this.#error(`filled ${filled} of ${count} places`);
  }

  #part(part: number): Part {
    const entry = this.parts[part];
    if (entry !== undefined) return entry;
    throw this.#error(`has parts 0 to ${this.parts.length - 1}, and would draw with ${show(part)}`);
  }

  #checkKept(
    size: number,
    index: ArrayLike<number>,
    probability: ArrayLike<number>,
    weight: ArrayLike<number>,
  ): void {
    if (probability.length !== index.length || weight.length !== index.length) {
      throw this.#error(
        `would keep ${index.length} candidates with ${probability.length} probabilities and ${weight.length} weights`,
      );
    }
    for (let k = 0; k < index.length; k++) {
      const [at, chance, factor] = [index[k] ?? NaN, probability[k] ?? NaN, weight[k] ?? NaN];
      if (!(Number.isInteger(at) && at >= 0 && at < size)) {
        throw this.#error(`would keep candidate ${at}; there are 0 to ${size - 1}`);
      }
      if (!(chance > 0 && chance <= 1 + 1e-6)) {
        throw this.#error(
          `gave probability ${chance} for pick ${k}; it must be more than 0 and at most 1`,
        );
      }
      if (!(factor >= 0 && factor < Infinity)) {
        throw this.#error(`gave importance weight ${factor} for pick ${k}`);
      }
    }
  }

  #error(what: string): ReplayError {
    return new ReplayError("rule", `the selector ${this.rule.name} ${what}`);
  }

  /** The random state, then the composition's own bytes. */
  save(): Uint8Array<ArrayBuffer> {
    return savedBytes(`the selector ${this.rule.name}`, this.#composition, this.#random);
  }

  /** Loads what {@linkcode ComposedEntry.save} gave. */
  load(bytes: Uint8Array): void {
    this.#random.load(bytes.subarray(0, RANDOM_STREAM_BYTES));
    this.#composition.load(bytes.slice(RANDOM_STREAM_BYTES));
  }
}
