/**
 * Where the parts of a batch lie in memory, and the spare buffers that disposed batches leave.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { bytesText } from "../../base/inspect.ts";
import { moveMemory } from "../../base/typed_arrays.ts";
import { type Kernel, takeBuffer } from "../../ffi/library.ts";
import * as abi from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import type { PickView } from "../register/pick_view.ts";
import type { NStepPart } from "../../schema/batch.ts";
import type { BatchShape } from "../../schema/batch_shape.ts";
import type { DType } from "../../schema/columns.ts";
import { describeLayout, type PickPolicy, rowCount } from "../../schema/pick_options.ts";

/** Spare buffers kept per layout. */
const SPARE_MAX = 4;

/** From so many bytes on, clearing a batch's memory takes longer than all else. */
const LARGE = 1 << 20;

/** One array of a batch. */
export interface BatchPart {
  /** The type of its numbers. */
  readonly dtype: DType;
  /** The byte at which it begins. */
  readonly offset: number;
  /** How many elements it has. */
  readonly count: number;
  /** Its shape, which begins with the number of picks. It is frozen, because all batches share it. */
  readonly shape: readonly number[];
}

/** Arrays by name. */
type Parts<Name extends string> = Readonly<Record<Name, BatchPart>>;

/** Where each part of a batch of one size lies, and the spare buffers of that size. */
export class BatchLayout {
  /** How many picks a batch has. */
  readonly size: number;
  /** How many rows each pick has. */
  readonly length: number;
  /** The bytes of a whole batch. */
  readonly bytes: number;
  /** The pick policy. */
  readonly policy: PickPolicy;
  /** Two layouts of one size have the same key if they are alike. */
  readonly key: string;
  /** The arrays that each batch has. */
  readonly parts: Parts<Exclude<keyof BatchShape & string, "extras">>;
  /** The arrays of the extras, each with its name. */
  readonly extras: readonly (readonly [name: string, part: BatchPart])[];
  /** The arrays of each n-step return. */
  readonly nStep: readonly Parts<keyof NStepPart["shape"]>[];
  /** The shapes of all arrays but those of n-step returns. */
  readonly shape: BatchShape;
  /** The shapes of the arrays of each n-step return. */
  readonly nStepShapes: readonly NStepPart["shape"][];
  readonly #kernel: Kernel;
  readonly #spare: ArrayBuffer[] = [];

