/**
 * Random choices for programs.
 *
 * @module
 */

import { Random } from "./random.ts";

/** Choices that follow from a seed. */
export class Choice {
  readonly #random: Random;
  /** Another `stream` has other choices from the same seed. */
  constructor(seed: number, stream = 0) {
    this.#random = new Random(seed, 0x0e4e + stream);
  }
  /** 0 to bound - 1. */
  below(bound: number): number {
    return this.#random.below(bound);
  }
  /** from to to, both included. */
  within(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }
  /** True once in `bound` times. */
  oneIn(bound: number): boolean {
    return this.below(bound) === 0;
  }
  /** One of the values. */
  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
  /** A seed for values. */
  data(): number {
    return this.below(2 ** 32 - 1);
  }
}
