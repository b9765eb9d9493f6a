/**
 * Sends items with their chunks, in order, and learns which of them the server has.
 *
 * Invariants: 1. An item is in the queue until it was sent, and then in flight until the server confirmed its key. 2. An item is sent once
 * all its chunks are complete, and no item overtakes another. 3. A chunk is sent once on a connection, while the server is asked to keep it.
 * 4. After a lost connection, everything in flight goes back to the front of the queue, in the order in which it was sent. The keys stay, so a server that has
 * an item already takes it for a change of its priority. 5. After any other error, or `reconnectMs` without a connection, the stream has failed for good.
 *
 * Cost: one message for all items that are ready, up to about 1 MiB.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { reasonOf } from "../base/errors.ts";
import { eachKey, MessageWriter } from "../wire/message_writer.ts";
import {
  ChunkSlice as SliceFields,
  Column as ColumnFields,
  FlatTrajectory,
  InsertStreamRequest,
  InsertStreamResponse,
  PrioritizedItem,
} from "../wire/reverb_fields.ts";
import type { Call, Channel, WaitOptions } from "./channel.ts";
import { waitFor } from "./channel.ts";
import type { Chunk } from "./_chunk.ts";
import type { ChunkLengthTuner } from "./_chunk_length.ts";
import type { Key } from "../wire/keys.ts";
import { ReverbError } from "./errors.ts";

/** Some rows of one chunk. */
export interface ChunkSlice {
  /** The chunk. */
  readonly chunk: Chunk;
  /** The first row. */
  readonly offset: number;
  /** The number of rows. */
  readonly length: number;
}

/** One column of an item. */
export interface ItemColumn {
  /** The rows, in order. */
  readonly slices: readonly ChunkSlice[];
  /** Which column of their chunks it is. */
  readonly index: number;
  /** Whether the only row comes without a dimension for rows. */
  readonly isSqueezed: boolean;
}

/** Where an item goes. */
export interface ItemHead {
  /** Its table. */
  readonly table: string;
  /** Its priority. */
  readonly priority: number;
  /** Its own priority for the remover, if it has one. */
  readonly removerPriority: number | undefined;
}

/** An item to be inserted. */
interface Item extends ItemHead {
  /** Its key. */
  readonly key: Key;
  /** Its columns. */
  readonly columns: readonly ItemColumn[];
  /** Its chunks, each once. */
  readonly chunks: ReadonlySet<Chunk>;
}

interface Waiter {
  readonly most: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A message is sent once it has so many bytes. */
const MESSAGE_BYTES = 2 ** 20;
/** Chunks of one item that has more bytes than this go ahead of it in messages of their own. */
const CHUNK_BYTES = 2 ** 22;
const FIRST_BACKOFF_MS = 1;
const LAST_BACKOFF_MS = 1000;
/** A connection that held so long was a good one. */
const GOOD_MS = 2000;

function inNextTurn(send: () => void): void {
  setTimeout(send, 0);
}

/** One stream of items. */
export class ItemStream {
  /** How long a lost connection is tried anew. A connection that held for longer has its loss counted by itself. */
  reconnectMs = Infinity;
  readonly #channel: Pick<Channel, "open" | "isClosed">;
  readonly #soon: (send: () => void) => void;
  readonly #unconfirmed: Set<ItemStream> | undefined;
  #queue: Item[] = [];
  readonly #inFlight = new Map<number, Item>();
  #streamed = new Set<Chunk>();
  readonly #writer = new MessageWriter();
  readonly #waiters = new Set<Waiter>();
  #call: Call | undefined;
  #isBlocked = false;
  #isScheduled = false;
  #failure: ReverbError | undefined;
  #lastLoss: ReverbError | undefined;
  #isEnding: (() => void) | undefined;
  #backoffMs = FIRST_BACKOFF_MS;
  #openedAt = 0;
  #lostSince: number | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param soon When what is ready is sent. Over a network, what comes in the same turn goes in one message.
   * @param unconfirmed Has this stream while it has items that are not confirmed.
   */
  constructor(
    channel: Pick<Channel, "open" | "isClosed">,
    soon: (send: () => void) => void = inNextTurn,
    unconfirmed?: Set<ItemStream>,
  ) {
    this.#channel = channel;
    this.#soon = soon;
    this.#unconfirmed = unconfirmed;
  }

  /** Items that were not sent yet. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Items that were sent, and that the server has not confirmed. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** All items that the server has not confirmed. */
  get pending(): number {
    return this.queued + this.inFlight;
  }

