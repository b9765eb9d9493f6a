/**
 * Tensors as Reverb's chunks have them: a `TensorProto` whose elements are packed by Snappy. The kernel packs and unpacks.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { checkStatus, type Kernel } from "../ffi/library.ts";
import * as abi from "../ffi/symbols.ts";

/** How {@linkcode TensorCodec.encode} packs. */
export interface PackOptions {
  /** Writes each row of integers as its difference to the one before; other tensors stay as they are. False by default. */
  readonly delta?: boolean;
  /** Leaves the elements as large as they are, for what stays in this process. False by default. */
  readonly plain?: boolean;
}

/** What a `TensorProto` says of itself. */
export interface TensorInfo {
  /** The number of its dtype in TensorFlow's `types.proto`. */
  readonly dtype: number;
  /** Its shape. */
  readonly shape: readonly number[];
  /** The bytes of its elements; 0 for strings. */
  readonly bytes: number;
}

/** Writes and reads `TensorProto` messages. Its buffers serve one call after another. */
export class TensorCodec {
  readonly #kernel: Kernel;
  #out: Uint8Array<ArrayBuffer> = new Uint8Array(4096);
  readonly #shape: Float64Array<ArrayBuffer> = new Float64Array(abi.EXRP_LIMIT_RANK);
  readonly #number: Float64Array<ArrayBuffer> = new Float64Array(1);
  readonly #info: Float64Array<ArrayBuffer> = new Float64Array(abi.EXRP_TENSOR_INFO_COUNT);

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /**
   * Writes the `TensorProto` of little-endian elements. The result is a view that the next call overwrites.
   *
   * @param dtype TensorFlow's number of the dtype; strings have no elements of one size, so they are not packed.
   * @throws {ReplayError} `argument`: `bytes` are not those of the shape, or the dtype has no fixed size.
   */
  encode(
    dtype: number,
    shape: readonly number[],
    bytes: Uint8Array,
    options: PackOptions = {},
  ): Uint8Array {
    const { symbols } = this.#kernel;
    const flags = (options.delta === true ? abi.EXRP_PACK_DELTA : 0) |
      (options.plain === true ? abi.EXRP_PACK_PLAIN : 0);
    const number = this.#number;
    let status = symbols.exrp_tensor_capacity(shape.length, lengthOf(bytes), flags, number);
    checkStatus(this.#kernel, "encode a tensor", status);
    for (let k = 0; k < shape.length; k++) this.#shape[k] = shape[k] ?? 0;
    const out = this.#room(number[0] ?? 0);
    status = symbols.exrp_tensor_encode(
      dtype,
      this.#shape,
      shape.length,
      bytes,
      lengthOf(bytes),
      flags,
      out,
      lengthOf(out),
      number,
    );
    checkStatus(this.#kernel, "encode a tensor", status);
    return out.subarray(0, number[0]);
  }

  /**
   * Reads the dtype and the shape of a `TensorProto`.
   *
   * @throws {ReplayError} `message-damaged`.
   */
  info(tensor: Uint8Array): TensorInfo {
    const info = this.#info;
    const status = this.#kernel.symbols.exrp_tensor_info(
      tensor,
      lengthOf(tensor),
      info,
      lengthOf(info),
    );
    checkStatus(this.#kernel, "read a tensor", status);
    const rank = info[abi.EXRP_TENSOR_INFO_RANK] ?? 0;
    return {
      dtype: info[abi.EXRP_TENSOR_INFO_DTYPE] ?? 0,
      shape: [...info.subarray(abi.EXRP_TENSOR_INFO_DIMS, abi.EXRP_TENSOR_INFO_DIMS + rank)],
      bytes: info[abi.EXRP_TENSOR_INFO_BYTES] ?? 0,
    };
  }

  /**
   * Unpacks the elements of a `TensorProto` of numbers, as little-endian bytes of their own.
   *
   * @param options `delta`: whether the tensor's chunk is marked as delta-encoded.
   * @throws {ReplayError} `message-damaged`.
   */
  decode(tensor: Uint8Array, options: Pick<PackOptions, "delta"> = {}): Uint8Array<ArrayBuffer> {
    const data = new Uint8Array(this.info(tensor).bytes);
    const flags = options.delta === true ? abi.EXRP_PACK_DELTA : 0;
    const { symbols } = this.#kernel;
    const status = symbols.exrp_tensor_decode(
      tensor,
      lengthOf(tensor),
      flags,
      data,
      lengthOf(data),
    );
    checkStatus(this.#kernel, "read a tensor", status);
    return data;
  }

  #room(bytes: number): Uint8Array<ArrayBuffer> {
    if (this.#out.length < bytes) this.#out = new Uint8Array(Math.ceil(bytes * 1.5));
    return this.#out;
  }
}
