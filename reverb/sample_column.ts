/**
 * A column of samples as a typed array with its shape, from what the kernel decoded.
 *
 * @module
 */

import type { SampleColumn as WireColumn } from "../wire/samples.ts";
import { dtypeOfNumber, type ReverbArrayOfDType, type ReverbDType } from "./dtypes.ts";

/**
 * One column of sampled items.
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
 * await client.insert({ state: Float32Array.of(1, 2, 3, 4) }, { replay: 1 });
 * const batch = await client.getBatch("replay", 256);
 * const [state] = batch.columns;
 * console.log(state?.shape); // [256, 1, 4]: of items with one step
 * console.log(state?.data instanceof Float32Array); // true
 * ```
 */
export interface SampleColumn<D extends ReverbDType = ReverbDType> {
  /** Its dtype. */
  readonly dtype: D;
  /**
   * `[items, steps, ...]`; without the steps where the items have this column squeezed. Where items have different numbers of steps, the
   * first size is that of all steps together, `[allSteps, ...]`, and `lengths` has the steps of each item.
   */
  readonly shape: readonly number[];
  /** The values, in row-major order. {@linkcode ReverbDType} says which array each dtype has. */
  readonly data: ReverbArrayOfDType[D];
  /** The steps of each item, where they differ. */
  readonly lengths?: Uint32Array<ArrayBuffer>;
}

/** The column of `count` samples. `unknown` makes the error for a dtype that is not known here. */
export function sampleColumn(
  column: WireColumn,
  count: number,
  unknown: (dtype: number) => Error,
): SampleColumn {
  const dtype = dtypeOfNumber(column.dtype);
  if (dtype === undefined) throw unknown(column.dtype);
  const { rowShape, length, lengths, isSqueezed, bytes, strings } = column;
  const data = dtype.array === undefined
    ? strings ?? []
    : new dtype.array(bytes.buffer, bytes.byteOffset, bytes.length / dtype.array.BYTES_PER_ELEMENT);
  const rows = lengths?.reduce((sum, steps) => sum + steps, 0) ?? 0;
  const head = isSqueezed ? [count] : lengths === undefined ? [count, length] : [rows];
  const shape = [...head, ...rowShape];
  return { dtype: dtype.name, shape, data, ...(lengths === undefined ? {} : { lengths }) };
}
