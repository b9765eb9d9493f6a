/**
 * Two buffers that grow and are used again: what waits for the socket, and what waits in a stream.
 *
 * @module
 */
import { copyBytes } from "./protocol.ts";

/** A buffer above this size is let go when it is empty, so that one large message does not hold memory for ever. */
const keptMax = 1 << 18;

/** Bytes that go in at one end and out at the other. */
export class ByteQueue {
  /** The bytes from `head` to `tail` are in the queue. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  head = 0;
  tail = 0;

  /** How many bytes it holds. */
  get length(): number {
    return this.tail - this.head;
  }

  /** Makes room for so many bytes from `tail` on. It does not use them yet. */
  reserve(count: number): void {
    if (this.tail + count <= this.bytes.length) return;
    const held = this.length;
    const needed = held + count;
    // Moving is cheap as long as at least half of the buffer is free.
    if (2 * needed <= this.bytes.length) {
      this.bytes.copyWithin(0, this.head, this.tail);
    } else {
      const grown = new Uint8Array(Math.max(needed, 2 * this.bytes.length, 256));
      copyBytes(grown, 0, this.bytes, this.head, this.tail);
      this.bytes = grown;
    }
    this.head = 0;
    this.tail = held;
  }

  /** Adds `source[from..to)`. */
  push(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    copyBytes(this.bytes, this.tail, source, from, to);
    this.tail += to - from;
  }

  /** Takes so many bytes away from the front. */
  drop(count: number): void {
    this.head += count;
    if (this.head < this.tail) return;
    this.head = 0;
    this.tail = 0;
    if (this.bytes.length > keptMax) this.bytes = new Uint8Array(0);
  }
}

/** The output of a connection: one buffer is filled while the socket writes the other. */
export class Output extends ByteQueue {
  override bytes: Uint8Array<ArrayBuffer> = new Uint8Array(4096);
  #spare: Uint8Array<ArrayBuffer> = new Uint8Array(4096);
  #spareLength = 0;

  /** What was written since the last call. It stays valid until the next call. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    if (this.tail === 0) return undefined;
    const taken = this.bytes.subarray(0, this.tail);
    // A buffer that grew for a rare burst is not kept for ever.
    const isLarge = this.#spare.length > keptMax && 8 * this.#spareLength < this.#spare.length;
    [this.bytes, this.#spare] = [isLarge ? new Uint8Array(4096) : this.#spare, this.bytes];
    this.#spareLength = this.tail;
    this.tail = 0;
    return taken;
  }
}
