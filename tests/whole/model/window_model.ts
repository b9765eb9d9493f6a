/**
 * What a batch must hold of a pick, worked out row by row: no runs, no lists of slots, one position after the other.
 *
 * @module
 */

import type { DType, PickPolicy } from "@exrp/replay";
import type { Fault } from "./faults.ts";
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
  readonly state: Uint8Array[];
  readonly discount: number[];
}

/** A pick's rows, part by part. Bytes are to be joined. */
export interface PickRows {
  readonly columns: Uint8Array[][];
  readonly nextState: Uint8Array[];
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
  { whole, stack, burnIn, before }: PickPolicy,
  first: number,
  position: number,
  fault?: Fault,
): boolean {
  if (first === 0) return true;
  const rows = fault === "trimForgetsContext" ? 0 : burnIn + before;
  const frames = fault === "trimForgetsFrames" ? 0 : stack - 1;
  return !whole && position >= first + rows + frames;
}

/** Whether a pick may begin at `position`. */
export function isPick(
  policy: PickPolicy,
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

/** Numbers of a reward's bytes. */
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
  policy: PickPolicy,
  episode: Episode,
  position: number,
  columnBytes: readonly number[],
  every: readonly number[],
  reward: RewardSpec,
  shown: Shown,
  fault?: Fault,
): PickRows {
  const { records, ending, finalState } = episode;
  const count = records.length;
  const rowCount = policy.burnIn + policy.before + policy.length;
  const [stateBytes = 0] = columnBytes;
  const zeros = (bytes: number): Uint8Array => new Uint8Array(bytes);

  /** The position that a row stands for, if it stands for a record of the window. */
  const own = Math.min(policy.length, count - position);
  const positionOf = (row: number): number | undefined => {
    const first = policy.before > 0
      ? position - policy.before
      : Math.max(0, position - policy.burnIn);
    const at = policy.reversed ? position + own - 1 - row : first + row;
    const least = policy.reversed ? position : 0;
    return at >= least && at < position + own ? at : undefined;
  };
  /** The state at a position, the final one included; undefined where it is not there (yet). */
  const stateAt = (at: number): Uint8Array | undefined =>
    at === count ? finalState : records[at]?.[0];
  const known = (at: number): boolean => stateAt(at + 1) !== undefined || fault === "openEndKnown";
  const frame = (at: number): Uint8Array => {
    if (at >= 0) return stateAt(at) ?? zeros(stateBytes);
    const repeats = policy.stackPadding === "repeat" && fault !== "stackPadsZeros";
    return repeats ? stateAt(0) ?? zeros(stateBytes) : zeros(stateBytes);
  };
  const stack = (at: number): Uint8Array => {
    const frames = Array.from({ length: policy.stack }, (_, k) => frame(at - policy.stack + 1 + k));
    return join(frames);
  };
  const stackBytes = policy.stack * shown.bytes(0);
  const stackIn = (part: "own" | "next" | number, at: number): Uint8Array =>
    shown.row(0, part, stack(at));
  const rows = Array.from({ length: rowCount }, (_, row) => positionOf(row));
  const perRow = <T>(make: (at: number) => T, none: () => T): T[] =>
    rows.map((at) => at === undefined ? none() : make(at));

  const firstRow = rows.find((at) => at !== undefined) ?? 0;
  const first = policy.reversed ? position : firstRow;
  const columns = columnBytes.map((bytes, k) =>
    (every[k] ?? 1) > 1
      ? [shown.row(k, "own", records[keptAt(first, every[k], fault)]?.[k] ?? zeros(bytes))]
      : k === 0
      ? states()
      : perRow(
        (at) => shown.row(k, "own", records[at]?.[k] ?? zeros(bytes)),
        () => zeros(shown.bytes(k)),
      )
  );
  function states(): Uint8Array[] {
    const last = position + own - 1;
    const after = stateAt(last + 1);
    if (policy.stackCompact) {
      const more = policy.nextState === "overlap" ? 1 : 0;
      const first = policy.before > 0
        ? position - policy.before
        : Math.max(0, position - policy.burnIn);
      return Array.from({ length: policy.stack - 1 + rowCount + more }, (_, k) => {
        const at = first - (policy.stack - 1) + k;
        const end = more === 1 && after !== undefined ? last + 1 : last;
        return at > end ? zeros(shown.bytes(0)) : shown.row(0, "own", frame(at));
      });
    }
    const stacks = perRow((at) => stackIn("own", at), () => zeros(stackBytes));
    if (policy.nextState !== "overlap") return stacks;
    stacks.push(zeros(stackBytes));
    const end = rows.lastIndexOf(last) + 1;
    if (after !== undefined) stacks[end] = stackIn("own", last + 1);
    return stacks;
  }

  const terminatesAt = (at: number): boolean =>
    at === count - 1 && ending === "terminated" && fault !== "terminatedBootstraps";
  const nStep = policy.nStep.map((n, k): NStepRows => {
    const part: NStepRows = { reward: [], state: [], discount: [] };
    for (const at of rows) {
      let [steps, discount] = [0, 1];
      const sums = new Array<number>(reward.count).fill(0);
      let bootstraps = true;
      // The newest record of an open episode, whose next state isn't known, has its own reward.
      const goesOn = (at: number): boolean => at < count && (steps === 0 || known(at));
      while (at !== undefined && steps < n && goesOn(at + steps)) {
        const bytes = records[at + steps]?.[2] ?? zeros(0);
        for (const [item, value] of shown.rewards(bytes).entries()) {
          sums[item] = (sums[item] ?? 0) + discount * value;
        }
        bootstraps = !terminatesAt(at + steps);
        discount *= fault === "nStepForgetsDiscount" ? 1 : policy.discount;
        steps++;
      }
      const none = at === undefined || !known(at);
      part.reward.push(...sums.map(Math.fround));
      part.state.push(none ? zeros(stackBytes) : stackIn(k, at + steps));
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
    const end = fault === "returnToGoStops" ? position + own : count;
    for (let from = end - 1; at !== undefined && from >= at; from--) {
      for (const [k, value] of shown.rewards(records[from]?.[2] ?? zeros(0)).entries()) {
        sums[k] = (sums[k] ?? 0) + value;
      }
    }
    return sums.map(Math.fround);
  };
  return {
    columns,
    nextState: policy.nextState === "copy"
      ? perRow(
        (at) => known(at) ? stackIn("next", at + 1) : zeros(stackBytes),
        () => zeros(stackBytes),
      )
      : [],
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
