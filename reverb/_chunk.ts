/**
 * A chunk: rows of one or several columns, which travel together and are stored once, whatever number of items refers to them.
 *
 * Invariants: 1. `encoded` is there once no row can be added. 2. `live` counts the rows that a writer's history still has, `waiting` the
 * items that were not sent yet. 3. The rows stay readable while the history has one of them.
 *
 * @module
 */

import { bytesOf } from "../base/typed_arrays.ts";
import { EXRP_ROWS_DELTA, EXRP_ROWS_SPARSE } from "../ffi/symbols.ts";
import type { ChunkEncoder, ColumnRows } from "../wire/new_rows.ts";
import type { Key } from "../wire/keys.ts";
import type { ChunkLengthTuner } from "./_chunk_length.ts";
import type { ReverbArray } from "./dtypes.ts";
import { type RowSpec, stringsOfLeaf, writeLeaf } from "./tensor.ts";

/** The rows of one column: `bytes` are those of `rows`, also the rows to come. */
interface ChunkColumn extends ColumnRows {
  readonly spec: RowSpec;
  readonly rows: ReverbArray | undefined;
  readonly strings: Uint8Array[];
}

/** What a chunk is made for. */
export interface ChunkPlan {
  /** Writes it. */
  readonly encoder: ChunkEncoder;
  /** The dtype and shape of each column's rows. */
  readonly specs: readonly RowSpec[];
  /** The most rows. */
  readonly capacity: number;
  /** Whether integers are written as differences. */
  readonly delta: boolean;
  /** What learns from the chunk's size, if anything. */
  readonly tuner?: ChunkLengthTuner;
}

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
    this.#columns = plan.specs.map((spec) => {
      const rows = spec.dtype.array && new spec.dtype.array(plan.capacity * spec.elements);
      return { spec, rows, bytes: rows && bytesOf(rows), strings: [] };
    });
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
    const { encoder, delta, capacity } = this.plan;
    const flags = (delta ? EXRP_ROWS_DELTA : 0) | (this.#isSparse ? EXRP_ROWS_SPARSE : 0);
    const columns = this.isFull ? this.#columns : this.#columns.map(({ spec, bytes, strings }) => ({
      spec,
      bytes: bytes?.subarray(0, bytes.length / capacity * this.length),
      strings,
    }));
    const { key, episode, length } = this;
    const head = { key, episode, length, first: this.#first, last: this.#last, flags };
    this.encoded = encoder.encode(head, columns);
  }

  /** One row of a column, as a new array. */
  row(column: number, row: number): ReverbArray | Uint8Array[] {
    const { spec, rows, strings } = this.#columns[column] ?? { strings: [] };
    const elements = spec?.elements ?? 1;
    return (rows ?? strings).slice(row * elements, (row + 1) * elements) as ReverbArray;
  }
}
