/**
 * A batch: what `getBatch` returns.
 *
 * @module
 */

import * as abi from "../../ffi/symbols.ts";
import { showUnlike } from "../../base/checks.ts";
import { columnsText, showAs } from "../../base/inspect.ts";
import { bufferOf, bytesOf, lengthOf } from "../../base/typed_arrays.ts";
import type { BatchLayout } from "./batch_layout.ts";
import type { BatchShape } from "./batch_shape.ts";
import type { PickPolicy } from "../../schema/pick_options.ts";
import type { Column, ColumnArray, Columns, NoColumns } from "../../schema/columns.ts";

/** One n-step return of a batch: as a one-step learner takes `reward`, `nextState` and `discount`. */
export interface NStepPart<S extends Column = Column> {
  /** How many steps the return looks ahead. */
  readonly n: number;
  /**
   * `[batch, rows, ...shape]` of the reward: the sum of the next m rewards, each times `discount`^its distance, where m is n,
   * or less at the end of the episode.
   */
  readonly reward: Float32Array<ArrayBuffer>;
  /** `[batch, rows, ...shape]`: the state m records on; where m is cut by the episode's end, its final state. */
  readonly nextState: ColumnArray<S>;
  /** `[batch, rows]`: `discount`^m; 0 where the episode terminated within the m, or no next state is known. */
  readonly discount: Float32Array<ArrayBuffer>;
}

