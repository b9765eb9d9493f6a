/**
 * A chunk: rows of one or several columns, which travel together and are stored once, whatever number of items refers to them.
 *
 * Invariants: 1. `encoded` is there once no row can be added. 2. `live` counts the rows that a writer's history still has, `waiting` the
 * items that were not sent yet. 3. The rows stay readable while the history has one of them.
 *
 * @module
 */

import { bytesOf } from "../base/typed_arrays.ts";
import { MessageWriter } from "../wire/message_writer.ts";
import type { TensorCodec } from "../wire/tensor_codec.ts";
import type { Key } from "../wire/keys.ts";
import type { ChunkLengthTuner } from "./_chunk_length.ts";
import type { ReverbArray } from "./dtypes.ts";
import { type RowSpec, stringsOfLeaf, writeLeaf } from "./tensor.ts";

/** The rows of one column. */
interface ChunkColumn {
  readonly spec: RowSpec;
  readonly rows: ReverbArray | undefined;
  readonly strings: Uint8Array[];
}

/** What a chunk is made for. */
export interface ChunkPlan {
  /** How tensors are encoded. */
  readonly codec: TensorCodec;
  /** The dtype and shape of each column's rows. */
  readonly specs: readonly RowSpec[];
  /** The most rows. */
  readonly capacity: number;
  /** Whether integers are written as differences. */
  readonly delta: boolean;
  /** What learns from the chunk's size, if anything. */
  readonly tuner?: ChunkLengthTuner;
}

const writer = new MessageWriter();

/** Rows that travel together. */
export class Chunk {
  /** Its key. */
  readonly key: Key;
  /** The episode of its rows. */
  readonly episode: Key;
  /** What it is made for. */
  readonly plan: ChunkPlan;
  /** The number of rows. */
  length = 0;
  /** How many of its rows a writer's history has. */
  live = 0;
  /** How many items wait to be sent that refer to it. */
  waiting = 0;
  /** The message `ChunkData`, once the chunk is complete. */
  encoded: Uint8Array | undefined;
  readonly #columns: ChunkColumn[];
  #first = 0;
  #last = 0;
  #isSparse = false;

  constructor(plan: ChunkPlan, key: Key, episode: Key) {
    this.plan = plan;
    this.key = key;
    this.episode = episode;
    this.#columns = plan.specs.map((spec) => ({
      spec,
      rows: spec.dtype.array && new spec.dtype.array(plan.capacity * spec.elements),
      strings: [],
    }));
  }

  /** True once it has as many rows as it was made for. */
  get isFull(): boolean {
    return this.length >= this.plan.capacity;
  }

  /** Adds one row: a leaf for each column. All leaves were checked. */
  add(leaves: readonly unknown[], step: number): void {
    for (let k = 0; k < this.#columns.length; k++) this.#write(k, leaves[k]);
    this.#count(step);
  }

  /** Adds one row of a chunk with one column. */
  addOne(leaf: unknown, step: number): void {
    this.#write(0, leaf);
    this.#count(step);
  }

  #write(k: number, leaf: unknown): void {
    const column = this.#columns[k];
    if (column?.rows === undefined) column?.strings.push(...stringsOfLeaf(leaf));
    else writeLeaf(column.spec, column.rows, this.length, leaf);
  }

  #count(step: number): void {
    if (this.length === 0) this.#first = step;
    else if (step !== this.#last + 1) this.#isSparse = true;
    this.#last = step;
    this.length += 1;
  }

  /** Completes the chunk: no row comes after this. */
  finish(): void {
    if (this.encoded !== undefined) return;
    writer.reset();
    writer.key(1, this.key);
    writer.begin(2);
    writer.key(1, this.episode);
    writer.number(2, this.#first);
    writer.number(3, this.#last);
    writer.number(4, this.#isSparse ? 1 : 0);
    writer.end();
    writer.number(4, this.plan.delta ? 1 : 0);
    writer.begin(5);
    let raw = 0;
    for (const { spec, rows, strings } of this.#columns) {
      const shape = [this.length, ...spec.shape];
      if (rows === undefined) {
        raw += strings.reduce((sum, text) => sum + text.length, 0);
        writer.bytes(1, stringTensor(shape, strings));
      } else {
        const bytes = bytesOf(rows).subarray(
          0,
          this.length * spec.elements * rows.BYTES_PER_ELEMENT,
        );
        raw += bytes.length;
        writer.bytes(
          1,
          this.plan.codec.encode(spec.dtype.number, shape, bytes, { delta: this.plan.delta }),
        );
      }
    }
    writer.end();
    writer.number(6, this.#columns.length);
    writer.number(7, raw);
    this.encoded = writer.message();
  }

  /** One row of a column, as a new array. */
  row(column: number, row: number): ReverbArray | Uint8Array[] {
    const { spec, rows, strings } = this.#columns[column] ?? { strings: [] };
    const elements = spec?.elements ?? 1;
    return (rows ?? strings).slice(row * elements, (row + 1) * elements) as ReverbArray;
  }
}

/** A tensor of texts as a message: texts are not compressed. */
function stringTensor(shape: readonly number[], strings: readonly Uint8Array[]): Uint8Array {
  const out = new MessageWriter();
  out.number(1, 7);
  out.begin(2);
  for (const size of shape) {
    out.begin(2);
    out.number(1, size);
    out.end();
  }
  out.end();
  for (const text of strings) out.bytes(8, text);
  return out.message();
}
