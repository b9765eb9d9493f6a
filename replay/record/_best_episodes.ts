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
  const rows = bestRows(values, Math.min(count, all.size));
  return mapColumns(all, rows.length, (column) => {
    const best = column.slice(0, rows.length);
    for (const [k, row] of rows.entries()) best[k] = column[row] as number;
    return best;
  });
}

/** The indices of the `count` largest values. */
function bestRows(values: Float64Array<ArrayBuffer>, count: number): readonly number[] {
  const least = values.toSorted().at(-count) ?? 0;
  const above: number[] = [];
  const equal: number[] = [];
  for (const [k, value] of values.entries()) {
    if (value > least) above.push(k);
    else if (value === least) equal.push(k);
  }
  // A sort keeps the order of equal ones. The difference of two infinities would be no number.
  above.sort((a, b) =>
    Number(values[a] as number < (values[b] as number)) -
    Number((values[a] as number) > (values[b] as number))
  );
  return [...above, ...equal.slice(0, count - above.length)];
}
