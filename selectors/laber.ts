/**
 * Draws many candidates, scores them, and keeps a few.
 *
 * @module
 */

import { checkInteger, show } from "../base/checks.ts";
import { numberOf } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { ReplayError } from "../base/errors.ts";
import { EXRP_LIMIT_BATCH, EXRP_STATUS_PRIORITY_INVALID } from "../ffi/symbols.ts";
import { checkNoRule, checkSelectorRule } from "./check_selector.ts";
import {
  type ComposedSelector,
  type PartDrawer,
  type SelectorRule,
  showComposed,
  stateless,
} from "./composed_selector.ts";
import type { RandomStream } from "./random_stream.ts";
import { uniform } from "./uniform.ts";

/** The options of {@linkcode laber}. `B` is the type of the batches that `score` gets. */
export interface LaberOptions<B> {
  /**
   * Returns the scores of a batch of candidates: `[candidates]` numbers, finite and 0 or more, such as absolute TD errors. The batch
   * has `factor` times as many picks as you asked for. It is lent to you for this call.
   *
   * TypeScript knows its type if `laber()` stands inside the call of `newPickSelector`. Elsewhere, write it down: `(candidates: Batch<{
   * state: Column<"float32", [4]> }>)`.
   */
  readonly score: (candidates: B) => ArrayLike<number>;
  /** How many candidates are drawn for each pick of the batch: a whole number from 1; 4 by default. */
  readonly factor?: number;
  /** The rule that draws the candidates; `uniform()` by default. */
  readonly rule?: SelectorRule<B>;
  /** How importance weights are scaled. With `"mean"` (the default) they are 1 on average. With `"max"` the largest is 1. */
  readonly normalize?: "mean" | "max";
}

/**
 * Draws `factor` times as many candidates as you ask for, and your function scores them. From these it draws the batch in proportion to
 * the scores, with replacement. A score is never out of date, unlike a priority.
 *
 * The method is from Lahire, Geist and Rachelson, "Large Batch Experience Replay" (2022). We know its algorithm from descriptions.
 *
 * The importance weight of a pick with score s is the weight of the candidate, times mean(scores) / s. So a weighted average over the
 * batch estimates the average over the candidates. With `normalize: "max"`, mean(scores) / s is first divided by the largest such value
 * of the batch. `beta` changes only the weights of the candidates. `probability` is the probability with which the pick was drawn from
 * the candidates. If all scores are 0, each candidate has the same probability.
 *
 * All candidates count as drawn, for eviction policies and for rules that count draws, even if `score` then throws. Cost: the batch of
 * candidates, your scoring, and one copy of the chosen picks.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range. When you draw, also if there would be more than 2^24 candidates.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, laber } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 7 });
 * const selector = replay.newPickSelector(laber({
 *   factor: 8,
 *   // A real learner gives the absolute TD errors of its current network.
 *   score: (candidates) => candidates.state,
 * }));
 * let episode = replay.newEpisode();
 * for (const state of [0, 0, 1, 0, 3]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [0], 0, 0, { finalState: [0] });
 * const batch = replay.getBatch(32, selector);
 * console.log(batch.state.every((state) => state > 0)); // true: zeros have no chance
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
  return showComposed({
    name: "laber",
    parts: [checkSelectorRule("laber(): rule", rule)],
    options: { factor, normalize },
    begin: () =>
      stateless<B>((count, drawer, random) => {
        const size = count * factor;
        const scores = score(drawer.candidates(0, size));
        keepByScore(scoresOf(scores, size), count, normalize, drawer, random);
      }, (count) => [checkCandidates(count, factor)]),
  });
}

/** How many candidates a batch needs. */
function checkCandidates(count: number, factor: number): number {
  const size = count * factor;
  if (size <= EXRP_LIMIT_BATCH) return size;
  const most = Math.floor(EXRP_LIMIT_BATCH / factor);
  throw new RangeError(
    `laber(): ${count} picks with factor ${factor} need ${size} candidates, but there may be ${EXRP_LIMIT_BATCH}; ask for at most ${
      numberOf(most, "pick")
    }, or take a smaller factor`,
  );
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
  // The scores are divided by the largest first, so that no sum overflows. If all are 0, all are equal.
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

/** The first place whose running sum is above `point`. It is never a place with score 0. */
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
