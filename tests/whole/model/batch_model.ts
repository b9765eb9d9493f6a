/**
 * What a batch must hold, and batches made of others.
 *
 * @module
 */

import type { RandomStream } from "@exrp/replay/selectors";
import type { Fault } from "./faults.ts";
import { candidateScore } from "./selector_specs.ts";
import { join } from "./window_model.ts";

/** The parts that a batch must hold. */
export interface ModelBatch {
  /** Of each leaf of the state, and then of each other column. */
  readonly columns: readonly Uint8Array[];
  /** Of each leaf. */
  readonly nextStates: readonly Uint8Array[];
  readonly seqLen: readonly number[];
  readonly nextSeqLen: readonly number[];
  readonly pickEpisode: readonly number[];
  readonly pickPosition: readonly number[];
  readonly probability: readonly number[];
  readonly importanceWeight: readonly number[];
  readonly discount: readonly number[];
  readonly learnMask: readonly number[];
  readonly contextMask: readonly number[];
  readonly terminated: readonly number[];
  readonly truncated: readonly number[];
  readonly returnToGo: readonly number[];
  readonly nStep: readonly {
    readonly reward: readonly number[];
    readonly states: readonly Uint8Array[];
    readonly discount: readonly number[];
  }[];
  /** How far probability and importance weight may be off, relative. */
  readonly tolerance: number;
}

/** The records that a drain must return. */
export interface ModelDrained {
  /** Of the state with all its leaves, and then of each other column. */
  readonly columns: readonly Uint8Array[];
  readonly nextState: Uint8Array;
  readonly lastNextState: Uint8Array;
  readonly episode: readonly number[];
  readonly position: readonly number[];
  readonly seqLen: readonly number[];
  readonly discount: readonly number[];
  readonly terminated: readonly number[];
  readonly truncated: readonly number[];
  readonly lost: number;
}

/** How much is to be handed out: exactly, at least, or what has ended. */
export interface DrainRequest {
  readonly steps?: number;
  readonly minSteps?: number;
  readonly keep: boolean;
}

/** Of scored candidates `count`, each with a chance in proportion to its score. */
export function keepByScore(
  candidates: ModelBatch,
  size: number,
  count: number,
  normalize: "mean" | "max",
  random: RandomStream,
  fault: Fault | undefined,
): ModelBatch {
  const given = candidates.pickEpisode.map((episode, k) =>
    candidateScore(episode, candidates.pickPosition[k] ?? 0)
  );
  const largest = Math.max(...given);
  const scores = given.map((score) => largest > 0 ? score / largest : 1);
  const sum = scores.reduce((a, b) => a + b, 0);
  const kept = Array.from({ length: count }, () => {
    const point = random.uniform() * sum;
    let below = 0;
    return scores.findIndex((score) => (below += score) > point);
  });
  const weights = kept.map((index) => sum / scores.length / (scores[index] ?? NaN));
  const scale = normalize === "max" && fault !== "laberIgnoresMax" ? Math.max(...weights) : 1;
  const pick = <T>(values: readonly T[], index: number): T[] => {
    const each = values.length / size;
    return values.slice(index * each, (index + 1) * each);
  };
  const bytes = (all: Uint8Array): Uint8Array =>
    join(
      kept.map((index) => all.subarray(index * all.length / size, (index + 1) * all.length / size)),
    );
  const numbers = (values: readonly number[]): number[] =>
    kept.flatMap((index) => pick(values, index));
  return {
    columns: candidates.columns.map(bytes),
    nextStates: candidates.nextStates.map(bytes),
    seqLen: numbers(candidates.seqLen),
    nextSeqLen: numbers(candidates.nextSeqLen),
    pickEpisode: numbers(candidates.pickEpisode),
    pickPosition: numbers(candidates.pickPosition),
    probability: kept.map((index) => Math.fround((scores[index] ?? NaN) / sum)),
    importanceWeight: numbers(candidates.importanceWeight).map((weight, k) =>
      Math.fround(weight * ((weights[k] ?? NaN) / scale))
    ),
    discount: numbers(candidates.discount),
    learnMask: numbers(candidates.learnMask),
    contextMask: numbers(candidates.contextMask),
    terminated: numbers(candidates.terminated),
    truncated: numbers(candidates.truncated),
    returnToGo: numbers(candidates.returnToGo),
    nStep: candidates.nStep.map(({ reward, states, discount }) => ({
      reward: numbers(reward),
      states: states.map(bytes),
      discount: numbers(discount),
    })),
    tolerance: Math.max(candidates.tolerance, 1e-6),
  };
}

/** One batch of several, one after the other. */
export function joinBatches(batches: readonly ModelBatch[]): ModelBatch {
  const all = <T>(part: (batch: ModelBatch) => readonly T[]): T[] =>
    batches.flatMap((batch) => [...part(batch)]);
  const [first] = batches;
  const each = (arrays: (batch: ModelBatch) => readonly Uint8Array[]): Uint8Array[] =>
    (first === undefined ? [] : arrays(first)).map((_, k) =>
      join(all((batch) => arrays(batch).slice(k, k + 1)))
    );
  return {
    columns: each(({ columns }) => columns),
    nextStates: each(({ nextStates }) => nextStates),
    seqLen: all(({ seqLen }) => seqLen),
    nextSeqLen: all(({ nextSeqLen }) => nextSeqLen),
    pickEpisode: all(({ pickEpisode }) => pickEpisode),
    pickPosition: all(({ pickPosition }) => pickPosition),
    probability: all(({ probability }) => probability),
    importanceWeight: all(({ importanceWeight }) => importanceWeight),
    discount: all(({ discount }) => discount),
    learnMask: all(({ learnMask }) => learnMask),
    contextMask: all(({ contextMask }) => contextMask),
    terminated: all(({ terminated }) => terminated),
    truncated: all(({ truncated }) => truncated),
    returnToGo: all(({ returnToGo }) => returnToGo),
    nStep: (first?.nStep ?? []).map((_, k) => ({
      reward: all(({ nStep }) => nStep[k]?.reward ?? []),
      states: each(({ nStep }) => nStep[k]?.states ?? []),
      discount: all(({ nStep }) => nStep[k]?.discount ?? []),
    })),
    tolerance: Math.max(0, ...batches.map(({ tolerance }) => tolerance)),
  };
}
