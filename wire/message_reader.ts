/**
 * Reads protobuf messages field by field, where the kernel does not: what was confirmed, where a sample ends, and strings.
 *
 * Cost: no object for a field.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import type { Key } from "./keys.ts";

/** A message that can't be read. */
export class DamagedMessage extends ReplayError {
  /** Makes an error with the code `message-damaged`. */
  constructor(why: string) {
    super("message-damaged", why);
  }
}

/** Reads a message field by field. */
export class MessageReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;
  /** The upper 32 bits of the number that was read last. */
  #high = 0;
  /** The number of the field that `next` found. */
  field = 0;
  /** How it is written: 0 a number, 1 eight bytes, 2 bytes with a length, 5 four bytes. */
  kind = 0;

  /** Stands before the first field of `bytes[from..end)`. */
  constructor(bytes: Uint8Array, from = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = end;
  }

  /** Where the reader stands. */
  get position(): number {
    return this.#at;
  }

  /** Reads the head of the next field. False at the end. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const head = this.number();
    this.field = head >>> 3;
    this.kind = head & 7;
    if (this.field === 0) throw new DamagedMessage("a field has the number 0");
    return true;
  }

  /** Reads a number. Bits above 2^32 are dropped. */
  number(): number {
    let low = 0;
    this.#high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 127;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) this.#high = bits >>> 4;
      else if (shift > 28 && shift < 64) this.#high |= bits << (shift - 32);
      if (byte < 128) return low >>> 0;
    }
    throw new DamagedMessage("a number has more than ten bytes");
  }

  /** Reads a number of 64 bits. */
  key(): Key {
    const low = this.number();
    return { low, high: this.#high >>> 0 };
  }

  #byte(): number {
    const byte = this.#at < this.#end ? this.#bytes[this.#at] : undefined;
    if (byte === undefined) throw new DamagedMessage("the message ends within a field");
    this.#at += 1;
    return byte;
  }

  /** Where the bytes of this field end; the reader then stands at their start. */
  length(): number {
    const length = this.number();
    if (length > this.#end - this.#at) {
      throw new DamagedMessage("a field is longer than its message");
    }
    return this.#at + length;
  }

  /** Reads the bytes of this field; a view. */
  bytes(): Uint8Array {
    const end = this.length();
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** Goes to a place that `length` returned. */
  goTo(position: number): void {
    this.#at = position;
  }

  /** Goes past this field. */
  skip(): void {
    if (this.kind === 0) this.key();
    else if (this.kind === 2) this.#at = this.length();
    else if (this.kind === 1 || this.kind === 5) {
      this.#at += this.kind === 1 ? 8 : 4;
      if (this.#at > this.#end) throw new DamagedMessage("the message ends within a field");
    } else throw new DamagedMessage(`no field is written in the way ${this.kind}`);
  }
}
