/**
 * What learners print: a line of JSON for each evaluation, and one at the end.
 *
 * @module
 */

/** A greedy evaluation. */
export interface Evaluation {
  /** Updates so far. */
  readonly update: number;
  /** Environment steps so far, of all actors. */
  readonly step: number;
  /** Loss of the latest update. */
  readonly loss: number;
  /** The mean return. */
  readonly return: number;
}

/** The end of training. */
export interface End {
  readonly end: true;
  /** Whether enough evaluations in a row were good enough. */
  readonly solved: boolean;
  /** The mean return of the best policy in 20 fresh episodes, and the least one. */
  readonly mean: number;
  readonly worst: number;
}

/** A line of a learner. */
export function readLine(line: string): Evaluation | End {
  return JSON.parse(line);
}
