/**
 * What a batch must hold of a pick, worked out row by row: no runs, no lists of slots, one position after the other.
 *
 * @module
 */

import type { DType } from "@exrp/replay";
import type { AnyPickPolicy } from "@exrp/replay/types";
import type { Fault } from "./faults.ts";
import { largestStack, leafView } from "./state_leaves.ts";
import type { Shown } from "./transforms_model.ts";

/** How an episode ended. */
export type Ending = "terminated" | "truncated";

/** An episode: the bytes of each column of each record. */
export interface Episode {
  readonly handle: number;
  tag: number;
  /** By position. Of records that are gone, only values are left that later records still have. */
  readonly records: (readonly Uint8Array[])[];
  /** By position: how many records had been written before, or fewer where that is counted from a record before it. */
  readonly births: number[];
  /** The position of the oldest record that is stored; that of the next where none is. */
  first: number;
  /** The priority that came with each record, if one did. */
  readonly priorities: (number | undefined)[];
  ending?: Ending;
  finalState?: Uint8Array;
  /** The state after the newest record, if it came with that record and the episode goes on. */
  nextState?: Uint8Array;
}

/** The reward column, whose elements n-step returns add up. */
export interface RewardSpec {
  readonly dtype: DType;
  readonly count: number;
}

/** One n-step return of a pick's rows. */
export interface NStepRows {
  readonly reward: number[];
  /** Of each leaf. */
  readonly states: Uint8Array[][];
  readonly discount: number[];
}

/** A pick's rows, part by part. Bytes are to be joined. */
export interface PickRows {
  /** Of each leaf of the state, and then of each other column. */
  readonly columns: Uint8Array[][];
  /** Of each leaf. */
  readonly nextStates: Uint8Array[][];
  readonly seqLen: number;
  readonly nextSeqLen: number;
  readonly discount: number[];
  readonly learnMask: number[];
  readonly contextMask: number[];
  readonly terminated: number[];
  readonly truncated: number[];
  readonly returnToGo: number[];
  readonly nStep: NStepRows[];
}

/** Whether all that a pick at `position` shows is stored, once an episode has lost its records before `first`. */
export function isWithin(
  policy: AnyPickPolicy,
  first: number,
  position: number,
  fault?: Fault,
): boolean {
  const { whole, burnIn, before } = policy;
  if (first === 0) return true;
  const rows = fault === "trimForgetsContext" ? 0 : burnIn + before;
  const frames = fault === "trimForgetsFrames" ? 0 : largestStack(policy) - 1;
  return !whole && position >= first + rows + frames;
}

/** Whether a pick may begin at `position`. */
export function isPick(
  policy: AnyPickPolicy,
  { records, ending, first, tag }: Episode,
  position: number,
  fault?: Fault,
): boolean {
  if (policy.where?.tag.includes(tag) === false) return false;
  const count = records.length;
  const ended = ending !== undefined;
  if (position >= count || position % policy.stride !== 0) return false;
  if (position < first || !isWithin(policy, first, position, fault)) return false;
  if (policy.whole) return ended && position === 0 && count <= policy.length;
  // Where short picks count, every record of an ended episode begins one.
  if (policy.allowShort && (ended || fault === "shortWhileOpen")) return true;
  // Whole picks; the next states of a pick's last record must be known, but where an open end is allowed.
  const last = position + policy.length - 1;
  if (ended || policy.allowOpenEnd) return last < count;
  return last + Math.max(1, ...policy.nStep) < count;
}

/** The numbers of one record's reward. */
export function rewardsOf({ dtype, count }: RewardSpec, bytes: Uint8Array): number[] {
  const arrays = {
    uint8: Uint8Array,
    bool: Uint8Array,
    int8: Int8Array,
    int16: Int16Array,
    int32: Int32Array,
    float16: Float16Array,
    float32: Float32Array,
    float64: Float64Array,
  };
  return Array.from(new arrays[dtype](bytes.slice().buffer)).slice(0, count).map(Number);
}

/** The place of the newest value kept at or before a position. */
export function keptAt(position: number, every = 1, fault?: Fault): number {
  if (fault === "keptIsOwn") return position;
  return Math.floor(position / every) * every;
}

