/**
 * Transforms, plain and slow: one element after the other, by the words of the documentation.
 *
 * @module
 */

import { DType } from "@exrp/replay";
import { PickTransforms, Transform } from "@exrp/replay/transforms";
import type { AnyPickPolicy } from "@exrp/replay/types";
import type { Fault } from "./faults.ts";
import { leafView, leavesIn, unpacked } from "./state_leaves.ts";

/** A column of stored rows. */
export interface StoredColumn {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

const ARRAYS = {
  uint8: Uint8Array,
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  float16: Float16Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** The numbers of a row. */
export function numbersOf(dtype: DType, bytes: Uint8Array): number[] {
  return Array.from(new ARRAYS[dtype](bytes.slice().buffer), Number);
}

/** The running mean and variance of each element of a column: Welford's sums. */
export class RunningStatistics {
  count = 0;
  readonly mean: number[];
  readonly squares: number[];

  constructor(elements: number) {
    this.mean = new Array<number>(elements).fill(0);
    this.squares = new Array<number>(elements).fill(0);
  }

  add(values: readonly number[]): void {
    const rate = 1 / ++this.count;
    for (const [k, value] of values.entries()) {
      const old = this.mean[k] ?? 0;
      const mean = old + (value - old) * rate;
      const squares = (this.squares[k] ?? 0) + Math.max(0, (value - old) * (value - mean));
      if (!Number.isFinite(squares)) continue;
      this.mean[k] = mean;
      this.squares[k] = squares;
    }
  }

  variance(k: number): number {
    return this.count === 0 ? 1 : (this.squares[k] ?? 0) / this.count;
  }

  clone(): RunningStatistics {
    const copy = new RunningStatistics(0);
    copy.count = this.count;
    copy.mean.push(...this.mean);
    copy.squares.push(...this.squares);
    return copy;
  }
}

const WORD = (1n << 64n) - 1n;

/** One step of splitmix64. */
function mixed(value: bigint): bigint {
  let z = (value + 0x9E3779B97F4A7C15n) & WORD;
  z = ((z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n) & WORD;
  z = ((z ^ (z >> 27n)) * 0x94D049BB133111EBn) & WORD;
  return z ^ (z >> 31n);
}

/** What decides the place of a crop. */
export interface Place {
  readonly seed: number;
  readonly view: number;
  /** Batches, or parts of one, that the view has drawn before. */
  readonly drawn: number;
  /** The pick's place in the batch. */
  readonly pick: number;
  /** The number of the part of the batch among those of columns with transforms. */
  readonly part: number;
}

/** Random bits for a place; `mixed()` of them is for the first crop of a list, and so on. */
export function bitsOf({ seed, view, drawn, pick, part }: Place): bigint {
  const ofView = mixed(mixed(BigInt(seed)) ^ BigInt(view));
  const ofPick = mixed(mixed(ofView ^ BigInt(drawn)) ^ BigInt(pick));
  return mixed(ofPick ^ BigInt(part));
}

/** A row while it is transformed. */
interface Row {
  values: number[];
  shape: readonly number[];
  dtype: DType;
}

/** A part of each picture, `top` lines and `left` pixels off its corner; beyond the edge, the edge is repeated. */
function cut(
  { values, shape }: Row,
  isLast: boolean,
  [top, left]: readonly [number, number],
  [height, width]: readonly [number, number],
): number[] {
  const channels = isLast ? shape.at(-1) ?? 1 : 1;
  const [rows = 1, columns = 1] = shape.slice(isLast ? -3 : -2);
  const made: number[] = [];
  for (let picture = 0; picture < values.length; picture += rows * columns * channels) {
    for (let y = top; y < top + height; y++) {
      for (let x = left; x < left + width; x++) {
        const line = Math.min(Math.max(y, 0), rows - 1);
        const pixel = Math.min(Math.max(x, 0), columns - 1);
        for (let channel = 0; channel < channels; channel++) {
          made.push(values[picture + (line * columns + pixel) * channels + channel] ?? NaN);
        }
      }
    }
  }
  return made;
}

/** Crops and shifts; returns the bits for the next one. */
function crop(
  row: Row,
  transform: Extract<Transform, { readonly channels: unknown }>,
  bits: bigint,
): bigint {
  const next = mixed(bits);
  const isLast = transform.channels === "last";
  const [rows = 1, columns = 1] = row.shape.slice(isLast ? -3 : -2);
  const isShift = transform.kind === "randomShift";
  const pad = isShift ? transform.pad : 0;
  const [height, width] = isShift ? [rows, columns] : [transform.height, transform.width];
  const [downs, rights] = [rows + 2 * pad - height, columns + 2 * pad - width];
  const [high, low] = [Number(next >> 32n), Number(next & 0xffffffffn)];
  const [top, left] = transform.kind === "centerCrop"
    ? [Math.floor(downs / 2), Math.floor(rights / 2)]
    : [Math.floor(high * (downs + 1) / 2 ** 32), Math.floor(low * (rights + 1) / 2 ** 32)];
  row.values = cut(row, isLast, [top - pad, left - pad], [height, width]);
  const shape = [...row.shape];
  shape.splice(isLast ? -3 : -2, 2, height, width);
  row.shape = shape;
  return next;
}

/** What one transform makes of one number, as float32. */
function changed(
  transform: Transform,
  value: number,
  k: number,
  statistics: RunningStatistics | undefined,
): number {
  const f = Math.fround;
  const x = f(value);
  switch (transform.kind) {
    case "toFloat32":
    case "toFloat16": {
      const product = f(x * f(transform.scale));
      return f(transform.offset) === 0 ? product : f(product + f(transform.offset));
    }
    case "clip": {
      const [min, max] = [f(transform.min), f(transform.max)];
      return x < min ? min : x > max ? max : x;
    }
    case "normalize": {
      const variance = statistics?.variance(k) ?? NaN;
      const factor = f(1 / Math.sqrt(variance + transform.epsilon));
      const mean = statistics?.mean[k] ?? NaN;
      const normal = f(f(f(x - f(mean)) - f(mean - f(mean))) * factor);
      const limit = transform.clip === false ? Infinity : f(transform.clip);
      return normal < -limit ? -limit : normal > limit ? limit : normal;
    }
    default:
      return value;
  }
}

/** A row after its transforms, in order. */
export function transformRow(
  { dtype, shape }: StoredColumn,
  list: readonly Transform[],
  bytes: Uint8Array,
  bits: bigint,
  statistics?: RunningStatistics,
): Uint8Array {
  const row: Row = { values: numbersOf(dtype, bytes), shape, dtype };
  let next = bits;
  for (const transform of list) {
    if ("channels" in transform) {
      next = crop(row, transform, next);
      continue;
    }
    row.values = row.values.map((value, k) => changed(transform, value, k, statistics));
    row.dtype = transform.kind === "toFloat16" ? "float16" : "float32";
  }
  return new Uint8Array(ARRAYS[row.dtype].from(row.values).buffer);
}

/** A reward of which returns are made: its numbers before toFloat16() rounds them. */
export function transformedReward(
  column: StoredColumn,
  list: readonly Transform[],
  bytes: Uint8Array,
  statistics?: RunningStatistics,
): number[] {
  return numbersOf(column.dtype, bytes).map((value, k) =>
    list.reduce((each, transform) => changed(transform, each, k, statistics), value)
  );
}

/** What a batch shows of one pick. */
export interface Shown {
  /** A row of a column, or a stack of such rows, in a part of the batch: its own, that of next states, or that of the k-th n-step return. */
  row(column: number, part: "own" | "next" | number, bytes: Uint8Array): Uint8Array;
  /** The bytes of a row of a column. */
  bytes(column: number): number;
  /** The numbers of a reward, of which returns are made. */
  rewards(bytes: Uint8Array): number[];
}

/** The columns of a replay, leaves of the state first, with the bytes of the leaves and the names of the extras. */
export interface StoredColumns {
  readonly columns: readonly StoredColumn[];
  readonly leafBytes: readonly number[];
  readonly extraNames: readonly string[];
}

/** The transforms of all pick views, and the statistics of columns. */
export class TransformsModel {
  readonly #of: StoredColumns;
  readonly #seed: number;
  readonly #fault: Fault | undefined;
  readonly #statistics = new Map<number, RunningStatistics>();
  /** Batches, or parts of one, that each view has drawn. */
  readonly #drawn: number[] = [];

  constructor(of: StoredColumns, seed: number, fault: Fault | undefined) {
    this.#of = of;
    this.#seed = seed;
    this.#fault = fault;
  }

  /** A view was made; `stored` are the rows of each record, the oldest episode first. */
  addView({ transform }: AnyPickPolicy, stored: readonly (readonly Uint8Array[])[]): void {
    this.#drawn.push(0);
    for (const column of this.#of.columns.keys()) {
      const isAsked = this.#list(transform, column)[0]?.kind === "normalize";
      if (!isAsked || this.#statistics.has(column)) continue;
      const count = this.#elements(column);
      this.#statistics.set(column, new RunningStatistics(count));
      if (this.#fault === "statisticsFromNow") continue;
      for (const row of stored) this.#add(column, row);
    }
  }

  /** A record came. */
  recorded(row: readonly Uint8Array[]): void {
    for (const column of this.#statistics.keys()) this.#add(column, row);
  }

  statistics(column: number): RunningStatistics | undefined {
    return this.#statistics.get(column);
  }

  #add(column: number, row: readonly Uint8Array[]): void {
    const { dtype = "uint8" } = this.#of.columns[column] ?? {};
    const [state = new Uint8Array(), ...others] = row;
    const bytes = [...unpacked(state, this.#of.leafBytes), ...others][column];
    this.#statistics.get(column)?.add(numbersOf(dtype, bytes ?? new Uint8Array()));
  }

  #elements(column: number): number {
    return (this.#of.columns[column]?.shape ?? []).reduce((product, size) => product * size, 1);
  }

  #list(transforms: PickTransforms | undefined, column: number): readonly Transform[] {
    const { leafBytes: { length }, extraNames } = this.#of;
    const { state, action, reward, extras } = transforms ?? {};
    const leaves = state === undefined ? [] : leavesIn<readonly Transform[]>(length, state);
    if (column < length) return leaves[column] ?? [];
    const of = [action, reward, ...extraNames.map((name) => extras?.[name])];
    return of[column - length] ?? [];
  }

  /** A batch of a view is made, or a part of one: what it shows of each of its picks, by their places in the whole batch. */
  begin(view: number, policy: AnyPickPolicy): (pick: number) => Shown {
    const { transform, nStep } = policy;
    const leafCount = this.#of.leafBytes.length;
    const drawn = this.#drawn[view] ?? 0;
    if (transform !== undefined) this.#drawn[view] = drawn + 1;
    const columns = this.#of.columns.map((column, k) => ({
      column,
      list: this.#list(transform, k),
      statistics: this.#statistics.get(k),
    }));
    // The parts of the batch that are of columns with transforms.
    const parts = columns.flatMap(({ list }, k) => {
      if (list.length === 0) return [];
      const { nextState, hasNStep } = leafView(policy, k);
      const next = nextState === "copy" ? ["next"] : [];
      const more = k < leafCount ? [...next, ...(hasNStep ? nStep.keys() : [])] : [];
      return ["own", ...more].map((part) => `${k} ${part}`);
    });
    const rowOf = (k: number, bytes: Uint8Array, bits: bigint): Uint8Array => {
      const { column, list, statistics } = columns[k] as typeof columns[number];
      return list.length === 0 ? bytes : transformRow(column, list, bytes, bits, statistics);
    };
    const seed = this.#seed;
    return (pick) => ({
      row: (k, part, bytes) => {
        const at = parts.indexOf(`${k} ${this.#fault === "shiftsTogether" ? "own" : part}`);
        if (at < 0) return bytes;
        const place = {
          seed,
          view,
          drawn,
          pick: this.#fault === "shiftsAlike" ? 0 : pick,
          part: at,
        };
        const { column: { dtype } } = columns[k] as typeof columns[number];
        const size = this.#elements(k) * ARRAYS[dtype].BYTES_PER_ELEMENT;
        const frames = Array.from(
          { length: bytes.length / size },
          (_, frame) => rowOf(k, bytes.subarray(frame * size, (frame + 1) * size), bitsOf(place)),
        );
        return Uint8Array.from(frames.flatMap((frame) => [...frame]));
      },
      bytes: (k) => {
        const { column: { dtype } } = columns[k] as typeof columns[number];
        return rowOf(k, new Uint8Array(this.#elements(k) * ARRAYS[dtype].BYTES_PER_ELEMENT), 0n)
          .length;
      },
      rewards: (bytes) => {
        const { column, list, statistics } = columns[leafCount + 1] as typeof columns[number];
        const own = this.#fault === "returnsOfStored" ? [] : list;
        return transformedReward(column, own, bytes, statistics);
      },
    });
  }

  clone(): TransformsModel {
    const copy = new TransformsModel(this.#of, this.#seed, this.#fault);
    for (const [column, each] of this.#statistics) {
      copy.#statistics.set(
        column,
        this.#fault === "snapshotForgetsStatistics"
          ? new RunningStatistics(each.mean.length)
          : each.clone(),
      );
    }
    copy.#drawn.push(
      ...this.#fault === "snapshotForgetsPlaces" ? this.#drawn.map(() => 0) : this.#drawn,
    );
    return copy;
  }
}
