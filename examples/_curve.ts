/**
 * Learning curves, and when they are good enough.
 *
 * @module
 */

/** One point of the learning curve. */
export interface CurvePoint {
  /** Environment steps so far. */
  step: number;
  /** The undiscounted return of one episode, or the mean over several. */
  return: number;
}

/** Whether the latest evaluations, `times` in a row, were at least `return`. */
export function isSolved(
  evaluations: readonly CurvePoint[],
  { return: enough, times }: { return: number; times: number },
): boolean {
  const latest = evaluations.slice(-times);
  return latest.length === times && latest.every((point) => point.return >= enough);
}

/** The two ends of an axis for returns: `usual`, or further out at whole numbers where a point would lie outside. */
export function returnDomain(
  points: readonly CurvePoint[],
  usual: readonly [number, number],
): [number, number] {
  const returns = points.map((point) => point.return);
  const [low, high] = usual;
  return [Math.min(low, ...returns.map(Math.floor)), Math.max(high, ...returns.map(Math.ceil))];
}

/** The mean; 0 of no numbers. */
export function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
}
