/**
 * Samples of the kernel as a batch: typed arrays in the structure of what was inserted.
 *
 * @module
 */

import type { SampleDecoder } from "../reverb/sample_decoder.ts";
import type { SampleColumn } from "../reverb/sample_column.ts";
import type { ColumnsOf, SampleBatch } from "../reverb/samples.ts";
import type { StepData } from "../reverb/structure.ts";
import type { ColumnNest } from "./_item_data.ts";

/** Sampled items of a {@linkcode Table}, as one typed array for each column. */
export interface TableBatch<D = StepData> extends SampleBatch<D> {
  /**
   * The columns in the structure of the table's signature, or of the data that was inserted first here. They stand in `columns` where neither
   * is known.
   */
  readonly data: ColumnsOf<D>;
}

/** Decodes a message. */
export function decodeBatch<D>(
  decoder: SampleDecoder,
  message: Uint8Array,
  nest: ColumnNest | undefined,
): TableBatch<D> {
  const samples = decoder.decode(message);
  const { columns } = samples;
  const data = nest === undefined ? columns : nested(nest, columns) ?? columns;
  return { ...samples, data: data as ColumnsOf<D> };
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
