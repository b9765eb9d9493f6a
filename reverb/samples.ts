/**
 * What was sampled: many items as one typed array for each column.
 *
 * @module
 */

import type { SampleColumn } from "./sample_column.ts";
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
