/**
 * Draws by the rank of priorities.
 *
 * @module
 */

import { EXRP_SELECTOR_RANK_BASED } from "../ffi/symbols.ts";
import { DRAWN_BY_WEIGHT, nativeRule, numberFrom } from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode rankBased}. */
export interface RankBasedOptions {
  /** The exponent of ranks, at least 0. With 0 all draws are uniform; 0.7 by default. */
  readonly alpha?: number;
  /** The priority of new picks until one is set: at least 0, 1 by default. */
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
 * Draws pick i with probability P(i) = rank(i)^-alpha / sum of all rank^-alpha, with replacement. The pick of the largest priority has
 * rank 1, the next one has rank 2, and so on. This is the rank-based variant of Schaul et al., "Prioritized Experience Replay" (ICLR
 * 2016), section 3.3. Only the order of priorities matters, so outliers do no harm.
 *
 * Ranks are exact at every draw. Of equal priorities, the older pick comes first. Importance weights are (N · P(i))^-beta, with the
 * `beta` that you give to `getBatch`, scaled so that the largest is 1. A new pick has the largest priority set so far. A pick of
 * priority 0 is among the last, but it can still be drawn.
 *
 * Priorities are kept as float32, from 2^-126 to the largest float32, (2 − 2^-23) · 2^127. A priority outside this range counts as the
 * nearest number in it.
 *
 * Cost: O(log N) for each draw and each update; about 37 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, rankBased } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(rankBased({ alpha: 1 }));
 * let episode = replay.newEpisode();
 * for (const state of [0, 1]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [2], 1, 1, { finalState: [3] });
 *
 * replay.setPriority(selector, [episode, episode, episode], [0, 1, 2], [5, 1000, 0.1]);
 * const batch = replay.getBatch(8, selector); // the ranks are 2, 1 and 3, so the probabilities 3/11, 6/11 and 2/11
 * console.log([...batch.state]); // [1, 1, 1, 1, 1, 0, 0, 2]
 * console.log(Array.from(batch.probability, (p) => Math.round(11 * p))); // [6, 6, 6, 6, 6, 3, 3, 2]
 * ```
 */
export function rankBased(options: RankBasedOptions = {}): NativeSelector {
  return nativeRule("rankBased", EXRP_SELECTOR_RANK_BASED, options, {
    alpha: numberFrom(0.7, 0, 2 ** 40),
    initialPriority: numberFrom(1, 0),
    ...DRAWN_BY_WEIGHT,
  });
}
