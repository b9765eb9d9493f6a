/**
 * The selector that docs/write_your_own_selector.md builds step by step. It draws more often what surprised the learner.
 *
 * Run examples/cliffwalk.ts to see how well it works.
 *
 * @module
 */

import type { PickSelector, RandomStream, Selection } from "@exrp/replay/selectors";

/** Options of {@linkcode SurpriseFirst}. */
export interface SurpriseFirstOptions {
  /** A pick is a surprise if its priority is at least this; 0.01 by default. */
  readonly threshold?: number;
  /** The share of draws that surprises get, while there are any: more than 0, less than 1; 0.9 by default. */
  readonly share?: number;
}

/**
 * Draws a share of each batch uniformly from the picks that are surprises, and the rest uniformly from all picks. So every pick has
 * a chance. A new pick is a surprise until its first priority is set. Cost: O(1) for each draw and each update.
 *
 * Invariants: `#order` holds every pick once, and `#place` says where. The first `#surprises` elements of `#order` are the surprises.
 */
export class SurpriseFirst implements PickSelector {
  readonly name = "surpriseFirst";
  readonly weighted = true;
  readonly #threshold: number;
  readonly #share: number;
  readonly #order: number[] = [];
  readonly #place: number[] = [];
  #surprises = 0;

  constructor({ threshold = 0.01, share = 0.9 }: SurpriseFirstOptions = {}) {
    this.#threshold = threshold;
    this.#share = share;
  }

  pushed(index: number): void {
    this.#place[index] = this.#order.length;
    this.#order.push(index);
    this.#mark(index, true);
  }

  moved(from: number, to: number): void {
    const [a, b] = [this.#placeOf(from), this.#placeOf(to)];
    this.#put(from, b);
    this.#put(to, a);
  }

  popped(index: number): void {
    this.#mark(index, false);
    this.#exchange(this.#placeOf(index), this.#order.length - 1);
    this.#order.pop();
    this.#place.pop();
  }

  setPriority(indices: Uint32Array, priorities: Float64Array): void {
    for (const [k, index] of indices.entries()) {
      this.#mark(index, (priorities[k] ?? 0) >= this.#threshold);
    }
  }

  select(count: number, out: Selection, random: RandomStream): void {
    const all = this.#order.length;
    const surprises = this.#surprises;
    const share = surprises > 0 ? this.#share : 0;
    for (let k = 0; k < count; k++) {
      const place = random.below(random.uniform() < share ? surprises : all);
      out.index[k] = this.#order[place] ?? 0;
      out.probability[k] = (1 - share) / all + (place < surprises ? share / surprises : 0);
    }
  }

  save(): Uint8Array {
    return new Uint8Array(Uint32Array.of(this.#surprises, ...this.#order).buffer);
  }

  load(bytes: Uint8Array): void {
    const [surprises = 0, ...order] = new Uint32Array(bytes.slice().buffer);
    const each = new Set(order.filter((index) => index < this.#order.length));
    const complete = order.length === this.#order.length && each.size === order.length;
    if (!complete || surprises > order.length) {
      throw new RangeError(`these bytes do not name ${this.#order.length} picks once each`);
    }
    for (const [place, index] of order.entries()) this.#put(index, place);
    this.#surprises = surprises;
  }

  /** Makes a pick a surprise, or no surprise: moves it and the border between the two kinds. */
  #mark(index: number, surprising: boolean): void {
    const place = this.#placeOf(index);
    if (surprising === place < this.#surprises) return;
    if (surprising) this.#exchange(place, this.#surprises++);
    else this.#exchange(place, --this.#surprises);
  }

  #exchange(a: number, b: number): void {
    const [one, other] = [this.#order[a] ?? 0, this.#order[b] ?? 0];
    this.#put(one, b);
    this.#put(other, a);
  }

  #put(index: number, place: number): void {
    this.#order[place] = index;
    this.#place[index] = place;
  }

  #placeOf(index: number): number {
    return this.#place[index] ?? 0;
  }
}
