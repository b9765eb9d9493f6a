/**
 * The statistics that a data set of LeRobot's has of its columns, by episode and of all: its policies scale their inputs by them.
 *
 * @module
 */

import type { Values } from "./_values.ts";

const QUANTILES = { q01: 0.01, q10: 0.1, q50: 0.5, q90: 0.9, q99: 0.99 } as const;

/** What there is of a column. */
export const STATS = [
  ...["min", "max", "mean", "std", "count"] as const,
  ...Object.keys(QUANTILES) as (keyof typeof QUANTILES)[],
] as const;

/** A number for each element of a row; of the count, one. */
export type Stats = Readonly<Record<typeof STATS[number], readonly number[]>>;

/** The value below which a share of sorted numbers is, as NumPy interpolates it. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const [low = NaN, high = low] = sorted.subarray(Math.floor(place), Math.floor(place) + 2);
  return low + (high - low) * (place - Math.floor(place));
}

/** The statistics of rows, each of so many numbers. */
export function statsOf(values: Values, width: number): Stats {
  const count = values.length / width;
  const found = Object.fromEntries(STATS.map((name) => [name, [] as number[]])) as Record<
    typeof STATS[number],
    number[]
  >;
  const numbers = new Float64Array(count);
  for (let k = 0; k < width; k++) {
    for (let row = 0; row < count; row++) numbers[row] = values[row * width + k] as number;
    const mean = numbers.reduce((sum, value) => sum + value, 0) / count;
    const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    numbers.sort();
    found.min.push(numbers[0] as number);
    found.max.push(numbers[count - 1] as number);
    found.mean.push(mean);
    found.std.push(Math.sqrt(squares / count));
    for (const [name, share] of Object.entries(QUANTILES)) {
      found[name as keyof typeof QUANTILES].push(quantile(numbers, share));
    }
  }
  found.count.push(count);
  return found;
}

/**
 * The statistics of two sets of rows together. Quantiles can't be computed from those of the parts: like LeRobot, it takes the lower ones up to the median,
 * and the higher ones above.
 */
export function addStats(one: Stats, other: Stats): Stats {
  const [[first = 0], [second = 0]] = [one.count, other.count];
  const share = second / (first + second);
  const each = (name: keyof Stats, of: (a: number, b: number) => number): number[] =>
    one[name].map((a, k) => of(a, other[name][k] as number));
  const lower = (name: keyof Stats): number[] => each(name, Math.min);
  const higher = (name: keyof Stats): number[] => each(name, Math.max);
  const mean = each("mean", (a, b) => a + (b - a) * share);
  return {
    min: lower("min"),
    max: higher("max"),
    mean,
    std: one.std.map((a, k) => {
      const gap = (other.mean[k] as number) - (one.mean[k] as number);
      const variance = a ** 2 * (1 - share) + (other.std[k] as number) ** 2 * share;
      return Math.sqrt(variance + gap ** 2 * share * (1 - share));
    }),
    count: [first + second],
    q01: lower("q01"),
    q10: lower("q10"),
    q50: lower("q50"),
    q90: higher("q90"),
    q99: higher("q99"),
  };
}
