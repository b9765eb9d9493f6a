/**
 * A selector made of others: what a composition has to do, and what it may rely on.
 *
 * @module
 */

import type { NativeSelector, SelectorOption } from "./native_selector.ts";
import type { PickSelector } from "./pick_selector.ts";
import type { RandomStream } from "./random_stream.ts";

/** Candidates: a batch of the composition's pick table, lent for the call. `B` is its type. */
export type Candidates<B = unknown> = B;

/** With what a composition fills a batch: places 0, 1, … in this order, each once. */
export interface PartDrawer {
  /** Draws the next `count` picks with part `part`; a count of 0 does nothing. */
  draw(part: number, count: number): void;
  /** Draws `count` picks with part `part` into a batch of their own, which is lent until the next call. */
  candidates(part: number, count: number): Candidates;
  /**
   * Takes picks of the latest candidates as the next ones: `index` says which, `probability` what `batch.probability` shall be,
   * and `importanceWeight` is multiplied into the weights that they had.
   */
  keep(
    index: ArrayLike<number>,
    probability: ArrayLike<number>,
    importanceWeight: ArrayLike<number>,
  ): void;
}

/** What one selector of one replay does with a {@linkcode ComposedSelector}: it has a state of its own. */
export interface Composition {
  /**
   * Fills a batch of `count` picks. Random numbers come from `random` only. Where it throws before the first call of `drawer`, nothing
   * has changed.
   */
  compose(count: number, drawer: PartDrawer, random: RandomStream): void;
  /** Everything that decides its future, as bytes of its own format; none where it keeps nothing. */
  save(): Uint8Array;
  /** Takes up what {@linkcode Composition.save} gave. A throw refuses the snapshot. */
  load(bytes: Uint8Array): void;
}

/**
 * A rule that draws by means of others: {@linkcode combined}, {@linkcode mixture} and {@linkcode laber} make such values, and a
 * user may write more. Given to `newPickSelector`, its parts become selectors of their own, right before it: they are
 * `selector.parts`. Priorities that are set are set with every part.
 *
 * Where a draw fails half way, be it that a part refuses its share or that user's code throws, the composition is as it was before,
 * but parts that had drawn by then have drawn: their random numbers and counts are further, and a batch given as `into` holds some
 * of their picks.
 *
 * @example A rule that draws by turns with one part and the other
 * ```ts
 * import { ExperienceReplay, float32, newest, oldest } from "@exrp/replay";
 * import type { ComposedSelector } from "@exrp/replay/selectors";
 * import { assertEquals } from "@std/assert";
 *
 * const byTurns: ComposedSelector = {
 *   name: "byTurns",
 *   parts: [oldest(), newest()],
 *   begin() {
 *     let turn = 0;
 *     return {
 *       compose(count, drawer) {
 *         for (let k = 0; k < count; k++) drawer.draw(turn++ % 2, 1);
 *       },
 *       save: () => Uint8Array.of(turn % 2),
 *       load: ([saved = 0]) => void (turn = saved),
 *     };
 *   },
 * };
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(byTurns);
 * const episode = replay.newEpisode();
 * replay.recordMany(episode, { state: [1, 2, 3], action: [0, 0, 0], reward: [0, 0, 0], finalState: [4] });
 * assertEquals([...replay.getBatch(3, selector).state], [1, 3, 1]);
 * assertEquals([...replay.getBatch(3, selector).state], [3, 1, 3]);
 * ```
 */
export interface ComposedSelector {
  /** The rule's name. */
  readonly name: string;
  /** What it draws with, at least one; a part may be composed itself. */
  readonly parts: readonly SelectorRule[];
  /** The options by name, for `describe()`; a snapshot fits equal ones only. */
  readonly options?: Readonly<Record<string, SelectorOption>>;
  /** A fresh state for one selector. */
  begin(): Composition;
}

/**
 * What `newPickSelector` takes: a rule of the library, your own, or one made of others. It stands beside
 * {@linkcode ComposedSelector} as each names the other.
 */
export type SelectorRule = NativeSelector | PickSelector | ComposedSelector;

/** A composition that keeps nothing from batch to batch. */
export function stateless(compose: Composition["compose"]): Composition {
  return {
    compose,
    save: (): Uint8Array => new Uint8Array(),
    load(bytes): void {
      if (bytes.length > 0) throw new RangeError(`it keeps nothing, got ${bytes.length} bytes`);
    },
  };
}
