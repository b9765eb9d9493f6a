/**
 * Pearson's chi-square test: how likely counts are, given what was expected of them.
 *
 * @module
 */

/** ln of the gamma function, for x > 0 (Lanczos' approximation, about 15 digits). */
function logGamma(x: number): number {
  const coefficients = [
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
  ];
  let sum = 0.99999999999980993;
  for (const [k, coefficient] of coefficients.entries()) sum += coefficient / (x + k);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The probability that a chi-square variable of `freedom` degrees is `statistic` or more. */
export function chiSquareTail(statistic: number, freedom: number): number {
  const [a, x] = [freedom / 2, statistic / 2];
  if (x <= 0) return 1;
  const scale = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let k = 1; k < 10_000 && term > sum * 1e-16; k++) {
      term *= x / (a + k);
      sum += term;
    }
    return 1 - scale * sum;
  }
  // Lentz's continued fraction.
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let fraction = d;
  for (let k = 1; k < 10_000; k++) {
    const numerator = -k * (k - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return scale * fraction;
}

/** Counts and what was expected of them, cell by cell; cells of which little is expected are thrown together. */
export class ChiSquare {
  #statistic = 0;
  #freedom = 0;

  /** Adds a multinomial: its cells' counts have the sum of what is expected. */
  add(counts: readonly number[], expected: readonly number[]): void {
    const cells: { count: number; expectation: number }[] = [];
    for (const [k, expectation] of expected.entries()) {
      const count = counts[k] ?? 0;
      const last = cells.at(-1);
      if (last !== undefined && Math.min(last.expectation, expectation) < 10) {
        last.count += count;
        last.expectation += expectation;
      } else cells.push({ count, expectation });
    }
    for (const { count, expectation } of cells) {
      this.#statistic += (count - expectation) ** 2 / expectation;
    }
    this.#freedom += cells.length - 1;
  }

  /** The probability that chance alone gives counts this far off, or further. */
  get tail(): number {
    return chiSquareTail(this.#statistic, this.#freedom);
  }
}
