/**
 * What `drain` returns: steps of many episodes, one after the other.
 *
 * @module
 */

import type { AnyColumnArray } from "../../schema/columns.ts";
import type { EpochOptions } from "../draw/epochs.ts";
import type { AnySchema, Schema, StateOf } from "../../schema/schema.ts";
import type { StateArrays } from "../../schema/state.ts";
import type { StepArrays, StepsShape } from "../../schema/step_arrays.ts";

/**
 * Arrays of your own beside drained steps, by name: a row for each step, `[n]` or `[n, …]`, such as advantages.
 * {@linkcode Drained.minibatches} takes them.
 */
export type OwnArrays = Readonly<Record<string, AnyColumnArray>>;

/** No {@linkcode OwnArrays}. */
export type NoOwnArrays = Readonly<Record<never, never>>;

/**
 * Steps that `drain` returned: n of them, in m segments. A segment is a run of steps of one episode, in order of time; segments
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
 * console.log([...steps.seqLen]); // [2, 1]
 * console.log([...steps.discount]); // [0.5, 0, 0.5]: the first episode terminated
 * console.log([...steps.nextState]); // [2, 3, 6]
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
 * console.log([...advantage]); // [-8.5, -19, -19]: 1 + 0.5 * 1 - 10, 1 - 20, 1 + 0.5 * 60 - 50
 * ```
 */
export interface Drained<S extends Schema = AnySchema> extends StepArrays<S> {
  /** n, the number of steps; 0 if too few were ready. */
  readonly size: number;
  /** m, the number of segments. */
  readonly segmentCount: number;
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
  /**
   * `[m]`: the index of each segment's actor, 0 to `actorCount - 1`. An actor is the chain of episodes that `recordStep` or `recordBatch`
   * led from one to the next, as one environment goes through them. Actors are numbered in the order of their first episodes.
   */
  readonly actor: Int32Array<ArrayBuffer>;
  /** How many actors took the steps. */
  readonly actorCount: number;
  /** `[m, ...shape]`: the state after each segment's last step. */
  readonly lastNextState: StateArrays<StateOf<S>>;
  /**
   * How many records were evicted before they were drained. Each is counted in one drain only, so the sum over all drains is what
   * was lost. A number above 0 means that the capacity is too small for what you record between two drains, or that you called
   * {@linkcode ExperienceReplay.evict}. As long as fewer records came than you asked for, it is 0, and a later drain counts them.
   */
  readonly lost: number;
  /** The shapes of the columns, `[n, ...shape]`. */
  readonly shape: StepsShape<S, readonly [size: number]>;
  /**
   * `[n, ...shape]`: the state after each step. The array is made from `state` and `lastNextState` when you first read it. It costs
   * no memory if you need only `lastNextState`.
   */
  readonly nextState: StateArrays<StateOf<S>>;
  /**
   * The same steps as `[T, N]`: T steps of each of N actors, time by time, as PPO's buffers have them. The call copies them.
   *
   * Compute returns first, from the packed arrays, with the functions of `@exrp/replay/returns`. Then give the results as `own`. So they
   * are right where an episode was cut off between two steps of a column, and the network looks at each state once.
   *
   * @param own Arrays of your own with a row for each step, which are arranged in the same way.
   * @throws {RangeError} If the actors have not equally many steps, or an array of `own` has no whole number of elements a step.
   * @throws {TypeError} If `own` has something else than numeric typed arrays.
   * @example Two environments, three steps
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { gae } from "@exrp/replay/returns";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * const episodes = Float64Array.from({ length: 2 }, () => replay.newEpisode());
   * for (let t = 0; t < 3; t++) {
   *   replay.recordBatch(episodes, {
   *     state: [t, 10 + t],
   *     action: [0, 0],
   *     reward: [1, 2],
   *     nextState: [t + 1, 11 + t],
   *     terminated: [t === 1, false],
   *   });
   * }
   * const steps = replay.drain({ steps: 6 });
   * const { advantage } = gae({
   *   reward: steps.reward,
   *   value: new Float32Array(steps.size), // of your network
   *   nextValue: new Float32Array(steps.segmentCount),
   *   discount: steps.discount,
   *   seqLen: steps.seqLen,
   *   packed: true,
   *   lambda: 1,
   * });
   * const { state, first, own, shape } = steps.timeMajor({ advantage });
   * console.log(shape.state); // [3, 2]: [T, N]
   * console.log([...state]); // [0, 10, 1, 11, 2, 12]
   * console.log([...first]); // [1, 1, 0, 0, 1, 0]
   * console.log([...own.advantage]); // [2, 6, 1, 4, 1, 2]
   * ```
   */
  timeMajor<const O extends OwnArrays = NoOwnArrays>(own?: O): TimeMajor<S, O>;
  /**
   * The steps in random order, as minibatches: each step once an epoch. All minibatches use the same memory, so one is yours until you
   * ask for the next.
   *
   * Without `seed`, the order follows from the replay's seed and from how many steps were drained before, and each call has another
   * one. Cost: one copy of the rows; 4 bytes a step for the order.
   *
   * @param size How many steps a minibatch has: a whole number of at least 1. The last one of an epoch may have fewer.
   * @throws {RangeError} For a number out of its range, or an array of `own` without a whole number of elements a step.
   * @throws {TypeError} For an unknown option, or one of the wrong kind.
   * @example Four epochs over 6 steps
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
   * const episode = replay.newEpisode();
   * replay.recordMany(episode, {
   *   state: [0, 1, 2, 3, 4, 5],
   *   action: [0, 0, 0, 0, 0, 0],
   *   reward: [0, 10, 20, 30, 40, 50],
   *   finalState: [6],
   * });
   * const steps = replay.drain();
   * const advantage = steps.reward.map((reward) => reward / 10);
   * const sizes: number[] = [];
   * let sum = 0;
   * for (const batch of steps.minibatches(4, { epochs: 4, own: { advantage } })) {
   *   console.log(batch.own.advantage.every((each, k) => each === batch.state[k])); // true: rows stay together
   *   sizes.push(batch.size);
   *   for (const reward of batch.reward) sum += reward;
   * }
   * console.log(sizes); // [4, 2, 4, 2, 4, 2, 4, 2]
   * console.log(sum); // 600: four times 150
   * ```
   */
  minibatches<const O extends OwnArrays = NoOwnArrays>(
    size: number,
    options?: MinibatchOptions<O>,
  ): Generator<Minibatch<S, O>, void, void>;
}

