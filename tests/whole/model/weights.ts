/**
 * What the models of rules that draw in proportion to weights share: sums added up anew for each draw.
 *
 * @module
 */

import type { Fault } from "./faults.ts";
import { portablePow, portablePow32, portableWeight } from "./portable_math.ts";
import { Random } from "./random.ts";
import type { Draws } from "./draws.ts";

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, k) => k);
}

export function streamOfCopy(random: Random, fault: Fault | undefined): Random {
  return fault === "snapshotForgetsRandom" ? new Random(0, 1) : random.clone();
}

/**
 * Sums of a list over ranges of 1, 2, 4, ... entries: `sums[0]` is the list padded with zeros, the last has one entry.
 */
export function binarySums(weights: readonly number[], fault?: Fault): number[][] {
  let width = 1;
  while (width < weights.length) width *= 2;
  const sums = [[...weights, ...new Array<number>(width - weights.length).fill(0)]];
  for (let below = sums[0] ?? []; below.length > 1; below = sums.at(-1) ?? []) {
    const above: number[] = [];
    for (let k = 0; k < below.length; k += 2) {
      const sum = at(below, k) + at(below, k + 1);
      above.push(fault === "sumsInFloat32" ? Math.fround(sum) : sum);
    }
    sums.push(above);
  }
  return sums;
}

export function at(list: readonly number[], index: number): number {
  const value = list[index];
  if (value === undefined) throw new RangeError(`the model has no entry ${index}`);
  return value;
}

/** Going down from the whole: to the right if the point is past the left's sum and there is something to the right. */
export function findPoint(sums: readonly (readonly number[])[], point: number): number {
  let index = 0;
  let rest = point;
  for (const level of sums.slice(0, -1).toReversed()) {
    const left = at(level, 2 * index);
    const right = at(level, 2 * index + 1);
    const goRight = rest >= left && right > 0;
    if (goRight) rest -= left;
    index = 2 * index + (goRight ? 1 : 0);
  }
  return index;
}

function total(weights: readonly number[], fault?: Fault): number {
  return at(binarySums(weights, fault).at(-1) ?? [], 0);
}

/** Draws in proportion to the weights; uniform ones while all are 0. */
export function drawByWeights(
  weights: readonly number[],
  random: Random,
  count: number,
  draw: "stratified" | "independent",
  fault?: Fault,
): Draws {
  const sums = binarySums(weights, fault);
  const sum = total(weights, fault);
  if (!(sum > 0)) {
    const indices = range(count).map(() => random.below(weights.length));
    return { indices, probabilities: indices.map(() => 1 / weights.length) };
  }
  let shared: number | undefined;
  const indices = range(count).map((k) => {
    let u = random.uniform();
    if (fault === "pointsShared") u = shared ??= u;
    return findPoint(sums, (draw === "independent" ? u : (k + u) / count) * sum);
  });
  return { indices, probabilities: indices.map((index) => at(weights, index) / sum) };
}

/** The smallest probability that such a draw can have. */
export function leastProbability(weights: readonly number[], fault?: Fault): number {
  const sum = total(weights, fault);
  if (!(sum > 0)) return 1 / weights.length;
  return Math.min(...weights.filter((weight) => weight > 0)) / sum;
}

/** The priority behind a weight (priority + epsilon)^alpha; unknown where all weights are the same. */
export function priorityOfWeight(
  weight: number,
  { alpha, epsilon }: { readonly alpha: number; readonly epsilon: number },
  fault?: Fault,
): number {
  if (alpha === 0) return NaN;
  if (fault === "readsWeights") return weight;
  const sum = weight > 0 ? portablePow(weight, 1 / alpha) : 0;
  return Math.max(sum - epsilon, 0);
}

/** (priority + epsilon)^alpha as a float32; what is positive stays so. */
export function weightOf(
  priority: number,
  { alpha, epsilon }: { readonly alpha: number; readonly epsilon: number },
  fault?: Fault,
): number {
  if (alpha === 0) return 1;
  const base = Math.min(priority + epsilon, Number.MAX_VALUE);
  if (!(base > 0)) return 0;
  const weight = Math.max(portablePow32(base, alpha), 2 ** -126);
  return fault === "weightsInFloat64" ? weight : portableWeight(weight);
}
