/**
 * Samples as Reverb's servers send them, as columns of all samples: the kernel unpacks a whole message at once.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { ReplayError } from "../base/errors.ts";
import { checkStatus, type Kernel, kernelError } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";
import { stringsOfColumn } from "./strings.ts";

/** One column of some samples. */
export interface SampleColumn {
  /** The number of its dtype in TensorFlow's `types.proto`. */
  readonly dtype: number;
  /** The shape of one row. */
  readonly rowShape: readonly number[];
  /** Rows of each sample; -1 where samples have different numbers of rows, which `lengths` then has. */
  readonly length: number;
  /** Rows of each sample, where they differ. */
  readonly lengths: Uint32Array<ArrayBuffer> | undefined;
  /** True where a sample's only row stands for itself, without a dimension of rows. */
  readonly isSqueezed: boolean;
  /** The elements of all rows of all samples, little-endian, one sample after the other; empty for strings. It begins at a multiple of 16. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same for a column of strings; undefined for any other. */
  readonly strings: Uint8Array<ArrayBuffer>[] | undefined;
}

/** Some samples. */
export interface Samples {
  /** How many. */
  readonly count: number;
  /** The bytes of the message that they took. More is left where a sample was not whole. */
  readonly messageBytes: number;
  /** Their columns. */
  readonly columns: readonly SampleColumn[];
  /** The key of each sample's item. */
  readonly keys: BigUint64Array<ArrayBuffer>;
  /** The probability with which each was drawn. */
  readonly probabilities: Float64Array<ArrayBuffer>;
  /** The priority of each item. */
  readonly priorities: Float64Array<ArrayBuffer>;
  /** The items in the table at each draw. */
  readonly tableSizes: Float64Array<ArrayBuffer>;
  /** How often each item has been drawn, this time included. */
  readonly timesSampled: Float64Array<ArrayBuffer>;
}

/** The largest buffer that {@linkcode SampleDecoder.decode} makes, unless its caller says another. */
export const SAMPLES_BYTES_MAX = 2 ** 31;

const OPERATION = "decode samples";

/** How {@linkcode SampleDecoder.decode} reads. */
export interface DecodeOptions {
  /** The most samples; all by default. */
  readonly countMax?: number;
  /** The most bytes that they may unpack to; {@linkcode SAMPLES_BYTES_MAX} by default. A small message can unpack to a large one. */
  readonly bytesMax?: number;
}

/** Decodes messages of samples. Its buffer of numbers serves one call after another. */
export class SampleDecoder {
  readonly #kernel: Kernel;
  #layout: Float64Array<ArrayBuffer> = layoutOf(8);
  /** Whether the samples of the messages so far had the same lengths. */
  #areAlike = true;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /**
   * Decodes the whole samples of a `SampleStreamResponse`, or of several one after another, with the same columns.
   *
   * @throws {ReplayError} `message-damaged`: damage, or more than `bytesMax`. `samples-differ`: the samples have different columns, dtypes or row
   * shapes; with `countMax: 1`, each can be decoded alone.
   */
  decode(message: Uint8Array, options: DecodeOptions = {}): Samples {
    const { countMax = 0xFFFFFFFF, bytesMax = SAMPLES_BYTES_MAX } = options;
    if (this.#areAlike) {
      this.#scan(message, countMax, abi.EXRP_SCAN_ALIKE);
      const size = this.#layout[abi.EXRP_SAMPLES_OUT_BYTES] ?? 0;
      const buffer = size <= bytesMax ? this.#unpack(message, size) : undefined;
      if (buffer !== undefined) return this.#samples(message, buffer);
    }
    // A table whose items have different lengths is looked at in full at once the next time.
    this.#areAlike = false;
    this.#scan(message, countMax, abi.EXRP_SCAN_ALL);
    if (this.#layout[abi.EXRP_SAMPLES_ALL_AGREE] !== 1) throw differ(this.#layout);
    const size = this.#layout[abi.EXRP_SAMPLES_OUT_BYTES] ?? 0;
    if (size > bytesMax) {
      throw new ReplayError(
        "message-damaged",
        `${OPERATION}: they unpack to ${size} bytes, and at most ${bytesMax} are allowed`,
      );
    }
    const buffer = this.#unpack(message, size);
    if (buffer === undefined) throw kernelError(this.#kernel, OPERATION, abi.EXRP_STATUS_DAMAGED);
    this.#areAlike = this.#wereAlike();
    return this.#samples(message, buffer);
  }

  /** Unpacks by the layout; undefined where the samples are not as it says. */
  #unpack(message: Uint8Array, size: number): ArrayBuffer | undefined {
    const layout = this.#layout;
    const buffer = new ArrayBuffer(size);
    const { symbols } = this.#kernel;
    const status = symbols.exrp_samples_decode(
      message,
      lengthOf(message),
      layout,
      lengthOf(layout),
      new Uint8Array(buffer),
      size,
    );
    if (status === abi.EXRP_STATUS_OK) return buffer;
    const error = kernelError(this.#kernel, OPERATION, status);
    if (error.detail[0] === abi.EXRP_DAMAGE_LAYOUT) return undefined;
    throw error;
  }

  /** Whether no column of the samples is ragged. */
  #wereAlike(): boolean {
    const layout = this.#layout;
    for (let k = 0; k < (layout[abi.EXRP_SAMPLES_COLUMNS] ?? 0); k++) {
      const at = abi.EXRP_SAMPLES_HEAD + k * abi.EXRP_SAMPLES_COLUMN;
      if (layout[at + abi.EXRP_SAMPLES_LENGTH] === abi.EXRP_SAMPLES_RAGGED) return false;
    }
    return true;
  }

  #samples(message: Uint8Array, buffer: ArrayBuffer): Samples {
    const layout = this.#layout;
    const number = (index: number): number => layout[index] ?? 0;
    const count = number(abi.EXRP_SAMPLES_COUNT);
    const messageBytes = number(abi.EXRP_SAMPLES_MESSAGE_BYTES);
    const columns: SampleColumn[] = [];
    for (let k = 0; k < number(abi.EXRP_SAMPLES_COLUMNS); k++) {
      columns.push(columnAt(layout, k, buffer, count, message.subarray(0, messageBytes)));
    }
    const numbers = (part: number): Float64Array<ArrayBuffer> =>
      new Float64Array(buffer, number(part), count);
    return {
      count,
      messageBytes,
      columns,
      keys: new BigUint64Array(buffer, number(abi.EXRP_SAMPLES_KEYS), count),
      probabilities: numbers(abi.EXRP_SAMPLES_PROBABILITIES),
      priorities: numbers(abi.EXRP_SAMPLES_PRIORITIES),
      tableSizes: numbers(abi.EXRP_SAMPLES_TABLE_SIZES),
      timesSampled: numbers(abi.EXRP_SAMPLES_TIMES_SAMPLED),
    };
  }

