/**
 * A stream of samples from one table, and what it brought so far.
 *
 * Invariants: 1. `buffered` counts the whole samples that came and were not taken. 2. The parts of a sample stay together, in the order in
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
import type { Call, Channel } from "./channel.ts";
import { ReverbError } from "./errors.ts";

/** Samples of one table, as bytes. */
export class SampleBuffer {
  #messages: Uint8Array<ArrayBuffer>[] = [];
  /** Where samples end in the first messages, as many as `#ends` says for each. */
  #ends: number[][] = [];
  /** The first byte of the first message that was not taken. */
  #from = 0;
  #taken = 0;
  #count = 0;

  /** Whole samples. */
  get count(): number {
    return this.#count;
  }

  /** Takes a message. */
  push(message: Uint8Array<ArrayBuffer>): void {
    const ends: number[] = [];
    const reader = new MessageReader(message);
    while (reader.next()) {
      if (reader.field !== SampleStreamResponse.entries || reader.kind !== 2) {
        reader.skip();
        continue;
      }
      const end = reader.length();
      if (isLastEntry(message, reader.position, end)) ends.push(end);
      reader.goTo(end);
    }
    this.#messages.push(message);
    this.#ends.push(ends);
    this.#count += ends.length;
  }

  /** Hands out so many samples as one message; fewer where fewer came. */
  take(most: number): Uint8Array<ArrayBuffer> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let wanted = Math.min(most, this.#count);
    this.#count -= wanted;
    while (wanted > 0) {
      const [message] = this.#messages;
      const [ends = []] = this.#ends;
      if (message === undefined) break;
      const has = ends.length - this.#taken;
      if (has > wanted) {
        const end = ends[this.#taken + wanted - 1] ?? 0;
        parts.push(message.subarray(this.#from, end));
        this.#from = end;
        this.#taken += wanted;
        break;
      }
      wanted -= has;
      // What follows the last end belongs to the next sample.
      const end = wanted === 0 && has > 0 ? ends[ends.length - 1] ?? 0 : message.length;
      parts.push(message.subarray(this.#from, end));
      if (end < message.length) {
        this.#from = end;
        this.#taken = ends.length;
        break;
      }
      this.#messages.shift();
      this.#ends.shift();
      this.#from = 0;
      this.#taken = 0;
    }
    return joined(parts);
  }

  /** Forgets the part of a sample at the end: its rest will not come. */
  dropPart(): void {
    const rest = this.take(this.#count);
    this.#messages = [];
    this.#ends = [];
    this.#from = 0;
    this.#taken = 0;
    if (rest.length > 0) this.push(rest);
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

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : joinBytes(parts);
}

const writer = new MessageWriter();

/** One stream of samples. */
export class SampleStream {
  /** What came. */
  readonly buffer: SampleBuffer;
  readonly #table: string;
  readonly #call: Call;
  #isOver = false;
  #error: ReverbError | undefined;
  /** Is called when something came, and at the end. */
  onChange: () => void = () => {};
  /** Is called when bytes came, whole samples or not. */
  onBytes: () => void = () => {};

  constructor(channel: Channel, table: string, buffer: SampleBuffer = new SampleBuffer()) {
    this.#table = table;
    this.buffer = buffer;
    this.#call = channel.open("SampleStream", {
      onBytes: () => this.onBytes(),
      onMessage: (message) => {
        try {
          this.buffer.push(message);
        } catch (error) {
          this.#call.cancel();
          const text = error instanceof Error ? error.message : String(error);
          this.#error = new ReverbError(
            "data-loss",
            `getBatch(): what the server sent is damaged: ${text}`,
          );
          this.#isOver = true;
        }
        this.onChange();
      },
      onEnd: (error) => {
        this.#isOver = true;
        this.#error = error;
        this.onChange();
      },
    });
  }

  /** Whether nothing more comes. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why nothing more comes; undefined where the server ended the stream in peace. */
  get error(): ReverbError | undefined {
    return this.#error;
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

  /** Ends the stream. */
  close(): void {
    this.#isOver = true;
    this.#call.cancel();
  }
}