  /** Whether it failed for good, or was closed. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Throws the error by which the stream failed, if it did, or by which it must, as its channel is closed. */
  check(): void {
    if (this.#channel.isClosed && this.#failure === undefined) this.#open();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Adds an item. It is sent soon, once its chunks are complete. */
  push(key: Key, head: ItemHead, columns: readonly ItemColumn[]): void {
    this.check();
    const chunks = new Set<Chunk>();
    for (const { slices } of columns) for (const { chunk } of slices) chunks.add(chunk);
    for (const chunk of chunks) chunk.waiting += 1;
    this.#queue.push({ ...head, key, columns, chunks });
    this.#unconfirmed?.add(this);
    this.schedule();
  }

  /** Sends what is ready, soon. */
  schedule(): void {
    if (this.#isScheduled || this.#isBlocked || this.#failure !== undefined) return;
    this.#isScheduled = true;
    this.#soon(() => {
      this.#isScheduled = false;
      this.pump();
    });
  }

  /** Completes the chunks of all items but the last few, so that they can be sent, and sends them. */
  force(allBut: number): void {
    const count = Math.max(0, this.queued - allBut);
    for (const { chunks } of this.#queue.slice(0, count)) {
      for (const chunk of chunks) chunk.finish();
    }
    this.pump();
  }

  /** Sends what is ready, now. */
  pump(): void {
    if (this.#failure !== undefined || this.#isBlocked || this.#retry !== undefined) return;
    while (!this.#isBlocked && this.#isReady(this.#queue[0])) this.#send();
  }

  #isReady(item: Item | undefined): boolean {
    if (item === undefined) return false;
    for (const chunk of item.chunks) if (chunk.encoded === undefined) return false;
    return true;
  }

  /** Sends one message, with as many items as are ready and fit. */
  #send(): void {
    const call = this.#call ?? this.#open();
    if (call === undefined) return;
    const writer = this.#writer;
    writer.reset();
    let count = 0;
    for (const item of this.#queue) {
      if (writer.length >= MESSAGE_BYTES || !this.#isReady(item)) break;
      for (const chunk of item.chunks) this.#writeChunk(call, chunk);
      writeItem(writer, item);
      count += 1;
      this.#inFlight.set(item.key.low, item);
      for (const chunk of item.chunks) chunk.waiting -= 1;
      tell(item);
    }
    this.#queue.splice(0, count);
    this.#writeKept();
    this.#isBlocked = !call.write(writer.framed());
  }

  #writeChunk(call: Call, chunk: Chunk): void {
    if (this.#streamed.has(chunk) || chunk.encoded === undefined) return;
    this.#writer.bytes(InsertStreamRequest.chunks, chunk.encoded);
    this.#streamed.add(chunk);
    if (this.#writer.length < CHUNK_BYTES) return;
    // The server lets no chunk go before an item came.
    call.write(this.#writer.framed());
    this.#writer.reset();
  }

  /** Says which chunks are needed later, and forgets the others. */
  #writeKept(): void {
    const kept: Key[] = [];
    for (const chunk of this.#streamed) {
      if (chunk.live > 0 || chunk.waiting > 0) kept.push(chunk.key);
      else this.#streamed.delete(chunk);
    }
    this.#writer.keys(InsertStreamRequest.keepChunkKeys, kept);
  }

  #open(): Call | undefined {
    this.#openedAt = performance.now();
    try {
      const call = this.#channel.open("InsertStream", {
        onMessage: (message) => this.#confirm(message),
        onDrain: () => {
          this.#isBlocked = false;
          this.pump();
        },
        onEnd: (error) => {
          if (this.#call === call) this.#ended(error);
        },
      });
      this.#call = call;
      return call;
    } catch (error) {
      this.#fail(
        error instanceof ReverbError
          ? error
          : new ReverbError("internal", reasonOf(error), { cause: error }),
      );
      return undefined;
    }
  }

  #confirm(message: Uint8Array): void {
    eachKey(message, InsertStreamResponse.keys, ({ low }) => this.#inFlight.delete(low));
    this.#lastLoss = undefined;
    this.#lostSince = undefined;
    this.#wake();
  }

  #wake(): void {
    const { pending } = this;
    if (pending === 0) this.#unconfirmed?.delete(this);
    for (const { most, resolve } of this.#waiters) if (pending <= most) resolve();
  }

