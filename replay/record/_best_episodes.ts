/**
 * The best of the episodes in a list.
 *
 * @module
 */

import { type EpisodeColumns, mapColumns } from "../../schema/episode_filter.ts";

/**
 * The rows with the `count` largest returns, the largest first; of equal ones, the one that stands first in the list. NaN counts as the
 * smallest.
 */
export function bestOf(all: EpisodeColumns, count: number): EpisodeColumns {
  const values = (all.return ?? new Float64Array()).map((value) =>
    Number.isNaN(value) ? -Infinity : value
  );
  const returnOf = (row: number): number => values[row] as number;
  // Numbers by themselves sort many times as fast as rows, so only rows that may be among the best are sorted.
  const least = values.toSorted().at(-count) ?? -Infinity;
  const rows = [...values.keys()].filter((row) => returnOf(row) >= least);
  // A sort keeps the order of equal ones. The difference of two infinities would be no number.
  rows.sort((a, b) => Number(returnOf(a) < returnOf(b)) - Number(returnOf(a) > returnOf(b)));
  const best = rows.slice(0, count);
  return mapColumns(all, best.length, (column) => {
    const chosen = column.slice(0, best.length);
    for (const [k, row] of best.entries()) chosen[k] = column[row] as number;
    return chosen;
  });
}
