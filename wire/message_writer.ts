/**
 * Writes the few messages of each step by hand, and reads what was confirmed. All other messages go through generated code.
 *
 * Cost: no object for a field; a writer keeps its memory from message to message.
 *
 * @module
 */

import { MessageReader } from "./message_reader.ts";
import type { Key } from "./keys.ts";

const utf8 = new TextEncoder();

/** The bytes before each message on a stream of gRPC: 0, and the message's length. */
export const PREFIX_BYTES = 5;

/** Writes one message. */
export class MessageWriter {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  #at = PREFIX_BYTES;

  /** The length of what was written, in bytes. */
  get length(): number {
    return this.#at - PREFIX_BYTES;
  }

  /** Begins a new message. */
  reset(): void {
    this.#at = PREFIX_BYTES;
  }

  /** A copy of the message, with its prefix. */
  framed(): Uint8Array<ArrayBuffer> {
    this.#view.setUint8(0, 0);
    this.#view.setUint32(1, this.length);
    return this.#bytes.slice(0, this.#at);
  }

  /** A copy of the message. */
  message(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(PREFIX_BYTES, this.#at);
  }

  #need(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#at + more, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  #raw(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  /** A number below 2^32. 0 is left out, as every reader takes it for one. */
  number(field: number, value: number): void {
    if (value === 0) return;
    this.#need(16);
    this.#raw(field << 3);
    this.#raw(value);
  }

  /** A number below 2^53, also where it is 0. */
  long(field: number, value: number): void {
    this.key(field, { low: value >>> 0, high: Math.floor(value / 2 ** 32) });
  }

  /** A number of 64 bits. */
  key(field: number, key: Key): void {
    this.#need(16);
    this.#raw(field << 3);
    this.#raw64(key);
  }

  #raw64({ low, high }: Key): void {
    let [rest, more] = [low, high];
    while (more > 0) {
      this.#bytes[this.#at++] = (rest & 127) | 128;
      rest = ((rest >>> 7) | (more << 25)) >>> 0;
      more >>>= 7;
    }
    this.#raw(rest);
  }

  /** Several numbers of 64 bits. */
  keys(field: number, keys: readonly Key[]): void {
    if (keys.length === 0) return;
    this.begin(field);
    for (const key of keys) {
      this.#need(10);
      this.#raw64(key);
    }
    this.end();
  }

  /** Several whole numbers of 64 bits with their signs, exact up to 2^53. */
  integers(field: number, values: ArrayLike<number>): void {
    this.begin(field);
    for (let k = 0; k < values.length; k++) {
      const value = values[k] as number;
      this.#need(10);
      if (value >= 0 && value < 128) this.#bytes[this.#at++] = value;
      else this.#raw64({ low: value >>> 0, high: Math.floor(value / 2 ** 32) >>> 0 });
    }
    this.end();
  }

  /** A number of 64 bits with a point. */
  double(field: number, value: number): void {
    this.#need(16);
    this.#raw((field << 3) | 1);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Bytes, a text in UTF-8, or a whole message. */
  bytes(field: number, value: Uint8Array): void {
    this.#need(value.length + 16);
    this.#raw((field << 3) | 2);
    this.#raw(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** A text. */
  text(field: number, value: string): void {
    this.bytes(field, utf8.encode(value));
  }

  #open: number[] = [];

  /** Begins a message within the message. */
  begin(field: number): void {
    this.#need(16);
    this.#raw((field << 3) | 2);
    this.#open.push(this.#at);
    this.#at += 1; // most are shorter than 128 bytes; end() moves the longer ones
  }

  /** Ends the message that was begun last. */
  end(): void {
    const start = this.#open.pop() ?? 0;
    const length = this.#at - start - 1;
    let extra = 0;
    for (let rest = length; rest > 127; rest >>>= 7) extra += 1;
    if (extra > 0) {
      this.#need(extra);
      this.#bytes.copyWithin(start + 1 + extra, start + 1, this.#at);
    }
    const end = this.#at + extra;
    this.#at = start;
    this.#raw(length);
    this.#at = end;
  }
}

/** Calls back with each key of a message that has keys in one field, packed or not. */
export function eachKey(message: Uint8Array, field: number, found: (key: Key) => void): void {
  const reader = new MessageReader(message);
  while (reader.next()) {
    if (reader.field === field && reader.kind === 0) found(reader.key());
    else if (reader.field !== field || reader.kind !== 2) reader.skip();
    else {
      const end = reader.length();
      const packed = new MessageReader(message, reader.position, end);
      while (packed.position < end) found(packed.key());
      reader.goTo(end);
    }
  }
}
