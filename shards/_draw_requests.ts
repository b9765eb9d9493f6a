/**
 * The requests of a learner for picks, and the answers of shards. Every request is answered: by rows, or by what became of it.
 *
 * @module
 */

import type { Connection, ConnectionSubscription } from "./connection.ts";
import { DRAW, DRAWN, type PicksPart, readPicks } from "./_draw_message.ts";
import { randomId, refused, type Subjects } from "./_message_bytes.ts";

/** A shard that lives and sends nothing for so long is left out of a batch, and of those of the time that follows. So is one whose answer is damaged. */
export const ANSWER_MS = 800;
const PENALTY_MS = 3000;
/** {@linkcode DrawRequests.look} is called so often. */
export const LOOK_MS = 50;
/** A long answer may take longer, if so many bytes come in a ms. */
const BYTES_PER_MS = 100;
/** Where all shards are slow, each has twice as long as it needed, but no longer than this. */
const SLOW_MAX_MS = 30_000;
/** Where a part of an answer takes at least so long on its way, whatever others send waits behind it, too. */
const BUSY_MS = 1;
/** So many requests that were given up are remembered. */
const LATE_MAX = 256;

/** How a request ended. */
export type Answer =
  | { readonly kind: "rows"; readonly rows: Uint8Array }
  | { readonly kind: "empty" | "limited" | "gone" }
  | { readonly kind: "refused"; readonly text: string };

/** What a request says. */
export interface ShardDraw {
  readonly shard: string;
  readonly schema: number;
  readonly selector: number;
  readonly count: number;
  /** Bytes of the rows of one pick. */
  readonly pickBytes: number;
  /** So long a shard may send nothing. */
  readonly patienceMs: number;
}

/** A request that waits, or was given up. A shard answers one after the other, so an answer that is late says that those behind it will come, too. */
interface Pending extends ShardDraw {
  /** Undefined once it was given up. */
  settle: ((answer: Answer) => void) | undefined;
  /** When its turn began: it was asked, or the answer before it had come. */
  turnAt: number;
  /** Bytes of rows that have come since then, of this answer and of those before it, and when the last of them came. */
  cameBytes: number;
  cameAt: number;
  rows: Uint8Array | undefined;
  received: number;
}

/** The requests of one learner. */
export class DrawRequests {
  /** Messages that were not what they must be. */
  damaged = 0;
  readonly #connection: Connection;
  readonly #subjects: Subjects;
  readonly #hears: (shard: string, part: PicksPart, busyMs: number) => void;
  readonly #inbox: string;
  readonly #subscription: ConnectionSubscription;
  /** In the order in which they were asked. */
  readonly #pending = new Map<number, Pending>();
  /** Those that were given up. */
  readonly #late = new Set<number>();
  /** Until when shards are left out. */
  readonly #penalties = new Map<string, number>();
  /** How long shards that are left out may send nothing, if they are asked all the same: answers came late. */
  readonly #patience = new Map<string, number>();
  #nextId = 0;
  /** When the last part of an answer came. */
  #cameAt = 0;
  /** When something was looked at or heard last. */
  #awakeAt = performance.now();

