/**
 * What {@linkcode TrajectoryWriter} and {@linkcode StructuredWriter} share: steps as they are appended, and items of any parts of them.
 * It finds the column of each value by its path, and keeps all columns at the same position.
 *
 * Invariants: 1. A step that is refused has changed nothing. 2. Position p of every column is step p, also where a column came later.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkSettings, Column, type ColumnSettings, slicesOf } from "./_column.ts";
import type { ItemCheck } from "./check_item.ts";
import { type DTypeInfo, dtypeOfName } from "./dtypes.ts";
import { rowsOf, type TrajectoryColumn } from "./history.ts";
import type { ItemHead } from "./item_stream.ts";
import { ItemSender, type WriterDoor } from "./item_writer.ts";
import type { Key } from "../wire/keys.ts";
import { type AtPath, showPath, type StepPath } from "./path.ts";
import { checkPlain } from "./structure.ts";
import { checkLeaf, isLeaf, type RowSpec, rowSpec, specOfLeaf } from "./tensor.ts";
import type { TrajectoryWriterOptions, WriterEndOptions } from "./writer_options.ts";

/** A column of an item, and the way to it there. */
export interface PlacedColumn extends AtPath {
  readonly column: TrajectoryColumn;
}

/** A place in the structure of a step: a column, or a part with other places. */
export class Place {
  /** The way to it. */
  readonly path: StepPath;
  /** The places within it. */
  readonly parts: Map<string | number, Place> = new Map();
  /** Whether its values are kept. */
  readonly isKept: boolean;
  /** Whether it stands for an array, not for an object. */
  isArray = false;
  /** Its column, once there was a value. */
  column: Column | undefined;
  /** Settings of its own. */
  settings: ColumnSettings | undefined;
  /** The dtype that numbers take here. */
  dtype: DTypeInfo | undefined;
  readonly #keeps: (path: StepPath) => boolean;

  constructor(path: StepPath, keeps: (path: StepPath) => boolean) {
    this.path = path;
    this.isKept = keeps(path);
    this.#keeps = keeps;
  }

