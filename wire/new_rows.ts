/**
 * New rows as the kernel takes them: numbers that say what they are, and the bytes of all columns one after another.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { checkStatus, type Kernel, kernelError } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";
import type { Key } from "./keys.ts";

/** The rows of one column. */
export interface ColumnRows {
  /** The dtype, by its number in TensorFlow's `types.proto`, and the shape of one row. */
  readonly spec: { readonly dtype: { readonly number: number }; readonly shape: readonly number[] };
  /** The elements, little-endian; undefined for strings. */
  readonly bytes: Uint8Array | undefined;
  /** The strings; undefined for numbers. */
  readonly strings: readonly Uint8Array[] | undefined;
}

/** What is known of a chunk besides its rows. */
export interface ChunkHead {
  readonly key: Key;
  readonly episode: Key;
  /** Rows of each column. */
  readonly length: number;
  /** The number of the first row's step in its episode. */
  readonly first: number;
  /** That of the last. */
  readonly last: number;
  /** `EXRP_ROWS_` constants. */
  readonly flags: number;
}

const FIRST_NUMBERS = 256;
const FIRST_BYTES = 4096;

/** Collects the numbers and the bytes for one call. Its buffers serve one call after another. */
export class NewRows {
  #numbers = new Float64Array(FIRST_NUMBERS);
  #bytes = new Uint8Array(FIRST_BYTES);
  /** How many numbers there are. */
  count = 0;
  /** How many bytes there are. */
  size = 0;

  /** Begins the next call. */
  reset(): void {
    this.count = 0;
    this.size = 0;
  }

  /** The numbers so far, and perhaps more behind them. A small buffer is handed out whole, because a view takes longer to make than to copy. */
  get numbers(): Float64Array<ArrayBuffer> {
    const numbers = this.#numbers;
    return numbers.length > FIRST_NUMBERS ? numbers.subarray(0, this.count) : numbers;
  }

  /** The bytes so far, likewise. */
  get bytes(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes;
    return bytes.length > FIRST_BYTES ? bytes.subarray(0, this.size) : bytes;
  }

  /** Adds a number. */
  number(value: number): void {
    if (this.count === this.#numbers.length) {
      const larger = new Float64Array(2 * this.count);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers[this.count++] = value;
  }

  /** Adds a key, which is two numbers. */
  key({ low, high }: Key): void {
    this.number(low);
    this.number(high);
  }

  /** Adds a chunk. */
  chunk(
    { key, episode, length, first, last, flags }: ChunkHead,
    columns: readonly ColumnRows[],
  ): void {
    this.key(key);
    this.key(episode);
    this.number(first);
    this.number(last);
    this.number(flags);
    this.number(columns.length);
    for (const { spec: { dtype, shape }, bytes, strings } of columns) {
      const from = this.size;
      if (bytes !== undefined) this.#put(bytes);
      else this.#putStrings(strings ?? []);
      this.number(dtype.number);
      this.number(this.size - from);
      this.number(1 + shape.length);
      this.number(length);
      for (const size of shape) this.number(size);
    }
  }

  #put(bytes: Uint8Array): void {
    const end = this.size + bytes.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.size);
    this.size = end;
  }

  #putStrings(strings: readonly Uint8Array[]): void {
    this.#put(new Uint8Array(Uint32Array.from(strings, ({ length }) => length).buffer));
    for (const text of strings) this.#put(text);
  }
}

/** Writes chunks as messages `ChunkData`. */
export class ChunkEncoder {
  readonly #kernel: Kernel;
  readonly #rows = new NewRows();
  readonly #place = new Float64Array(2);
  #out = new Uint8Array(4096);

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /**
   * Writes a chunk.
   *
   * @throws {ReplayError} `argument`: the bytes of a column are not those of its shape, or its dtype is not known.
   */
  encode(head: ChunkHead, columns: readonly ColumnRows[]): Uint8Array<ArrayBuffer> {
    this.#rows.reset();
    this.#rows.chunk(head, columns);
    let status = this.#encode();
    if (status === abi.EXRP_STATUS_BUFFER_SIZE) {
      const { detail } = kernelError(this.#kernel, "encode a chunk", status);
      this.#out = new Uint8Array(Math.ceil(1.5 * (detail[1] ?? 0)));
      status = this.#encode();
    }
    checkStatus(this.#kernel, "encode a chunk", status);
    const [begin = 0, size = 0] = this.#place;
    return this.#out.slice(begin, begin + size);
  }

  #encode(): number {
    const { numbers, count, bytes, size } = this.#rows;
    return this.#kernel.symbols.exrp_chunk_encode(
      numbers,
      count,
      bytes,
      size,
      this.#out,
      lengthOf(this.#out),
      this.#place,
      lengthOf(this.#place),
    );
  }
}
