/**
 * A column of samples as a typed array with its shape, from what the kernel decoded.
 *
 * @module
 */

import type { SampleColumn as WireColumn } from "../wire/samples.ts";
import { dtypeOfNumber } from "./dtypes.ts";
import type { SampleColumn } from "./samples.ts";

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
