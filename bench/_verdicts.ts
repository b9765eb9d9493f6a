/**
 * What `bench:limit` and `bench:check` say of figures: whether a workload is near enough to its limit, and whether it still is as near
 * as it was. The smallest figures count, of ours and of the limit: other work on the machine can only make them larger.
 *
 * @module
 */

import type { CallCost, LimitResult } from "./_limit_measure.ts";

/** A workload's smallest figures, of ours and of its limit. */
export type Figures = Pick<LimitResult, "name" | "floor"> & {
  readonly ours: { readonly min: number };
  readonly limit: { readonly min: number };
};

/** How many times further from the limit than in the committed results is too far. */
export const FACTOR_MAX = 1.5;

/** What `record` may take over an empty call of a native function, in ns. */
const OVER_CALL_MAX = 150;

/** What the engine's garbage collector decides more than we do. */
const UNGUARDED = "a fresh batch each time";

/** How many times its limit a workload takes. */
export function ratioOf({ ours, limit }: Figures): number {
  return ours.min / limit.min;
}

/** What {@linkcode judge} says of a workload. */
export interface Verdict {
  readonly name: string;
  readonly outcome: "kept" | "WORSE" | "not judged";
  /** Why: what it is, what it was, what it may be. */
  readonly text: string;
}

/** Compares a workload with what the committed results say of it. */
export function judge(found: Figures, committed: readonly Figures[]): Verdict {
  const { name } = found;
  const is = ratioOf(found);
  const before = committed.find((workload) => workload.name === name);
  if (before === undefined) {
    return { name, outcome: "not judged", text: `${is.toFixed(2)}, there is no committed result` };
  }
  const was = ratioOf(before);
  if (name.includes(UNGUARDED)) {
    const text = `${is.toFixed(2)}, was ${was.toFixed(2)}; the garbage collector decides it`;
    return { name, outcome: "not judged", text };
  }
  const most = FACTOR_MAX * was;
  return {
    name,
    outcome: is <= most ? "kept" : "WORSE",
    text: `${is.toFixed(2)}, was ${was.toFixed(2)}, may be ${most.toFixed(2)}`,
  };
}

/**
 * Workloads measured again: of each the smallest of ours and the smallest of the limit in both runs. So neither a run in which the
 * limit was disturbed can save a workload, nor one in which ours was can condemn it.
 */
export function bestOf(first: readonly Figures[], again: readonly Figures[]): Figures[] {
  return first.map((one) => {
    const other = again.find(({ name }) => name === one.name) ?? one;
    return {
      ...one,
      ours: { min: Math.min(one.ours.min, other.ours.min) },
      limit: { min: Math.min(one.limit.min, other.limit.min) },
    };
  });
}

/** In lines how many workloads keep to what they may be at most, and which don't. */
export function floorLines(workloads: readonly Figures[], calls?: CallCost): string[] {
  const held = workloads.flatMap((workload) => {
    const { name, floor } = workload;
    const is = ratioOf(workload);
    return floor === undefined
      ? []
      : [{ kept: is <= floor, text: `${name}: ${is.toFixed(2)}, at most ${floor}` }];
  });
  if (calls !== undefined) {
    const over = calls.record - calls.emptyCall;
    const text = `record over an empty call: ${over.toFixed(0)} ns, at most ${OVER_CALL_MAX}`;
    held.push({ kept: over <= OVER_CALL_MAX, text });
  }
  if (held.length === 0) return ["none of these has to be at most something"];
  const broken = held.filter(({ kept }) => !kept);
  return [
    `${held.length - broken.length} of the ${held.length} that have an "at most" keep to it` +
    (broken.length === 0 ? "" : "; not these, by a run that wants a quiet machine:"),
    ...broken.map(({ text }) => `  ${text}`),
  ];
}
