/**
 * What `drain` returns: steps of many episodes, one after the other.
 *
 * @module
 */

import { columnsText, numberOf, showAs } from "../../base/inspect.ts";
import { type AnyColumnArray, extrasOf } from "./records.ts";
import type { Column, ColumnArray, Columns, NoColumns } from "../../schema/columns.ts";

/** The shapes of the columns of drained steps: `[size, ...shape]`. */
export type DrainedColumnShape<C extends Column> = readonly [number, ...C["shape"]];

/** A run of steps of one episode, to be handed out. */
export interface Segment {
  /** The episode's handle. */
  readonly handle: number;
  /** The position of its first step. */
  readonly position: number;
  /** How many steps. */
  readonly count: number;
  /** How the episode ended, if its last step is among them. */
  readonly ending: "terminated" | "truncated" | undefined;
}

/** What a {@linkcode Drained} is made of. */
export interface DrainedParts {
  /** The runs of steps. */
  readonly segments: readonly Segment[];
  /** Rows of the state, the action, the reward and the extras. */
  readonly arrays: readonly AnyColumnArray[];
  /** The names of the extras. */
  readonly extraNames: readonly string[];
  /** The shape of one record's value, by column. */
  readonly shapes: readonly (readonly number[])[];
  /** The state after each segment's last step. */
  readonly lastNextState: AnyColumnArray;
  /** Gamma. */
  readonly discount: number;
  /** Records that were forgotten before they were handed out. */
  readonly lost: number;
}

/**
 * Steps that `drain` handed out: n of them, in m segments. A segment is a run of steps of one episode, in order of time; segments
 * follow one another. All arrays are your own.
 *
 * The functions that compute returns take these arrays as they are: `reward`, `discount` and `seqLen`, with `packed: true`. As
 * `nextValue` give the values of `lastNextState`, one per segment, or of `nextState`, one per step. If a segment ends without
 * `terminated`, bootstrap from the next state: the episode was cut off, or goes on.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { gae } from "@exrp/replay/returns";
 * import { assertEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(),
 *   pick: { discount: 0.5 },
 * });
 * replay.recordMany(replay.newEpisode(), { state: [1, 2], action: [0, 0], reward: [1, 1], finalState: 3 });
 * replay.recordMany(replay.newEpisode(), {
 *   state: [5],
 *   action: [0],
 *   reward: [1],
 *   finalState: 6,
 *   truncated: true,
 * });
 *
 * const steps = replay.drain();
 * assertEquals([...steps.seqLen], [2, 1]);
 * assertEquals([...steps.discount], [0.5, 0, 0.5]); // the first episode terminated
 * assertEquals([...steps.nextState], [2, 3, 6]);
 * const value = (state: number): number => 10 * state;
 * const { advantage } = gae({
 *   reward: steps.reward,
 *   value: steps.state.map(value),
 *   nextValue: steps.lastNextState.map(value), // one a segment
 *   discount: steps.discount,
 *   seqLen: steps.seqLen,
 *   packed: true,
 *   lambda: 1,
 * });
 * assertEquals([...advantage], [1 + 0.5 * 1 - 10, 1 - 20, 1 + 0.5 * 60 - 50]);
 * ```
 */
export class Drained<
  S extends Column = Column,
  A extends Column = Column<"int32", readonly []>,
  R extends Column = Column<"float32", readonly []>,
  X extends Columns = NoColumns,
