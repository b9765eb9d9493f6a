/**
 * What `drain` returns: steps of many episodes, one after the other.
 *
 * @module
 */

import type { Column, ColumnArray, ColumnArrays, Columns } from "../../schema/columns.ts";
import type { AnySchema, ColumnOf, ExtrasOf, Schema } from "../../schema/schema.ts";

/** The shapes of the columns of drained steps: `[size, ...shape]`. */
export type DrainedColumnShape<C extends Column> = readonly [number, ...C["shape"]];

/** The shapes of columns of drained steps, by name. */
export type DrainedColumnShapes<X extends Columns> = {
  readonly [K in keyof X]: DrainedColumnShape<X[K]>;
};

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
export interface Drained<S extends Schema = AnySchema> {
  /** n, the number of steps; 0 if too few were ready. */
  readonly size: number;
  /** m, the number of segments. */
  readonly segmentCount: number;
  /** `[n, ...shape]`: the states. */
  readonly state: ColumnArray<ColumnOf<S, "state">>;
  /** `[n, ...shape]`: the actions. */
  readonly action: ColumnArray<ColumnOf<S, "action">>;
  /** `[n, ...shape]`: the rewards. */
  readonly reward: ColumnArray<ColumnOf<S, "reward">>;
  /** `[n, ...shape]` of each extra, by name. For an extra of {@linkcode every}, each step has the newest value that was kept. */
  readonly extras: ColumnArrays<ExtrasOf<S>>;
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
  readonly lastNextState: ColumnArray<ColumnOf<S, "state">>;
  /**
   * How many records were forgotten before they were handed out, since the last drain that handed out any. A number above 0 means
   * that the capacity is too small for what you record between two drains, or that you called {@linkcode ExperienceReplay.evict}.
   * It is 0 as long as fewer records came than you asked for.
   */
  readonly lost: number;
  /** The shapes of the columns, `[n, ...shape]`. */
  readonly shape: {
    /** `[n, ...shape]` */
    readonly state: DrainedColumnShape<ColumnOf<S, "state">>;
    /** `[n, ...shape]` */
    readonly action: DrainedColumnShape<ColumnOf<S, "action">>;
    /** `[n, ...shape]` */
    readonly reward: DrainedColumnShape<ColumnOf<S, "reward">>;
    /** `[n, ...shape]` of each extra. */
    readonly extras: DrainedColumnShapes<ExtrasOf<S>>;
  };
  /**
   * `[n, ...shape]`: the state after each step. The array is made from `state` and `lastNextState` when you first read it. It costs
   * no memory if you need only `lastNextState`.
   */
  readonly nextState: ColumnArray<ColumnOf<S, "state">>;
}
