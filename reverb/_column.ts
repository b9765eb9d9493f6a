/**
 * One column of what is appended: its latest rows, by chunk and offset, and the chunk that grows.
 *
 * Invariants: 1. Position p of a column is at the place p modulo the capacity, and is kept until position p + capacity comes. 2. A
 * chunk's `live` is the number of places that hold one of its rows.
 *
 * @module
 */

import type { ChunkEncoder } from "../wire/new_rows.ts";
import { Chunk } from "./_chunk.ts";
import { ChunkLengthTuner } from "./_chunk_length.ts";
import type { ChunkSlice } from "./item_stream.ts";
import type { Key, KeySource } from "../wire/keys.ts";
import type { StepPath } from "./path.ts";
import type { RowSpec } from "./tensor.ts";

/** What can be set for one column. */
export interface ColumnSettings {
  /** How many of the latest steps stay in reach. */
  readonly numKeepAliveRefs: number;
  /** The rows of a chunk; "auto" learns it. */
  readonly chunkLength: number | "auto";
  /** Whether integers are written as differences from the row before. */
  readonly deltaEncoded: boolean;
}

/** A row of a column. */
export interface Cell {
  /** Its chunk. */
  readonly chunk: Chunk;
  /** Its row in the chunk. */
  readonly offset: number;
}

/** One column. */
export class Column {
  readonly path: StepPath;
  readonly spec: RowSpec;
  readonly #encoder: ChunkEncoder;
  readonly #keys: KeySource;
  #settings: ColumnSettings;
  #tuner: ChunkLengthTuner | undefined;
  #chunks: (Chunk | undefined)[];
  #offsets: Int32Array;
  #chunk: Chunk | undefined;

  constructor(
    path: StepPath,
    spec: RowSpec,
    settings: ColumnSettings,
    encoder: ChunkEncoder,
    keys: KeySource,
  ) {
    this.path = path;
    this.spec = spec;
    this.#encoder = encoder;
    this.#keys = keys;
    this.#settings = settings;
    this.#chunks = new Array(settings.numKeepAliveRefs).fill(undefined);
    this.#offsets = new Int32Array(settings.numKeepAliveRefs);
    this.#tuner = tunerOf(settings);
  }

  /** Changes the settings from the next chunk on. `length` is the number of positions so far. */
  configure(settings: ColumnSettings, length: number): void {
    const kept: (Cell | undefined)[] = [];
    const from = Math.max(0, length - Math.min(settings.numKeepAliveRefs, this.#chunks.length));
    for (let position = from; position < length; position++) kept.push(this.cell(position, length));
    this.finish();
    this.clear();
    this.#settings = settings;
    this.#chunks = new Array(settings.numKeepAliveRefs).fill(undefined);
    this.#offsets = new Int32Array(settings.numKeepAliveRefs);
    this.#tuner = tunerOf(settings);
    for (const [k, cell] of kept.entries()) {
      if (cell !== undefined) this.#place(from + k, cell.chunk, cell.offset);
    }
  }

  /** How many of the latest positions it keeps. */
  get reach(): number {
    return this.#chunks.length;
  }

  /** Makes room for a position: what is too old for the history goes. */
  open(position: number): void {
    const at = position % this.#chunks.length;
    const old = this.#chunks[at];
    if (old === undefined) return;
    old.live -= 1;
    this.#chunks[at] = undefined;
  }

  /** Whether a position has a value. */
  has(position: number): boolean {
    return this.#chunks[position % this.#chunks.length] !== undefined;
  }

  /** Adds a value, which was checked, at a position that has none. Returns true where that made a chunk complete. */
  add(leaf: unknown, position: number, episode: Key, step: number): boolean {
    const chunk = this.#chunk ??= new Chunk(
      {
        encoder: this.#encoder,
        specs: [this.spec],
        capacity: this.#tuner?.length ?? this.#settings.chunkLength as number,
        delta: this.#settings.deltaEncoded,
        ...(this.#tuner === undefined ? {} : { tuner: this.#tuner }),
      },
      this.#keys.next(),
      episode,
    );
    // Someone may have completed it, to send an item.
    if (chunk.encoded !== undefined) {
      this.#chunk = undefined;
      return this.add(leaf, position, episode, step);
    }
    chunk.addOne(leaf, step);
    this.#place(position, chunk, chunk.length - 1);
    if (!chunk.isFull) return false;
    chunk.finish();
    this.#chunk = undefined;
    return true;
  }

  #place(position: number, chunk: Chunk, offset: number): void {
    const at = position % this.#chunks.length;
    this.#chunks[at] = chunk;
    this.#offsets[at] = offset;
    chunk.live += 1;
  }

  /** Completes the chunk that grows. */
  finish(): void {
    this.#chunk?.finish();
    this.#chunk = undefined;
  }

  /** Forgets all rows. */
  clear(): void {
    for (let position = 0; position < this.#chunks.length; position++) this.open(position);
    this.#chunk = undefined;
  }

  /** The row at a position; undefined where there is none, or no longer. `length` is the number of positions so far. */
  cell(position: number, length: number): Cell | undefined {
    const { length: capacity } = this.#chunks;
    if (position < 0 || position >= length || position < length - capacity) return undefined;
    const at = position % capacity;
    const chunk = this.#chunks[at];
    return chunk && { chunk, offset: this.#offsets[at] ?? 0 };
  }
}

function tunerOf({ chunkLength, numKeepAliveRefs }: ColumnSettings): ChunkLengthTuner | undefined {
  return chunkLength === "auto" ? new ChunkLengthTuner(numKeepAliveRefs) : undefined;
}

/** Rows as slices of chunks: neighbours in one chunk are one slice. */
export function slicesOf(cells: Iterable<Cell>): ChunkSlice[] {
  const slices: { chunk: Chunk; offset: number; length: number; column: number }[] = [];
  let last: (typeof slices)[number] | undefined;
  for (const { chunk, offset } of cells) {
    if (last !== undefined && last.chunk === chunk && last.offset + last.length === offset) {
      last.length += 1;
    } else slices.push(last = { chunk, offset, length: 1, column: 0 });
  }
  return slices;
}
