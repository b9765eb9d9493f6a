/**
 * One column of what is appended, or several that share their chunks: the latest rows, by chunk and offset, and the chunk that grows.
 *
 * Invariants: 1. Position p of a column is at the place p modulo the reach, and is kept until position p + reach comes. 2. A
 * chunk's `live` is the number of places that hold one of its rows.
 *
 * @module
 */

import { checkBoolean, checkInteger } from "../base/checks.ts";
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

/** Checks what `configure` and the options set for chunks. */
export function checkSettings(where: string, settings: ColumnSettings): ColumnSettings {
  const { numKeepAliveRefs, chunkLength, deltaEncoded } = settings;
  checkInteger(`${where}: numKeepAliveRefs`, numKeepAliveRefs, 1, 2 ** 30);
  if (chunkLength !== "auto") {
    checkInteger(`${where}: chunkLength, if not "auto",`, chunkLength, 1, numKeepAliveRefs);
  }
  checkBoolean(`${where}: deltaEncoded`, deltaEncoded);
  return settings;
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
  /** What its rows are: one for each column that shares the chunks. */
  readonly specs: readonly [RowSpec, ...RowSpec[]];
  readonly #source: { readonly encoder: ChunkEncoder; readonly keys: KeySource };
  #settings: ColumnSettings;
  #tuner: ChunkLengthTuner | undefined;
  /** It grows to the reach. */
  #cells: (Cell | undefined)[] = [];
  #chunk: Chunk | undefined;

  /** @param source Writes the chunks, and gives them their keys. */
  constructor(
    path: StepPath,
    specs: readonly [RowSpec, ...RowSpec[]],
    settings: ColumnSettings,
    source: { readonly encoder: ChunkEncoder; readonly keys: KeySource },
  ) {
    this.path = path;
    this.specs = specs;
    this.#source = source;
    this.#settings = settings;
    this.configure(settings, 0);
  }

  /** Changes the settings from the next chunk on. `length` is the number of positions so far. */
  configure(settings: ColumnSettings, length: number): void {
    const { numKeepAliveRefs, chunkLength } = settings;
    const from = Math.max(0, length - Math.min(numKeepAliveRefs, this.reach));
    const kept = Array.from({ length: length - from }, (_, k) => this.cell(from + k, length));
    this.finish();
    this.clear();
    this.#settings = settings;
    this.#tuner = chunkLength === "auto" ? new ChunkLengthTuner(numKeepAliveRefs) : undefined;
    for (const [k, cell] of kept.entries()) if (cell !== undefined) this.#put(from + k, cell);
  }

  /** How many of the latest positions it keeps. */
  get reach(): number {
    return this.#settings.numKeepAliveRefs;
  }

  /** Makes room for a position: what is too old for the history goes. */
  open(position: number): void {
    const at = position % this.reach;
    const old = this.#cells[at];
    if (old === undefined) return;
    old.chunk.live -= 1;
    this.#cells[at] = undefined;
  }

  /** Whether a position has a value. */
  has(position: number): boolean {
    return this.#cells[position % this.reach] !== undefined;
  }

  /**
   * Adds a row at a position that has none: a leaf for each of the `specs`, from `leaves[from]` on. All were checked. Returns true where that made
   * a chunk complete.
   */
  add(
    leaves: readonly unknown[],
    from: number,
    position: number,
    episode: Key,
    step: number,
  ): boolean {
    let chunk = this.#chunk;
    // It may be full, or someone has completed it, to send an item.
    if (chunk === undefined || chunk.encoded !== undefined) {
      const { encoder, keys } = this.#source;
      const { chunkLength, deltaEncoded: delta } = this.#settings;
      const capacity = this.#tuner?.length ?? chunkLength as number;
      const plan = { encoder, specs: this.specs, capacity, delta, tuner: this.#tuner };
      this.#chunk = chunk = new Chunk(plan, keys.next(), episode);
    }
    this.#put(position, { chunk, offset: chunk.length });
    return chunk.add(leaves, from, step);
  }

  #put(position: number, cell: Cell): void {
    this.#cells[position % this.reach] = cell;
    cell.chunk.live += 1;
  }

  /** Completes the chunk that grows. */
  finish(): void {
    this.#chunk?.finish();
    this.#chunk = undefined;
  }

  /** Forgets all rows. */
  clear(): void {
    for (const cell of this.#cells) if (cell !== undefined) cell.chunk.live -= 1;
    this.#cells = [];
    this.#chunk = undefined;
  }

  /** The row at a position; undefined where there is none, or no longer. `length` is the number of positions so far. */
  cell(position: number, length: number): Cell | undefined {
    const { reach } = this;
    if (position < 0 || position >= length || position < length - reach) return undefined;
    return this.#cells[position % reach];
  }
}

/** Rows as slices of chunks: neighbours in one chunk are one slice. */
export function slicesOf(cells: Iterable<Cell>): ChunkSlice[] {
  const slices: { chunk: Chunk; offset: number; length: number }[] = [];
  let last: (typeof slices)[number] | undefined;
  for (const { chunk, offset } of cells) {
    if (last !== undefined && last.chunk === chunk && last.offset + last.length === offset) {
      last.length += 1;
    } else slices.push(last = { chunk, offset, length: 1 });
  }
  return slices;
}
