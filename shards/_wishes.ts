/**
 * The wishes of a learner for picks, and the answers of shards. Every wish is answered: by rows, or by what became of it.
 *
 * @module
 */

import type { Connection, ConnectionSubscription } from "./connection.ts";
import { DRAWN, type PicksPart, readPicks, writeDraw } from "./_picks.ts";
import { randomId, refused, type Subjects } from "./_wire.ts";

/** A shard that lives and sends nothing for so long is left out of a batch, and of those of the time that follows. So is one whose answer is damaged. */
export const ANSWER_MS = 800;
const PENALTY_MS = 3000;
/** A long answer may take longer, if so many bytes come in a ms: parts of an answer are up to 1 MiB. */
const BYTES_PER_MS = 100;

/** How a wish ended. */
export type Answer =
  | { readonly kind: "rows"; readonly rows: Uint8Array }
  | { readonly kind: "empty" | "limited" | "gone" }
  | { readonly kind: "refused"; readonly text: string };

/** What a wish says. */
export interface Wish {
  readonly shard: string;
  readonly schema: number;
  readonly selector: number;
  readonly count: number;
  /** Bytes of the rows of one pick. */
  readonly pickBytes: number;
  /** So long a shard may send nothing. */
  readonly patienceMs: number;
}

interface Pending extends Wish {
  readonly settle: (answer: Answer) => void;
  readonly since: number;
  /** Bytes of rows that have come of this answer and of those before it, and when the last of them came: a shard answers one after the other. */
  cameBytes: number;
  cameAt: number;
  rows: Uint8Array | undefined;
  received: number;
}

/** The wishes of one learner. */
export class Wishes {
  /** Messages that were not what they must be. */
  damaged = 0;
  readonly #connection: Connection;
  readonly #subjects: Subjects;
  readonly #hears: (shard: string, part: PicksPart) => void;
  readonly #inbox: string;
  readonly #subscription: ConnectionSubscription;
  readonly #pending = new Map<number, Pending>();
  /** Until when shards are left out. */
  readonly #penalties = new Map<string, number>();
  #nextId = 0;

  /** Wishes over a connection. `hears` is told of each part of an answer, for the figures in it, and `refused` if the server lets no answer come. */
  constructor(
    connection: Connection,
    subjects: Subjects,
    hears: (shard: string, part: PicksPart) => void,
    refused: (error: Error) => void,
  ) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#hears = hears;
    this.#inbox = subjects.inbox(randomId());
    this.#subscription = connection.subscribe(this.#inbox, {
      callback: (error, { data }) => {
        if (error === null) this.#hear(data);
        else refused(error);
      },
    });
  }

  /** Asks a shard for picks. */
  ask(wish: Wish): Promise<Answer> {
    const id = this.#nextId = (this.#nextId + 1) % 2 ** 32;
    return new Promise((settle) => {
      const since = performance.now();
      const came = { cameBytes: 0, cameAt: since, rows: undefined, received: 0 };
      this.#pending.set(id, { ...wish, ...came, settle, since });
      const { shard, schema, selector, count } = wish;
      try {
        const data = writeDraw({ id, schema, selector, count });
        this.#connection.publish(this.#subjects.shard(shard, "draw"), data, { reply: this.#inbox });
      } catch {
        // The connection is broken: the shard will be silent, too.
      }
    });
  }

  /** Whether the last answer of a shard never came, or was damaged, a short while ago. */
  isLeftOut(shard: string): boolean {
    return (this.#penalties.get(shard) ?? 0) > performance.now();
  }

  /** A shard is there, for the first time or again. */
  came(shard: string): void {
    this.#penalties.delete(shard);
  }

  /** A shard is gone: it answers nothing any more. */
  gone(shard: string): void {
    for (const [id, pending] of this.#pending) {
      if (pending.shard === shard) this.#settle(id, { kind: "gone" });
    }
  }

  /** Gives up what a shard that lives has not answered. */
  look(): void {
    const now = performance.now();
    for (const [id, { shard, since, cameAt, cameBytes, patienceMs }] of this.#pending) {
      const isLate = now - cameAt > patienceMs ||
        now - since > patienceMs + cameBytes / BYTES_PER_MS;
      if (isLate) this.#punish(id, shard);
    }
  }

  /** Ends all wishes. */
  end(): void {
    try {
      this.#subscription.unsubscribe();
    } catch {
      // The connection has ended.
    }
    for (const id of [...this.#pending.keys()]) this.#settle(id, { kind: "gone" });
  }

  #punish(id: number, shard: string): void {
    this.#penalties.set(shard, performance.now() + PENALTY_MS);
    this.#settle(id, { kind: "gone" });
  }

  #settle(id: number, answer: Answer): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.settle(answer);
  }

  #hear(data: Uint8Array): void {
    let part: PicksPart;
    try {
      part = readPicks(data);
    } catch {
      this.damaged++;
      return;
    }
    const pending = this.#pending.get(part.id);
    // It was given up, and other shards gave its picks.
    if (pending === undefined) return;
    try {
      this.#take(part, pending);
    } catch {
      this.damaged++;
      this.#punish(part.id, pending.shard);
    }
  }

  #take(part: PicksPart, pending: Pending): void {
    const { id, status, count, total, from, rows } = part;
    this.#hears(pending.shard, part);
    if (status === DRAWN.empty) return this.#settle(id, { kind: "empty" });
    if (status === DRAWN.limited) return this.#settle(id, { kind: "limited" });
    if (status === DRAWN.refused) {
      return this.#settle(id, { kind: "refused", text: new TextDecoder().decode(rows) });
    }
    const needed = pending.count * pending.pickBytes;
    if (status !== DRAWN.rows || count !== pending.count || total !== needed) {
      throw refused(`${pending.count} picks came with ${total} bytes, and ${needed} are needed`);
    }
    const now = performance.now();
    for (const each of this.#pending.values()) {
      // An earlier one that is still there was lost, and this is no sign that its answer comes.
      if (each.shard !== pending.shard || each.since < pending.since) continue;
      each.cameBytes += rows.length;
      each.cameAt = now;
    }
    // Parts come in order; most answers are one part, which is used where it is.
    if (from !== pending.received) throw refused("a part is missing");
    if (rows.length === total) return this.#settle(id, { kind: "rows", rows });
    if (rows.length === 0) throw refused("a part is empty");
    pending.rows ??= new Uint8Array(total);
    pending.rows.set(rows, from);
    pending.received += rows.length;
    if (pending.received === total) this.#settle(id, { kind: "rows", rows: pending.rows });
  }
}
