/**
 * The records of a TFRecord file: each is its length in 8 bytes, their checksum, its bytes, and their checksum.
 *
 * Checksums are CRC-32C of the kernel, which TensorFlow masks: it turns them by 15 bits and adds a constant.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import type { Kernel } from "../../ffi/library.ts";

const HEAD_BYTES = 12;
const TAIL_BYTES = 4;
/** No message of Protocol Buffers is larger. */
const RECORD_BYTES_MAX = 2 ** 31 - 1;

/** A checksum as TensorFlow writes it. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Takes a file piece by piece, and gives its records. */
export class RecordSplitter {
  readonly #kernel: Kernel;
  readonly #where: string;
  readonly #path: string;
  readonly #bytesMax: number;
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 16);
  #at = 0;
  #end = 0;
  #taken = 0;
  #count = 0;

  /** Of the file at `path`, which may unpack to `bytesMax` bytes. `where` is the operation, for errors. */
  constructor(kernel: Kernel, where: string, path: string, bytesMax: number) {
    this.#kernel = kernel;
    this.#where = where;
    this.#path = path;
    this.#bytesMax = bytesMax;
  }

  /** Records that {@linkcode next} gave. */
  get count(): number {
    return this.#count;
  }

  /** Bytes that it took. */
  get bytes(): number {
    return this.#taken;
  }

  /** Takes the next piece. Records that were given before are no longer valid. */
  feed(piece: Uint8Array): void {
    this.#taken += piece.length;
    if (this.#taken > this.#bytesMax) {
      throw new ReplayError(
        "limit",
        `${this.#where}: the checkpoint unpacks to more than maxBytes, which is left at ${this.#bytesMax} for ${
          show(this.#path)
        }; give a larger maxBytes if you trust its writer`,
      );
    }
    const left = this.#end - this.#at;
    if (left + piece.length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(left + piece.length, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(this.#at, this.#end));
      this.#buffer = larger;
    } else {
      this.#buffer.copyWithin(0, this.#at, this.#end);
    }
    this.#buffer.set(piece, left);
    this.#at = 0;
    this.#end = left + piece.length;
  }

  /** The next record, a view that is valid until the next {@linkcode feed}; undefined where more bytes are needed. */
  next(): Uint8Array<ArrayBuffer> | undefined {
    const left = this.#end - this.#at;
    if (left < HEAD_BYTES) return undefined;
    const head = this.#buffer.subarray(this.#at, this.#at + HEAD_BYTES);
    const size = wordOf(head, 0) + wordOf(head, 4) * 2 ** 32;
    this.#check(head.subarray(0, 8), wordOf(head, 8), "its length");
    if (size > RECORD_BYTES_MAX) {
      this.#fail(`it has ${size} bytes, and a message has fewer than 2^31`);
    }
    if (left < HEAD_BYTES + size + TAIL_BYTES) return undefined;
    const begin = this.#at + HEAD_BYTES;
    const record = this.#buffer.subarray(begin, begin + size);
    this.#check(record, wordOf(this.#buffer, begin + size), "its bytes");
    this.#at = begin + size + TAIL_BYTES;
    this.#count++;
    return record;
  }

  /** Throws where the file ends within a record. */
  end(): void {
    if (this.#at === this.#end) return;
    throw new ReplayError(
      "snapshot-truncated",
      `${this.#where}: ${show(this.#path)} ends within its record ${this.#count + 1}`,
    );
  }

  #check(bytes: Uint8Array<ArrayBuffer>, expected: number, what: string): void {
    const { symbols } = this.#kernel;
    const crc = lengthOf(bytes) === 0 ? 0 : symbols.exrp_checksum(0, bytes, lengthOf(bytes));
    if (masked(crc) !== expected) this.#fail(`${what} and the checksum do not agree`);
  }

  #fail(why: string): never {
    throw new ReplayError(
      "snapshot-corrupt",
      `${this.#where}: ${show(this.#path)}, record ${this.#count + 1}: ${why}`,
    );
  }
}

/** A number of 32 bits at a place. */
function wordOf(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return (a | b << 8 | c << 16 | d << 24) >>> 0;
}