  /**
   * Requests over a connection.
   *
   * @param hears Is told of each part of an answer, for the figures in it, and for how long the network was busy with it.
   * @param refused Is told if the server lets no answer come.
   */
  constructor(
    connection: Connection,
    subjects: Subjects,
    hears: (shard: string, part: PicksPart, busyMs: number) => void,
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
  ask(request: ShardDraw): Promise<Answer> {
    const id = this.#nextId = (this.#nextId + 1) % 2 ** 32;
    return new Promise((settle) => {
      const turnAt = performance.now();
      const came = { cameBytes: 0, cameAt: turnAt, rows: undefined, received: 0 };
      const { shard, schema, selector, count } = request;
      // One that is left out is asked only if all are: then there is nobody else to wait for.
      const most = this.isLeftOut(shard) ? this.#patience.get(shard) ?? 0 : 0;
      const patienceMs = Math.max(request.patienceMs, most);
      this.#pending.set(id, { ...request, ...came, patienceMs, settle, turnAt });
      try {
        const data = DRAW.write({ id, schema, selector, count });
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
    this.#patience.delete(shard);
  }

  /** A shard is gone: it answers nothing any more. */
  gone(shard: string): void {
    for (const [id, pending] of this.#pending) {
      if (pending.shard === shard) this.#settle(id, { kind: "gone" });
    }
  }

  /** Gives up what a shard that lives has not answered. */
  look(): void {
    this.#wake();
    const now = performance.now();
    for (const [id, pending] of this.#pending) {
      const { shard, settle, turnAt, cameAt, cameBytes, patienceMs } = pending;
      const isLate = now - cameAt > patienceMs ||
        now - turnAt > patienceMs + cameBytes / BYTES_PER_MS;
      if (!isLate || settle === undefined) continue;
      this.#punish(shard);
      pending.settle = pending.rows = undefined;
      this.#late.add(id);
      settle({ kind: "gone" });
    }
    for (const id of this.#late) {
      if (this.#late.size <= LATE_MAX) break;
      this.#forget(id);
    }
  }

  /** Ends all requests. */
  end(): void {
    try {
      this.#subscription.unsubscribe();
    } catch {
      // The connection has ended.
    }
    for (const id of [...this.#pending.keys()]) this.#settle(id, { kind: "gone" });
  }

  /** A program that stood still, or computed, has heard nobody: what waits in the socket was not read meanwhile. */
  #wake(): void {
    const now = performance.now();
    const stoodStill = now - this.#awakeAt - LOOK_MS;
    this.#awakeAt = now;
    if (stoodStill > LOOK_MS) this.#forgive(this.#pending.values(), stoodStill);
  }

  /** For so long, nothing could be heard. */
  #forgive(requests: Iterable<Pending>, ms: number): void {
    const now = performance.now();
    for (const request of requests) {
      request.cameAt = Math.min(now, request.cameAt + ms);
      request.turnAt = Math.min(now, request.turnAt + ms);
    }
  }

  #punish(shard: string): void {
    if (!this.isLeftOut(shard)) this.#patience.delete(shard);
    this.#penalties.set(shard, performance.now() + PENALTY_MS);
  }

  #settle(id: number, answer: Answer): void {
    const settle = this.#pending.get(id)?.settle;
    this.#forget(id);
    settle?.(answer);
  }

  #forget(id: number): void {
    this.#pending.delete(id);
    this.#late.delete(id);
  }

  #hear(data: Uint8Array): void {
    this.#wake();
    let part: PicksPart;
    try {
      part = readPicks(data);
    } catch {
      this.damaged++;
      return;
    }
    const pending = this.#pending.get(part.id);
    if (pending === undefined) return;
    try {
      this.#take(part, pending);
    } catch {
      this.damaged++;
      this.#punish(pending.shard);
      this.#settle(part.id, { kind: "gone" });
    }
  }

  #take(part: PicksPart, pending: Pending): void {
    const { id, status, count, total, from, body: rows } = part;
    this.#hears(pending.shard, part, this.#note(part, pending));
    if (status === DRAWN.empty) return this.#settle(id, { kind: "empty" });
    if (status === DRAWN.limited) return this.#settle(id, { kind: "limited" });
    if (status === DRAWN.refused) {
      return this.#settle(id, { kind: "refused", text: new TextDecoder().decode(rows) });
    }
    const needed = pending.count * pending.pickBytes;
    if (status !== DRAWN.rows || count !== pending.count || total !== needed) {
      throw refused(`${pending.count} picks came with ${total} bytes, and ${needed} are needed`);
    }
    // Parts come in order; most answers are one part, which is used where it is.
    if (from !== pending.received) throw refused("a part is missing");
    if (rows.length === total) return this.#settle(id, { kind: "rows", rows });
    if (rows.length === 0) throw refused("a part is empty");
    pending.received += rows.length;
    // Where it was given up, other shards gave its picks.
    if (pending.settle !== undefined) {
      pending.rows ??= new Uint8Array(total);
      pending.rows.set(rows, from);
    }
    if (pending.received < total) return;
    this.#settle(
      id,
      pending.rows === undefined ? { kind: "gone" } : { kind: "rows", rows: pending.rows },
    );
  }

  /** Notes what a part says of the answers behind it, and of how long its shard takes. Returns for how long the network was busy with it. */
  #note({ id, from, total, body: rows }: PicksPart, { shard, cameAt }: Pending): number {
    const now = performance.now();
    const tookMs = now - cameAt;
    if (tookMs > ANSWER_MS) {
      this.#punish(shard);
      this.#patience.set(shard, Math.min(2 * tookMs, SLOW_MAX_MS));
    }
    const onWayMs = from > 0 ? now - Math.max(cameAt, this.#cameAt) : 0;
    // A peer that says less than that is slow itself.
    const busyMs = onWayMs < BUSY_MS ? 0 : Math.min(onWayMs, rows.length / BYTES_PER_MS);
    this.#cameAt = now;
    const isLast = from + rows.length >= total;
    let isBefore = true;
    for (const [other, each] of this.#pending) {
      if (each.shard !== shard) {
        this.#forgive([each], busyMs);
        continue;
      }
      if (other === id) isBefore = false;
      if (isBefore) {
        // It was lost, and this is no sign that its answer comes.
        if (each.settle === undefined) this.#forget(other);
        continue;
      }
      each.cameAt = now;
      each.cameBytes += rows.length;
      if (!isLast) continue;
      each.turnAt = now;
      each.cameBytes = 0;
    }
    return busyMs;
  }
}
