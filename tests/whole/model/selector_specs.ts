/**
 * Which selector the model and the library run, and with which options.
 *
 * @module
 */

import { at, range } from "./weights.ts";

export interface PrioritizedSpec {
  readonly kind: "prioritized";
  readonly alpha: number;
  readonly epsilon: number;
  readonly initialPriority: number;
  readonly normalize: "batch" | "view";
  readonly draw: "stratified" | "independent";
}

export type PserSpec = Omit<PrioritizedSpec, "kind"> & {
  readonly kind: "pser";
  readonly decay: number;
  readonly window: number;
  readonly retain: number;
};

export interface CuriousSpec {
  readonly kind: "curious";
  readonly c: number;
  readonly beta: number;
  readonly alpha: number;
  readonly epsilon: number;
  readonly pMax: number;
  readonly normalize: "batch" | "view";
  readonly draw: "stratified" | "independent";
}

export interface UcbSpec {
  readonly kind: "ucb";
  readonly c: number;
  readonly mode: "greedy" | "proportional";
  readonly initialPriority: number;
}

export interface PriorityEndSpec {
  readonly kind: "highestPriority" | "lowestPriority";
  readonly initialPriority: number;
}

export interface RecentSpec {
  readonly kind: "recent";
  readonly newest: number;
  readonly fraction: number;
  readonly eta: number;
  readonly updates: number;
}

export interface RankBasedSpec {
  readonly kind: "rankBased";
  readonly alpha: number;
  readonly initialPriority: number;
  readonly normalize: "batch" | "view";
  readonly draw: "stratified" | "independent";
}

/** A selector and its options. `sweep` is the selector that the test itself writes in TypeScript. */
export type SelectorSpec = SimpleSpec | ComposedSpec;

/** A rule made of others. */
export type ComposedSpec =
  | { readonly kind: "combined"; readonly newest: number; readonly rest: SelectorSpec }
  | {
    readonly kind: "mixture";
    readonly parts: readonly { readonly rule: SelectorSpec; readonly share: number }[];
  }
  | {
    readonly kind: "laber";
    readonly rule: SelectorSpec;
    readonly factor: number;
    readonly normalize: "mean" | "max";
  };

/** How the laber of the tests scores a candidate: by nothing but what pick it is, zeros among them. */
export function candidateScore(episode: number, position: number): number {
  return (episode * 7 + position * 3) % 5;
}

/** A rule that draws itself. */
export type SimpleSpec =
  | { readonly kind: "uniform" }
  | { readonly kind: "sweep" }
  | PrioritizedSpec
  | UcbSpec
  | { readonly kind: "oldest" | "newest"; readonly distinct: boolean }
  | PriorityEndSpec
  | RankBasedSpec
  | PserSpec
  | CuriousSpec
  | { readonly kind: "withoutReplacement" }
  | RecentSpec;

export function isComposedSpec(spec: SelectorSpec): spec is ComposedSpec {
  return spec.kind === "combined" || spec.kind === "mixture" || spec.kind === "laber";
}

/** The rules that a composed one is made of. */
export function partsOf(spec: ComposedSpec): SelectorSpec[] {
  if (spec.kind === "laber") return [spec.rule];
  if (spec.kind === "combined") return [{ kind: "newest", distinct: true }, spec.rest];
  return spec.parts.map(({ rule }) => rule);
}

/** How many picks each part of a composed rule draws; `owed` is what each of a mixture's lacks so far. */
export function partCounts(
  spec: Exclude<ComposedSpec, { kind: "laber" }>,
  count: number,
  owed: number[],
): number[] {
  if (spec.kind === "combined") {
    const fresh = Math.min(spec.newest, count);
    return [fresh, count - fresh];
  }
  // Proportions as the library rounds them: divided by the largest share first.
  const largest = Math.max(...spec.parts.map(({ share }) => share));
  const sum = spec.parts.reduce((total, { share }) => total + share / largest, 0);
  const proportions = spec.parts.map(({ share }) => share / largest / sum);
  const wanted = proportions.map((proportion, k) => count * proportion + at(owed, k));
  // No part may be off by more than this.
  const most = 1 - 1 / Math.max(2, 2 * spec.parts.length - 2);
  const counts = wanted.map((part) => Math.max(0, Math.ceil(part - most - 1e-9)));
  // One more each for those that would be late the soonest, as long as it does not make them early.
  const picksUntilLate = wanted.map((part, k) =>
    (most + at(counts, k) - part) / at(proportions, k)
  );
  const mayTake = range(counts.length).filter((k) =>
    at(counts, k) + 1 <= at(wanted, k) + most + 1e-9
  );
  mayTake.sort((a, b) => at(picksUntilLate, a) - at(picksUntilLate, b) || a - b);
  const missing = count - counts.reduce((total, part) => total + part, 0);
  if (missing < 0 || missing > mayTake.length) throw new Error(`no way to share ${count} picks`);
  for (const k of mayTake.slice(0, missing)) counts[k] = at(counts, k) + 1;
  for (const k of counts.keys()) owed[k] = at(wanted, k) - at(counts, k);
  return counts;
}
