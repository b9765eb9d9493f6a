/**
 * The figures of a server, as its metrics and its status page show them.
 *
 * @module
 */

import type { RateLimiterNumbers } from "../rate_limiters/rate_limiter.ts";
import type { TableInfo } from "../tables/table.ts";
import type { TablesInfo } from "../tables/tables_options.ts";

/** The figures of one table, among those of {@linkcode ReverbServer}. */
export interface TableFigures extends TableInfo {
  /** Its name. */
  readonly name: string;
  /** How it draws, as the call that makes the rule. */
  readonly sampler: string;
  /** How it makes room. */
  readonly remover: string;
  /** Items that it holds at most. */
  readonly maxSize: number;
  /** Bytes that it holds at most; 0 without a limit. */
  readonly maxBytes: number;
  /** How often an item is drawn at most; 0 without a limit. */
  readonly maxTimesSampled: number;
  /** The numbers of its rate limiter. */
  readonly rateLimiter: RateLimiterNumbers;
  /** Whether the next insert goes in now. */
  readonly canInsert: boolean;
  /** Whether the next sample is drawn now. */
  readonly canSample: boolean;
}

/** The figures of a server. {@linkcode ReverbServer} gives them. */
export interface ServerFigures extends TablesInfo {
  /** Seconds since it started. */
  readonly uptime: number;
  /** When it started, in seconds since 1970. */
  readonly startedAt: number;
  /** Connections that are open. */
  readonly connections: number;
  /** Connections that were ever opened. */
  readonly connectionsOpened: number;
  /** Bytes that came. */
  readonly receivedBytes: number;
  /** Bytes that were sent. */
  readonly sentBytes: number;
  /** Calls that ended, by method and status of gRPC. */
  readonly calls: readonly CallFigures[];
  /** The tables. */
  readonly tables: readonly TableFigures[];
  /** Its checkpoints; undefined for a server without `checkpoint.folder`. */
  readonly checkpoints: CheckpointFigures | undefined;
}

/** The checkpoints that a server has written since it started, among the figures of {@linkcode ReverbServer}. */
export interface CheckpointFigures {
  /** How many are on the disk, or were until newer ones took their place. */
  readonly written: number;
  /** How many could not be written. */
  readonly failed: number;
  /** The last one that was written; undefined before the first. */
  readonly last: LastCheckpoint | undefined;
}

/** The last checkpoint of a server, among the figures of {@linkcode ReverbServer}. */
export interface LastCheckpoint {
  /** When it was on the disk, in seconds since 1970. */
  readonly at: number;
  /** The bytes of its file. */
  readonly bytes: number;
  /** Seconds that it took to write it. */
  readonly seconds: number;
}

/** How many calls of a method ended with a status, among the figures of {@linkcode ReverbServer}. */
export interface CallFigures {
  /** The method's name, such as `InsertStream`. */
  readonly method: string;
  /** The status of gRPC. */
  readonly code: number;
  /** How many. */
  readonly count: number;
}

/** What happened a second at each table. */
export interface Rates {
  /** Inserts a second. */
  readonly inserts: number;
  /** Samples a second. */
  readonly samples: number;
}

/**
 * Rates over the last seconds, from figures as they were asked for. Without an older figure, a rate is that since the start, when the tables may have
 * had items already.
 *
 * Invariant: what is kept is at most `spanMs` old, but for the newest, and two of it are at least `stepMs` apart; so its size is bounded.
 */
export class RateMeter {
  readonly #spanMs = 10_000;
  readonly #stepMs = 900;
  readonly #begin: ReadonlyMap<string, TableFigures>;
  #kept: { readonly at: number; readonly tables: ReadonlyMap<string, TableFigures> }[] = [];

  /** @param tables At the start. */
  constructor(tables: readonly TableFigures[] = []) {
    this.#begin = byName(tables);
  }

  /** The rates of each table at the time `nowMs`. */
  measure(figures: ServerFigures, nowMs: number): ReadonlyMap<string, Rates> {
    const newest = this.#kept.at(-1);
    this.#kept = this.#kept.filter((it) => it === newest || nowMs - it.at <= this.#spanMs);
    const before = this.#kept.find(({ at }) => nowMs - at >= this.#stepMs);
    const seconds = before === undefined ? figures.uptime : (nowMs - before.at) / 1000;
    const rates = new Map<string, Rates>();
    for (const table of figures.tables) {
      const old = (before?.tables ?? this.#begin).get(table.name);
      // After a reset the counts are less than before.
      const since = (now: number, then = 0): number =>
        seconds > 0 ? (now < then ? now : now - then) / seconds : 0;
      rates.set(table.name, {
        inserts: since(table.inserts, old?.inserts),
        samples: since(table.samples, old?.samples),
      });
    }
    const last = this.#kept.at(-1);
    if (last === undefined || nowMs - last.at >= this.#stepMs) {
      this.#kept.push({ at: nowMs, tables: byName(figures.tables) });
    }
    return rates;
  }
}

function byName(tables: readonly TableFigures[]): ReadonlyMap<string, TableFigures> {
  return new Map(tables.map((table) => [table.name, table]));
}