/** The options of {@linkcode Drained.minibatches}. */
export interface MinibatchOptions<O extends OwnArrays = OwnArrays> extends EpochOptions {
  /** Arrays of your own with a row for each step. Each minibatch has the rows of its steps, as `own`. */
  readonly own?: O;
}

/** Some drained steps in random order, with b rows; see {@linkcode Drained.minibatches}. */
export interface Minibatch<S extends Schema = AnySchema, O extends OwnArrays = OwnArrays>
  extends StepArrays<S> {
  /** b, the number of steps. */
  readonly size: number;
  /** The epoch: 0, 1, … */
  readonly epoch: number;
  /** `[b]`: the row of each step in the arrays of {@linkcode Drained}. */
  readonly index: Int32Array<ArrayBuffer>;
  /** `[b, …]` of each array of your own, by name. */
  readonly own: O;
}

/** Drained steps as `[T, N]`; see {@linkcode Drained.timeMajor}. Row t · N + n is step t of actor n, so the columns are `[T, N, ...shape]`. */
export interface TimeMajor<S extends Schema = AnySchema, O extends OwnArrays = OwnArrays>
  extends StepArrays<S> {
  /** T, the number of steps of each actor. */
  readonly length: number;
  /** N, the number of actors, in the order of their first episodes. */
  readonly actorCount: number;
  /** `[T, N]`: gamma, or 0 if the step terminated its episode. */
  readonly discount: Float32Array<ArrayBuffer>;
  /** `[T, N]`: 1 if the step is the first of its episode, else 0: reset the state of a recurrent network before it. */
  readonly first: Uint8Array<ArrayBuffer>;
  /** `[T, N]`: 1 if the step terminated its episode, else 0. */
  readonly terminated: Uint8Array<ArrayBuffer>;
  /** `[T, N]`: 1 if the episode was cut off after the step, else 0. */
  readonly truncated: Uint8Array<ArrayBuffer>;
  /** `[N, ...shape]`: the state after each actor's last step. */
  readonly lastNextState: StateArrays<StateOf<S>>;
  /** `[T, N]`: the row of each step in the packed arrays of {@linkcode Drained}. */
  readonly index: Int32Array<ArrayBuffer>;
  /** `[T, N, …]` of each array of your own, by name. */
  readonly own: O;
  /** The shapes of the columns, `[T, N, ...shape]`. */
  readonly shape: StepsShape<S, readonly [length: number, actorCount: number]>;
}
