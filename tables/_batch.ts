/**
 * Samples of the kernel as a batch: typed arrays in the structure of what was inserted.
 *
 * @module
 */

import { dtypeOfNumber } from "../reverb/dtypes.ts";
import { ReplayError } from "../base/errors.ts";
import type { SampleColumn } from "../reverb/samples.ts";
import type { SampleColumn as WireColumn, SampleDecoder } from "../wire/samples.ts";
import type { ColumnNest } from "./_item_data.ts";
import type { ColumnsOf, TableBatch } from "./table.ts";

/** Decodes a message. */
export function batchOf<D>(
  decoder: SampleDecoder,
  message: Uint8Array,
  nest: ColumnNest | undefined,
): TableBatch<D> {
  const samples = decoder.decode(message);
  const { count, keys, probabilities, tableSizes, priorities, timesSampled } = samples;
  const columns = samples.columns.map((column) => columnOf(column, count));
  const data = nest === undefined ? columns : nested(nest, columns) ?? columns;
  return {
    size: count,
    keys,
    probabilities,
    tableSizes,
    priorities,
    timesSampled,
    columns,
    data: data as ColumnsOf<D>,
  };
}

/** The columns at their places; undefined where there are others. */
function nested(nest: ColumnNest, columns: readonly SampleColumn[]): unknown {
  let count = 0;
  const visit = (part: ColumnNest): unknown => {
    if (typeof part === "number") {
      count++;
      return columns[part];
    }
    if (Array.isArray(part)) return part.map(visit);
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, visit(one)]));
  };
  const made = visit(nest);
  return count === columns.length ? made : undefined;
}

function columnOf(column: WireColumn, count: number): SampleColumn {
  const dtype = dtypeOfNumber(column.dtype);
  if (dtype === undefined) {
    throw new ReplayError(
      "message-damaged",
      `sample(): a column has the dtype ${column.dtype} of TensorFlow, which is not known here`,
    );
  }
  const { rowShape, length, lengths, isSqueezed, bytes, strings } = column;
  const data = dtype.array === undefined
    ? strings ?? []
    : new dtype.array(bytes.buffer, bytes.byteOffset, bytes.length / dtype.array.BYTES_PER_ELEMENT);
  const all = lengths?.reduce((sum, steps) => sum + steps, 0);
  const head = isSqueezed ? [count] : all === undefined ? [count, length] : [all];
  return {
    dtype: dtype.name,
    shape: [...head, ...rowShape],
    data,
    ...(lengths === undefined ? {} : { lengths }),
  };
}