  /** Asks the kernel where the parts of a batch of `size` picks lie. */
  constructor(core: ReplayCore, { id, policy }: PickView, size: number) {
    const { config: { columns, extraNames }, kernel: { symbols } } = core;
    const nStepFirst = abi.EXRP_BATCH_COLUMN + columns.length;
    const partCount = nStepFirst + abi.EXRP_BATCH_N_STEP_PARTS * policy.nStep.length;
    const offsets = new Float64Array(partCount);
    const status = symbols.exrp_batch_layout(core.id, id, size, offsets, partCount);
    core.check("getBatch()", status);
    const length = rowCount(policy);
    const part = (index: number, dtype: DType, ...shape: readonly number[]): BatchPart => ({
      dtype,
      offset: offsets[index] ?? 0,
      count: shape.reduce((product, each) => product * each, 1),
      shape: Object.freeze(shape),
    });
    const [state, action, reward, ...extras] = columns.map(({ column }, k) => {
      const rows = column.every > 1 ? [] : [length];
      return part(abi.EXRP_BATCH_COLUMN + k, column.dtype, size, ...rows, ...column.shape);
    }) as [BatchPart, BatchPart, BatchPart, ...BatchPart[]];
    const stack = policy.stack === 1 ? [] : [policy.stack];
    const states = (index: number, rows: number, stacked = stack): BatchPart =>
      part(index, state.dtype, size, rows, ...stacked, ...state.shape.slice(2));
    const stateRows = policy.nextState === "overlap" ? length + 1 : length;
    const maskRows = policy.masks ? length : 0;
    const endRows = policy.ends ? length : 0;
    const goRows = policy.returnToGo ? length : 0;
    this.#kernel = core.kernel;
    this.size = size;
    this.length = length;
    this.bytes = offsets[abi.EXRP_BATCH_BYTES] ?? 0;
    this.policy = policy;
    const texts = columns.map(({ name, column }) => `${name}: ${column}`);
    const words = describeLayout(policy);
    this.key = `{ ${texts.join(", ")} } x ${length}${words && `, ${words}`}`;
    this.parts = {
      state: policy.stackCompact
        ? states(abi.EXRP_BATCH_COLUMN, policy.stack - 1 + stateRows, [])
        : states(abi.EXRP_BATCH_COLUMN, stateRows),
      action,
      reward,
      nextState: states(abi.EXRP_BATCH_NEXT_STATE, policy.nextState === "copy" ? length : 0),
      seqLen: part(abi.EXRP_BATCH_SEQ_LEN, "int32", size),
      nextSeqLen: part(abi.EXRP_BATCH_NEXT_SEQ_LEN, "int32", size),
      pickEpisode: part(abi.EXRP_BATCH_PICK_EPISODE, "float64", size),
      pickPosition: part(abi.EXRP_BATCH_PICK_POSITION, "int32", size),
      probability: part(abi.EXRP_BATCH_PROBABILITY, "float32", size),
      importanceWeight: part(abi.EXRP_BATCH_IMPORTANCE_WEIGHT, "float32", size),
      discount: part(abi.EXRP_BATCH_DISCOUNT, "float32", size, length),
      learnMask: part(abi.EXRP_BATCH_LEARN_MASK, "float32", size, maskRows),
      contextMask: part(abi.EXRP_BATCH_CONTEXT_MASK, "float32", size, maskRows),
      terminated: part(abi.EXRP_BATCH_TERMINATED, "uint8", size, endRows),
      truncated: part(abi.EXRP_BATCH_TRUNCATED, "uint8", size, endRows),
      returnToGo: part(
        abi.EXRP_BATCH_RETURN_TO_GO,
        "float32",
        size,
        goRows,
        ...reward.shape.slice(2),
      ),
    };
    this.extras = extraNames.map((name, k) => [name, extras[k] as BatchPart]);
    this.nStep = policy.nStep.map((_, k) => {
      const first = nStepFirst + abi.EXRP_BATCH_N_STEP_PARTS * k;
      return {
        reward: part(first + abi.EXRP_BATCH_N_STEP_RETURN, "float32", ...reward.shape),
        nextState: states(first + abi.EXRP_BATCH_N_STEP_STATE, length),
        discount: part(first + abi.EXRP_BATCH_N_STEP_DISCOUNT, "float32", size, length),
      };
    });
    const extraParts = Object.fromEntries(this.extras);
    const shape: object = { ...shapesOf(this.parts), extras: shapesOf(extraParts) };
    this.shape = Object.freeze(shape) as BatchShape;
    this.nStepShapes = this.nStep.map(shapesOf) as readonly object[] as NStepPart["shape"][];
  }

  /** All arrays, in an order that is the same for all layouts of a key. */
  get all(): readonly BatchPart[] {
    const extras = this.extras.map(([, part]) => part);
    return [this.parts, extras, ...this.nStep].flatMap((parts) => Object.values(parts));
  }

  /**
   * Memory for a batch: a spare buffer if there is one. It may hold old values, but the kernel writes every byte of every part.
   *
   * @throws {ReplayError} `memory`.
   */
  takeMemory(): ArrayBuffer {
    return this.#spare.pop() ??
      (this.bytes < LARGE ? undefined : takeBuffer(this.#kernel, this.bytes)) ??
      allocate("getBatch()", this.bytes, "a batch of ");
  }

  /** Takes back the memory of a batch, whose views are empty from now on. Does nothing if the memory is gone already. */
  giveMemory(buffer: ArrayBuffer): void {
    // A view that someone still holds must never show the next batch.
    const memory = moveMemory(buffer, this.bytes);
    if (memory !== undefined && this.#spare.length < SPARE_MAX) this.#spare.push(memory);
  }

  /** The bytes of the spare buffers. */
  get spareBytes(): number {
    return this.#spare.length * this.bytes;
  }
}

/** The shapes of arrays by name. They are frozen, because all batches share them. */
function shapesOf<Name extends string>(
  parts: Parts<Name>,
): Readonly<Record<Name, readonly number[]>> {
  const shapes = Object.entries<BatchPart>(parts).map(([name, { shape }]) => [name, shape]);
  return Object.freeze(Object.fromEntries(shapes));
}

/**
 * New memory. `what` stands before the bytes in the error.
 *
 * @throws {ReplayError} `memory`.
 */
export function allocate(operation: string, bytes: number, what = ""): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    const text = `${operation}: no memory for ${what}${bytesText(bytes)}`;
    throw new ReplayError("memory", text, { cause });
  }
}