  /** A place within it, which may be a new one. */
  part(key: string | number): Place {
    let part = this.parts.get(key);
    if (part === undefined) {
      this.parts.set(key, part = new Place([...this.path, key], this.#keeps));
    }
    return part;
  }

  /** Whether a place within it has a column. */
  hasColumns(): boolean {
    for (const part of this.parts.values()) {
      if (part.column !== undefined || part.hasColumns()) return true;
    }
    return false;
  }

  /** The dtype and the shape of the column that a value would make. */
  specOf(leaf: unknown): RowSpec {
    const spec = specOfLeaf(this.path, leaf);
    const isPlain = typeof leaf !== "object" && typeof leaf !== "string";
    return this.dtype !== undefined && isPlain ? rowSpec(this.dtype, []) : spec;
  }
}

/** The steps of a writer, and the items that are made of them. */
export class Steps extends ItemSender {
  readonly #settings: ColumnSettings;
  readonly #isChecked: boolean;
  /** The whole structure. */
  readonly root: Place;
  /** The columns, in the order in which they came. */
  readonly columns: Column[] = [];
  /** The number of positions so far. */
  length = 0;
  /** Complete steps of this episode. */
  episodeSteps = 0;
  /** Whether the next values belong to the same step. */
  isOpen = false;
  #episode: Key;
  // What a step has, between looking and writing.
  readonly #places: Place[] = [];
  readonly #leaves: unknown[] = [];

  /** @param keeps Whether values at a path are kept. */
  constructor(
    where: string,
    door: WriterDoor,
    options: TrajectoryWriterOptions,
    keeps: (path: StepPath) => boolean = () => true,
  ) {
    const { numKeepAliveRefs, chunkLength = "auto", deltaEncoded = false } = options;
    const settings = checkSettings(where, { numKeepAliveRefs, chunkLength, deltaEncoded });
    const { maxPendingItems = Math.max(256, 2 * numKeepAliveRefs), validateItems = true } = options;
    checkInteger(`${where}: maxPendingItems`, maxPendingItems, 1, 2 ** 30);
    const { note: _, ...unnoted } = door;
    super(validateItems ? door : unnoted, maxPendingItems, 2 * maxPendingItems);
    this.stream.reconnectMs = options.reconnectMs ?? Infinity;
    this.#settings = settings;
    this.#isChecked = validateItems;
    this.root = new Place([], keeps);
    this.#episode = this.keys.next();
  }

  /** Appends values to the step that is open, or begins one. */
  append(data: unknown, isPartial: boolean): void {
    this.stream.check();
    this.#places.length = 0;
    this.#leaves.length = 0;
    this.#look(this.root, data);
    const position = this.isOpen ? this.length - 1 : this.length;
    let k = 0;
    for (const place of this.#places) this.#check(place, this.#leaves[k++], position);
    if (!this.isOpen) {
      for (const column of this.columns) column.open(position);
      this.length += 1;
    }
    let isChunkDone = false;
    k = 0;
    for (const place of this.#places) {
      const column = place.column ??= this.#newColumn(place, this.#leaves[k]);
      const isDone = column.add(this.#leaves, k++, position, this.#episode, this.episodeSteps);
      isChunkDone ||= isDone;
    }
    this.isOpen = isPartial;
    if (!isPartial) this.episodeSteps += 1;
    this.#leaves.length = 0;
    if (isChunkDone) this.stream.schedule();
  }

  #look(place: Place, data: unknown): void {
    if (data === null || data === undefined) return;
    if (isLeaf(data)) {
      if (place.column === undefined && place.hasColumns()) throw otherParts(place);
      if (!place.isKept) return;
      this.#places.push(place);
      this.#leaves.push(data);
      return;
    }
    if (!Array.isArray(data)) checkPlain(place.path, data);
    if (place.column !== undefined) throw otherParts(place);
    if (Array.isArray(data)) {
      if (place.parts.size === 0) place.isArray = true;
      for (let k = 0; k < data.length; k++) this.#look(place.part(k), data[k]);
      return;
    }
    for (const key in data) {
      this.#look(place.part(key), (data as Record<string, unknown>)[key]);
    }
  }

  #check(place: Place, leaf: unknown, position: number): void {
    const { column } = place;
    if (this.isOpen && column?.has(position)) {
      throw new TypeError(
        `append(): ${
          showPath(place.path)
        } has a value in this step already, by an append() with partialStep`,
      );
    }
    checkLeaf(place.path, column?.specs[0] ?? place.specOf(leaf), leaf);
  }

  #newColumn(place: Place, leaf: unknown): Column {
    const settings = place.settings ?? this.#settings;
    const column = new Column(place.path, [place.specOf(leaf)], settings, this);
    this.columns.push(column);
    return column;
  }

  /** Makes an item, without waiting. */
  create(
    where: string,
    head: ItemHead,
    columns: readonly PlacedColumn[],
    check: ItemCheck = {},
  ): void {
    const described = columns.map(({ path, column }) => {
      const { cells, spec: row } = rowsOf(column);
      const { isSqueezed, shape } = column;
      return { path, spec: { ...row, shape }, row, cells, isSqueezed };
    });
    const ordered = this.inOrder(where, head, described, { ...check, isChecked: this.#isChecked });
    const parts = ordered.map(({ path, row: spec, cells, isSqueezed }) => (
      { path, spec, isSqueezed, slices: slicesOf(cells), index: 0 }
    ));
    this.send(where, head, parts, parts);
  }

  /** Changes what holds for one column. */
  configure(path: StepPath, changes: Partial<ColumnSettings>, dtype: string | undefined): void {
    const where = `configure() of ${showPath(path)}`;
    const place = path.reduce((at: Place, key) => at.part(key), this.root);
    const settings = { ...(place.settings ?? this.#settings), ...changes };
    checkSettings(where, settings);
    if (dtype !== undefined) {
      if (place.column !== undefined) {
        throw new TypeError(
          `configure(): ${showPath(path)} has its dtype already, as it has values`,
        );
      }
      place.dtype = dtypeOfName(dtype);
    }
    place.settings = settings;
    place.column?.configure(settings, this.length);
  }

  /** Sends everything, waits until it is confirmed, and begins a new episode. Keeps the history if wanted. */
  async endEpisode(options: WriterEndOptions): Promise<void> {
    const where = "endEpisode()";
    checkOptions(where, options, ["clearBuffers", "timeoutMs", "signal"]);
    const { clearBuffers = true, ...wait } = options;
    this.stream.check();
    await this.waitForPending(where, 0, wait);
    for (const column of this.columns) {
      column.finish();
      if (clearBuffers) column.clear();
    }
    if (clearBuffers) this.length = 0;
    this.isOpen = false;
    this.#episode = this.keys.next();
    this.episodeSteps = 0;
  }
}

function otherParts(place: Place): TypeError {
  const [before, now] = place.column === undefined ? ["parts", "a value"] : ["a value", "parts"];
  return new TypeError(
    `append(): ${showPath(place.path)} is ${now}, and was ${before} in an earlier step`,
  );
}
