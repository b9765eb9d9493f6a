/**
 * Draws what was drawn seldom and what is learned badly.
 *
 * @module
 */

import { checkNumber, checkWord } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_SELECTOR_CURIOUS } from "../ffi/symbols.ts";
import { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode curious}, under the paper's names, with the values its authors use. */
export interface CuriousOptions {
  /** How much it counts that a pick was drawn seldom; at least 0, 10,000 by default. */
  readonly c?: number;
  /** What is left of that after each draw: 0 to 1, 0.7 by default. */
  readonly beta?: number;
  /** How much losses count; at least 0, 0.7 by default. */
  readonly alpha?: number;
  /** Added to each loss; at least 0, 0.01 by default. */
  readonly epsilon?: number;
  /** The weight of a pick until its first loss is set; more than 0, 100,000 by default. */
  readonly pMax?: number;
  /** Whether importance weights are divided by the largest of the batch (the default) or of the table. */
  readonly normalize?: "batch" | "table";
  /**
   * Whether the draws of one batch are spread evenly, one from each n-th of the total weight (`"stratified"`, the
   * default), or independent of each other.
   */
  readonly draw?: "stratified" | "independent";
}

/**
 * Draws pick i with probability P(i) = p_i / sum of all p, p_i = c · beta^v_i + (L_i + epsilon)^alpha, with replacement: Kauvar,
 * Doyle, Zhou and Haber, "Curious Replay for Model-based Adaptation" (ICML 2023, arXiv 2306.15934; its formula is known here
 * from the authors' code). v_i is how often this selector has drawn pick i, L_i the last loss of the learner's model on it.
 *
 * Losses are what `setPriority` is given: at least 0, so give the absolute value of one that may be negative. Until its first
 * loss is set a pick has the weight `pMax`, however often it was drawn; from then on p_i, with all of its draws counted, and
 * p_i falls by itself with each draw. All draws of a batch are by the weights from before it, which is also what `probability`
 * tells of; a pick that comes several times in it has been drawn as often.
 *
 * Importance weights are (N P(i))^-beta, with the `beta` given to `getBatch`, scaled so that the largest is 1. The authors
 * train without them: give `getBatch` a `beta` of 0 for that. With `epsilon: 0` and `c: 0`, a pick of loss 0 is never drawn,
 * unless all are 0: then draws are uniform.
 *
 * Weights are kept as float32, from 2^-126 to the largest float32, (2 − 2^-23) · 2^127: one beyond counts as the nearest of these.
 *
 * Cost: O(log N) a draw and an update; about 13.5 bytes a pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { curious, ExperienceReplay, float32 } from "@exrp/replay";
 * import { assertAlmostEquals, assertEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(curious({ c: 8, beta: 0.5, alpha: 1, epsilon: 0 }));
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [0], 0, 0);
 * replay.record(episode, [1], 1, 1, { finalState: [2] });
 *
 * const drawn = replay.getBatch(2, selector); // both are new: one from each half of the total weight
 * assertEquals([...drawn.state], [0, 1]);
 * replay.setPriority(selector, [episode, episode], [0, 1], [2, 6]);
 * const batch = replay.getBatch(4, selector, { beta: 0 }); // 8 · 0.5 + 2 = 6 and 8 · 0.5 + 6 = 10
 * for (const [k, state] of batch.state.entries()) {
 *   assertAlmostEquals(batch.probability[k] ?? NaN, state === 0 ? 6 / 16 : 10 / 16, 1e-6);
 * }
 * ```
 */
export function curious(options: CuriousOptions = {}): NativeSelector {
  checkOptions("curious()", options, [
    "c",
    "beta",
    "alpha",
    "epsilon",
    "pMax",
    "normalize",
    "draw",
  ]);
  const c = checkNumber("curious(): c", options.c ?? 1e4, 0);
  const beta = checkNumber("curious(): beta", options.beta ?? 0.7, 0, 1);
  const alpha = checkNumber("curious(): alpha", options.alpha ?? 0.7, 0, 2 ** 40);
  const epsilon = checkNumber("curious(): epsilon", options.epsilon ?? 0.01, 0);
  const pMax = checkNumber("curious(): pMax", options.pMax ?? 1e5, Number.MIN_VALUE);
  const normalize = checkWord("curious(): normalize", options.normalize ?? "batch", [
    "batch",
    "table",
  ]);
  const draw = checkWord("curious(): draw", options.draw ?? "stratified", [
    "stratified",
    "independent",
  ]);
  return new NativeSelector(
    "curious",
    EXRP_SELECTOR_CURIOUS,
    { c, beta, alpha, epsilon, pMax, normalize, draw },
    [
      c,
      beta,
      alpha,
      epsilon,
      pMax,
      normalize === "table" ? 1 : 0,
      draw === "independent" ? 1 : 0,
    ],
  );
}
