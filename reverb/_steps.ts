/**
 * Steps as they are appended: finds the column of each value by its path, and keeps all columns at the same position.
 *
 * Invariants: 1. A step that is refused has changed nothing. 2. Position p of every column is step p, also where a column came later.
 *
 * @module
 */

import type { ChunkEncoder } from "../wire/new_rows.ts";
import { Column, type ColumnSettings } from "./_column.ts";
import { type Key, KeySource } from "../wire/keys.ts";
import { showPath, type StepPath } from "./path.ts";
import { checkPlain } from "./structure.ts";
import { checkLeaf, isLeaf, type RowSpec, rowSpec, specOfLeaf } from "./tensor.ts";
import { type DTypeInfo, dtypeOfName } from "./dtypes.ts";

/** A place in the structure of a step: a column, or a part with other places. */
export interface Place {
  /** The way to it. */
  readonly path: StepPath;
  /** The places within it. */
  readonly parts: Map<string | number, Place>;
  /** Whether it stands for an array, not for an object. */
  isArray: boolean;
  /** Its column, once there was a value. */
  column: Column | undefined;
  /** Settings of its own. */
  settings: ColumnSettings | undefined;
  /** The dtype that numbers take here. */
  dtype: DTypeInfo | undefined;
}

function newPlace(path: StepPath): Place {
  return {
    path,
    parts: new Map(),
    isArray: false,
    column: undefined,
    settings: undefined,
    dtype: undefined,
  };
}

/** The steps of a writer. */
export class Steps {
  readonly #encoder: ChunkEncoder;
  readonly #settings: ColumnSettings;
  /** Where the keys of chunks, items and episodes come from. */
  readonly keys: KeySource = new KeySource();
  /** The whole structure. */
  readonly root: Place = newPlace([]);
  /** The columns, in the order in which they came. */
  readonly columns: Column[] = [];
  #episode: Key;
  #episodeSteps = 0;
  #length = 0;
  #isOpen = false;
  #isChunkDone = false;
  // What a step has, between looking and writing.
  readonly #places: Place[] = [];
  readonly #leaves: unknown[] = [];

  constructor(settings: ColumnSettings, encoder: ChunkEncoder) {
    this.#settings = settings;
    this.#encoder = encoder;
    this.#episode = this.keys.next();
  }

  /** The number of positions so far. */
  get length(): number {
    return this.#length;
  }

  /** Complete steps of this episode. */
  get episodeSteps(): number {
    return this.#episodeSteps;
  }

  /** Whether the next values belong to the same step. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The key of the episode. */
  get episode(): Key {
    return this.#episode;
  }

  /** Appends values to the step that is open, or begins one. Returns true where a chunk became complete. */
  append(data: unknown, isPartial: boolean, skip?: (place: Place) => boolean): boolean {
    this.#places.length = 0;
    this.#leaves.length = 0;
    this.#look(this.root, data, skip);
    const position = this.#isOpen ? this.#length - 1 : this.#length;
    for (let k = 0; k < this.#places.length; k++) this.#check(k, position);
    if (!this.#isOpen) {
      for (const column of this.columns) column.open(position);
      this.#length += 1;
    }
    this.#isChunkDone = false;
    for (let k = 0; k < this.#places.length; k++) this.#write(k, position);
    this.#isOpen = isPartial;
    if (!isPartial) this.#episodeSteps += 1;
    this.#leaves.length = 0;
    return this.#isChunkDone;
  }

  #look(place: Place, data: unknown, skip: ((place: Place) => boolean) | undefined): void {
    if (data === null || data === undefined) return;
    if (isLeaf(data)) {
      if (place.column === undefined && hasColumns(place)) throw otherParts(place);
      if (skip?.(place)) return;
      this.#places.push(place);
      this.#leaves.push(data);
      return;
    }
    if (!Array.isArray(data)) checkPlain(place.path, data);
    if (place.column !== undefined) throw otherParts(place);
    if (Array.isArray(data)) {
      if (place.parts.size === 0) place.isArray = true;
      for (let k = 0; k < data.length; k++) this.#look(partOf(place, k), data[k], skip);
      return;
    }
    for (const key in data) {
      this.#look(partOf(place, key), (data as Record<string, unknown>)[key], skip);
    }
  }

  #check(k: number, position: number): void {
    const place = this.#places[k];
    const leaf = this.#leaves[k];
    if (place === undefined) return;
    const { column } = place;
    if (column === undefined) {
      checkLeaf(place.path, this.#specOf(place, leaf), leaf);
      return;
    }
    if (this.#isOpen && column.has(position)) {
      throw new TypeError(
        `append(): ${
          showPath(place.path)
        } has a value in this step already, by an append() with partialStep`,
      );
    }
    checkLeaf(place.path, column.spec, leaf);
  }

  #specOf(place: Place, leaf: unknown): RowSpec {
    const spec = specOfLeaf(place.path, leaf);
    const isPlain = typeof leaf !== "object" && typeof leaf !== "string";
    return place.dtype !== undefined && isPlain ? rowSpec(place.dtype, []) : spec;
  }

  #write(k: number, position: number): void {
    const place = this.#places[k];
    if (place === undefined) return;
    const leaf = this.#leaves[k];
    if (place.column === undefined) {
      const settings = place.settings ?? this.#settings;
      const spec = this.#specOf(place, leaf);
      place.column = new Column(place.path, spec, settings, this.#encoder, this.keys);
      this.columns.push(place.column);
    }
    const isDone = place.column.add(leaf, position, this.#episode, this.#episodeSteps);
    if (isDone) this.#isChunkDone = true;
  }

  /** Changes what holds for one column. */
  configure(path: StepPath, changes: Partial<ColumnSettings>, dtype: string | undefined): void {
    const place = path.reduce(partOf, this.root);
    const settings = { ...(place.settings ?? this.#settings), ...changes };
    if (dtype !== undefined) {
      if (place.column !== undefined) {
        throw new TypeError(
          `configure(): ${showPath(path)} has its dtype already, as it has values`,
        );
      }
      place.dtype = dtypeOfName(dtype);
    }
    place.settings = settings;
    place.column?.configure(settings, this.#length);
  }

  /** The settings of a column, or those of all. */
  settingsOf(path: StepPath): ColumnSettings {
    return path.reduce(partOf, this.root).settings ?? this.#settings;
  }

  /** Begins a new episode. Keeps the history if wanted. */
  endEpisode(isCleared: boolean): void {
    for (const column of this.columns) {
      column.finish();
      if (isCleared) column.clear();
    }
    if (isCleared) this.#length = 0;
    this.#isOpen = false;
    this.#episode = this.keys.next();
    this.#episodeSteps = 0;
  }
}

function partOf(place: Place, key: string | number): Place {
  let part = place.parts.get(key);
  if (part === undefined) place.parts.set(key, part = newPlace([...place.path, key]));
  return part;
}

function hasColumns(place: Place): boolean {
  for (const part of place.parts.values()) {
    if (part.column !== undefined || hasColumns(part)) return true;
  }
  return false;
}

function otherParts(place: Place): TypeError {
  const [before, now] = place.column === undefined ? ["parts", "a value"] : ["a value", "parts"];
  return new TypeError(
    `append(): ${showPath(place.path)} is ${now}, and was ${before} in an earlier step`,
  );
}
