/**
 * The names of systems and sizes in the report.
 *
 * @module
 */

/** Ours with fresh outputs, with reused ones, and with fresh ones that are handed back. */
export const OURS: readonly string[] = ["exrp", "exrp, into", "exrp, using"];

/** These are not libraries. A user without a library writes them. */
export const BY_HAND: readonly string[] = [
  "numpy",
  "Python list",
  "Python named tuple",
  "numpy, one array",
];

/** Writes a size, as `2^20` if it is a power of two. */
export function power(capacity: number): string {
  const exponent = Math.log2(capacity);
  return Number.isInteger(exponent) ? `2^${exponent}` : `${capacity}`;
}

/** Writes how many steps a buffer holds, such as "2²⁰ steps". */
export function sizeText(capacity: number): string {
  const exponent = [...String(Math.log2(capacity))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
  return `2${exponent.join("")} steps`;
}
