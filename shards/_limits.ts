/**
 * A rate limiter over all shards: it holds draws back by itself, and records by credits that it gives to shards.
 *
 * The sum of all credits never lets the difference of records and picks above the limiter's band by more than one chunk a shard. So a shard may record up to its credit without asking, and
 * what is known here of shards may be old.
 *
 * @module
 */

import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";

/** What a shard has, as far as it is known. */
export interface Counted {
  readonly name: string;
  /** Records that were ever written. */
  readonly recorded: number;
  /** Records that it holds. */
  readonly records: number;
}

/** The limits of one learner. */
export class Limits {
  readonly #numbers: RateLimiter["numbers"];
  readonly #credits = new Map<string, number>();
  /** Of each shard, the records that do not count: those that were there at its first sight, but for `minSize` of all. */
  readonly #before = new Map<string, number>();
  #oldLeft: number;
  #drawn = 0;

  /** The limits of a rule. */
  constructor({ numbers }: RateLimiter) {
    this.#numbers = numbers;
    this.#oldLeft = numbers.minSize;
  }

  #inserted(shards: readonly Counted[]): number {
    let inserted = 0;
    for (const { name, recorded, records } of shards) {
      let before = this.#before.get(name);
      if (before === undefined) {
        const counted = Math.min(records, this.#oldLeft);
        this.#oldLeft -= counted;
        before = recorded - counted;
        this.#before.set(name, before);
      }
      inserted += recorded - before;
    }
    return inserted;
  }

  /** Whether so many picks may be drawn now. */
  mayDraw(count: number, shards: readonly Counted[]): boolean {
    const { ratio, minSize, differenceMin } = this.#numbers;
    const inserted = this.#inserted(shards);
    const records = shards.reduce((sum, { records }) => sum + records, 0);
    return records >= minSize && inserted * ratio - this.#drawn - count >= differenceMin;
  }

  /** Counts picks that are drawn. */
  drew(count: number): void {
    this.#drawn += count;
  }

  /** How many records each shard may have been written in all: those whose credit rises now, or all. */
  credits(
    alive: readonly Counted[],
    all: readonly Counted[],
    isAll: boolean,
  ): readonly (readonly [name: string, most: number])[] {
    const { ratio, minSize, differenceMax } = this.#numbers;
    if (alive.length === 0) return [];
    if (differenceMax === Infinity) {
      return isAll ? alive.map(({ name }) => [name, Infinity] as const) : [];
    }
    // What a dead shard did not use goes to the others. If it comes back, it may write that once too much.
    const names = new Set(alive.map(({ name }) => name));
    for (const name of [...this.#credits.keys()]) if (!names.has(name)) this.#credits.delete(name);
    const inserted = this.#inserted(all);
    const most = Math.max(minSize, Math.floor((differenceMax + this.#drawn) / ratio));
    const creditOf = ({ name, recorded }: Counted): number =>
      Math.max(this.#credits.get(name) ?? 0, recorded);
    const given = all.reduce((sum, shard) => sum + creditOf(shard) - shard.recorded, inserted);
    let left = most - given;
    // Small helpings, so that no shard sits on what others need.
    const band = Math.max(1, (differenceMax - this.#numbers.differenceMin) / ratio);
    const helping = Math.max(1, Math.floor(Math.min(band, most) / (2 * alive.length)));
    const given2 = new Map<string, number>();
    for (const shard of alive) {
      const credit = creditOf(shard);
      const wanted = shard.recorded + helping - credit;
      const more = Math.max(0, Math.min(wanted, left));
      left -= more;
      this.#credits.set(shard.name, credit + more);
      if (more > 0 || isAll) given2.set(shard.name, credit + more);
    }
    return [...given2];
  }
}