  /** Fills the layout, with as many columns as it needs. */
  #scan(message: Uint8Array, countMax: number, flags: number): void {
    const scan = (): number =>
      this.#kernel.symbols.exrp_samples_scan(
        message,
        lengthOf(message),
        countMax,
        flags,
        this.#layout,
        lengthOf(this.#layout),
      );
    let status = scan();
    if (status === abi.EXRP_STATUS_BUFFER_SIZE) {
      const { detail } = kernelError(this.#kernel, OPERATION, status);
      this.#layout = new Float64Array(detail[1] ?? 0);
      status = scan();
    }
    checkStatus(this.#kernel, OPERATION, status);
  }
}

function layoutOf(columns: number): Float64Array<ArrayBuffer> {
  return new Float64Array(abi.EXRP_SAMPLES_HEAD + columns * abi.EXRP_SAMPLES_COLUMN);
}

function columnAt(
  layout: Float64Array,
  index: number,
  buffer: ArrayBuffer,
  count: number,
  message: Uint8Array,
): SampleColumn {
  const at = abi.EXRP_SAMPLES_HEAD + index * abi.EXRP_SAMPLES_COLUMN;
  const number = (part: number): number => layout[at + part] ?? 0;
  const dtype = number(abi.EXRP_SAMPLES_DTYPE);
  const dims = at + abi.EXRP_SAMPLES_DIMS;
  const lengths = number(abi.EXRP_SAMPLES_LENGTHS);
  return {
    dtype,
    rowShape: [...layout.subarray(dims, dims + number(abi.EXRP_SAMPLES_RANK))],
    length: number(abi.EXRP_SAMPLES_LENGTH),
    lengths: lengths < 0 ? undefined : new Uint32Array(buffer, lengths, count),
    isSqueezed: number(abi.EXRP_SAMPLES_SQUEEZED) === 1,
    bytes: new Uint8Array(
      buffer,
      number(abi.EXRP_SAMPLES_OFFSET),
      number(abi.EXRP_SAMPLES_BYTES),
    ),
    strings: dtype === abi.EXRP_TENSOR_STRING ? stringsOfColumn(message, index) : undefined,
  };
}

/** The error where samples can't stand in one batch. */
function differ(layout: Float64Array): ReplayError {
  const which: number[] = [];
  for (let k = 0; k < (layout[abi.EXRP_SAMPLES_COLUMNS] ?? 0); k++) {
    const at = abi.EXRP_SAMPLES_HEAD + k * abi.EXRP_SAMPLES_COLUMN;
    if (layout[at + abi.EXRP_SAMPLES_AGREES] === 0) which.push(k);
  }
  const why = which.length === 0
    ? "they have different numbers of columns"
    : `the dtype or the row's shape differs in column ${which.join(", ")}`;
  return new ReplayError(
    "samples-differ",
    `${OPERATION}: the samples do not fit into one batch, because ${why}`,
  );
}
