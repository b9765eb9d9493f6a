/**
 * A batch: what `getBatch` returns.
 *
 * @module
 */

import type { ColumnArray, ColumnArrays } from "./columns.ts";
import type { StateArrays } from "./state.ts";
import type {
  AnySchema,
  ColumnOf,
  Known,
  known,
  NStepOf,
  Schema,
  ShownColumn,
  ShownExtras,
  ShownState,
} from "./schema.ts";
import type { BatchColumnShape, BatchShape, StackShape } from "./batch_shape.ts";

/** One n-step return of a {@linkcode Batch}. It has the `reward`, `nextState` and `discount` that a one-step learner takes. */
export interface NStepPart<S extends Schema = AnySchema> {
  /** The type of the batch; only for TypeScript. */
  readonly [known]?: Known<S>;
  /** How many steps the return looks ahead. */
  readonly n: number;
  /**
   * `[batch, length, ...shape]`, float32 for every dtype of the reward: the sum of the next m rewards. The reward k steps on is
   * multiplied by `discount`^k. m is n, or less at the end of the episode.
   */
  readonly reward: Float32Array<ArrayBuffer>;
  /**
   * `[batch, length, ...shape]`: the state m steps on. If the episode ends before, it is the final state. With frame stacks the shape
   * is `[batch, length, stack, ...shape]`: whole stacks, even with `stackCompact`.
   */
  readonly nextState: StateArrays<ShownState<S>>;
  /** `[batch, length]`: `discount`^m. It is 0 if the episode terminated within the m steps, or if no next state is known. */
  readonly discount: Float32Array<ArrayBuffer>;
  /** The shapes of these arrays. */
  readonly shape: {
    /** `[batch, length, ...shape]` */
    readonly reward: BatchColumnShape<ColumnOf<S, "reward">>;
    /** `[batch, length, ...shape]`, or `[batch, length, stack, ...shape]`. */
    readonly nextState: StackShape<S>;
    /** `[batch, length]` */
    readonly discount: readonly [number, number];
  };
}

/** The n-step returns of a {@linkcode Batch}: one for each n of the pick policy. */
export type NStepParts<S extends Schema> = readonly number[] extends NStepOf<S>
  ? readonly NStepPart<S>[]
  : NStepPartsOf<S, NStepOf<S>>;

/** One {@linkcode NStepPart} for each n. Where n may be a number or a list, the parts are those of either. */
export type NStepPartsOf<S extends Schema, N extends number | readonly number[]> = N extends
  readonly number[] ? { readonly [K in keyof N]: NStepPart<S> }
  : readonly [NStepPart<S>];

/**
 * The picks that `getBatch` drew. Each part is one typed array in row-major order, ready for any tensor library. All parts that are not
 * empty are views of one `ArrayBuffer`, which the batch owns. No later call changes it unless you pass it as `into`.
 *
 * When you are done with a batch, you may give its memory back, with `using` or `batch[Symbol.dispose]()`. Its parts are empty from
 * then on. A later batch of this size then needs no new memory, which would have to be filled with zeros first.
 *
 * `S` is the schema of the replay: `Batch<{ state: Column<"float32", [4]> }>`. `Batch` alone is a batch of any replay.
 *
 * Rows from `seqLen` on are zero in every part. Cost: one copy of the picks' bytes.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(2),
 *   pick: { length: 3, allowShort: true, discount: 0.9 },
 * });
 * const episode = replay.newEpisode();
 * replay.record(episode, [1, 2], 0, 10, { finalState: [3, 4] });
 * const batch = replay.getBatch(1, replay.newPickSelector(uniform()));
 *
 * console.log(batch.shape.state); // [1, 3, 2]
 * console.log([...batch.state]); // [1, 2, 0, 0, 0, 0]
 * console.log([...batch.nextState]); // [3, 4, 0, 0, 0, 0]
 * console.log([...batch.seqLen]); // [1]
 * console.log([...batch.discount]); // [0, 0, 0]: it terminated
 * ```
 */
