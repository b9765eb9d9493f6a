/**
 * Draws many, scores them, keeps a few.
 *
 * @module
 */

import { checkInteger, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { ReplayError } from "../base/errors.ts";
import { EXRP_LIMIT_BATCH, EXRP_STATUS_PRIORITY_INVALID } from "../ffi/symbols.ts";
import { checkNoRule, checkSelectorRule } from "./check_selector.ts";
import {
  type ComposedSelector,
  type PartDrawer,
  type SelectorRule,
  stateless,
} from "./composed_selector.ts";
import type { RandomStream } from "./random_stream.ts";
import { uniform } from "./uniform.ts";

/** The options of {@linkcode laber}; `B` is the type of the batches that are scored. */
export interface LaberOptions<B> {
  /**
   * Scores candidates: given a batch of `factor` times the size that is drawn, `[candidates]` numbers, finite and 0 or more, such as
   * absolute TD errors. The batch is lent for the call. TypeScript knows its type where `laber()` stands in the call of
   * `newPickSelector`; elsewhere write it down, as in `(candidates: Batch<{ state: Column<"float32", [4]> }>)`.
   */
  readonly score: (candidates: B) => ArrayLike<number>;
  /** How many candidates are drawn for each pick that is kept: a whole number from 1; 4 by default. */
  readonly factor?: number;
  /** The rule that draws the candidates; `uniform()` by default. */
  readonly rule?: SelectorRule<B>;
  /** What importance weights are scaled by: `"mean"` (the default), so that they are 1 on average; `"max"`, so that the largest is 1. */
  readonly normalize?: "mean" | "max";
}

/**
 * Large batch experience replay (Lahire, Geist and Rachelson, "Large Batch Experience Replay", 2022; known here from descriptions of its
 * algorithm): draws `factor` times as many candidates as are asked for, has them all scored afresh, and of these draws the batch, each
 * with a probability in proportion to its score, with replacement. Scores are never stale, as priorities are.
 *
 * `importanceWeight` of a pick with score s is the candidate's own, times mean(scores) / s, so that weighted averages over the
 * batch are those over the candidates; with `normalize: "max"` divided by the largest of the batch. `beta` is that of the candidates'
 * own weights. `probability` is that with which the pick was drawn from the candidates. Where all scores are 0 each candidate is as
 * likely as any other.
 *
 * The candidates count as drawn for eviction policies and for rules that count draws, even if `score` then throws. Cost: the candidates' batch, the scoring, and one copy of the picks kept.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range; when drawing, where there would be more than 2^24 candidates.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, laber } from "@exrp/replay";
 * import { assert } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 7 });
 * const selector = replay.newPickSelector(laber({
 *   factor: 8,
 *   // In earnest: absolute TD errors by the current network.
 *   score: (candidates) => candidates.state,
 * }));
 * let episode = replay.newEpisode();
 * for (const state of [0, 0, 1, 0, 3]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [0], 0, 0, { finalState: [0] });
 * const batch = replay.getBatch(32, selector);
 * assert(batch.state.every((state) => state > 0)); // zeros have no chance
 * ```
 */
export function laber<B>(options: LaberOptions<B>): ComposedSelector<B> {
  checkNoRule("laber()", options, "takes { score, factor, rule, normalize }");
  checkOptions("laber()", options, ["score", "factor", "rule", "normalize"]);
  const { score, rule = uniform(), normalize = "mean" } = options;
  if (typeof score !== "function") {
    throw new TypeError(`laber(): score must be a function of candidates, got ${show(score)}`);
  }
  const factor = checkInteger("laber(): factor", options.factor ?? 4, 1, EXRP_LIMIT_BATCH);
  if (normalize !== "mean" && normalize !== "max") {
    throw new TypeError(`laber(): normalize must be "mean" or "max", got ${show(normalize)}`);
  }
  return {
    name: "laber",
    parts: [checkSelectorRule("laber(): rule", rule)],
    options: { factor, normalize },
    begin: () =>
      stateless<B>((count, drawer, random) => {
        const size = count * factor;
        if (size > EXRP_LIMIT_BATCH) {
          throw new RangeError(
            `laber(): ${count} picks of ${factor} candidates each are more than ${EXRP_LIMIT_BATCH}`,
          );
        }
        const scores = score(drawer.candidates(0, size));
        keepByScore(scoresOf(scores, size), count, normalize, drawer, random);
      }),
  };
}

function scoresOf(value: ArrayLike<number>, size: number): Float64Array {
  const isArray = Array.isArray(value) || ArrayBuffer.isView(value);
  if (!isArray || value.length !== size) {
    throw new ReplayError(
      "rule",
      `laber(): score() must give ${size} numbers for ${size} candidates, got ${
        isArray ? value.length : show(value)
      }`,
    );
  }
  const scores = Float64Array.from(value);
  const wrong = scores.findIndex((score) => !(score >= 0 && score < Infinity));
  if (wrong < 0) return scores;
  throw new ReplayError(
    "invalid-priority",
    `laber(): score[${wrong}] is ${scores[wrong]}; a score must be finite and not negative`,
    { status: EXRP_STATUS_PRIORITY_INVALID, detail: [wrong, scores[wrong] ?? NaN] },
  );
}

function keepByScore(
  given: Float64Array,
  count: number,
  normalize: "mean" | "max",
  drawer: PartDrawer<unknown>,
  random: RandomStream,
): void {
  // Divided by the largest first, so that no sum overflows; all zero is all equal.
  const largest = given.reduce((a, b) => Math.max(a, b), 0);
  const scores = given.map((score) => largest > 0 ? score / largest : 1);
  let sum = 0;
  const sums = scores.map((score) => sum += score);
  const index = new Uint32Array(count);
  for (let k = 0; k < count; k++) index[k] = drawn(sums, random.uniform() * sum);
  const probability = Float64Array.from(index, (k) => (scores[k] ?? 0) / sum);
  const mean = sum / scores.length;
  const weight = Float64Array.from(index, (k) => mean / (scores[k] ?? 1));
  if (normalize === "max") {
    const most = weight.reduce((a, b) => Math.max(a, b), 0);
    weight.forEach((value, k) => weight[k] = value / most);
  }
  drawer.keep(index, probability, weight);
}

/** The first place whose running sum is above `point`; of score 0 none is. */
function drawn(sums: Float64Array, point: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > point) high = middle;
    else low = middle + 1;
  }
  // Rounding may reach past the last one that has a score.
  while (low > 0 && (sums[low] ?? 0) === (sums[low - 1] ?? 0)) low--;
  return low;
}
