/**
 * Upper-confidence-bound experience sampling.
 *
 * @module
 */

import { EXRP_SELECTOR_UCB } from "../ffi/symbols.ts";
import { INITIAL_PRIORITY, nativeRule, numberFrom, wordOf } from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode ucb}. */
export interface UcbOptions {
  /** The weight of the bonus for rarely drawn picks, compared with priority: 0 to 10^100, 1 by default. */
  readonly c?: number;
  /** `"greedy"` (the default) always draws the pick with the best score. `"proportional"` draws picks in proportion to their scores. */
  readonly mode?: "greedy" | "proportional";
  /** The priority of new picks until one is set: more than 0, 1 by default. */
  readonly initialPriority?: number;
}

/**
 * Draws by the score q_i + c·sqrt(ln T / n_i). q_i is the priority of the pick, divided by the largest priority set so far. n_i is how
 * often it was drawn, and T is the number of all draws. Picks that were never drawn come first, the oldest of them first.
 *
 * Upper confidence bounds are from Auer, Cesa-Bianchi and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem" (2002).
 * Their use for experience is from Zhu, Wu, Liu and Fu, "A deep Q-network method based on upper confidence bound experience sampling"
 * (2018). The scales of q and of the bonus are this library's own.
 *
 * Scores are exact at every draw, and each draw sees the counts of the draws before it. If scores are equal, the pick that was drawn
 * less often comes first. Then the larger priority counts, and then the age, older first. A draw never costs O(N).
 *
 * Priorities are kept as float32, from 2^-126 to the largest float32, (2 − 2^-23) · 2^127. A priority outside this range counts as the
 * nearest number in it.
 *
 * `"greedy"` draws are certain, so `probability` and importance weights are 1. `"proportional"` draws have P(i) = score_i / sum of
 * scores, and the importance weights that follow. The first draw of a pick is weighted like a uniform draw.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, ucb } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(ucb({ c: 0.5 }));
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * // Each pick is drawn once before any is drawn again, the oldest first.
 * console.log([...replay.getBatch(2, selector).state]); // [10, 20]
 * ```
 */
export function ucb(options: UcbOptions = {}): NativeSelector {
  return nativeRule("ucb", EXRP_SELECTOR_UCB, options, {
    c: numberFrom(1, 0, 1e100),
    mode: wordOf("greedy", "proportional"),
    initialPriority: INITIAL_PRIORITY,
  });
}
