/**
 * Samples of the kernel as a batch: typed arrays in the structure of what was inserted.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import type { SampleColumn } from "../reverb/sample_column.ts";
import { batchOf, type ColumnsOf, type SampleBatch } from "../reverb/samples.ts";
import type { StepData } from "../reverb/structure.ts";
import type { SampleDecoder } from "../wire/samples.ts";
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
  return batchOf(
    decoder.decode(message),
    unknownDType,
    (columns) => nest === undefined ? columns : nested(nest, columns) ?? columns,
  );
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

function unknownDType(dtype: number): ReplayError {
  return new ReplayError(
    "message-damaged",
    `getBatch(): a column has the dtype ${dtype} of TensorFlow, which is not known here`,
  );
}
