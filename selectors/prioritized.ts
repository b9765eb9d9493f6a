/**
 * Draws in proportion to priorities.
 *
 * @module
 */

import { EXRP_SELECTOR_PRIORITIZED } from "../ffi/symbols.ts";
import {
  DRAWN_BY_WEIGHT,
  INITIAL_PRIORITY,
  nativeRule,
  numberFrom,
  type OptionKinds,
} from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";

/** What the options are, for {@linkcode pser} too. */
export const PRIORITIZED_OPTIONS: OptionKinds = {
  alpha: numberFrom(0.6, 0, 2 ** 40),
  epsilon: numberFrom(1e-6, 0),
  initialPriority: INITIAL_PRIORITY,
  ...DRAWN_BY_WEIGHT,
};

/** The options of {@linkcode prioritized}. */
export interface PrioritizedOptions {
  /**
   * The exponent of priorities, at least 0. With 0 all draws are uniform, and with 1 they are proportional to priorities; 0.6 by
   * default.
   */
  readonly alpha?: number;
  /** This is added to each priority, so that a pick of priority 0 can still be drawn; at least 0, 1e-6 by default. */
  readonly epsilon?: number;
  /** The priority of new picks until one is set: more than 0, 1 by default. */
  readonly initialPriority?: number;
  /** What importance weights are divided by: the largest weight of the `"batch"` (the default) or of the `"view"`. */
  readonly normalize?: "batch" | "view";
  /**
   * How the draws of one batch depend on each other. `"stratified"` (the default) divides the total weight into as many equal parts as
   * there are draws, and draws once from each part. `"independent"` draws each pick on its own.
   */
  readonly draw?: "stratified" | "independent";
}

/**
 * Draws pick i with probability P(i) = w_i / sum of all w, with replacement. Its weight is w_i = (priority_i + epsilon)^alpha. This is
 * the proportional variant of Schaul et al., "Prioritized Experience Replay" (ICLR 2016), section 3.3.
 *
 * Importance weights are (N · P(i))^-beta, with the `beta` that you give to `getBatch`, scaled so that the largest is 1. A new pick has
 * the largest priority set so far. With `epsilon: 0`, a pick of priority 0 is never drawn. If all priorities are 0, draws are uniform.
 * `setPriority` refuses a priority that is negative, NaN or infinite.
 *
 * Weights are kept as float32, from 2^-126 to the largest float32, (2 − 2^-23) · 2^127. A weight outside this range counts as the
 * nearest number in it.
 *
 * Cost: O(log N) for each draw and each update; about 5.5 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 *
 * replay.setPriority(selector, [episode, episode], [0, 1], [0, 5]);
 * console.log([...replay.getBatch(3, selector).state]); // [20, 20, 20]
 * ```
 */
export function prioritized(options: PrioritizedOptions = {}): NativeSelector {
  return nativeRule("prioritized", EXRP_SELECTOR_PRIORITIZED, options, PRIORITIZED_OPTIONS);
}
