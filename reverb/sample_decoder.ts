/**
 * Samples as Reverb's servers send them, as columns of all samples: the kernel unpacks a whole message at once.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { ReplayError } from "../base/errors.ts";
import { checkStatus, type Kernel, kernelError } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";
import { stringsOfColumn } from "../wire/strings.ts";
import { dtypeOfNumber } from "./dtypes.ts";
import { ReverbError } from "./errors.ts";
import type { SampleColumn } from "./sample_column.ts";
import type { SampleBatch } from "./samples.ts";
import { mapSignature, type Signature } from "./signature.ts";
import type { StepNest } from "./structure.ts";

/** Samples whose columns have no structure yet. */
export type Samples = Omit<SampleBatch, "data">;

/** The largest buffer that {@linkcode SampleDecoder.decode} makes, unless its caller says another. */
const SAMPLES_BYTES_MAX = 2 ** 31;

const OPERATION = "decode samples";

/** Decodes messages of samples. Its buffer of numbers serves one call after another. */
export class SampleDecoder {
  readonly #kernel: Kernel;
  #layout = new Float64Array(abi.EXRP_SAMPLES_HEAD + 8 * abi.EXRP_SAMPLES_COLUMN);
  /** Whether the samples of the messages so far had the same lengths. */
  #areAlike = true;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /**
   * Decodes the whole samples of a `SampleStreamResponse`, or of several one after another, with the same columns.
   *
   * @param bytesMax The most bytes that they may unpack to. A small message can unpack to a large one.
   * @throws {ReplayError} `message-damaged`: damage, or more than `bytesMax`. `samples-differ`: the samples have different columns, dtypes or row
   * shapes; each can be decoded alone.
   */
  decode(message: Uint8Array, bytesMax: number = SAMPLES_BYTES_MAX): Samples {
    let buffer: ArrayBuffer | undefined;
    if (this.#areAlike) {
      const size = this.#scan(message, abi.EXRP_SCAN_ALIKE);
      if (size <= bytesMax) buffer = this.#unpack(message, size);
    }
    if (buffer === undefined) {
      // A table whose items have different lengths is looked at in full at once the next time.
      this.#areAlike = false;
      const size = this.#scan(message, abi.EXRP_SCAN_ALL);
      if (this.#layout[abi.EXRP_SAMPLES_ALL_AGREE] !== 1) throw this.#differ();
      if (size > bytesMax) {
        throw new ReplayError(
          "message-damaged",
          `${OPERATION}: they unpack to ${size} bytes, and at most ${bytesMax} are allowed`,
        );
      }
      buffer = this.#unpack(message, size);
      if (buffer === undefined) throw kernelError(this.#kernel, OPERATION, abi.EXRP_STATUS_DAMAGED);
    }
    const samples = this.#samples(message, buffer);
    this.#areAlike ||= samples.columns.every(({ lengths }) => lengths === undefined);
    return samples;
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

  /** Fills the layout, with as many columns as it needs. Returns the bytes of the buffer. */
  #scan(message: Uint8Array, flags: number): number {
    const scan = (): number =>
      this.#kernel.symbols.exrp_samples_scan(
        message,
        lengthOf(message),
        0xFFFFFFFF,
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
    return this.#number(abi.EXRP_SAMPLES_OUT_BYTES);
  }

  #number(index: number): number {
    return this.#layout[index] ?? 0;
  }

  #samples(message: Uint8Array, buffer: ArrayBuffer): Samples {
    const size = this.#number(abi.EXRP_SAMPLES_COUNT);
    const columns: SampleColumn[] = [];
    for (let k = 0; k < this.#number(abi.EXRP_SAMPLES_COLUMNS); k++) {
      columns.push(this.#column(message, buffer, k, size));
    }
    const numbers = (part: number): Float64Array<ArrayBuffer> =>
      new Float64Array(buffer, this.#number(part), size);
    return {
      size,
      keys: new BigUint64Array(buffer, this.#number(abi.EXRP_SAMPLES_KEYS), size),
      probability: numbers(abi.EXRP_SAMPLES_PROBABILITIES),
      tableSizes: numbers(abi.EXRP_SAMPLES_TABLE_SIZES),
      priorities: numbers(abi.EXRP_SAMPLES_PRIORITIES),
      timesSampled: numbers(abi.EXRP_SAMPLES_TIMES_SAMPLED),
      columns,
    };
  }

  #column(message: Uint8Array, buffer: ArrayBuffer, index: number, size: number): SampleColumn {
    const at = abi.EXRP_SAMPLES_HEAD + index * abi.EXRP_SAMPLES_COLUMN;
    const number = (part: number): number => this.#number(at + part);
    const dtype = dtypeOfNumber(number(abi.EXRP_SAMPLES_DTYPE));
    // The kernel has looked: it knows the same dtypes.
    if (dtype === undefined) throw kernelError(this.#kernel, OPERATION, abi.EXRP_STATUS_DAMAGED);
    const { name, array } = dtype;
    const data = array === undefined ? stringsOfColumn(message, index) : new array(
      buffer,
      number(abi.EXRP_SAMPLES_OFFSET),
      number(abi.EXRP_SAMPLES_BYTES) / array.BYTES_PER_ELEMENT,
    );
    const dims = at + abi.EXRP_SAMPLES_DIMS;
    const row = this.#layout.subarray(dims, dims + number(abi.EXRP_SAMPLES_RANK));
    const place = number(abi.EXRP_SAMPLES_LENGTHS);
    if (place >= 0) {
      const lengths = new Uint32Array(buffer, place, size);
      return { dtype: name, shape: [number(abi.EXRP_SAMPLES_ROWS), ...row], data, lengths };
    }
    const isSqueezed = number(abi.EXRP_SAMPLES_SQUEEZED) === 1;
    const head = isSqueezed ? [size] : [size, number(abi.EXRP_SAMPLES_LENGTH)];
    return { dtype: name, shape: [...head, ...row], data };
  }

  /** The error where samples can't stand in one batch. */
  #differ(): ReplayError {
    const which: number[] = [];
    for (let k = 0; k < this.#number(abi.EXRP_SAMPLES_COLUMNS); k++) {
      const at = abi.EXRP_SAMPLES_HEAD + k * abi.EXRP_SAMPLES_COLUMN;
      if (this.#number(at + abi.EXRP_SAMPLES_AGREES) === 0) which.push(k);
    }
    const why = which.length === 0
      ? "they have different numbers of columns"
      : `the dtype or the row's shape differs in column ${which.join(", ")}`;
    return new ReplayError(
      "samples-differ",
      `${OPERATION}: the samples do not fit into one batch, because ${why}`,
    );
  }
}

/**
 * The samples of a message, in the structure of the table's signature, if it has one.
 *
 * @throws {ReverbError} `invalid-argument` where items have different columns; `data-loss` for a damaged message.
 */
export function decodeSamples(
  decoder: SampleDecoder,
  table: string,
  message: Uint8Array,
  signature: Signature | undefined,
): SampleBatch {
  let samples: Samples;
  try {
    samples = decoder.decode(message);
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    const isMixed = error.code === "samples-differ";
    throw new ReverbError(
      isMixed ? "invalid-argument" : "data-loss",
      `items of table ${JSON.stringify(table)}: ${error.message}${
        isMixed ? "; sample them one by one, with a count of 1" : ""
      }`,
      { cause: error },
    );
  }
  const { columns } = samples;
  if (signature === undefined) return { ...samples, data: columns };
  let count = 0;
  const data = mapSignature(signature, () => columns[count++]);
  return { ...samples, data: count === columns.length ? data as StepNest<SampleColumn> : columns };
}
