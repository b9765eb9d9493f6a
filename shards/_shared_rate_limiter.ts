/**
 * A rate limiter over all shards: it holds draws back by itself, and records by credits that it gives to shards.
 *
 * The sum of all credits never lets the difference of records and picks above the limiter's band by more than one chunk a shard. So a shard may record up to its credit without asking, and
 * what is known here of shards may be old. Where a shard comes, helpings become smaller, and one that had a larger one may write the rest of it too much.
 *
 * @module
 */

import type { RateLimiter } from "../rate_limiters/rate_limiter.ts";
import { MessageLayout } from "./message_layout.ts";

/** What a shard has, as far as it is known. */
export interface Counted {
  readonly name: string;
  /** The random name of its process. */
  readonly incarnation: string;
  /** Records that were ever written, as this process knows it: none of those that an earlier one has lost. */
  readonly recorded: number;
  /** Records that it holds. */
  readonly records: number;
}

/** What a limiter knows of a shard. */
interface Count {
  incarnation: string;
  recorded: number;
  /** The records that do not count: those that were there at its first sight, but for `minSize` of all, less what it has lost since. */
  before: number;
}

/** The limits of one learner. */
export class SharedRateLimiter {
  readonly #numbers: RateLimiter["numbers"];
  readonly #credits = new Map<string, number>();
  readonly #counts = new Map<string, Count>();
  #oldLeft: number;
  #drawn = 0;
  /** The shard whose credit rose last. The others come before it the next time: if few records may come, one shard would get all of them. */
  #lastRisen = "";

  /** The limits of a rule. */
  constructor({ numbers }: RateLimiter) {
    this.#numbers = numbers;
    this.#oldLeft = numbers.minSize;
  }

  #inserted(shards: readonly Counted[]): number {
    let inserted = 0;
    for (const { name, incarnation, recorded, records } of shards) {
      let count = this.#counts.get(name);
      if (count === undefined) {
        const counted = Math.min(records, this.#oldLeft);
        this.#oldLeft -= counted;
        count = { incarnation, recorded, before: recorded - counted };
        this.#counts.set(name, count);
      } else if (count.incarnation !== incarnation) {
        // Records that it has lost were written all the same. It has a credit no more.
        count.before -= Math.max(0, count.recorded - recorded);
        count.incarnation = incarnation;
        this.#credits.delete(name);
      }
      count.recorded = recorded;
      inserted += recorded - count.before;
    }
    return inserted;
  }

  /** Whether so many picks may be drawn now. */
  mayDraw(count: number, alive: readonly Counted[], all: readonly Counted[]): boolean {
    const { ratio, minSize, differenceMin } = this.#numbers;
    const inserted = this.#inserted(all);
    return recordsOf(alive) >= minSize && inserted * ratio - this.#drawn - count >= differenceMin;
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
  ): readonly (readonly [shard: Counted, most: number])[] {
    const { ratio, minSize, differenceMax } = this.#numbers;
    if (alive.length === 0) return [];
    if (differenceMax === Infinity) {
      return isAll ? alive.map((shard) => [shard, Infinity] as const) : [];
    }
    // What a dead shard did not use goes to the others. If it comes back, it may write that once too much.
    const names = new Set(alive.map(({ name }) => name));
    for (const name of [...this.#credits.keys()]) if (!names.has(name)) this.#credits.delete(name);
    const inserted = this.#inserted(all);
    const most = Math.max(minSize, Math.floor((differenceMax + this.#drawn) / ratio));
    // Small helpings, so that no shard sits on what others need.
    const band = Math.max(1, (differenceMax - this.#numbers.differenceMin) / ratio);
    const helping = Math.max(1, Math.floor(Math.min(band, most) / (2 * alive.length)));
    if (isAll) {
      // Helpings were larger while fewer shards were there. One that does not use the rest must not keep it.
      for (const { name, recorded } of alive) {
        const credit = this.#credits.get(name) ?? 0;
        this.#credits.set(name, Math.min(credit, recorded + helping));
      }
    }
    const creditOf = ({ name, recorded }: Counted): number =>
      Math.max(this.#credits.get(name) ?? 0, recorded);
    const given = all.reduce((sum, shard) => sum + creditOf(shard) - shard.recorded, 0);
    // If too few records are left, so many may come in any case that there can be draws again.
    const missing = minSize - recordsOf(alive);
    let left = Math.max(most - inserted, missing) - given;
    const risen: (readonly [Counted, number])[] = [];
    const first = alive.findIndex(({ name }) => name === this.#lastRisen) + 1;
    for (const shard of [...alive.slice(first), ...alive.slice(0, first)]) {
      const credit = creditOf(shard);
      const wanted = shard.recorded + helping - credit;
      const more = Math.max(0, Math.min(wanted, left));
      left -= more;
      this.#credits.set(shard.name, credit + more);
      if (more > 0) this.#lastRisen = shard.name;
      if (more > 0 || isAll) risen.push([shard, credit + more]);
    }
    return risen;
  }
}

/** How many records can be drawn from. */
function recordsOf(shards: readonly Counted[]): number {
  return shards.reduce((sum, { records }) => sum + records, 0);
}

/** How many records a process of a shard may have been written in all. */
export interface Limit {
  readonly incarnation: string;
  readonly most: number;
}
/** The message that says so. */
export const LIMIT: MessageLayout<Limit> = new MessageLayout<Limit>(0x314d4c58, {
  ...{ incarnation: "hex", most: "f64" },
});
