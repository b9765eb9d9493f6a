/**
 * Draws picks that were rarely drawn or that the model predicts badly.
 *
 * @module
 */

import { EXRP_SELECTOR_CURIOUS } from "../ffi/symbols.ts";
import { DRAWN_BY_WEIGHT, nativeRule, numberFrom } from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode curious}, with the names of the paper and the default values of its authors. */
export interface CuriousOptions {
  /** The weight that a pick gets for being rarely drawn; at least 0, 10,000 by default. */
  readonly c?: number;
  /** Each draw of a pick multiplies that weight by this factor; 0 to 1, 0.7 by default. */
  readonly beta?: number;
  /** The exponent of losses; at least 0, 0.7 by default. */
  readonly alpha?: number;
  /** This is added to each loss; at least 0, 0.01 by default. */
  readonly epsilon?: number;
  /** The weight of a pick until you set its first loss; more than 0, 100,000 by default. */
  readonly pMax?: number;
  /** What importance weights are divided by: the largest weight of the `"batch"` (the default) or of the `"view"`. */
  readonly normalize?: "batch" | "view";
  /**
   * How the draws of one batch depend on each other. `"stratified"` (the default) divides the total weight into as many equal parts as
   * there are draws, and draws once from each part. `"independent"` draws each pick on its own.
   */
  readonly draw?: "stratified" | "independent";
}

/**
 * Draws pick i with probability P(i) = p_i / sum of all p, with replacement. Its weight is p_i = c · beta^v_i + (L_i + epsilon)^alpha.
 * v_i is how often this selector has drawn pick i, and L_i is the last loss of the learner's model on it.
 *
 * The method is from Kauvar, Doyle, Zhou and Haber, "Curious Replay for Model-based Adaptation" (ICML 2023, arXiv 2306.15934). We know
 * its formula from the authors' code.
 *
 * You give losses to `setPriority`. They must be at least 0, so give absolute values. Until its first loss, a pick has the weight
 * `pMax`, even if it was drawn. From then on its weight is p_i. All of its draws count, and p_i falls with each draw. All draws of one
 * batch use the weights from before the batch, and so does `probability`. If a pick comes several times in a batch, each time counts as
 * a draw.
 *
 * Importance weights are (N · P(i))^-beta, with the `beta` that you give to `getBatch`, scaled so that the largest is 1. The authors
 * train without them. To do the same, give `getBatch` a `beta` of 0. With `epsilon: 0` and `c: 0`, a pick of loss 0 is never drawn. If
 * all losses are 0, draws are uniform.
 *
 * Weights are kept as float32, from 2^-126 to the largest float32, (2 − 2^-23) · 2^127. A weight outside this range counts as the
 * nearest number in it.
 *
 * Cost: O(log N) for each draw and each update; about 13.5 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { curious, ExperienceReplay, float32 } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(curious({ c: 8, beta: 0.5, alpha: 1, epsilon: 0 }));
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [0], 0, 0);
 * replay.record(episode, [1], 1, 1, { finalState: [2] });
 *
 * const drawn = replay.getBatch(2, selector); // both are new: one from each half of the total weight
 * console.log([...drawn.state]); // [0, 1]
 * replay.setPriority(selector, [episode, episode], [0, 1], [2, 6]);
 * const batch = replay.getBatch(4, selector, { beta: 0 }); // 8 · 0.5 + 2 = 6 and 8 · 0.5 + 6 = 10
 * console.log([...batch.state]); // [0, 0, 1, 1]
 * console.log(Array.from(batch.probability, (p) => Math.round(16 * p))); // [6, 6, 10, 10]
 * ```
 */
export function curious(options: CuriousOptions = {}): NativeSelector {
  return nativeRule("curious", EXRP_SELECTOR_CURIOUS, options, {
    c: numberFrom(1e4, 0),
    beta: numberFrom(0.7, 0, 1),
    alpha: numberFrom(0.7, 0, 2 ** 40),
    epsilon: numberFrom(0.01, 0),
    pMax: numberFrom(1e5, Number.MIN_VALUE),
    ...DRAWN_BY_WEIGHT,
  });
}
