/**
 * What `bench:limit` and `bench:check` say of figures. They say whether a workload is near enough to its limit, and whether it is still
 * as near as before. The smallest figures count, of ours and of the limit, because other work on the machine only makes figures larger.
 *
 * @module
 */

import type { CallCost, LimitResult } from "./_limit_measure.ts";

/** The smallest figures of a workload, of ours and of its limit. */
export type Figures = Pick<LimitResult, "name" | "floor"> & {
  readonly ours: { readonly min: number };
  readonly limit: { readonly min: number };
};

/** A ratio that is more than so many times the committed one is too far. */
export const FACTOR_MAX = 1.5;

/** How much longer than an empty native call `record` may take, in ns. */
const OVER_CALL_MAX = 150;

/** Workloads whose time the garbage collector of the engine decides more than we do. */
const UNGUARDED = "a fresh batch each time";

/** How many times as long as its limit a workload takes. */
export function ratioOf({ ours, limit }: Figures): number {
  return ours.min / limit.min;
}

/** What {@linkcode judge} says of a workload. */
export interface Verdict {
  readonly name: string;
  readonly outcome: "kept" | "WORSE" | "not judged";
  /** The reason: its ratio now, its committed ratio, and the largest that is allowed. */
  readonly text: string;
}

/** Compares a workload with the committed results of it. */
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
 * Joins two measurements: of each workload the smallest of ours and the smallest of the limit. So a disturbed limit saves no workload,
 * and a disturbed run of ours condemns none.
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

/** Writes how many workloads keep their floors, and which do not. */
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