export interface Batch<S extends Schema = AnySchema> {
  /** The type of the batch; only for TypeScript. */
  readonly [known]?: Known<S>;
  /** How many picks it has. */
  readonly size: number;
  /** How many rows each pick has: `burnIn + before + length` of the pick policy. */
  readonly length: number;
  /** The whole batch as bytes. You may transfer its buffer to a Worker. The batch is empty afterwards. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * `[batch, length, ...shape]`: the states. With frame stacks the shape is `[batch, length, stack, ...shape]`, oldest frame first.
   * With `nextState: "overlap"` there is one more row. With `stackCompact` the shape is `[batch, stack - 1 + length + 1, ...shape]`,
   * and without the last 1 if `nextState` is `false`. If the state has several leaves, each has an array: `state.image`, `state.speed`.
   */
  readonly state: StateArrays<ShownState<S>>;
  /** `[batch, length, ...shape]`: the actions. */
  readonly action: ColumnArray<ShownColumn<S, "action">>;
  /** `[batch, length, ...shape]`: the rewards. */
  readonly reward: ColumnArray<ShownColumn<S, "reward">>;
  /**
   * `[batch, length, ...shape]`, like `state`: the state after each record. At the end of an episode it is the final state. Empty
   * unless `nextState` is `"copy"`.
   */
  readonly nextState: StateArrays<ShownState<S>>;
  /** The extras by name, each `[batch, length, ...shape]`. One made by {@linkcode every} is `[batch, ...shape]`. */
  readonly extras: ColumnArrays<ShownExtras<S>>;
  /**
   * `[batch]`: the first row of padding. Rows before the pick (`burnIn`, `before`) count too. With `before`, rows before the start of
   * the episode are also padding, and `contextMask` says which are real.
   */
  readonly seqLen: Int32Array<ArrayBuffer>;
  /** `[batch]`: the next states of all rows below this one are known. */
  readonly nextSeqLen: Int32Array<ArrayBuffer>;
  /** `[batch]`: the handle of the episode each pick is from. */
  readonly pickEpisode: Float64Array<ArrayBuffer>;
  /** `[batch]`: the position in its episode at which each pick begins, from 0. */
  readonly pickPosition: Int32Array<ArrayBuffer>;
  /** `[batch]`: the probability with which each pick was drawn, more than 0 and at most 1. */
  readonly probability: Float32Array<ArrayBuffer>;
  /**
   * `[batch]`: multiply the loss of each pick by it. It is (N · P)^-beta, where N is the number of picks in the view and P the
   * probability of the pick. It is divided by the largest weight of the batch, so the largest is 1. With `normalize: "view"` it is
   * divided by the largest weight of the view, and is at most 1. For {@linkcode laber} it is 1 on average. It is 1 for rules without
   * importance weights. Each part of a selector made of others weighs its own picks.
   */
  readonly importanceWeight: Float32Array<ArrayBuffer>;
  /**
   * `[batch, length]`: gamma. It is 0 where the step terminated its episode or its next state is not known. The target of a one-step
   * learner is `reward + discount * value(nextState)`.
   */
  readonly discount: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: 1 at the pick's own records, from which you learn, and 0 elsewhere. Empty without `masks`. */
  readonly learnMask: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: 1 at the records before the pick (`burnIn`, `before`), and 0 elsewhere. Empty without `masks`. */
  readonly contextMask: Float32Array<ArrayBuffer>;
  /**
   * `[batch, length]`: 1 at the last record of an episode that terminated, and 0 elsewhere. Empty without `ends`. {@linkcode Hindsight.relabel}
   * writes it where its callback says what terminates.
   */
  readonly terminated: Uint8Array<ArrayBuffer>;
  /** `[batch, length]`: 1 at the last record of an episode that was cut off, and 0 elsewhere. Empty without `ends`. */
  readonly truncated: Uint8Array<ArrayBuffer>;
  /**
   * `[batch, length, ...shape]`, float32 for every dtype of the reward: the sum of the rewards from each row to the end of its episode,
   * without discount. Of an open episode it has the rewards so far. Empty without `returnToGo`.
   */
  readonly returnToGo: Float32Array<ArrayBuffer>;
  /** The n-step returns, one part for each n of the pick policy, in the same order. None by default. */
  readonly nStep: NStepParts<S>;
  /** The shapes of all parts. */
  readonly shape: BatchShape<S>;
  /**
   * Gives the batch's memory back to the replay, for later batches. The replay keeps four batches for each size and pick view. All
   * parts are empty from then on, for everyone who holds them. You can't pass the batch as `into` any more. A second call does nothing.
   * Nothing happens either if the buffer was transferred, or if `batches` with `reuse` already draws another batch into it.
   *
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * replay.record(replay.newEpisode(), [1, 2], 0, 10, { finalState: [3, 4] });
   * const selector = replay.newPickSelector(uniform());
   * let kept = new Float32Array(2);
   * for (let turn = 0; turn < 10; turn++) {
   *   using batch = replay.getBatch(1, selector); // after the first turn, it needs no new memory
   *   console.log([...batch.nextState]); // [3, 4]
   *   kept = batch.state;
   *   console.log(kept.length); // 2
   * }
   * console.log(kept.length); // 0: it never becomes the array of another batch
   * ```
   */
  [Symbol.dispose](): void;
}
