/**
 * States of several leaves in programs: named `a`, `b` and `c`. The model has a state as the bytes of its leaves, one behind the other.
 *
 * @module
 */

import type { AnyPickPolicy } from "@exrp/replay/types";
import type { Choice } from "./choice.ts";

const NAMES = ["a", "b", "c"] as const;

/** A state as the library takes and gives it: what there is for each leaf, by name, or alone. */
export function byLeaf<T>(of: readonly T[]): T | Readonly<Record<string, T>> {
  return of.length === 1
    ? of[0] as T
    : Object.fromEntries(of.map((each, k) => [NAMES[k], each] as const));
}

/** What a state of the library has for each leaf. */
export function leavesIn<T>(count: number, state: unknown): readonly T[] {
  if (count === 1) return [state as T];
  return NAMES.slice(0, count).map((name) => (state as Readonly<Record<string, T>>)[name] as T);
}

/** Of packed states one behind the other, those of each leaf. */
export function unpacked(states: Uint8Array, leafBytes: readonly number[]): Uint8Array[] {
  const all = leafBytes.reduce((sum, bytes) => sum + bytes, 0);
  let first = 0;
  return leafBytes.map((bytes) => {
    const from = first;
    first += bytes;
    return states.filter((_, k) => k % all >= from && k % all < from + bytes);
  });
}

/** The options of each leaf for itself. A name that is left out has the default. */
type OwnOptions = {
  readonly [K in "stack" | "stackCompact" | "nextState"]: AnyPickPolicy[K];
};

/** The policy as it is for one leaf, and whether its n-step returns have states of the leaf. */
export interface LeafView extends Omit<AnyPickPolicy, keyof OwnOptions> {
  readonly stack: number;
  readonly stackCompact: boolean;
  readonly nextState: "copy" | "overlap" | false;
  readonly hasNStep: boolean;
}

/** The policy as it is for leaf k. */
export function leafView(policy: AnyPickPolicy, k: number): LeafView {
  const own = <T>(option: unknown): T | undefined =>
    (typeof option === "object" && option !== null
      ? (option as Readonly<Record<string, unknown>>)[NAMES[k] ?? ""]
      : option) as T | undefined;
  const nextState = own<LeafView["nextState"]>(policy.nextState);
  return {
    ...policy,
    stack: own<number>(policy.stack) ?? 1,
    stackCompact: own<boolean>(policy.stackCompact) ?? false,
    nextState: nextState ?? false,
    hasNStep: typeof policy.nextState !== "object" || nextState !== false,
  };
}

/** The largest stack of the leaves. */
export function largestStack(policy: AnyPickPolicy): number {
  return Math.max(...NAMES.map((_, k) => leafView(policy, k).stack));
}

/** Gives leaves options for themselves, now and then. */
export function withOwnOptions(
  choice: Choice,
  policy: AnyPickPolicy,
  count: number,
): AnyPickPolicy {
  if (count === 1 || choice.oneIn(3)) return policy;
  const isReversed = policy.reversed;
  const compact = Array.from({ length: count }, () => !isReversed && choice.oneIn(3));
  const next = compact.map((isCompact) =>
    choice.of([
      ...isCompact ? [] : ["copy" as const],
      ...isReversed ? [] : ["overlap" as const],
      false as const,
    ])
  );
  return {
    ...policy,
    stack: byLeaf(compact.map(() => choice.of([1, 1, 2, 4]))),
    stackCompact: byLeaf(compact),
    nextState: byLeaf<"copy" | "overlap" | false>(next),
  };
}
