/**
 * What the report calls systems and sizes.
 *
 * @module
 */

/** Ours with fresh and with reused outputs. */
export const OURS: readonly string[] = ["exrp", "exrp, into"];

/** Not libraries, but what a user writes without one. */
export const BY_HAND: readonly string[] = [
  "numpy",
  "Python list",
  "Python named tuple",
  "numpy, one array",
];

/** A size: `2^20` where it is a power. */
export function power(capacity: number): string {
  const exponent = Math.log2(capacity);
  return Number.isInteger(exponent) ? `2^${exponent}` : `${capacity}`;
}
