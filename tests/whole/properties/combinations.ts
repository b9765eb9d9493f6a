/**
 * What the property test puts together: all options of a pick policy, and what a replay can be made with.
 *
 * @module
 */

import {
  fifo,
  lfu,
  lru,
  type PickOptions,
  prioritized,
  rankBased,
  secondChance,
  ucb,
  uniform,
} from "@exrp/replay";
import type { EvictionPolicy, EvictionRule } from "@exrp/replay/eviction";
import type { SelectorRule } from "@exrp/replay/selectors";
import type { Combination, Factors } from "./covering.ts";

/** Forgets the oldest, in plain TypeScript. */
class OldestFirst implements EvictionPolicy {
  readonly name = "oldestFirst";
  readonly #handles = new Set<number>();
  created(handle: number): void {
    this.#handles.add(handle);
  }
  removed(handle: number): void {
    this.#handles.delete(handle);
  }
  victim(): number {
    const [first = -1] = this.#handles;
    return first;
  }
}

/** The options; the first value of each goes with anything. */
export const FACTORS = {
  length: [1, 2, 3, 7],
  stride: [1, 2, 3],
  allowShort: [false, true],
  allowOpenEnd: [false, true],
  discount: [1, 0.5, 0.9, 0],
  whole: [false, true],
  burnIn: [0, 1, 4],
  before: [0, 1, 3],
  reversed: [false, true],
  stack: [1, 2, 4],
  stackPadding: ["repeat", "zeros"],
  stackCompact: [false, true],
  nStep: [undefined, 1, 3, 9, [2, 5]],
  nextState: [undefined, "copy", "overlap", false],
  masks: [undefined, true, false],
  ends: [false, true],
  returnToGo: [false, true],
  stateDType: ["float32", "uint8", "int8", "float16", "int16", "int32", "float64"],
  // One number, three, a matrix, and more than 128 bytes of whatever dtype, which stand alone in memory: whole vectors, and an odd number.
  stateShape: [[], [3], [2, 2], [12, 12], [11, 13]],
  action: ["number", "vector"],
  reward: ["float32", "float32 vector", "float64", "float16", "int16", "int32 vector", "uint8"],
  extras: ["none", "small", "wide", "kept"],
  eviction: ["fifo", "secondChance", "lru", "lfu", "typescript"],
  selector: ["uniform", "prioritized", "rankBased", "ucb"],
  capacity: [60, 120], // an eighth of it, the segment where none is asked for, holds the longest pick
  segmentLength: ["none", "short", "long"],
  blockLength: [16, 2, 4],
  actors: [1, 3],
  table: ["first", "second", "late"],
} as const satisfies Factors;

/**
 * What most learners ask for: n-step returns of small records. The kernel reads them in a pass of its own, which few combinations of
 * everything come to.
 */
export const COMMON_FACTORS = {
  ...FACTORS,
  whole: [false],
  burnIn: [0],
  before: [0],
  reversed: [false],
  stack: [1],
  stackCompact: [false],
  nStep: [1, 3, 9, [2, 5]],
  nextState: [undefined, "copy", false],
  masks: [undefined, false],
  returnToGo: [false],
  stateDType: ["float32", "int32", "float64"],
  stateShape: [[], [3], [2, 2]],
  reward: ["float32"],
  allowOpenEnd: [false, true],
} as const satisfies Factors;

/** One value of each. */
export type PickCombination = Combination<typeof FACTORS>;

/** The pairs that `newPickView` refuses; bad input is another test's. */
export function isExcluded(a: string, valueOfA: unknown, b: string, valueOfB: unknown): boolean {
  const both = (x: string, y: string, isFirst: boolean, isSecond: boolean): boolean =>
    a === x && b === y && isFirst && isSecond;
  return both("whole", "stride", valueOfA === true, valueOfB !== 1) ||
    both("whole", "allowShort", valueOfA === true, valueOfB === true) ||
    both("whole", "allowOpenEnd", valueOfA === true, valueOfB === true) ||
    both("burnIn", "before", valueOfA !== 0, valueOfB !== 0) ||
    both("reversed", "burnIn", valueOfA === true, valueOfB !== 0) ||
    both("reversed", "before", valueOfA === true, valueOfB !== 0) ||
    both("reversed", "stackCompact", valueOfA === true, valueOfB === true) ||
    both("reversed", "allowOpenEnd", valueOfA === true, valueOfB === true) ||
    both("reversed", "nextState", valueOfA === true, valueOfB === "overlap") ||
    both("stackCompact", "nextState", valueOfA === true, valueOfB === "copy");
}

/** The pick policy of a combination; what it leaves undefined is left out. */
export function pickOptions(of: PickCombination): PickOptions {
  const { length, stride, allowShort, allowOpenEnd, discount, whole, burnIn, before } = of;
  const { reversed, stack, stackPadding, stackCompact, nStep, nextState, masks, ends, returnToGo } =
    of;
  return {
    ...{ length, stride, allowShort, allowOpenEnd, discount, whole, burnIn, before },
    ...{ reversed, stack, stackPadding, stackCompact, ends, returnToGo },
    ...(nStep === undefined ? {} : { nStep }),
    ...(nextState === undefined ? {} : { nextState }),
    ...(masks === undefined ? {} : { masks }),
  };
}

/** The rule of eviction. */
export function evictionOf({ eviction }: PickCombination): EvictionRule {
  switch (eviction) {
    case "fifo":
      return fifo();
    case "secondChance":
      return secondChance();
    case "lru":
      return lru();
    case "lfu":
      return lfu();
    case "typescript":
      return new OldestFirst();
  }
}

/** The rule that draws. */
export function selectorOf({ selector }: PickCombination): SelectorRule {
  switch (selector) {
    case "uniform":
      return uniform();
    case "prioritized":
      return prioritized();
    case "rankBased":
      return rankBased();
    case "ucb":
      return ucb();
  }
}
