/**
 * A selector written in TypeScript: what a rule has to do, and what it may rely on.
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
 * A rule that chooses picks, written by the user: an object with these methods, given to `newPickSelector`.
 *
 * A rule knows picks by dense indices 0 to n-1 and nothing else. It hears of every change in order: `pushed(n)` when
 * one is added at the end; `moved(from, to)` when the last one takes the place of one that is gone, followed by
 * `popped(from)`; `popped(n - 1)` alone when the last one itself is gone. It hears of them not at once, but before it
 * is asked for anything else. One object serves one selector of one replay.
 *
 * `pushed`, `moved` and `popped` must not throw; a rule that did is refused from then on. No method may call the replay.
 *
 * @example A rule that draws uniformly, in full
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { PickSelector } from "@exrp/replay/selectors";
 * import { assertStrictEquals } from "@std/assert";
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
 * assertStrictEquals(replay.getBatch(2, selector).state[1], 7);
 * ```
 */
export interface PickSelector {
  /** The rule's name: in errors, in `describe()`, and in snapshots, which fit a rule of the same name only. */
  readonly name: string;
  /** True when importance weights are (N P)^-beta; otherwise they are 1. */
  readonly weighted?: boolean;
  /** A pick was added at `index`, which is their number before. */
  pushed(index: number): void;
  /** The last pick, at `from`, now stands at `to`; what stood there is gone. `popped(from)` follows. */
  moved(from: number, to: number): void;
  /** The last pick, at `index`, is gone. */
  popped(index: number): void;
  /**
   * Sets priorities of picks in the table: all finite and not negative. An index may come twice: the last wins. The
   * arrays are the rule's to keep.
   */
  setPriority(indices: Uint32Array<ArrayBuffer>, priorities: Float64Array<ArrayBuffer>): void;
  /**
   * Draws `count` picks into `out`, whose arrays have that length. There is at least one pick. Random numbers come
   * from `random` only, so that the same seed gives the same draws.
   */
  select(count: number, out: Selection, random: RandomStream): void;
  /**
   * Everything that decides the future but the number of picks, as bytes of the rule's own format. Without it, a
   * replay with this rule can't be saved.
   */
  save?(): Uint8Array;
  /**
   * Takes up what {@linkcode PickSelector.save} gave. Before, the rule hears `popped` for all picks it knew and
   * `pushed` for all that there are now. A throw refuses the snapshot.
   */
  load?(bytes: Uint8Array): void;
}
