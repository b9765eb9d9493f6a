/**
 * Samples batches from a server.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { TIMER_MAX_MS } from "../base/waits.ts";
import { checkTable, explained } from "./check_item.ts";
import type { Channel } from "./channel.ts";
import { SampleBuffer, SampleStream } from "./_sample_stream.ts";
import { ReverbError } from "./errors.ts";
import type { SampleBatch } from "./samples.ts";
import type { WaitLimits } from "./writer_options.ts";

/** Options of {@linkcode ReverbClient.getBatch}, as in the example of {@linkcode SampleBatch}. */
export interface ClientGetBatchOptions extends WaitLimits {
  /** Whether fewer items may be returned, if at least one came before `timeoutMs` or the `signal` ended the wait; false by default. */
  readonly isPartialAllowed?: boolean;
}

/** Options of {@linkcode ReverbClient.batches}. */
export interface ClientBatchesOptions {
  /** The items of a batch. */
  readonly batchSize: number;
  /** How many batches are asked for ahead, 2 by default. */
  readonly prefetch?: number;
  /** The batches to sample, without end by default. */
  readonly maxBatches?: number;
  /** How long the server's rate limiter may hold a sample back. Then the batches end; the last may be smaller. Without it, they wait for ever. */
  readonly timeoutMs?: number;
  /** How long a lost connection is tried anew, 10,000 by default. */
  readonly reconnectMs?: number;
  /** Ends the batches with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Decodes samples of a table. */
export type Decode = (table: string, message: Uint8Array) => SampleBatch;

/**
 * How much longer than `timeoutMs` nothing may come from the server before a client gives up. The server says when the table held samples back
 * for too long. What it has drawn may take any time to arrive, and would be lost if the client left.
 */
const SILENCE_MS = 10_000;

/** The streams of samples of a client. Streams that are idle serve again. */
export class Samplers {
  readonly #channel: Channel;
  readonly #decode: Decode;
  readonly #ask: () => Promise<object>;
  readonly #idle = new Map<string, SampleStream>();

  /** `ask` gives the tables by their names, where an error has to name them. */
  constructor(channel: Channel, decode: Decode, ask: () => Promise<object>) {
    this.#channel = channel;
    this.#decode = decode;
    this.#ask = ask;
  }

