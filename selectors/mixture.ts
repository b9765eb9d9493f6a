/**
 * Several rules, each for its share of every batch.
 *
 * @module
 */

import { checkNumber, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkNoRule, checkSelectorRule, isReference } from "./check_selector.ts";
import {
  asRemakable,
  type ComposedSelector,
  type Composition,
  type SelectorPart,
  type SelectorRule,
  showComposed,
} from "./composed_selector.ts";

/** Sums of shares are off by less. */
const ROUNDING = 1e-9;

/** A rule as a part of a {@linkcode mixture}. It draws from the pick view of the mixture. */
export interface MixtureRule<B = unknown> {
  /** The rule. */
  readonly rule: SelectorRule<B>;
  /** Its share, more than 0. Only the proportion to the other shares matters, so shares need not sum to 1. */
  readonly share: number;
}

/** A selector that the replay has already, as a part of a {@linkcode mixture}. It draws from its own pick view. */
export interface MixtureSelector<B = unknown> {
  /** The selector: what `newPickSelector` gave. */
  readonly selector: SelectorPart<B>;
  /** Its share, as in {@linkcode MixtureRule}. */
  readonly share: number;
}

/** One part of a {@linkcode mixture}. */
export type MixturePart<B = unknown> = MixtureRule<B> | MixtureSelector<B>;

/**
 * Draws each batch with several rules, each for its share. In a batch of n picks, part j gets n times its share of the sum of shares.
 * If that is not a whole number, later batches make up for it. After any number of batches, every part is less than one pick away from
 * its exact share. The picks of the first part come first.
 *
 * A part is a rule, or a selector of the same replay. A rule draws from the pick view of the mixture, and a selector from its own.
 * So one batch can have picks of several views: half of it from offline data, half from online data. The options of these views must
 * be the same apart from `where`, and each must have a pick. To draw from two replays, call `getBatch` twice.
 *
 * `probability` and importance weights are those that each part gives to its own picks: pick i of a part has the weight (N · P)^-beta.
 * N is the number of picks in the part's view, and P is the probability of i in the part. It is divided by the largest weight of the
 * part's picks in this batch, or with `normalize: "view"` in its view. A place of the batch has pick i with the probability share · P.
 *
 * `setPriority` sets priorities in every part, for those picks that are in the part's view.
 *
 * @throws {TypeError} If there is no part. Also for an unknown option or one of the wrong kind. `newPickSelector` throws it if the views
 * of the parts differ in more than `where`.
 * @throws {RangeError} For a share that is not a finite number above 0.
 * @example Half of each batch from the newest thousand picks, half from all
 * ```ts
 * import { ExperienceReplay, float32, mixture, recent, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100_000, state: float32(1) });
 * const selector = replay.newPickSelector(mixture([
 *   { rule: recent({ newest: 1000 }), share: 0.5 },
 *   { rule: uniform(), share: 0.5 },
 * ]));
 * console.log(selector.parts.map((part) => part.kind)); // ["recent", "uniform"]
 * replay.record(replay.newEpisode(), [7], 0, 0, { finalState: [8] });
 * console.log(replay.getBatch(256, selector).size); // 256
 * ```
 * @example Half of each batch from offline data, half from online data, both by priority
 * ```ts
 * import { ExperienceReplay, float32, mixture, prioritized } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100_000, state: float32() });
 * const online = replay.newPickView({ where: { tag: 0 } }).newPickSelector(prioritized());
 * const offline = replay.newPickView({ where: { tag: 1 } }).newPickSelector(prioritized());
 * const halves = replay.newPickSelector(mixture([
 *   { selector: offline, share: 1 },
 *   { selector: online, share: 1 },
 * ]));
 * const steps = { state: [1, 2, 3], action: [0, 0, 0], reward: [0, 0, 0] };
 * replay.recordMany(replay.newEpisode({ tag: 1 }), { ...steps, finalState: 4 });
 * replay.recordMany(replay.newEpisode(), { ...steps, finalState: 4 });
 *
 * const batch = replay.getBatch(32, halves, { beta: 0.4 });
 * const tags = Array.from(batch.pickEpisode, (episode) => replay.episode(episode).tag);
 * console.log(tags); // [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
 * // Each half gets the priorities of its own picks.
 * console.log(replay.setPriority(halves, batch, new Float32Array(32).fill(0.5))); // 32
 * ```
 */
export function mixture<B = unknown>(parts: readonly MixturePart<B>[]): ComposedSelector<B> {
  if (!Array.isArray(parts) || parts.length === 0) {
    throw new TypeError(
      `mixture() takes a list of one or more { rule, share } or { selector, share }, got ${
        show(parts)
      }`,
    );
  }
  const list: readonly MixturePart<B>[] = parts;
  const rules = list.map((part, k) => {
    checkNoRule(`mixture(): part ${k}`, part, "must be { rule, share } or { selector, share }");
    checkOptions(`mixture(): part ${k}`, part, ["rule", "selector", "share"]);
    return checkPart(k, part);
  });
  const shares = list.map(({ share }, k) =>
    checkNumber(`mixture(): the share of part ${k}`, share, Number.MIN_VALUE, Number.MAX_VALUE)
  );
  const largest = Math.max(...shares);
  const sum = shares.reduce((total, share) => total + share / largest, 0);
  const proportions = shares.map((share) => share / largest / sum);
  return asRemakable(showComposed({
    name: "mixture",
    parts: rules,
    options: { shares: shares.join(" : ") },
    begin: () => new Mixture(proportions),
  }));
}

