/**
 * Draws in proportion to priorities that decay back through their episode.
 *
 * @module
 */

import { checkInteger, checkNumber, checkWord } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { EXRP_SELECTOR_PSER } from "../ffi/symbols.ts";
import { NativeSelector } from "./native_selector.ts";
import type { PrioritizedOptions } from "./prioritized.ts";

/** The largest window. */
const WINDOW_MAX = 1024;

/** The options of {@linkcode pser}: those of {@linkcode prioritized}, and how a priority reaches the picks before. */
export interface PserOptions extends PrioritizedOptions {
  /**
   * The share of a pick's priority that the pick before it gets, the one before that a share of the share, and so on: 0 to
   * 1, the paper's rho, 0.4 by default.
   */
  readonly decay?: number;
  /**
   * How many picks before it a priority reaches: an integer from 1 to 1024, the paper's W. By default as far as a hundredth of
   * the priority arrives, so 5 for a decay of 0.4.
   */
  readonly window?: number;
  /**
   * The share of its old priority below which a pick's new one does not fall: 0 to 1, the paper's eta, 0.7 by default; 0 turns
   * it off.
   */
  readonly retain?: number;
}

/** The largest i with decay^i >= 0.01, from multiplications alone, so that it is the same everywhere. */
function windowOf(decay: number): number {
  let window = 0;
  for (let share = decay; share >= 0.01 && window < WINDOW_MAX; share *= decay) window++;
  return Math.max(1, window);
}

/**
 * Draws as {@linkcode prioritized} does, but a priority that is set decays back onto the picks before it in its episode, which
 * led there, and priorities fall slowly: Brittain, Bertram, Yang and Wei, "Prioritized Sequence Experience Replay" (2019,
 * arXiv 1905.12726; its formulas are known here from later work that uses them).
 *
 * With p_t = priority + epsilon for what `setPriority` is given for pick t:
 *
 * 1. p_t = max(p_t, retain · its old value), so that one small error does not undo what came from the picks behind it;
 * 2. p_(t-i) = max(p_(t-i), decay^i · p_t) for i = 1 to `window`, as far as its episode goes back.
 *
 * One call of `setPriority` is one update, whatever the order of what it names: first every pick gets its own priority by 1,
 * of a pick named twice the last; then each of these decays back by 2. Where an episode was cut because it was too long, its
 * continuation is an episode of its own. A new pick has the priority that its record brought, or the largest set so far; neither
 * decays back.
 *
 * Importance weights, `epsilon`, `alpha`, `normalize` and `draw` are as for `prioritized`. With `epsilon: 0` a pick is drawn
 * never only where its priority is 0 after both steps.
 *
 * Cost: O(log N) a draw and an update, an update about twice that of `prioritized` with the default window
 * (`bench/floors_bench.ts`); about 5.5 bytes a pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, pser } from "@exrp/replay";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(pser({ alpha: 1, epsilon: 0, decay: 0.5, retain: 0 }));
 * let episode = replay.newEpisode();
 * for (const state of [0, 1, 2]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [3], 1, 1, { finalState: [4] });
 *
 * replay.setPriority(selector, new Array(4).fill(episode), [0, 1, 2, 3], [0, 3, 0, 8]);
 * const priorities = [1.5, 3, 4, 8]; // 8 gives the pick before it 4, and the next 2, which has more
 * const batch = replay.getBatch(8, selector);
 * for (const [k, state] of batch.state.entries()) {
 *   assertAlmostEquals(batch.probability[k] ?? NaN, (priorities[state] ?? NaN) / 16.5, 1e-6);
 * }
 * ```
 */
export function pser(options: PserOptions = {}): NativeSelector {
  checkOptions("pser()", options, [
    "alpha",
    "epsilon",
    "initialPriority",
    "normalize",
    "draw",
    "decay",
    "window",
    "retain",
  ]);
  const alpha = checkNumber("pser(): alpha", options.alpha ?? 0.6, 0, 2 ** 40);
  const epsilon = checkNumber("pser(): epsilon", options.epsilon ?? 1e-6, 0);
  const initialPriority = checkNumber(
    "pser(): initialPriority",
    options.initialPriority ?? 1,
    Number.MIN_VALUE,
  );
  const normalize = checkWord("pser(): normalize", options.normalize ?? "batch", [
    "batch",
    "table",
  ]);
  const draw = checkWord("pser(): draw", options.draw ?? "stratified", [
    "stratified",
    "independent",
  ]);
  const decay = checkNumber("pser(): decay", options.decay ?? 0.4, 0, 1);
  const window = checkInteger("pser(): window", options.window ?? windowOf(decay), 1, WINDOW_MAX);
  const retain = checkNumber("pser(): retain", options.retain ?? 0.7, 0, 1);
  return new NativeSelector(
    "pser",
    EXRP_SELECTOR_PSER,
    { alpha, epsilon, initialPriority, normalize, draw, decay, window, retain },
    [
      alpha,
      epsilon,
      initialPriority,
      normalize === "table" ? 1 : 0,
      draw === "independent" ? 1 : 0,
      decay,
      window,
      retain,
    ],
  );
}
