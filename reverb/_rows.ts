/**
 * What {@linkcode Writer} and `client.insert()` share: steps whose chunks have all columns, and items of the last of them.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { numberOf } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import type { ColumnShape } from "./check_item.ts";
import { Column, type ColumnSettings } from "./_column.ts";
import type { ChunkSlice, ItemHead } from "./item_stream.ts";
import { ItemSender, type WriterDoor } from "./item_writer.ts";
import type { Key } from "../wire/keys.ts";
import { type AtPath, samePaths, showPaths, type StepPath } from "./path.ts";
import { flatten, type StepData } from "./structure.ts";
import { checkLeaf, type RowSpec, specOfLeaf, type Tensor, tensor } from "./tensor.ts";
import type { WriterOptions } from "./writer_options.ts";

/** A column of the steps, with its number. */
interface RowColumn extends ColumnShape {
  readonly index: number;
}

/** The columns of the first step, and their rows so far. */
interface Layout {
  readonly columns: readonly RowColumn[];
  readonly rows: Column;
}

/** The steps of a writer, and the items that are made of them. */
export class Rows extends ItemSender {
  readonly #settings: ColumnSettings;
  readonly #episode: Key;
  #layout: Layout | undefined;
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
    checkInteger(`${where}: chunkLength`, chunkLength, 1, longest);
    checkInteger(`${where}: maxInFlightItems`, maxInFlightItems, 1, 2 ** 30);
    super(door, maxInFlightItems, 2 * maxInFlightItems + 1000);
    this.#settings = { numKeepAliveRefs: longest, chunkLength, deltaEncoded };
    this.#episode = this.keys.next();
  }

  /** Appends a step. Throws, and changes nothing, where it has other columns than the first one. */
  append(where: string, data: StepData): void {
    this.stream.check();
    const leaves = flatten(where, data);
    this.#add(this.#check(where, leaves), leaves.map(({ leaf }) => leaf));
  }

  /** The columns of the first step. Throws unless a step has them, too. */
  #check(where: string, leaves: readonly (AtPath & { readonly leaf: unknown })[]): Layout {
    const layout = this.#layout ??= this.#layoutOf(leaves);
    const { columns } = layout;
    if (!samePaths(columns, leaves)) {
      throw new TypeError(
        `${where}: a step has ${numberOf(columns.length, "column")} (${
          showPaths(columns)
        }), got ${leaves.length} (${showPaths(leaves)})`,
      );
    }
    for (const [k, { spec }] of columns.entries()) {
      const one = leaves[k];
      if (one !== undefined) checkLeaf(one.path, spec, one.leaf);
    }
    return layout;
  }

  #layoutOf(leaves: readonly (AtPath & { readonly leaf: unknown })[]): Layout {
    const columns = leaves.map(({ path, leaf }, index) => ({
      path,
      spec: specOfLeaf(path, leaf),
      isSqueezed: false,
      index,
    }));
    // There is at least one leaf.
    const specs = columns.map(({ spec }) => spec) as [RowSpec, ...RowSpec[]];
    return { columns, rows: new Column([], specs, this.#settings, this) };
  }

  #add({ rows }: Layout, leaves: readonly unknown[]): void {
    const step = this.#steps++;
    rows.open(step);
    if (rows.add(leaves, 0, step, this.#episode, step)) this.stream.schedule();
  }

  /** Appends several steps: each leaf is a tensor whose first dimension counts the steps. Throws, and changes nothing, where they differ in it. */
  appendSequence(data: StepData): void {
    const where = "appendSequence()";
    const leaves = flatten(where, data).map(({ path, leaf }) => ({
      path,
      rows: rowsOf(path, leaf),
    }));
    const length = leaves[0]?.rows.length ?? 0;
    for (const { path, rows } of leaves) {
      if (rows.length === length) continue;
      throw new RangeError(
        `${where}: ${path.join("/")} has ${rows.length} steps, the first column ${length}`,
      );
    }
    if (length === 0) return;
    this.stream.check();
    const layout = this.#check(where, leaves.map(({ path, rows }) => ({ path, leaf: rows[0] })));
    for (let row = 0; row < length; row++) {
      this.#add(
        layout,
        leaves.map(({ rows }) => rows[row]),
      );
    }
  }

  /** The columns of an item of the last steps, in the order of the table's signature. Throws where they do not fit it. */
  check(where: string, head: ItemHead, numTimesteps: number): readonly RowColumn[] {
    return this.inOrder(where, head, this.#layout?.columns ?? [], { steps: numTimesteps });
  }

  /** Lets all rows go that no item waits for. */
  release(): void {
    this.#layout?.rows.clear();
  }

  /** Makes an item of the last steps, without waiting. */
  create(where: string, head: ItemHead, numTimesteps: number): void {
    const longest = this.#settings.numKeepAliveRefs;
    checkInteger(`${where}: numTimesteps`, numTimesteps, 1, longest);
    const steps = this.#steps;
    if (numTimesteps > steps) {
      throw new RangeError(`${where}: there are ${steps} steps, so no item of ${numTimesteps}`);
    }
    const columns = this.check(where, head, numTimesteps);
    const slices: ChunkSlice[] = [];
    for (let rest = numTimesteps; rest > 0;) {
      const cell = this.#layout?.rows.cell(steps - rest, steps);
      if (cell === undefined) break;
      // No step lacks a row, so the rows that follow in the chunk are those of the next steps.
      const length = Math.min(rest, cell.chunk.length - cell.offset);
      slices.push({ ...cell, length });
      rest -= length;
    }
    this.send(
      where,
      head,
      columns,
      columns.map(({ index }) => ({ slices, index, isSqueezed: false })),
    );
  }
}

/** A leaf as its rows. */
function rowsOf(path: StepPath, leaf: unknown): Tensor[] {
  const { shape: [length, ...shape], elements } = specOfLeaf(path, leaf);
  if (length === undefined) {
    throw new TypeError(
      `appendSequence(): ${path.join("/")} must have a first dimension that counts the steps`,
    );
  }
  const { dtype, data } = leaf instanceof Object && "dtype" in leaf
    ? leaf as Tensor<"float64">
    : tensor<"float64">(leaf as ArrayBufferView);
  const size = elements / length;
  return Array.from({ length }, (_, row) => {
    const [from, to] = [row * size, (row + 1) * size];
    // Strings have no views.
    return tensor(data.subarray?.(from, to) ?? data.slice(from, to), { dtype, shape });
  });
}
