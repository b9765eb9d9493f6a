/**
 * Where the parts of a batch lie in memory, and the spare buffers that disposed batches leave.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { bytesText } from "../../base/inspect.ts";
import { moveMemory } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import type { PickView } from "../register/pick_view.ts";
import type { NStepPart } from "../../schema/batch.ts";
import type { BatchShape } from "../../schema/batch_shape.ts";
import { type PickPolicy, rowCount } from "../../schema/pick_options.ts";
import { type Column, type ColumnArray, type NamedColumn, viewOf } from "../../schema/columns.ts";

/** Spare buffers kept per layout. */
const SPARE_MAX = 4;

/** Where each part of a batch of one size lies, and the spare buffers of that size. */
export class BatchLayout {
  /** How many picks a batch has. */
  readonly size: number;
  /** How many rows each pick has. */
  readonly length: number;
  /** The bytes of a whole batch. */
  readonly bytes: number;
  /** The columns. */
  readonly columns: readonly NamedColumn[];
  /** The pick policy. */
  readonly policy: PickPolicy;
  /** Two views have the same key if their batches have the same layout. */
  readonly key: string;
  /** The names of the extras, which are the columns from the fourth on. */
  readonly extraNames: readonly string[];
  /** The shapes of all parts. They are frozen, because all batches share them. */
  readonly shape: BatchShape;
  /** How many elements the states of all rows have, with their stacks. */
  readonly stackCount: number;
  /** The shapes of the parts of an n-step return. */
  readonly nStepShape: NStepPart["shape"];
  readonly #offsets: Float64Array;
  readonly #counts: readonly number[];
  readonly #spare: ArrayBuffer[] = [];

  /** Asks the kernel where the parts of a batch of `size` picks lie. */
  constructor(core: ReplayCore, { id, policy }: PickView, key: string, size: number) {
    const { columns, extraNames } = core.config;
    const partCount = abi.EXRP_BATCH_COLUMN + columns.length +
      abi.EXRP_BATCH_N_STEP_PARTS * policy.nStep.length;
    this.#offsets = new Float64Array(partCount);
    const { symbols } = core.kernel;
    const status = symbols.exrp_batch_layout(core.id, id, size, this.#offsets, partCount);
    core.check("getBatch()", status);
    this.size = size;
    this.length = rowCount(policy);
    this.bytes = this.offset(abi.EXRP_BATCH_BYTES);
    this.columns = columns;
    this.policy = policy;
    this.key = key;
    this.extraNames = extraNames;
    this.shape = this.#shapes();
    this.nStepShape = Object.freeze({
      reward: this.shape.reward,
      nextState: Object.freeze(this.#stackShape(this.length)),
      discount: this.shape.discount,
    });
    this.stackCount = elementCount(this.#stackShape(this.length));
    this.#counts = columns.map((_, k) => elementCount(k === 0 ? this.shape.state : this.#shape(k)));
  }

  /**
   * Memory for a batch: a spare buffer if there is one. It may hold old values, but the kernel writes every byte of every part.
   *
   * @throws {ReplayError} `memory`.
   */
  takeMemory(): ArrayBuffer {
    return this.#spare.pop() ?? allocate(this.bytes);
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

  /** How many elements column k has. */
  count(k: number): number {
    return this.#counts[k] ?? 0;
  }

  /** The offset of a part: an `EXRP_BATCH_` constant. */
  offset(part: number): number {
    return this.#offsets[part] ?? 0;
  }

  /** A view of `count` elements of column k; of all by default. */
  view(
    k: number,
    buffer: ArrayBuffer,
    count: number = this.#counts[k] ?? 0,
    part: number = abi.EXRP_BATCH_COLUMN + k,
  ): ColumnArray<Column> {
    const column = this.columns[k]?.column;
    if (column === undefined) throw new RangeError(`there is no column ${k}`);
    return viewOf(column.dtype, buffer, this.offset(part), count);
  }

  /** A view of a part of single-precision numbers. */
  floats(buffer: ArrayBuffer, part: number, count: number): Float32Array<ArrayBuffer> {
    return new Float32Array(buffer, this.offset(part), count);
  }

  /** The shape of column k, which is not the state. */
  #shape(k: number): readonly number[] {
    const { shape = [], every = 1 } = this.columns[k]?.column ?? {};
    return every > 1 ? [this.size, ...shape] : [this.size, this.length, ...shape];
  }

  /** The shape of the states of `rows` rows a pick. */
  #stackShape(rows: number): readonly number[] {
    const { stack } = this.policy;
    const shape = this.columns[0]?.column.shape ?? [];
    return [this.size, rows, ...(stack === 1 ? [] : [stack]), ...shape];
  }

  /** The shape of `state`. */
  #stateShape(): readonly number[] {
    const { policy, length } = this;
    const rows = policy.nextState === "overlap" ? length + 1 : length;
    if (!policy.stackCompact) return this.#stackShape(rows);
    return [this.size, policy.stack - 1 + rows, ...(this.columns[0]?.column.shape ?? [])];
  }

  #shapes(): BatchShape {
    const { size, length, policy } = this;
    const extras = this.extraNames.map((name, k) => [name, Object.freeze(this.#shape(3 + k))]);
    const masks = [size, policy.masks ? length : 0];
    const shapes = {
      state: this.#stateShape(),
      action: this.#shape(1),
      reward: this.#shape(2),
      nextState: this.#stackShape(policy.nextState === "copy" ? length : 0),
      extras: Object.freeze(Object.fromEntries(extras)),
      seqLen: [size],
      nextSeqLen: [size],
      pickEpisode: [size],
      pickPosition: [size],
      probability: [size],
      importanceWeight: [size],
      discount: [size, length],
      learnMask: masks,
      contextMask: masks,
    };
    for (const shape of Object.values(shapes)) Object.freeze(shape);
    return Object.freeze(shapes) as readonly unknown[] | object as BatchShape;
  }
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function allocate(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    throw new ReplayError("memory", `getBatch(): no memory for a batch of ${bytesText(bytes)}`, {
      cause,
    });
  }
}
