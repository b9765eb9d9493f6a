/**
 * A file that is read from its beginning to its end, mostly: a piece of it is in memory.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import type { Kernel } from "../../ffi/library.ts";
import type { DataFile } from "../_files.ts";

const PIECE_BYTES = 2 ** 20;

/** A piece of a file, which moves on. */
export class Window {
  readonly #kernel: Kernel;
  readonly #file: DataFile;
  #begin = 0;
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array();

  constructor(kernel: Kernel, file: DataFile) {
    this.#kernel = kernel;
    this.#file = file;
  }

  /** Bytes of the whole file. */
  get size(): number {
    return this.#file.size;
  }

  /** `count` bytes from `at` on, fewer where the file ends; at most 1 MiB. They hold until the next call. */
  read(at: number, count: number): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
    const from = at - this.#begin;
    if (from >= 0 && from + count <= this.#bytes.length) {
      return this.#bytes.subarray(from, from + count);
    }
    return this.#move(at, count);
  }

  async #move(at: number, count: number): Promise<Uint8Array<ArrayBuffer>> {
    this.#bytes = await this.#file.read(at, PIECE_BYTES);
    this.#begin = at;
    return this.#bytes.subarray(0, count);
  }

  /** The CRC-32C of bytes. */
  sum(bytes: Uint8Array<ArrayBuffer>, seed = 0): number {
    const count = lengthOf(bytes);
    return count === 0 ? seed : this.#kernel.symbols.exrp_checksum(seed, bytes, count);
  }

  /** The CRC-32C of a part of the file; undefined where the file ends before. */
  async sumOf(at: number, count: number, seed = 0): Promise<number | undefined> {
    if (at + count > this.size) return undefined;
    let sum = seed;
    for (let done = 0; done < count;) {
      const bytes = await this.read(at + done, Math.min(PIECE_BYTES, count - done));
      if (bytes.length === 0) return undefined;
      sum = this.sum(bytes, sum);
      done += bytes.length;
    }
    return sum;
  }
}

/** Numbers in bytes. */
export function viewOf(bytes: Uint8Array<ArrayBuffer>): DataView<ArrayBuffer> {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** What was found while something was read. */
export interface Report {
  /** What is damaged, each with its file and place. */
  readonly damage: string[];
  /** What a crash leaves, and the next `open` puts right. */
  readonly remarks: string[];
  /** What was read, for people. */
  readonly read: string;
}
