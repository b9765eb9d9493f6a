/**
 * A selector written in TypeScript: what a rule must do, and what it may rely on.
 *
 * @module
 */

import type { RandomStream } from "./random_stream.ts";

export type { RandomStream };

/** Where {@linkcode PickSelector.select} writes its draws. */
export interface Selection {
  /** `[batch]`: the drawn picks, each below the number of picks. */
  readonly index: Uint32Array<ArrayBuffer>;
  /** `[batch]`: the probability with which each was drawn, more than 0 and at most 1. */
  readonly probability: Float64Array<ArrayBuffer>;
}

/**
 * A rule of your own that chooses picks: an object with these methods, which you give to `newPickSelector`.
 *
 * A rule knows picks only by dense indices 0 to n - 1. It hears of every change, in order. `pushed(n)` says that a pick was added at
 * the end. `moved(from, to)` and then `popped(from)` say that a pick is gone, and the last one took its place. `popped(n - 1)` alone
 * says that the last one is gone. The rule hears of changes late, but always before it is asked for anything else. One object serves
 * one selector of one replay.
 *
 * `pushed`, `moved` and `popped` must not throw; the replay refuses a rule that did. No method may call the replay.
 *
 * @example A rule that draws uniformly, in full
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { PickSelector } from "@exrp/replay/selectors";
 *
 * function plain(): PickSelector {
 *   let count = 0;
 *   return {
 *     name: "plain",
 *     pushed: () => void count++,
 *     moved: () => {},
 *     popped: () => void count--,
 *     setPriority: () => {},
 *     select(n, out, random) {
 *       for (let k = 0; k < n; k++) out.index[k] = random.below(count);
 *       out.probability.fill(1 / count);
 *     },
 *   };
 * }
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(plain());
 * replay.record(replay.newEpisode(), [7], 0, 0, { finalState: [8] });
 * console.log(replay.getBatch(2, selector).state[1]); // 7
 * ```
 */
export interface PickSelector {
  /** The rule's name, for errors and `describe()`. A snapshot can be loaded only by a rule of the same name. */
  readonly name: string;
  /** True when importance weights are (N P)^-beta; otherwise they are 1. */
  readonly weighted?: boolean;
  /** A pick was added at `index`, which is the number of picks before. */
  pushed(index: number): void;
  /** The last pick, at `from`, is now at `to`; the pick that was there is gone. `popped(from)` follows. */
  moved(from: number, to: number): void;
  /** The last pick, at `index`, is gone. */
  popped(index: number): void;
  /**
   * Sets priorities of picks in the view: all finite and not negative. If an index comes twice, the last one wins. The rule may
   * keep the arrays.
   */
  setPriority(indices: Uint32Array<ArrayBuffer>, priorities: Float64Array<ArrayBuffer>): void;
  /**
   * The priorities of picks in the view, for `getPriority` of the replay: one number for each index, and NaN where the rule does not
   * know it. Without this method, `getPriority` is an error.
   */
  getPriority?(indices: Uint32Array<ArrayBuffer>): ArrayLike<number>;
  /**
   * Draws `count` picks into `out`, whose arrays have that length. There is at least one pick. Take random numbers from `random`
   * only, so that the same seed gives the same draws. If it throws as a part of another selector, other parts may have drawn already.
   */
  select(count: number, out: Selection, random: RandomStream): void;
  /**
   * Everything that decides the rule's future, except the number of picks, as bytes of the rule's own format. Without this method a
   * replay with this rule can't be saved.
   */
  save?(): Uint8Array;
  /**
   * Loads what {@linkcode PickSelector.save} gave. The rule first hears `popped` for all picks that it knew, and `pushed` for all that
   * there are now. A throw refuses the snapshot.
   */
  load?(bytes: Uint8Array): void;
}
