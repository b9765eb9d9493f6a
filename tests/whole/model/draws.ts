/**
 * The common part of every model selector: it follows the pick view and draws picks.
 *
 * @module
 */

/** Picks that were drawn, by their place in the pick view, and the probability of each draw. */
export interface Draws {
  readonly indices: readonly number[];
  readonly probabilities: readonly number[];
  /** How far the probabilities may be off, relative; 0 when absent. */
  readonly tolerance?: number;
}

/** A rule that draws. */
export interface SelectorModel {
  /** Whether importance weights are (N P)^-beta; otherwise they are 1. */
  readonly weighted: boolean;
  /** A pick was added at the end. */
  pushed(): void;
  /** The last pick takes the place of the one at `to`, which is gone. */
  moved(to: number): void;
  /** The last pick is gone. */
  popped(): void;
  /** `before` gives the picks before one in its episode, the nearest first; none where priorities come with records. */
  setPriority(
    indices: readonly number[],
    priorities: readonly number[],
    before?: (index: number) => readonly number[],
  ): void;
  /** The priority that the rule keeps of a pick; NaN where it does not know it. Absent where it keeps none. */
  priority?(index: number): number;
  /** `seen` is what the library drew: only a rule whose draws hang on more than the model knows may look at it. */
  select(count: number, seen?: Draws): Draws;
  /** The largest batch the rule can draw now; any when absent. */
  readonly batchMax?: number;
  /** The probability by which importance weights are scaled; 0: the batch's smallest. */
  probabilityMin(): number;
  clone(): SelectorModel;
}
