/**
 * A selector that draws by means of others: what a composition must do, and what it may rely on.
 *
 * @module
 */

import { ruleText, showOneAs } from "../base/inspect.ts";
import type { NativeSelector, SelectorOption } from "./native_selector.ts";
import type { PickSelector } from "./pick_selector.ts";
import type { RandomStream } from "./random_stream.ts";

/** The key of {@linkcode SelectorPart}; nothing at run time. */
export declare const drawn: unique symbol;

/**
 * A selector of a replay, which `newPickSelector` gave, as a part of another selector of this replay.
 * {@linkcode ComposedSelector.parts} may have it. `B` is the type of its batches.
 */
export interface SelectorPart<B = unknown> {
  /** The selector's number. */
  readonly id: number;
  /** The rule's name. */
  readonly kind: string;
  /** The number of the pick view that it draws from. */
  readonly view: number;
  /** The selectors that it draws with. */
  readonly parts: readonly SelectorPart<B>[];
  /** The type of its batches, for TypeScript alone. */
  [drawn]?(batch: B): void;
}

/** What a {@linkcode Composition} fills a batch with: place after place from 0 on, each once. `B` is the type of its batches. */
export interface PartDrawer<B = unknown> {
  /** Draws the next `count` picks with part `part`; a count of 0 does nothing. */
  draw(part: number, count: number): void;
  /** Draws `count` picks with part `part` into a batch of their own. It is lent until the next call. */
  candidates(part: number, count: number): B;
  /**
   * Takes some of the latest candidates as the next picks. `index` says which ones, and `probability` becomes their
   * `batch.probability`. Their importance weights are multiplied by `importanceWeight`.
   */
  keep(
    index: ArrayLike<number>,
    probability: ArrayLike<number>,
    importanceWeight: ArrayLike<number>,
  ): void;
}

/** One use of a {@linkcode ComposedSelector}, by one selector of one replay, with a state of its own. */
export interface Composition<B = unknown> {
  /**
   * Fills a batch of `count` picks. Take random numbers from `random` only. If it throws before the first call of `drawer`, nothing
   * has changed.
   */
  readonly compose: (count: number, drawer: PartDrawer<B>, random: RandomStream) => void;
  /**
   * Says how many picks `compose` will ask of each part, for a batch of `count`: one whole number a part, the largest of any one call.
   * It must change nothing. The replay then asks the parts, and theirs, before the first of them draws. If one can't draw so many,
   * `getBatch` throws and nothing has changed. Without this method, a part may refuse after others have drawn.
   */
  asks?(count: number): readonly number[];
  /** Everything that decides its future, as bytes of its own format; no bytes if it keeps nothing. */
  save(): Uint8Array;
  /** Loads what {@linkcode Composition.save} gave. A throw refuses the snapshot. */
  load(bytes: Uint8Array): void;
}

/**
 * A rule that draws by means of others. {@linkcode combined}, {@linkcode mixture} and {@linkcode laber} make such rules, and you may
 * write more. `newPickSelector` makes a selector of each part first: they are `selector.parts`. `setPriority` sets the priorities of
 * every part.
 *
 * A part may also be a selector that the replay has already, even of another pick view. The options of the two views must be the same
 * apart from `where`. `setPriority` sets the priorities of those picks that are in the part's own view. A batch needs at least one pick
 * in the view of every part.
 *
 * A draw may fail half way, because your code throws, or because a part refuses its share and you did not write
 * {@linkcode Composition.asks}. The composition is then as it was before. Parts that drew before the failure have drawn. Their random
 * numbers and counts have moved on, and a batch given as `into` holds some of their picks.
 *
 * @example A rule that draws by turns with one part and the other
 * ```ts
 * import { ExperienceReplay, float32, newest, oldest } from "@exrp/replay";
 * import type { ComposedSelector } from "@exrp/replay/selectors";
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
 * console.log([...replay.getBatch(3, selector).state]); // [1, 3, 1]
 * console.log([...replay.getBatch(3, selector).state]); // [3, 1, 3]
 * ```
 */
export interface ComposedSelector<B = unknown> {
  /** The rule's name. */
  readonly name: string;
  /** The rules that it draws with, at least one. A part may be composed itself, or be a selector of the replay. */
  readonly parts: readonly (SelectorRule<B> | SelectorPart<B>)[];
  /** The options by name, for `describe()`. A snapshot can be loaded only if they are equal. */
  readonly options?: Readonly<Record<string, SelectorOption>>;
  /** A fresh state for one selector. */
  begin(): Composition<B>;
}

/**
 * What {@linkcode ExperienceReplay.newPickSelector} takes: a rule of the library, a rule of your own, or one that draws by means of others.
 * It stands beside {@linkcode ComposedSelector} because each names the other.
 *
 * `B` is the type of the batches that the rule can work with. A rule that looks at candidates, such as `laber()`, works with those of its
 * type; every other rule works with all.
 */
export type SelectorRule<B = unknown> = NativeSelector | PickSelector | ComposedSelector<B>;

/** A rule, whatever batches it works with. */
export type AnySelectorRule = SelectorRule<never>;

/** A composition that keeps nothing from batch to batch. */
export function stateless<B>(
  compose: Composition<B>["compose"],
  asks: (count: number) => readonly number[],
): Composition<B> {
  return {
    compose,
    asks,
    save: (): Uint8Array => new Uint8Array(),
    load(bytes): void {
      if (bytes.length > 0) throw new RangeError(`it keeps nothing, got ${bytes.length} bytes`);
    },
  };
}

const remakable = new WeakSet<object>();

/** Notes that another thread can make this rule of the library again from its name and options: see `remade.ts`. */
export function asRemakable<B>(rule: ComposedSelector<B>): ComposedSelector<B> {
  remakable.add(rule);
  return rule;
}

/** Whether another thread can make this rule again. A rule of your own has functions, and no thread can give those to another. */
export function isRemakable(rule: object): boolean {
  return remakable.has(rule);
}

/** Makes `console.log` show a composed rule of the library as one line. */
export function showComposed<B>(rule: ComposedSelector<B>): ComposedSelector<B> {
  return showOneAs(rule, ({ name, options, parts }) => ruleText(name, options, parts));
}
