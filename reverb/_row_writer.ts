/**
 * What {@linkcode Writer} and `client.insert()` share: steps whose chunks have all columns, and items of the last of them.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { numberOf } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import {
  checkAgainst,
  checkPriority,
  checkRemoverPriority,
  checkTable,
  type ColumnShape,
  fitsShape,
  type ItemCheck,
} from "./check_item.ts";
import { Chunk } from "./_chunk.ts";
import { type ChunkSlice, type ItemColumn, itemOf } from "./item_stream.ts";
import { type Key, KeySource } from "../wire/keys.ts";
import { type AtPath, samePaths, showPaths, type StepPath } from "./path.ts";
import type { TensorSpec } from "./signature.ts";
import { flatten, type StepData } from "./structure.ts";
import { checkLeaf, type RowSpec, specOfLeaf, type Tensor, tensor } from "./tensor.ts";
import type { WriterDoor } from "./trajectories.ts";
import type { FlushOptions, WaitLimits, WriterOptions } from "./writer_options.ts";
import { ReverbError } from "./errors.ts";

/** A column of the steps, with its number. */
interface RowColumn extends ColumnShape {
  readonly index: number;
}

/** The steps of a writer, and the items that are made of them. */
export class RowWriter {
  readonly #door: WriterDoor;
  readonly #longest: number;
  readonly #chunkLength: number;
  readonly #delta: boolean;
  readonly #most: number;
  readonly #keys = new KeySource();
  readonly #episode: Key;
  /** The columns of the first step. */
  #columns: readonly RowColumn[] | undefined;
  #chunks: Chunk[] = [];
  #steps = 0;

  constructor(door: WriterDoor, options: WriterOptions) {
    const where = "writer()";
    checkOptions(where, options, [
      "maxSequenceLength",
      "deltaEncoded",
      "chunkLength",
      "maxInFlightItems",
    ]);
    const { maxSequenceLength, deltaEncoded = false, maxInFlightItems = 25 } = options;
    const longest = checkInteger(`${where}: maxSequenceLength`, maxSequenceLength, 1, 2 ** 30);
    const { chunkLength = Math.min(10, longest) } = options;
    this.#door = door;
    this.#longest = longest;
    this.#chunkLength = checkInteger(`${where}: chunkLength`, chunkLength, 1, longest);
    this.#delta = deltaEncoded;
    this.#most = checkInteger(`${where}: maxInFlightItems`, maxInFlightItems, 1, 2 ** 30);
    this.#episode = this.#keys.next();
  }

  /** Items that the server has not confirmed. */
  get pendingItems(): number {
    return this.#door.stream.pending;
  }

  /**
   * Appends a step: nested data, with the same leaves each time.
   *
   * @throws {TypeError} If the step has other columns than the first one. Nothing was appended then.
   */
  append(where: string, data: StepData): void {
    this.#door.stream.check();
    const leaves = flatten(where, data);
    this.#check(where, leaves);
    this.#add(leaves.map(({ leaf }) => leaf));
  }