> {
  /** n, the number of steps; 0 if too few were ready. */
  readonly size: number;
  /** m, the number of segments. */
  readonly segmentCount: number;
  /** `[n, ...shape]`: the states. */
  readonly state: ColumnArray<S>;
  /** `[n, ...shape]`: the actions. */
  readonly action: ColumnArray<A>;
  /** `[n, ...shape]`: the rewards. */
  readonly reward: ColumnArray<R>;
  /** `[n, ...shape]` of each extra, by name. For an extra of {@linkcode every}, each step has the newest value that was kept. */
  readonly extras: { readonly [K in keyof X]: ColumnArray<X[K]> };
  /** `[n]`: gamma, or 0 if the step terminated its episode. */
  readonly discount: Float32Array<ArrayBuffer>;
  /** `[n]`: 1 if the step terminated its episode, else 0. */
  readonly terminated: Uint8Array<ArrayBuffer>;
  /** `[n]`: 1 if the episode was cut off after the step, else 0. */
  readonly truncated: Uint8Array<ArrayBuffer>;
  /** `[m]`: how many steps each segment has. */
  readonly seqLen: Int32Array<ArrayBuffer>;
  /** `[m]`: the index of each segment's first step. */
  readonly offset: Int32Array<ArrayBuffer>;
  /** `[m]`: the handle of each segment's episode. */
  readonly episode: Float64Array<ArrayBuffer>;
  /** `[m]`: the position of each segment's first step in its episode. */
  readonly position: Int32Array<ArrayBuffer>;
  /** `[m, ...shape]`: the state after each segment's last step. */
  readonly lastNextState: ColumnArray<S>;
  /**
   * How many records were forgotten before they were handed out, since the last drain that handed out any. A number above 0 means
   * that the capacity is too small for what you record between two drains, or that you called {@linkcode ExperienceReplay.evict}.
   * It is 0 as long as fewer records came than you asked for.
   */
  readonly lost: number;
  /** The shapes of the columns, `[n, ...shape]`. */
  readonly shape: {
    /** `[n, ...shape]` */
    readonly state: DrainedColumnShape<S>;
    /** `[n, ...shape]` */
    readonly action: DrainedColumnShape<A>;
    /** `[n, ...shape]` */
    readonly reward: DrainedColumnShape<R>;
    /** `[n, ...shape]` of each extra. */
    readonly extras: { readonly [K in keyof X]: DrainedColumnShape<X[K]> };
  };
  #nextState: ColumnArray<S> | undefined;

  /** Puts the parts together; call `drain` instead. */
  constructor(parts: DrainedParts) {
    const { segments, arrays, extraNames, shapes } = parts;
    const count = segments.length;
    this.segmentCount = count;
    this.seqLen = Int32Array.from(segments, (segment) => segment.count);
    this.episode = Float64Array.from(segments, (segment) => segment.handle);
    this.position = Int32Array.from(segments, (segment) => segment.position);
    this.offset = new Int32Array(count);
    let size = 0;
    for (let k = 0; k < count; k++) {
      this.offset[k] = size;
      size += this.seqLen[k] as number;
    }
    this.size = size;
    this.discount = new Float32Array(size).fill(parts.discount);
    this.terminated = new Uint8Array(size);
    this.truncated = new Uint8Array(size);
    for (const [k, { ending }] of segments.entries()) {
      const last = (this.offset[k] as number) + (this.seqLen[k] as number) - 1;
      if (ending === "terminated") {
        this.terminated[last] = 1;
        this.discount[last] = 0;
      } else if (ending === "truncated") this.truncated[last] = 1;
    }
    this.state = arrays[0] as ColumnArray<S>;
    this.action = arrays[1] as ColumnArray<A>;
    this.reward = arrays[2] as ColumnArray<R>;
    this.extras = Object.freeze(extrasOf(extraNames, arrays)) as typeof this.extras;
    this.lastNextState = parts.lastNextState as ColumnArray<S>;
    this.lost = parts.lost;
    const shape = (k: number): readonly number[] => [size, ...shapes[k] ?? []];
    const extras = Object.fromEntries(extraNames.map((name, k) => [name, shape(3 + k)]));
    this.shape = { state: shape(0), action: shape(1), reward: shape(2), extras } as
      | readonly unknown[]
      | object as typeof this.shape;
  }

  /**
   * `[n, ...shape]`: the state after each step. The array is made from `state` and `lastNextState` when you first read it. It costs
   * no memory if you need only `lastNextState`.
   */
  get nextState(): ColumnArray<S> {
    if (this.#nextState !== undefined) return this.#nextState;
    const from: AnyColumnArray = this.state;
    const last: AnyColumnArray = this.lastNextState;
    const next = from.slice();
    const width = this.size === 0 ? 0 : from.length / this.size;
    // Each state moves up by one row, over the boundaries too. Then each segment's last row gets the segment's own last state.
    next.copyWithin(0, width);
    for (let k = 0; k < this.segmentCount; k++) {
      const end = (this.offset[k] as number) + (this.seqLen[k] as number);
      next.set(last.subarray(k * width, (k + 1) * width), (end - 1) * width);
    }
    this.#nextState = next as ColumnArray<S>;
    return this.#nextState;
  }
}

showAs(Drained, (drained: Drained<Column, Column, Column, Columns>) => {
  const { size, segmentCount, shape } = drained;
  return `Drained ${numberOf(size, "step")} in ${numberOf(segmentCount, "segment")} ${
    columnsText(drained, shape)
  }`;
});
