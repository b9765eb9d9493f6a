/**
 * What the options of the functions of steps have in common.
 *
 * @module
 */

/** The options that {@linkcode gae}, {@linkcode lambdaReturn}, {@linkcode nStepReturn}, {@linkcode retrace} and {@linkcode vtrace} share. */
export interface StepOptions {
  /** `[batch, length]`: the rewards. */
  readonly reward: ArrayLike<number>;
  /** `[batch, length]`: gamma, or 0 where the episode terminated: `batch.discount`. */
  readonly discount: ArrayLike<number>;
  /**
   * `[batch]`: the number of real steps in each row: `batch.seqLen`, or `batch.nextSeqLen` with `allowOpenEnd`. A step without a known
   * next state has no result yet.
   */
  readonly seqLen: ArrayLike<number>;
  /**
   * True for rows without padding, one after another, as `drain` gives them. Each array then has as many numbers as the
   * sum of `seqLen`. False by default.
   */
  readonly packed?: boolean;
}