  /** Throws unless a step has the columns of the first one. */
  #check(where: string, leaves: readonly (AtPath & { readonly leaf: unknown })[]): void {
    const columns = this.#columns ??= leaves.map(({ path, leaf }, index) => ({
      path,
      spec: specOfLeaf(path, leaf),
      isSqueezed: false,
      index,
    }));
    if (!samePaths(columns, leaves)) {
      throw new TypeError(
        `${where}: a step has ${numberOf(columns.length, "column")} (${
          showPaths(columns)
        }), got ${leaves.length} (${showPaths(leaves)})`,
      );
    }
    for (const [k, { leaf, path }] of leaves.entries()) {
      const spec = columns[k]?.spec;
      if (spec !== undefined) checkLeaf(path, spec, leaf);
    }
  }

  #add(leaves: readonly unknown[]): void {
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.encoded !== undefined) {
      const plan = {
        encoder: this.#door.encoder,
        specs: this.#columns?.map(({ spec }) => spec) ?? [],
        capacity: this.#chunkLength,
        delta: this.#delta,
      };
      chunk = new Chunk(plan, this.#keys.next(), this.#episode);
      chunk.live = 1;
      this.#chunks.push(chunk);
    }
    chunk.add(leaves, this.#steps);
    this.#steps += 1;
    if (!chunk.isFull) return;
    chunk.finish();
    this.#forget();
    this.#door.stream.schedule();
  }

  /** Lets chunks go that no item can reach any more. */
  #forget(): void {
    let rows = this.#chunks.reduce((sum, { length }) => sum + length, 0);
    for (;;) {
      const [first] = this.#chunks;
      if (first === undefined || rows - first.length < this.#longest) return;
      first.live = 0;
      rows -= first.length;
      this.#chunks.shift();
    }
  }

  /**
   * Appends several steps: each leaf is a tensor whose first dimension counts the steps.
   *
   * @throws {RangeError} If the leaves have different numbers of steps. Nothing was appended then.
   */
  appendSequence(data: StepData): void {
    const leaves = flatten("appendSequence()", data).map(({ path, leaf }) => ({
      path,
      rows: rowsOf(path, leaf),
    }));
    const length = leaves[0]?.rows.length ?? 0;
    for (const { path, rows } of leaves) {
      if (rows.length === length) continue;
      throw new RangeError(
        `appendSequence(): ${path.join("/")} has ${rows.length} steps, the first column ${length}`,
      );
    }
    if (length === 0) return;
    this.#door.stream.check();
    const firsts = leaves.map(({ path, rows }) => ({ path, leaf: rows.at(0) }));
    this.#check("appendSequence()", firsts);
    for (let row = 0; row < length; row++) this.#add(leaves.map(({ rows }) => rows.at(row)));
  }

  /** Waits while more items are unconfirmed than the writer allows. */
  async relieve(where: string, wait: WaitLimits): Promise<void> {
    if (this.pendingItems <= this.#most) return;
    this.#door.stream.force(this.#most);
    await this.#door.stream.until(where, this.#most, wait);
  }

  /** The columns of an item of the last steps, in the order of the table's signature. Throws where they do not fit it. */
  check(where: string, table: string, numTimesteps: number): readonly RowColumn[] {
    const { signatures } = this.#door;
    const columns = this.#columns ?? [];
    if (signatures === undefined) return columns;
    const fits: ItemCheck["fits"] = (wanted, got) => fitsStep(wanted, got, numTimesteps);
    return checkAgainst(where, signatures, table, columns, { fits });
  }

  /** Lets all chunks go that no item waits for. */
  release(): void {
    for (const chunk of this.#chunks) chunk.live = 0;
    this.#chunks = [];
  }

  /** Makes an item, without waiting. */
  create(
    where: string,
    table: string,
    numTimesteps: number,
    priority: number,
    removerPriority: number | undefined,
  ): void {
    checkTable(`${where}: table`, table);
    checkPriority(`${where}: priority`, priority);
    checkRemoverPriority(where, removerPriority);
    checkInteger(`${where}: numTimesteps`, numTimesteps, 1, this.#longest);
    const stored = this.#chunks.reduce((sum, { length }) => sum + length, 0);
    if (numTimesteps > stored) {
      throw new RangeError(`${where}: there are ${stored} steps, so no item of ${numTimesteps}`);
    }
    const { stream } = this.#door;
    const ordered = this.check(where, table, numTimesteps);
    stream.check();
    if (stream.pending >= 2 * this.#most + 1000) {
      throw new ReverbError(
        "resource-exhausted",
        `${where}: ${stream.pending} items wait, and the writer lets at most ${this.#most} wait; await each call before the next one`,
      );
    }
    this.#door.note?.(where, table, ordered);
    const columns = ordered.map(({ index }) => this.#column(index, numTimesteps));
    stream.push(itemOf(this.#keys.next(), table, priority, removerPriority, columns));
  }

  #column(column: number, steps: number): ItemColumn {
    const slices: ChunkSlice[] = [];
    let rest = steps;
    for (let k = this.#chunks.length - 1; k >= 0 && rest > 0; k--) {
      const chunk = this.#chunks[k];
      if (chunk === undefined) break;
      const length = Math.min(rest, chunk.length);
      slices.unshift({ chunk, offset: chunk.length - length, length, column });
      rest -= length;
    }
    return { slices, isSqueezed: false };
  }

  /** Sends everything, and waits until all but some items are confirmed. */
  async flush({ blockUntilItems = 0, ...wait }: FlushOptions): Promise<void> {
    const most = checkInteger("flush(): blockUntilItems", blockUntilItems, 0, 2 ** 30);
    this.#door.stream.force(most);
    await this.#door.stream.until("flush()", most, wait);
  }

  /** Sends everything, waits until it is confirmed, and ends the stream. */
  async close(wait: WaitLimits): Promise<void> {
    try {
      await this.flush(wait);
    } finally {
      await this.#door.stream.close();
    }
  }
}

/** A signature may describe a step or the whole item. */
function fitsStep(wanted: TensorSpec, got: RowSpec, steps: number): boolean {
  return wanted.dtype === got.dtype.name &&
    (fitsShape(wanted.shape, got.shape) || fitsShape(wanted.shape, [steps, ...got.shape]));
}

interface Rows {
  readonly length: number;
  at(row: number): Tensor;
}

/** A leaf as a list of its rows. */
function rowsOf(path: StepPath, leaf: unknown): Rows {
  const spec = specOfLeaf(path, leaf);
  const [length, ...shape] = spec.shape;
  if (length === undefined) {
    throw new TypeError(
      `appendSequence(): ${path.join("/")} must have a first dimension that counts the steps`,
    );
  }
  const whole = leaf instanceof Object && "dtype" in leaf
    ? leaf as Tensor
    : tensor(leaf as ArrayBufferView);
  const elements = spec.elements / Math.max(1, length);
  const data = whole.data as Float64Array;
  return {
    length,
    at: (row) => {
      const part = data.subarray === undefined
        ? data.slice(row * elements, (row + 1) * elements)
        : data.subarray(row * elements, (row + 1) * elements);
      return tensor(part, { dtype: whole.dtype, shape });
    },
  };
}
