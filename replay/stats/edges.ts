/**
 * The edges of the histograms of `stats()`.
 *
 * @module
 */

/** The most bins that a histogram of ages has. */
const AGE_BINS_MAX = 25;

/** The most bins that a histogram of weights has, unless there are more factors of ten. */
const LOG_BINS_MAX = 40;

/** Edges from 0 on, of whole width 1, 2 or 5 times a power of ten, for ages up to `largest`. */
export function ageEdges(largest: number): Float64Array<ArrayBuffer> {
  const least = (largest + 1) / AGE_BINS_MAX;
  let power = 1;
  while (power * 10 < least) power *= 10;
  const width = power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
  return Float64Array.from({ length: Math.ceil((largest + 1) / width) + 1 }, (_, k) => k * width);
}

/** Edges at equal steps of the logarithm, 8, 4, 2 or 1 for each factor of ten; none if `smallest` is 0. */
export function logEdges(smallest: number, largest: number): Float64Array<ArrayBuffer> {
  if (!(smallest > 0)) return new Float64Array(0);
  const [low, high] = [Math.log10(smallest), Math.log10(largest)];
  const steps = [8, 4, 2].find((each) => (high - low) * each < LOG_BINS_MAX - 2) ?? 1;
  const edge = (k: number): number =>
    Math.min(Number.MAX_VALUE, Math.max(Number.MIN_VALUE, 10 ** (k / steps)));
  let [first, last] = [Math.floor(low * steps), Math.floor(high * steps) + 1];
  // The logarithm is rounded.
  while (edge(first) > smallest) first--;
  while (edge(first + 1) <= smallest) first++;
  while (edge(last) <= largest && edge(last) < Number.MAX_VALUE) last++;
  while (edge(last - 1) > largest) last--;
  const edges = Float64Array.from({ length: last - first + 1 }, (_, k) => edge(first + k));
  // Among the very smallest numbers some edges are the same.
  return edges.filter((value, k) => k === 0 || value > (edges[k - 1] ?? 0));
}
