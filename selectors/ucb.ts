/**
 * Upper-confidence-bound experience sampling.
 *
 * @module
 */

import { checkNumber, checkWord } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_SELECTOR_UCB } from "../ffi/symbols.ts";
import { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode ucb}. */
export interface UcbOptions {
  /** How much being rarely drawn counts against priority: 0 to 10^100, 1 by default. */
  readonly c?: number;
  /** Whether the best score is always taken (the default) or picks are drawn in proportion to their scores. */
  readonly mode?: "greedy" | "proportional";
  /** The priority of new picks until one is set: more than 0, 1 by default. */
  readonly initialPriority?: number;
}

/**
 * Draws by the score q_i + c·sqrt(ln T / n_i): q_i is the pick's priority divided by the largest set so far, n_i how
 * often it was drawn, T the number of all draws. Picks never drawn come first, the oldest of them first. Upper
 * confidence bounds as in Auer, Cesa-Bianchi and Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem" (2002),
 * for experience as in Zhu, Wu, Liu and Fu, "A deep Q-network method based on upper confidence bound experience sampling"
 * (2018), of which only the abstract could be read: how q and the bonus are scaled is this library's choice.
 *
 * Scores are exact at every draw, each of which sees the counts left by those before it; a draw never costs O(N). Equal
 * scores: the pick drawn less often, then the one of larger priority, then the older.
 *
 * Priorities are kept as float32, from 2^-126 to the largest float32, (2 − 2^-23) · 2^127: one beyond counts as the nearest of these.
 *
 * `greedy` draws are certain: `probability` and importance weights are 1. `proportional` ones have P(i) = score_i / sum of
 * scores and weights to match; a draw that comes first because the pick was never drawn is weighted like a uniform one.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, ucb } from "@exrp/replay";
 * import { assertEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(ucb({ c: 0.5 }));
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * // Each pick is drawn once before any is drawn again, the oldest first.
 * assertEquals([...replay.getBatch(2, selector).state], [10, 20]);
 * ```
 */
export function ucb(options: UcbOptions = {}): NativeSelector {
  checkOptions("ucb()", options, ["c", "mode", "initialPriority"]);
  const c = checkNumber("ucb(): c", options.c ?? 1, 0, 1e100);
  const mode = checkWord("ucb(): mode", options.mode ?? "greedy", ["greedy", "proportional"]);
  const initialPriority = checkNumber(
    "ucb(): initialPriority",
    options.initialPriority ?? 1,
    Number.MIN_VALUE,
  );
  return new NativeSelector("ucb", EXRP_SELECTOR_UCB, { c, mode, initialPriority }, [
    c,
    mode === "proportional" ? 1 : 0,
    initialPriority,
  ]);
}
