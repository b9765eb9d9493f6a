/**
 * The columns of samples, as the arrays that networks take.
 *
 * @module
 */
import type { SampleColumn } from "@exrp/replay/reverb";
import type { Floats } from "../_network.ts";

/** The values of a column of float32. */
export function floatsOf(column: SampleColumn | undefined): Floats {
  if (column?.data instanceof Float32Array) return column.data;
  throw new TypeError(`a column must be float32, got ${column?.dtype ?? "none"}`);
}

/** The values of a column of int32. */
export function integersOf(column: SampleColumn | undefined): Int32Array<ArrayBuffer> {
  if (column?.data instanceof Int32Array) return column.data;
  throw new TypeError(`a column must be int32, got ${column?.dtype ?? "none"}`);
}