/** The part of a batch for the pick at `position`. */
export function pickRows(
  policy: AnyPickPolicy,
  episode: Episode,
  position: number,
  { leafBytes, columnBytes }: {
    readonly leafBytes: readonly number[];
    readonly columnBytes: readonly number[];
  },
  every: readonly number[],
  reward: RewardSpec,
  show: Shown,
  fault?: Fault,
): PickRows {
  const { records, ending, finalState } = episode;
  const count = records.length;
  const rowCount = policy.burnIn + policy.before + policy.length;
  const zeros = (bytes: number): Uint8Array => new Uint8Array(bytes);

  /** The position that a row stands for, if it stands for a record of the window. */
  const shown = Math.min(policy.length, count - position);
  const positionOf = (row: number): number | undefined => {
    const first = policy.before > 0
      ? position - policy.before
      : Math.max(0, position - policy.burnIn);
    const at = policy.reversed ? position + shown - 1 - row : first + row;
    const least = policy.reversed ? position : 0;
    return at >= least && at < position + shown ? at : undefined;
  };
  /** The state at a position, the final one included; undefined where it is not there (yet). */
  const stateAt = (at: number): Uint8Array | undefined =>
    at === count ? finalState : records[at]?.[0];
  const known = (at: number): boolean => stateAt(at + 1) !== undefined || fault === "openEndKnown";
  const rows = Array.from({ length: rowCount }, (_, row) => positionOf(row));
  const perRow = <T>(make: (at: number) => T, none: () => T): T[] =>
    rows.map((at) => at === undefined ? none() : make(at));

  const firstRow = rows.find((at) => at !== undefined) ?? 0;
  const first = policy.reversed ? position : firstRow;
  /** What a batch has of one leaf. */
  const leaves = leafBytes.map((stateBytes, k) => {
    const own = leafView(policy, k);
    const leafAt = (at: number): Uint8Array | undefined => {
      const from = leafBytes.slice(0, k).reduce((sum, bytes) => sum + bytes, 0);
      return stateAt(at)?.slice(from, from + stateBytes);
    };
    const frame = (at: number): Uint8Array => {
      if (at >= 0) return leafAt(at) ?? zeros(stateBytes);
      const repeats = own.stackPadding === "repeat" && fault !== "stackPadsZeros";
      return repeats ? leafAt(0) ?? zeros(stateBytes) : zeros(stateBytes);
    };
    const stack = (part: "own" | "next" | number) => (at: number): Uint8Array =>
      show.row(
        k,
        part,
        join(Array.from({ length: own.stack }, (_, k) => frame(at - own.stack + 1 + k))),
      );
    const noStack = (): Uint8Array => zeros(own.stack * show.bytes(k));
    const states = (): Uint8Array[] => {
      const last = position + shown - 1;
      const after = stateAt(last + 1);
      if (own.stackCompact) {
        const more = own.nextState === "overlap" ? 1 : 0;
        const first = policy.before > 0
          ? position - policy.before
          : Math.max(0, position - policy.burnIn);
        return Array.from({ length: own.stack - 1 + rowCount + more }, (_, j) => {
          const at = first - (own.stack - 1) + j;
          const end = more === 1 && after !== undefined ? last + 1 : last;
          return at > end ? zeros(show.bytes(k)) : show.row(k, "own", frame(at));
        });
      }
      const stacks = perRow(stack("own"), noStack);
      if (own.nextState !== "overlap") return stacks;
      stacks.push(noStack());
      const end = rows.lastIndexOf(last) + 1;
      if (after !== undefined) stacks[end] = stack("own")(last + 1);
      return stacks;
    };
    const nextStates = (): Uint8Array[] =>
      own.nextState === "copy"
        ? perRow((at) => known(at) ? stack("next")(at + 1) : noStack(), noStack)
        : [];
    return { stack, noStack, states, nextStates, hasNStep: own.hasNStep };
  });
  const others = columnBytes.slice(1).map((bytes, k) => {
    const column = leafBytes.length + k;
    return (every[k + 1] ?? 1) > 1
      ? [
        show.row(
          column,
          "own",
          records[keptAt(first, every[k + 1], fault)]?.[k + 1] ?? zeros(bytes),
        ),
      ]
      : perRow(
        (at) => show.row(column, "own", records[at]?.[k + 1] ?? zeros(bytes)),
        () => zeros(show.bytes(column)),
      );
  });

  const terminatesAt = (at: number): boolean =>
    at === count - 1 && ending === "terminated" && fault !== "terminatedBootstraps";
  const nStep = policy.nStep.map((n, which): NStepRows => {
    const part: NStepRows = { reward: [], states: leaves.map(() => []), discount: [] };
    for (const at of rows) {
      let [steps, discount] = [0, 1];
      const sums = new Array<number>(reward.count).fill(0);
      let bootstraps = true;
      // The newest record of an open episode, whose next state isn't known, has its own reward.
      const goesOn = (at: number): boolean => at < count && (steps === 0 || known(at));
      while (at !== undefined && steps < n && goesOn(at + steps)) {
        const bytes = records[at + steps]?.[2] ?? zeros(0);
        for (const [item, value] of show.rewards(bytes).entries()) {
          sums[item] = (sums[item] ?? 0) + discount * value;
        }
        bootstraps = !terminatesAt(at + steps);
        discount *= fault === "nStepForgetsDiscount" ? 1 : policy.discount;
        steps++;
      }
      const none = at === undefined || !known(at);
      part.reward.push(...sums.map(Math.fround));
      for (const [k, { stack, noStack, hasNStep }] of leaves.entries()) {
        if (hasNStep) part.states[k]?.push(none ? noStack() : stack(which)(at + steps));
      }
      part.discount.push(none || !bootstraps ? 0 : Math.fround(discount));
    }
    return part;
  });

  const isContext = (at: number): boolean =>
    at < position - (fault === "learnsFromContext" ? policy.burnIn + policy.before : 0);
  /** The first row from which on rows are not real, or do not count. */
  const ends = (counts: (at: number) => boolean): number => {
    let row = rows.findIndex((at) => at !== undefined);
    for (let at = rows[row]; at !== undefined && counts(at); at = rows[row]) row++;
    return row;
  };
  const mask = (make: (at: number) => number): number[] =>
    policy.masks ? perRow(make, () => 0) : [];
  const endsAt = (at: number, how: Ending): number => at === count - 1 && ending === how ? 1 : 0;
  const [one, other] = fault === "endsSwapped"
    ? ["truncated", "terminated"] as const
    : ["terminated", "truncated"] as const;
  const perEnd = (how: Ending): number[] =>
    policy.ends ? perRow((at) => endsAt(at, how), () => 0) : [];
  /** From the episode's last reward backwards, as the kernel adds them up. */
  const toGo = (at: number | undefined): number[] => {
    const sums = new Array<number>(reward.count).fill(0);
    const end = fault === "returnToGoStops" ? position + shown : count;
    for (let from = end - 1; at !== undefined && from >= at; from--) {
      for (const [k, value] of show.rewards(records[from]?.[2] ?? zeros(0)).entries()) {
        sums[k] = (sums[k] ?? 0) + value;
      }
    }
    return sums.map(Math.fround);
  };
  return {
    columns: [...leaves.map(({ states }) => states()), ...others],
    nextStates: leaves.map(({ nextStates }) => nextStates()),
    seqLen: ends(() => true),
    nextSeqLen: ends(known),
    discount: perRow(
      (at) => known(at) && !terminatesAt(at) ? Math.fround(policy.discount) : 0,
      () => 0,
    ),
    learnMask: mask((at) => isContext(at) ? 0 : 1),
    contextMask: mask((at) => isContext(at) ? 1 : 0),
    terminated: perEnd(one),
    truncated: perEnd(other),
    returnToGo: policy.returnToGo ? rows.flatMap(toGo) : [],
    nStep,
  };
}

/** One array of many. */
export function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** A record as it can be read: of columns that not all records keep, the newest value kept. */
export function recordAt(
  { records }: Episode,
  position: number,
  every: readonly number[],
  fault?: Fault,
): readonly Uint8Array[] {
  return (records[position] ?? []).map((own, k) =>
    records[keptAt(position, every[k], fault)]?.[k] ?? own
  );
}
