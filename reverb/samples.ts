/**
 * What was sampled: many items as one typed array for each column.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import type { SampleDecoder, Samples } from "../wire/samples.ts";
import { ReverbError } from "./errors.ts";
import { type SampleColumn, sampleColumn } from "./sample_column.ts";
import { mapSignature, type Signature } from "./signature.ts";
import type { StepData, StepLeaf, StepNest } from "./structure.ts";
import type { Tensor } from "./tensor.ts";

/**
 * The columns of sampled items, in the structure of the data that was inserted: `data` of a {@linkcode SampleBatch}. The column of a typed array or a
 * {@linkcode Tensor} has its dtype; that of a plain number may have any.
 */
export type ColumnsOf<D> = StepData extends D ? StepNest<SampleColumn>
  : D extends Tensor<infer T> ? SampleColumn<T>
  : D extends Float32Array ? SampleColumn<"float32">
  : D extends Float64Array ? SampleColumn<"float64">
  : D extends Int8Array ? SampleColumn<"int8">
  : D extends Uint8Array ? SampleColumn<"uint8">
  : D extends Int16Array ? SampleColumn<"int16">
  : D extends Uint16Array ? SampleColumn<"uint16">
  : D extends Int32Array ? SampleColumn<"int32">
  : D extends Uint32Array ? SampleColumn<"uint32">
  : D extends BigInt64Array ? SampleColumn<"int64">
  : D extends BigUint64Array ? SampleColumn<"uint64">
  : D extends StepLeaf ? SampleColumn
  : D extends readonly (infer E)[] ? readonly ColumnsOf<E>[]
  : { readonly [K in keyof D]: ColumnsOf<D[K]> };

/**
 * Sampled items. `client.getBatch()` and `client.batches()` return them.
 *
 * @example
 * ```ts
 * import { ReverbClient } from "@exrp/replay/reverb";
 * import { serve } from "@exrp/replay/server";
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * await using server = await serve({ tables }); // yours runs elsewhere
 * await using client = await ReverbClient.connect(server.address);
 *
 * await client.insert({ reward: 1 }, { replay: 1 });
 * const batch = await client.getBatch("replay", 256, { timeoutMs: 1000, isPartialAllowed: true });
 * console.log([batch.size, batch.probability[0], batch.tableSizes[0]]); // [256, 1, 1]
 * const errors = new Float32Array(batch.size).fill(0.5); // what your learner says
 * await client.setPriority("replay", { updates: { keys: batch.keys, priorities: errors } });
 * ```
 */
export interface SampleBatch<D = StepData> {
  /** The number of items. */
  readonly size: number;
  /** The key of each item. */
  readonly keys: BigUint64Array<ArrayBuffer>;
  /** The probability by which each item was sampled, 0..1. */
  readonly probability: Float64Array<ArrayBuffer>;
  /** The items in the table when each item was sampled. */
  readonly tableSizes: Float64Array<ArrayBuffer>;
  /** The priority of each item. */
  readonly priorities: Float64Array<ArrayBuffer>;
  /** How often each item had been sampled, this time included. */
  readonly timesSampled: Float64Array<ArrayBuffer>;
  /** The columns, in the order in which the items have them. */
  readonly columns: readonly SampleColumn[];
  /** The columns in the structure of the table's signature; `columns` where it has none. `D` is the type of what goes in. */
  readonly data: ColumnsOf<D>;
}

/**
 * Decodes the first samples of a message.
 *
 * @throws {ReverbError} `invalid-argument` where items have different columns; `data-loss` for a damaged message.
 */
export function decodeSamples(
  decoder: SampleDecoder,
  table: string,
  message: Uint8Array<ArrayBuffer>,
  countMax: number,
  signature: Signature | undefined,
): SampleBatch {
  const samples = decode(decoder, table, message, countMax);
  const unknown = (dtype: number, k: number): ReverbError =>
    new ReverbError("unimplemented", `column ${k} has the unknown dtype ${dtype} of TensorFlow`);
  return batchOf(samples, unknown, (columns) => nested(columns, signature));
}

/** Samples as a batch. `unknown` makes the error for a column whose dtype is unknown, and `structured` puts the columns at their places. */
export function batchOf<D>(
  samples: Samples,
  unknown: (dtype: number, column: number) => Error,
  structured: (columns: readonly SampleColumn[]) => unknown,
): SampleBatch<D> {
  const { count: size, keys, probabilities, tableSizes, priorities, timesSampled } = samples;
  const columns = samples.columns.map((column, k) =>
    sampleColumn(column, size, (dtype) => unknown(dtype, k))
  );
  const data = structured(columns) as ColumnsOf<D>;
  return {
    size,
    keys,
    probability: probabilities,
    tableSizes,
    priorities,
    timesSampled,
    columns,
    data,
  };
}

function decode(
  decoder: SampleDecoder,
  table: string,
  message: Uint8Array<ArrayBuffer>,
  countMax: number,
): Samples {
  try {
    return decoder.decode(message, { countMax });
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
}

/** The columns in the signature's structure. */
function nested(
  columns: readonly SampleColumn[],
  signature: Signature | undefined,
): StepNest<SampleColumn> {
  if (signature === undefined) return columns;
  let count = 0;
  const data = mapSignature(signature, () => columns[count++]);
  return count === columns.length ? data as StepNest<SampleColumn> : columns;
}