  #ended(error: ReverbError | undefined): void {
    this.#call = undefined;
    this.#isBlocked = false;
    this.#streamed = new Set();
    if (this.#isEnding !== undefined) {
      this.#isEnding();
      return;
    }
    const isLost = error === undefined || error.code === "unavailable" ||
      error.code === "cancelled";
    if (!isLost) {
      this.#fail(error);
      return;
    }
    this.#lastLoss = error;
    for (const item of this.#inFlight.values()) for (const chunk of item.chunks) chunk.waiting += 1;
    this.#queue = [...this.#inFlight.values(), ...this.#queue];
    this.#inFlight.clear();
    if (this.queued === 0) return;
    const now = performance.now();
    const heldMs = now - this.#openedAt;
    if (this.#lostSince === undefined || heldMs > this.reconnectMs) this.#lostSince = now;
    if (now - this.#lostSince >= this.reconnectMs) {
      this.#fail(error ?? new ReverbError("unavailable", "the server ended the stream"));
      return;
    }
    this.#backoffMs = heldMs > GOOD_MS
      ? FIRST_BACKOFF_MS
      : Math.min(LAST_BACKOFF_MS, this.#backoffMs * 2);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.pump();
    }, this.#backoffMs);
  }

  #fail(error: ReverbError): void {
    const lost = this.pending;
    const items = lost === 1 ? "1 item was" : `${lost} items were`;
    this.#failure = new ReverbError(
      error.code,
      `${error.message} (${items} not confirmed; this writer can't go on)`,
      { cause: error },
    );
    this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const call = this.#call;
    this.#call = undefined;
    call?.cancel();
    this.#queue = [];
    this.#inFlight.clear();
    this.#unconfirmed?.delete(this);
    for (const { reject } of this.#waiters) reject(this.#failure);
  }

  /** Waits until at most so many items are pending. */
  async until(what: string, most: number, wait: WaitOptions = {}): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.pending <= most) return;
    await waitFor<void>(what, wait, (resolve, reject) => {
      const waiter = { most, resolve, reject };
      this.#waiters.add(waiter);
      return () => this.#waiters.delete(waiter);
    }, () => {
      const why = this.#lastLoss === undefined
        ? this.inFlight === 0
          ? ""
          : `; ${rateLimitersOf(this.#inFlight.values())} may hold them back until others sample`
        : `; ${this.#lastLoss.message}`;
      return `${what} took longer than ${wait.timeoutMs} ms: ${this.queued} items wait to be sent, and ${this.inFlight} to be confirmed${why}`;
    });
  }

  /** Ends the stream, within so many milliseconds. What is pending is given up; wait for it before. */
  async close(withinMs = 1000): Promise<void> {
    const call = this.#call;
    if (call !== undefined && this.#failure === undefined && !this.#channel.isClosed) {
      // The server ends a stream that is half closed, once it has read everything.
      const ended = waitFor<void>("close()", { timeoutMs: withinMs }, (resolve) => {
        this.#isEnding = resolve;
        call.halfClose();
        return () => {};
      });
      await ended.catch(() => call.cancel());
      this.#call = undefined;
    }
    this.#failure ??= new ReverbError("cancelled", "the writer was closed");
    this.#stop();
  }
}

/** The rate limiters that may hold these items back, in words. */
function rateLimitersOf(items: Iterable<Item>): string {
  const tables = [...new Set(Array.from(items, ({ table }) => table))].sort();
  const names = tables.map(show).join(", ");
  return tables.length === 1
    ? `the rate limiter of table ${names}`
    : `the rate limiters of tables ${names}`;
}

/** Tells those who choose the length of chunks what an item took. */
function tell(item: Item): void {
  let columns: Map<ChunkLengthTuner, { chunks: Set<Chunk>; rows: number }> | undefined;
  for (const { slices } of item.columns) {
    for (const { chunk, length } of slices) {
      const { tuner } = chunk.plan;
      if (tuner === undefined) continue;
      columns ??= new Map();
      let column = columns.get(tuner);
      if (column === undefined) columns.set(tuner, column = { chunks: new Set(), rows: 0 });
      column.chunks.add(chunk);
      column.rows += length;
    }
  }
  if (columns !== undefined) {
    for (const [tuner, { chunks, rows }] of columns) tuner.sent(chunks, rows);
  }
}

function writeItem(writer: MessageWriter, item: Item): void {
  writer.begin(InsertStreamRequest.items);
  writer.key(PrioritizedItem.key, item.key);
  writer.text(PrioritizedItem.table, item.table);
  writer.double(PrioritizedItem.priority, item.priority);
  writer.begin(PrioritizedItem.flatTrajectory);
  for (const { slices, index, isSqueezed } of item.columns) {
    writer.begin(FlatTrajectory.columns);
    for (const { chunk, offset, length } of slices) {
      writer.begin(ColumnFields.chunkSlices);
      writer.key(SliceFields.chunkKey, chunk.key);
      writer.number(SliceFields.offset, offset);
      writer.number(SliceFields.length, length);
      writer.number(SliceFields.index, index);
      writer.end();
    }
    writer.number(ColumnFields.squeeze, isSqueezed ? 1 : 0);
    writer.end();
  }
  writer.end();
  if (item.removerPriority !== undefined) {
    writer.double(PrioritizedItem.removerPriority, item.removerPriority);
  }
  writer.end();
}