/**
 * Picks drawn at random, side by side: each part is one typed array in row-major order, ready for any tensor library.
 * All parts are views of one `ArrayBuffer`, which the batch owns: no later call changes it unless it is passed as `into`.
 * Who is done with a batch may hand its memory back, by `using` or `batch[Symbol.dispose]()`: its parts are empty from then on, and
 * a later batch of this size needs no new memory, which the engine would have to fill with zeros first.
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
export class Batch<
  S extends Column = Column,
  A extends Column = Column<"int32", readonly []>,
  R extends Column = Column<"float32", readonly []>,
  X extends Columns = NoColumns,
> {
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
  readonly state: ColumnArray<S>;
  /** `[batch, length, ...shape]`: the actions. */
  readonly action: ColumnArray<A>;
  /** `[batch, length, ...shape]`: the rewards. */
  readonly reward: ColumnArray<R>;
  /** Like `state`: the state after each record; at an episode's end its final state. Empty unless next states are copied. */
  readonly nextState: ColumnArray<S>;
  /** `[batch, length, ...shape]` of each extra, by name; `[batch, ...shape]` of one made by {@linkcode every}. */
  readonly extras: { readonly [K in keyof X]: ColumnArray<X[K]> };
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
  readonly nStep: readonly NStepPart<S>[];
  /** The shapes of all parts. */
  readonly shape: BatchShape<S, A, R, X>;
  readonly #key: string;
  #policy: PickPolicy;
  readonly #memory: Uint8Array<ArrayBuffer>;
  readonly #layout: BatchLayout;
  #isLent = false;

  /** Makes room for a batch; `getBatch` does. */
  constructor(layout: BatchLayout) {
    const { size, length } = layout;
    const buffer = layout.takeMemory();
    this.size = size;
    this.length = length;
    this.bytes = new Uint8Array(buffer);
    this.#memory = this.bytes;
    this.state = layout.view(0, buffer) as ColumnArray<S>;
    this.action = layout.view(1, buffer) as ColumnArray<A>;
    this.reward = layout.view(2, buffer) as ColumnArray<R>;
    const { policy } = layout;
    const nextCount = policy.nextState === "copy" ? layout.stackCount : 0;
    this.nextState = layout.view(
      0,
      buffer,
      nextCount,
      abi.EXRP_BATCH_NEXT_STATE,
    ) as ColumnArray<S>;
    this.extras = extrasOf(layout, buffer) as typeof this.extras;
    this.seqLen = new Int32Array(buffer, layout.offset(abi.EXRP_BATCH_SEQ_LEN), size);
    this.nextSeqLen = new Int32Array(buffer, layout.offset(abi.EXRP_BATCH_NEXT_SEQ_LEN), size);
    this.pickEpisode = new Float64Array(buffer, layout.offset(abi.EXRP_BATCH_PICK_EPISODE), size);
    this.pickPosition = new Int32Array(buffer, layout.offset(abi.EXRP_BATCH_PICK_POSITION), size);
    this.probability = layout.floats(buffer, abi.EXRP_BATCH_PROBABILITY, size);
    this.importanceWeight = layout.floats(buffer, abi.EXRP_BATCH_IMPORTANCE_WEIGHT, size);
    this.discount = layout.floats(buffer, abi.EXRP_BATCH_DISCOUNT, size * length);
    const maskRows = policy.masks ? length : 0;
    this.learnMask = layout.floats(buffer, abi.EXRP_BATCH_LEARN_MASK, size * maskRows);
    this.contextMask = layout.floats(buffer, abi.EXRP_BATCH_CONTEXT_MASK, size * maskRows);
    this.nStep = policy.nStep.length === 0
      ? NO_RETURNS
      : Object.freeze(policy.nStep.map((n, k) => nStepPart<S>(layout, buffer, n, k)));
    this.shape = layout.shape as BatchShape<S, A, R, X>;
    this.#key = layout.key;
    this.#policy = policy;
    this.#layout = layout;
  }

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
  [Symbol.dispose](): void {
    if (!(#memory in this)) {
      throw new TypeError("only a batch that getBatch() returned can be handed back");
    }
    if (!this.#isLent) this.#layout.giveMemory(bufferOf(this.#memory));
  }

  /** While a batch is lent its memory can't be handed back: the kernel may be writing to it on another thread. */
  static lend(batch: Batch<Column, Column, Column, Columns>, isLent: boolean): void {
    batch.#isLent = isLent;
  }

  /** Whether a batch has its memory still: it may have been handed back, or its buffer transferred. */
  static hasMemory(batch: Batch<Column, Column, Column, Columns>): boolean {
    return lengthOf(batch.#memory) > 0;
  }

  /** The memory of a batch, whatever became of its properties. */
  static memoryOf(batch: { readonly bytes: Uint8Array<ArrayBuffer> }): Uint8Array<ArrayBuffer> {
    return #memory in batch ? batch.#memory : batch.bytes;
  }

  /** Copies picks of one batch to the places of another from `first` on; both are of one pick table. */
  static copyPicks(
    from: Batch<Column, Column, Column, Columns>,
    indices: ArrayLike<number>,
    to: Batch<Column, Column, Column, Columns>,
    first: number,
  ): void {
    const [sources, targets] = [from.#parts(), to.#parts()];
    for (const [k, source] of sources.entries()) {
      const target = targets[k];
      if (target === undefined) continue;
      const bytes = source.length / from.size;
      for (let at = 0; at < indices.length; at++) {
        const index = indices[at] ?? 0;
        target.set(source.subarray(index * bytes, (index + 1) * bytes), (first + at) * bytes);
      }
    }
  }

  /** The bytes of every part; pick k's are the k-th of as many equal pieces. */
  #parts(): Uint8Array<ArrayBuffer>[] {
    const views: ArrayBufferView<ArrayBuffer>[] = [
      this.state,
      this.action,
      this.reward,
      this.nextState,
      ...Object.values(this.extras),
      this.seqLen,
      this.nextSeqLen,
      this.pickEpisode,
      this.pickPosition,
      this.probability,
      this.importanceWeight,
      this.discount,
      this.learnMask,
      this.contextMask,
      ...this.nStep.flatMap(({ reward, nextState, discount }) => [reward, nextState, discount]),
    ];
    return views.map(bytesOf);
  }

  /** Says by which pick policy the picks were chosen that are in a batch now. */
  static setPolicy(batch: Batch<Column, Column, Column, Columns>, policy: PickPolicy): void {
    batch.#policy = policy;
  }

  /** The pick policy of the picks in a batch; undefined for what is no batch. */
  static policyOf(value: object): PickPolicy | undefined {
    return #policy in value ? value.#policy : undefined;
  }

  /** Why a value can't take the place of a new batch of this layout, or undefined when it can. */
  static misfit(value: unknown, layout: BatchLayout): TypeError | RangeError | undefined {
    if (typeof value !== "object" || value === null || !(#key in value)) {
      return new TypeError(
        `getBatch(): into must be a batch that getBatch() returned, got ${
          showUnlike(value, Batch)
        }`,
      );
    }
    if (value.#key !== layout.key) {
      return new TypeError(
        `getBatch(): into is a batch of another schema (${value.#key}), needed is ${layout.key}`,
      );
    }
    if (value.#layout.size !== layout.size) {
      return new RangeError(
        `getBatch(): into is a batch of ${value.#layout.size} picks, needed are ${layout.size}`,
      );
    }
    if (lengthOf(value.#memory) !== layout.bytes) {
      return new TypeError(
        "getBatch(): into has lost its memory: it was handed back, or its buffer was transferred",
      );
    }
    return undefined;
  }
}

// What most batches have none of need not be made for each.
const NO_EXTRAS = Object.freeze({});
const NO_RETURNS: readonly never[] = Object.freeze([]);

function extrasOf(layout: BatchLayout, buffer: ArrayBuffer): object {
  const { extraNames } = layout;
  if (extraNames.length === 0) return NO_EXTRAS;
  const extras = extraNames.map((name, k) => [name, layout.view(3 + k, buffer)]);
  return Object.freeze(Object.fromEntries(extras));
}

function nStepPart<S extends Column>(
  layout: BatchLayout,
  buffer: ArrayBuffer,
  n: number,
  k: number,
): NStepPart<S> {
  const { size, length, columns } = layout;
  const part = abi.EXRP_BATCH_COLUMN + columns.length + abi.EXRP_BATCH_N_STEP_PARTS * k;
  const state = layout.view(
    0,
    buffer,
    layout.stackCount,
    part + abi.EXRP_BATCH_N_STEP_STATE,
  );
  return Object.freeze({
    n,
    reward: layout.floats(buffer, part + abi.EXRP_BATCH_N_STEP_RETURN, layout.count(2)),
    nextState: state as ColumnArray<S>,
    discount: layout.floats(buffer, part + abi.EXRP_BATCH_N_STEP_DISCOUNT, size * length),
  });
}

showAs(Batch, (batch: Batch<Column, Column, Column, Columns>) => {
  const gone = Batch.hasMemory(batch) ? "" : " (handed back)";
  return `Batch ${batch.size}×${batch.length}${gone} ${columnsText(batch, batch.shape)}`;
});