/** What part k draws with. */
function checkPart(
  k: number,
  { rule, selector }: { readonly rule?: unknown; readonly selector?: unknown },
): SelectorRule | SelectorPart {
  if (selector === undefined) {
    const where = `mixture(): the rule of part ${k}`;
    if (isReference(rule)) {
      throw new TypeError(
        `${where} must be a rule such as uniform(), got a Selector; write { selector, share }`,
      );
    }
    return checkSelectorRule(where, rule);
  }
  if (rule !== undefined) {
    throw new TypeError(`mixture(): part ${k} has a rule or a selector, got both`);
  }
  if (isReference(selector)) return selector;
  throw new TypeError(
    `mixture(): the selector of part ${k} must be one that newPickSelector() gave, got ${
      show(selector)
    }`,
  );
}

/** How a batch of `count` picks is shared. */
interface Shares {
  readonly count: number;
  /** What each part should have, with what it is owed; no whole numbers. */
  readonly wanted: readonly number[];
  /** What each part draws. */
  readonly counts: readonly number[];
}

/**
 * Knows how far each part is behind.
 *
 * Every part stays within `#most` of its share. So a pick that is left over goes to the part that would be too far behind the soonest.
 * Parts that would then be too far ahead come last. This is "earliest deadline first", and it always finds a part (Tijdeman, "The
 * chairman assignment problem", 1980; we know it from descriptions). If the pick went to the part that is owed most, some parts would
 * fall behind by more than one.
 */
class Mixture implements Composition {
  readonly #proportions: readonly number[];
  /** Picks that each part is owed, at most `#most` either way; they sum to 0. */
  #owed: Float64Array<ArrayBuffer>;
  /** The most that a part can be off by. */
  readonly #most: number;
  /** How the next batch is shared, once it was asked for. */
  #next: Shares | undefined;

  constructor(proportions: readonly number[]) {
    this.#proportions = proportions;
    this.#owed = new Float64Array(proportions.length);
    this.#most = 1 - 1 / Math.max(2, 2 * proportions.length - 2);
  }

  asks(count: number): readonly number[] {
    return this.#shares(count).counts;
  }

  compose(count: number, drawer: Parameters<Composition["compose"]>[1]): void {
    const { wanted, counts } = this.#shares(count);
    for (const [k, part] of counts.entries()) drawer.draw(k, part);
    this.#owed = Float64Array.from(wanted, (part, k) => part - (counts[k] ?? 0));
    this.#next = undefined;
  }

  /** How the next `count` picks are shared. */
  #shares(count: number): Shares {
    if (this.#next?.count === count) return this.#next;
    const wanted = this.#proportions.map((proportion, k) =>
      count * proportion + (this.#owed[k] ?? 0)
    );
    this.#next = { count, wanted, counts: this.#share(count, wanted) };
    return this.#next;
  }

  /** How many picks each part draws, of `count` in all. */
  #share(count: number, wanted: readonly number[]): readonly number[] {
    const most = this.#most;
    const counts = wanted.map((part) => Math.max(0, Math.ceil(part - most - ROUNDING)));
    // Picks of the parts' own pace until one more is late.
    const slack = wanted.map((part, k) =>
      (most + (counts[k] ?? 0) - part) / (this.#proportions[k] ?? 1)
    );
    const isEarly = (k: number): boolean =>
      (counts[k] ?? 0) + 1 > (wanted[k] ?? 0) + most + ROUNDING;
    const parts = [...counts.keys()];
    const order = parts.sort((a, b) =>
      Number(isEarly(a)) - Number(isEarly(b)) || (slack[a] ?? 0) - (slack[b] ?? 0) || a - b
    );
    let left = count - counts.reduce((sum, part) => sum + part, 0);
    // Once round, but after a state that was made up.
    for (let k = 0; left > 0; k = (k + 1) % order.length, left--) {
      const part = order[k] ?? 0;
      counts[part] = (counts[part] ?? 0) + 1;
    }
    for (let k = order.length - 1; left < 0; k = (k || order.length) - 1) {
      const part = order[k] ?? 0;
      if ((counts[part] ?? 0) === 0) continue;
      counts[part] = (counts[part] ?? 0) - 1;
      left++;
    }
    return counts;
  }

  save(): Uint8Array {
    return new Uint8Array(this.#owed.slice().buffer);
  }

  load(bytes: Uint8Array): void {
    const owed = bytes.length === this.#owed.byteLength
      ? new Float64Array(bytes.slice().buffer)
      : undefined;
    if (owed === undefined || !owed.every((value) => Math.abs(value) <= this.#owed.length)) {
      throw new RangeError(`${bytes.length} bytes that are no state of a mixture`);
    }
    this.#owed = owed;
    this.#next = undefined;
  }
}