  /** One batch. */
  async sample(table: string, count: number, options: ClientGetBatchOptions): Promise<SampleBatch> {
    checkOptions("getBatch()", options, ["timeoutMs", "signal", "isPartialAllowed"]);
    checkTable("getBatch(): table", table);
    checkInteger("getBatch(): the number of items", count, 1, 2 ** 30);
    const timeoutMs = checkTimeout("getBatch()", options.timeoutMs);
    options.signal?.throwIfAborted();
    const known = this.#idle.get(table);
    this.#idle.delete(table);
    const isKnown = known !== undefined && !known.isOver;
    try {
      return await this.#sample(isKnown ? known : undefined, table, count, timeoutMs, options);
    } catch (error) {
      // A server that was started anew ended the stream while it was idle.
      const isStale = isKnown && error instanceof ReverbError && error.code === "unavailable";
      if (!isStale) throw await explained("getBatch()", table, error, this.#ask);
      return await this.#sample(undefined, table, count, timeoutMs, options);
    }
  }

  async #sample(
    known: SampleStream | undefined,
    table: string,
    count: number,
    timeoutMs: number,
    { signal, isPartialAllowed = false }: ClientGetBatchOptions,
  ): Promise<SampleBatch> {
    const stream = known ?? new SampleStream(this.#channel, table);
    const { buffer } = stream;
    const what = `getBatch() of ${count} items from table ${JSON.stringify(table)}`;
    const silenceMs = timeoutMs < 0 ? Infinity : Math.min(timeoutMs + SILENCE_MS, TIMER_MAX_MS);
    try {
      stream.ask(count, timeoutMs, !isPartialAllowed);
      await stream.until(what, count, signal, silenceMs);
      if (buffer.count < count) throw endOf(stream, what, timeoutMs);
    } catch (error) {
      stream.close();
      const isLate = error instanceof ReverbError && error.code === "deadline-exceeded";
      const isAborted = signal?.aborted === true && error === signal.reason;
      if (!(isLate || isAborted) || !isPartialAllowed || buffer.count === 0) throw error;
    }
    const batch = this.#decode(table, buffer.take(count));
    if (!stream.isOver && !this.#idle.has(table) && !this.#channel.isClosed) {
      this.#idle.set(table, stream);
    } else stream.close();
    return batch;
  }

  /** Batches one after another. */
  async *batches(table: string, options: ClientBatchesOptions): AsyncGenerator<SampleBatch, void> {
    const where = "batches()";
    const { signal, prefetch = 2, maxBatches = Infinity, reconnectMs = 10_000 } = options;
    const batchSize = options.batchSize;
    const timeoutMs = checkTimeout(where, options.timeoutMs);
    let left = maxBatches * batchSize; // not sampled yet
    const buffer = new SampleBuffer();
    let stream: SampleStream | undefined;
    let lost: { error: ReverbError; since: number } | undefined;
    let asked = 0; // and not taken
    // A request for each batch, so that a sampler without replacement knows them.
    const ask = (): void => {
      const most = Math.min(left, (1 + prefetch) * batchSize);
      while (stream !== undefined && asked < most) {
        const more = Math.min(batchSize - asked % batchSize, most - asked);
        stream.ask(more, timeoutMs);
        asked += more;
      }
    };
    try {
      while (left > 0) {
        signal?.throwIfAborted();
        const wanted = Math.min(batchSize, left);
        const now: SampleStream = stream ??= new SampleStream(this.#channel, table, buffer);
        ask();
        const wasOver = now.isOver;
        await now.until(where, wanted, signal);
        const error: ReverbError | undefined = now.error;
        const isWhole = buffer.count >= wanted;
        const isLate = error?.code === "deadline-exceeded" && !wasOver;
        if (isWhole || (isLate && buffer.count > 0)) {
          lost = undefined;
          const size = Math.min(wanted, buffer.count);
          const batch = this.#decode(table, buffer.take(size));
          asked -= size;
          left -= size;
          if (isWhole) ask();
          yield batch;
        }
        if (isWhole) continue;
        if (isLate) return;
        // What came is kept, and the rest asked for anew.
        stream = undefined;
        buffer.dropPart();
        asked = buffer.count;
        // The rate limiter held back what nobody waited for.
        if (error?.code === "deadline-exceeded") continue;
        if (error !== undefined && error.code !== "unavailable") {
          throw await explained(where, table, error, this.#ask);
        }
        const reason = error ??
          new ReverbError("unavailable", `${where}: the server ended the stream`);
        lost ??= { error: reason, since: performance.now() };
        if (performance.now() - lost.since >= reconnectMs || this.#channel.isClosed) throw reason;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } finally {
      stream?.close();
    }
  }

  /** Ends all idle streams. */
  close(): void {
    for (const stream of this.#idle.values()) stream.close();
    this.#idle.clear();
  }
}

/** Checks options of `batches` when it is called, not when its first batch is taken. */
export function checkBatches(table: unknown, options: ClientBatchesOptions): void {
  const where = "batches()";
  checkTable(`${where}: table`, table);
  checkOptions(where, options, [
    "batchSize",
    "prefetch",
    "maxBatches",
    "timeoutMs",
    "reconnectMs",
    "signal",
  ]);
  checkInteger(`${where}: batchSize`, options.batchSize, 1, 2 ** 24);
  if (options.prefetch !== undefined) checkInteger(`${where}: prefetch`, options.prefetch, 0, 1000);
  if (options.maxBatches !== undefined && options.maxBatches !== Infinity) {
    checkInteger(`${where}: maxBatches`, options.maxBatches, 1, 2 ** 40);
  }
  checkTimeout(where, options.timeoutMs);
}

/** The milliseconds of a timeout; -1 for none. */
function checkTimeout(where: string, timeoutMs: number | undefined): number {
  if (timeoutMs === undefined || timeoutMs === Infinity) return -1;
  return checkInteger(`${where}: timeoutMs`, timeoutMs, 0, 2 ** 31 - 1);
}

/** The error of a stream that ended before all samples came. */
function endOf({ error, buffer }: SampleStream, what: string, timeoutMs: number): ReverbError {
  if (error === undefined) {
    return new ReverbError("unavailable", `${what}: the server ended the stream before all came`);
  }
  if (error.code !== "deadline-exceeded") return error;
  const words =
    `${what} took longer than ${timeoutMs} ms: ${buffer.count} came; the table's rate limiter lets no more through`;
  return new ReverbError("deadline-exceeded", words, { cause: error });
}
