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
import type { ChunkEncoder, ChunkHead, ColumnRows } from "../wire/new_rows.ts";
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
  readonly tuner: ChunkLengthTuner | undefined;
}

/** Rows that travel together. */
export class Chunk implements ChunkHead {
  readonly key: Key;
  readonly episode: Key;
  /** What it is made for. */
  readonly plan: ChunkPlan;
  length = 0;
  first = 0;
  last = 0;
  flags: number;
  /** How many of its rows a writer's history has. */
  live = 0;
  /** How many items wait to be sent that refer to it. */
  waiting = 0;
  /** The message `ChunkData`, once the chunk is complete. */
  encoded: Uint8Array | undefined;
  readonly #columns: ChunkColumn[];

  constructor(plan: ChunkPlan, key: Key, episode: Key) {
    this.plan = plan;
    this.key = key;
    this.episode = episode;
    this.flags = plan.delta ? EXRP_ROWS_DELTA : 0;
    this.#columns = plan.specs.map((spec) => {
      const rows = spec.dtype.array && new spec.dtype.array(plan.capacity * spec.elements);
      return { spec, rows, bytes: rows && bytesOf(rows), strings: [] };
    });
  }

  /** Adds one row: a leaf for each column, from `leaves[from]` on. All were checked. Returns true where the chunk is complete now. */
  add(leaves: readonly unknown[], from: number, step: number): boolean {
    let at = from;
    for (const { spec, rows, strings } of this.#columns) {
      const leaf = leaves[at++];
      if (rows === undefined) strings.push(...stringsOfLeaf(leaf));
      else writeLeaf(spec, rows, this.length, leaf);
    }
    if (this.length === 0) this.first = step;
    else if (step !== this.last + 1) this.flags |= EXRP_ROWS_SPARSE;
    this.last = step;
    this.length += 1;
    if (this.length < this.plan.capacity) return false;
    this.finish();
    return true;
  }

  /** Completes the chunk: no row comes after this. */
  finish(): void {
    if (this.encoded !== undefined) return;
    const { encoder, capacity } = this.plan;
    const isFull = this.length === capacity;
    const columns = isFull ? this.#columns : this.#columns.map(({ spec, bytes, strings }) => ({
      spec,
      bytes: bytes?.subarray(0, bytes.length / capacity * this.length),
      strings,
    }));
    this.encoded = encoder.encode(this, columns);
  }

  /** One row of its first column, as a new array. */
  row(row: number): ReverbArray | Uint8Array[] {
    const { spec, rows, strings } = this.#columns[0] ?? { strings: [] };
    const elements = spec?.elements ?? 1;
    return (rows ?? strings).slice(row * elements, (row + 1) * elements) as ReverbArray;
  }
}
