/**
 * A stream of samples from one table, and what it brought so far.
 *
 * Invariants: 1. `count` is that of the whole samples that came and were not taken. 2. The parts of a sample stay together, in the order in
 * which they came.
 *
 * @module
 */

import { joinBytes } from "../base/bytes.ts";
import { MessageReader } from "../wire/message_reader.ts";
import { MessageWriter } from "../wire/message_writer.ts";
import {
  SampleEntry,
  SampleStreamRequest,
  SampleStreamResponse,
  Timeout,
} from "../wire/reverb_fields.ts";
import { type Call, type Channel, waitFor } from "./channel.ts";
import { ReverbError } from "./errors.ts";

/** Samples of one table, as bytes. */
export class SampleBuffer {
  /** What came and was not taken, and perhaps the first part of one sample more. */
  #messages: Uint8Array<ArrayBuffer>[] = [];
  /** Where each sample ends that was not taken. Places count all bytes that ever came. */
  #ends: number[] = [];
  #came = 0;
  #taken = 0;

  /** Whole samples. */
  get count(): number {
    return this.#ends.length;
  }

  /** Takes a message. */
  push(message: Uint8Array<ArrayBuffer>): void {
    const reader = new MessageReader(message);
    const ends: number[] = [];
    while (reader.next()) {
      if (reader.field !== SampleStreamResponse.entries || reader.kind !== 2) {
        reader.skip();
        continue;
      }
      const end = reader.length();
      if (isLastEntry(message, reader.position, end)) ends.push(this.#came + end);
      reader.goTo(end);
    }
    this.#messages.push(message);
    this.#came += message.length;
    for (const end of ends) this.#ends.push(end);
  }

  /** Hands out so many samples as one message; fewer where fewer came. */
  take(most: number): Uint8Array<ArrayBuffer> {
    const to = this.#ends.splice(0, most).at(-1) ?? this.#taken;
    const parts: Uint8Array<ArrayBuffer>[] = [];
    while (this.#taken < to) {
      const [message = new Uint8Array()] = this.#messages;
      const count = Math.min(message.length, to - this.#taken);
      parts.push(message.subarray(0, count));
      this.#taken += count;
      if (count === message.length) this.#messages.shift();
      else this.#messages[0] = message.subarray(count);
    }
    const [first] = parts;
    return parts.length === 1 && first !== undefined ? first : joinBytes(parts);
  }

  /** Forgets the part of a sample at the end: its rest will not come. */
  dropPart(): void {
    const whole = this.take(this.count);
    this.#messages = [];
    this.#came = this.#taken;
    if (whole.length > 0) this.push(whole);
  }
}

function isLastEntry(message: Uint8Array, from: number, end: number): boolean {
  const reader = new MessageReader(message, from, end);
  let isLast = false;
  while (reader.next()) {
    if (reader.field === SampleEntry.endOfSequence && reader.kind === 0) {
      isLast = reader.number() !== 0;
    } else reader.skip();
  }
  return isLast;
}

const writer = new MessageWriter();

/** One stream of samples. */
export class SampleStream {
  /** What came. */
  readonly buffer: SampleBuffer;
  readonly #table: string;
  readonly #call: Call;
  /** Whether nothing more comes. */
  isOver = false;
  /** Why nothing more comes; undefined where the server ended the stream in peace. */
  error: ReverbError | undefined;
  #onChange: () => void = () => {};
  #onBytes: () => void = () => {};

  constructor(channel: Channel, table: string, buffer: SampleBuffer = new SampleBuffer()) {
    this.#table = table;
    this.buffer = buffer;
    this.#call = channel.open("SampleStream", {
      onBytes: () => this.#onBytes(),
      onMessage: (message) => {
        this.buffer.push(message);
        this.#onChange();
      },
      onEnd: (error) => {
        this.isOver = true;
        this.error = error;
        this.#onChange();
      },
    });
  }

  /**
   * Asks for more samples. The server waits for its rate limiter for so long; -1 stands for ever. `isWhole` asks for all or none, which our server
   * understands.
   */
  ask(count: number, timeoutMs: number, isWhole = false): void {
    writer.reset();
    writer.text(SampleStreamRequest.table, this.#table);
    writer.number(SampleStreamRequest.numSamples, count);
    writer.begin(SampleStreamRequest.rateLimiterTimeout);
    if (timeoutMs < 0) writer.key(Timeout.milliseconds, { low: 0xffffffff, high: 0xffffffff });
    else writer.long(Timeout.milliseconds, timeoutMs);
    writer.end();
    if (isWhole) writer.number(SampleStreamRequest.isWhole, 1);
    this.#call.write(writer.framed());
  }

  /** Waits until there are so many samples, or nothing more comes. It also ends, by an error, where no bytes come for `silenceMs`. */
  async until(
    what: string,
    count: number,
    signal: AbortSignal | undefined,
    silenceMs = Infinity,
  ): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await waitFor<void>(what, { signal }, (resolve, reject) => {
      const silent = (): void => {
        const words =
          `${what}: the server sent nothing for ${silenceMs} ms; ${this.buffer.count} came before`;
        reject(new ReverbError("deadline-exceeded", words));
      };
      this.#onChange = (): void => {
        if (this.buffer.count >= count || this.isOver) resolve();
      };
      this.#onBytes = (): void => {
        clearTimeout(timer);
        if (silenceMs < Infinity) timer = setTimeout(silent, silenceMs);
      };
      this.#onBytes();
      this.#onChange();
      return () => {
        clearTimeout(timer);
        this.#onChange = this.#onBytes = (): void => {};
      };
    });
  }

  /** Ends the stream. */
  close(): void {
    this.isOver = true;
    this.#call.cancel();
  }
}
