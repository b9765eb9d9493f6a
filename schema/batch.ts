/**
 * A batch: what `getBatch` returns.
 *
 * @module
 */

import type { ColumnArray, ColumnArrays } from "./columns.ts";
import type { AnySchema, ColumnOf, ExtrasOf, Known, known, NStepOf, Schema } from "./schema.ts";
import type { BatchColumnShape, BatchShape, StackShape } from "./batch_shape.ts";

/** One n-step return of a batch: as a one-step learner takes `reward`, `nextState` and `discount`. */
export interface NStepPart<S extends Schema = AnySchema> {
  /** The type of the batch, for TypeScript alone. */
  readonly [known]?: Known<S>;
  /** How many steps the return looks ahead. */
  readonly n: number;
  /**
   * `[batch, length, ...shape]` of the reward: the sum of the next m rewards, each times `discount`^its distance. m is n, or less at
   * the end of the episode. Single precision, whatever the reward's dtype is.
   */
  readonly reward: Float32Array<ArrayBuffer>;
  /**
   * `[batch, length, ...shape]`: the state m records on. Where the episode's end cuts m, it is the final state. With frame stacks
   * `[batch, length, stack, ...shape]`, also where `stackCompact` is set: these are whole stacks.
   */
  readonly nextState: ColumnArray<ColumnOf<S, "state">>;
  /** `[batch, length]`: `discount`^m; 0 where the episode terminated within the m, or no next state is known. */
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

/** The n-step returns of a batch: one for each n of the pick policy. */
export type NStepParts<S extends Schema> = readonly number[] extends NStepOf<S>
  ? readonly NStepPart<S>[]
  : NStepOf<S> extends infer N extends readonly number[] ? { readonly [K in keyof N]: NStepPart<S> }
  : readonly [NStepPart<S>];

/**
 * Picks drawn at random, side by side: each part is one typed array in row-major order, ready for any tensor library.
 * All parts are views of one `ArrayBuffer`, which the batch owns: no later call changes it unless you pass it as `into`.
 * When you are done with a batch you may hand its memory back, by `using` or `batch[Symbol.dispose]()`. Its parts are empty from then on,
 * and a later batch of this size needs no new memory, which the engine would have to fill with zeros first.
 *
 * `S` is the schema of the replay: `Batch<{ state: Column<"float32", [4]> }>`. `Batch` alone is a batch of any replay.
 *
 * Positions past `seqLen` are zero. Cost: one copy of the picks' bytes.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 * import { assertEquals } from "@std/assert";
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
 * assertEquals(batch.shape.state, [1, 3, 2]);
 * assertEquals([...batch.state], [1, 2, 0, 0, 0, 0]);
 * assertEquals([...batch.nextState], [3, 4, 0, 0, 0, 0]);
 * assertEquals([...batch.seqLen], [1]);
 * assertEquals([...batch.discount], [0, 0, 0]); // it terminated
 * ```
 */
export interface Batch<S extends Schema = AnySchema> {
  /** The type of the batch, for TypeScript alone. */
  readonly [known]?: Known<S>;
  /** How many picks it has. */
  readonly size: number;
  /** How many rows each pick has: the pick policy's `burnIn + before + length`. */
  readonly length: number;
  /** The whole as bytes; its buffer may be transferred to a Worker, after which the batch is empty. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * `[batch, length, ...shape]`: the states; with frame stacks `[batch, length, stack, ...shape]`, oldest frame first. Where
   * next states overlap one row more. Where stacks are compact `[batch, stack - 1 + length + 1, ...shape]`, and without the 1
   * where `nextState` is `false`.
   */
  readonly state: ColumnArray<ColumnOf<S, "state">>;
  /** `[batch, length, ...shape]`: the actions. */
  readonly action: ColumnArray<ColumnOf<S, "action">>;
  /** `[batch, length, ...shape]`: the rewards. */
  readonly reward: ColumnArray<ColumnOf<S, "reward">>;
  /** Like `state`: the state after each record; at an episode's end its final state. Empty unless next states are copied. */
  readonly nextState: ColumnArray<ColumnOf<S, "state">>;
  /** `[batch, length, ...shape]` of each extra, by name; `[batch, ...shape]` of one made by {@linkcode every}. */
  readonly extras: ColumnArrays<ExtrasOf<S>>;
  /**
   * `[batch]`: rows from this one on are padding. Rows before the pick (`burnIn`, `before`) count too; those of `before` that
   * lie before the episode are padding as well: `contextMask` says which are real.
   */
  readonly seqLen: Int32Array<ArrayBuffer>;
  /** `[batch]`: next states are known for rows before this one. */
  readonly nextSeqLen: Int32Array<ArrayBuffer>;
  /** `[batch]`: the handle of the episode each pick is from. */
  readonly pickEpisode: Float64Array<ArrayBuffer>;
  /** `[batch]`: where in its episode each pick begins. */
  readonly pickPosition: Int32Array<ArrayBuffer>;
  /** `[batch]`: the probability with which each pick was drawn. */
  readonly probability: Float32Array<ArrayBuffer>;
  /**
   * `[batch]`: what to multiply into each pick's loss, (N · P)^-beta divided by the largest of the batch, which so is 1. With
   * `normalize: "table"` it is divided by the largest of the table, and is at most 1; that of {@linkcode laber} is 1 on average.
   * 1 for every pick of rules that do not weigh. Each part of a selector made of others weighs its own picks.
   */
  readonly importanceWeight: Float32Array<ArrayBuffer>;
  /**
   * `[batch, length]`: gamma, or 0 where the step terminated its episode or its next state is not known. The target
   * of a one-step method is `reward + discount * value(nextState)`.
   */
  readonly discount: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: 1 at the rows to learn from, which are the pick's own records; else 0. Empty without masks. */
  readonly learnMask: Float32Array<ArrayBuffer>;
  /** `[batch, length]`: 1 at the records before the pick (`burnIn`, `before`); else 0. Empty without masks. */
  readonly contextMask: Float32Array<ArrayBuffer>;
  /** The n-step returns, in the order of the pick policy's `nStep`; none by default. */
  readonly nStep: NStepParts<S>;
  /** The shapes of all parts. */
  readonly shape: BatchShape<S>;
  /**
   * Hands the batch's memory back to the replay, which keeps a little of it (four batches a size and pick table) for the batches to
   * come. All parts are empty from then on, whoever holds them; it can't be passed as `into` any more. Nothing happens where that
   * was done before, where the buffer was transferred, or where `batches` with `reuse` has gone on and draws another batch into it.
   *
   * @example
   * ```ts
   * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
   * import { assertEquals } from "@std/assert";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
   * replay.record(replay.newEpisode(), [1, 2], 0, 10, { finalState: [3, 4] });
   * const selector = replay.newPickSelector(uniform());
   * let kept = new Float32Array(2);
   * for (let turn = 0; turn < 10; turn++) {
   *   using batch = replay.getBatch(1, selector); // after the first turn without new memory
   *   assertEquals([...batch.nextState], [3, 4]);
   *   kept = batch.state;
   *   assertEquals(kept.length, 2);
   * }
   * assertEquals(kept.length, 0); // never another batch's
   * ```
   */
  [Symbol.dispose](): void;
}
