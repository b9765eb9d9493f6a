/**
 * The running statistics of a column, as the kernel keeps them.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import type { ReplayCore } from "../core.ts";

/** The mean and the variance of each element of a column. {@linkcode ReplayView.columnStatistics} returns them. */
export interface ColumnStatistics {
  /** How many records they are of. */
  readonly count: number;
  /** `[...shape]`: the means. */
  readonly mean: Float64Array<ArrayBuffer>;
  /** `[...shape]`: the variances, divided by `count`. */
  readonly variance: Float64Array<ArrayBuffer>;
}

const OPERATION = "columnStatistics()";

/** The statistics of a column by its name; undefined where it has none. */
export function columnStatistics(core: ReplayCore, name: string): ColumnStatistics | undefined {
  core.checkUsable(OPERATION);
  const names = core.config.columns.map((each) => each.name);
  const k = names.indexOf(name);
  if (k < 0) {
    throw new TypeError(
      `${OPERATION} takes the name of a column, one of ${names.join(", ")}; got ${show(name)}`,
    );
  }
  const { kernel: { symbols }, id } = core;
  const elements = core.config.columns[k]?.column.elementCount ?? 0;
  const numbers = new Float64Array(1 + 2 * elements);
  const count = new Uint32Array(1);
  const status = symbols.exrp_column_statistics(id, k, numbers, lengthOf(numbers), count);
  core.check(OPERATION, status);
  if (count[0] === 0) return undefined;
  return {
    count: numbers[0] ?? 0,
    mean: numbers.slice(1, 1 + elements),
    variance: numbers.slice(1 + elements),
  };
}
