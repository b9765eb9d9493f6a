/**
 * What a {@linkcode TrajectoryWriter} still has of what was appended, by column, and the parts of it that go into items.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import type { ColumnShape } from "./check_item.ts";
import { type Cell, type Column, slicesOf } from "./_column.ts";
import type { ItemColumn } from "./item_stream.ts";
import { showPath } from "./path.ts";
import { type RowSpec, rowSpec, showSpec } from "./tensor.ts";
import type { ReverbArray, ReverbDType } from "./dtypes.ts";

/** How a {@linkcode ColumnHistory} reads the writer. */
export interface HistorySource {
  /** The column. */
  readonly column: Column;
  /** The number of steps so far. */
  length(): number;
}

/** Makes a column of rows. */
export let newTrajectoryColumn: (
  cells: readonly Cell[],
  spec: RowSpec,
  isSqueezed: boolean,
) => TrajectoryColumn;
/** A column as an item has it. */
export let itemColumnOf: (column: TrajectoryColumn) => ItemColumn;
/** The dtype and the shape of a column, as a table's signature has them. */
export let specOf: (column: TrajectoryColumn) => RowSpec;
/** What a column has in common with those of other items. */
export let shapeOf: (column: TrajectoryColumn) => Omit<ColumnShape, "path">;
/** Makes the history of a column. */
export let newColumnHistory: (source: HistorySource) => ColumnHistory;
/** Whether a column is a part of a list in the steps. */
export let isPartOfList: (history: ColumnHistory) => boolean;

/**
 * Rows of one column that can become a column of an item. {@linkcode ColumnHistory} hands them out.
 *
 * The rows stay as they are, even if the history forgets them.
 *
 * @example
 * ```ts
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 *
 * await using writer = tables.trajectoryWriter<{ state: number }>({ numKeepAliveRefs: 5 });
 * for (let t = 0; t < 8; t++) writer.append({ state: t });
 * const states = writer.history.state.slice(-5); // the last five
 * await writer.createItem("replay", 1, { states, last: states.at(-1) });
 * console.log([...states.values()]); // [3, 4, 5, 6, 7]
 * ```
 */
export class TrajectoryColumn {
  readonly #cells: readonly Cell[];
  readonly #spec: RowSpec;
  /** Whether the only row comes without a dimension for rows. */
  readonly isSqueezed: boolean;

  private constructor(cells: readonly Cell[], spec: RowSpec, isSqueezed: boolean) {
    this.#cells = cells;
    this.#spec = spec;
    this.isSqueezed = isSqueezed;
  }

  /** The number of rows. */
  get length(): number {
    return this.#cells.length;
  }

  /** The dtype of the values. */
  get dtype(): ReverbDType {
    return this.#spec.dtype.name;
  }

  /** The shape: `[rows, ...]`, or that of one row where the column is squeezed. */
  get shape(): readonly number[] {
    return this.isSqueezed ? this.#spec.shape : [this.length, ...this.#spec.shape];
  }

  /** One row, without a dimension for rows. Negative positions count from the end. */
  at(position: number): TrajectoryColumn {
    const cell = this.#cells.at(position);
    if (cell === undefined) {
      throw new RangeError(`row ${position} of ${this.length} rows is not there`);
    }
    return new TrajectoryColumn([cell], this.#spec, true);
  }

  /** The rows from `start` to before `stop`, every `step`th. Negative positions count from the end. */
  slice(start?: number, stop?: number, step = 1): TrajectoryColumn {
    const positions = range("slice()", this.length, start, stop, step);
    return this.pick(positions);
  }

  /** The rows at these positions. */
  pick(positions: readonly number[]): TrajectoryColumn {
    const cells = positions.map((position) => {
      const cell = this.#cells.at(position);
      if (cell === undefined) {
        throw new RangeError(`row ${position} of ${this.length} rows is not there`);
      }
      return cell;
    });
    return new TrajectoryColumn(cells, this.#spec, false);
  }

  /** The values in a new array, row after row. */
  values(): ReverbArray | Uint8Array[] {
    const rows = this.#cells.map(({ chunk, offset }) => chunk.row(0, offset));
    const { array } = this.#spec.dtype;
    if (array === undefined) return (rows as Uint8Array[][]).flat();
    const out = new array(rows.length * this.#spec.elements);
    for (const [k, row] of (rows as Float64Array<ArrayBuffer>[]).entries()) {
      (out as Float64Array).set(row, k * this.#spec.elements);
    }
    return out;
  }

  /** The column in words. */
  toString(): string {
    return `TrajectoryColumn(${showSpec(specOf(this))})`;
  }

  static {
    newTrajectoryColumn = (cells, spec, isSqueezed) =>
      new TrajectoryColumn(cells, spec, isSqueezed);
    itemColumnOf = (column) => ({
      slices: slicesOf(column.#cells),
      isSqueezed: column.isSqueezed,
    });
    specOf = (column) => rowSpec(column.#spec.dtype, column.shape);
    shapeOf = (column) => ({ spec: column.#spec, isSqueezed: column.isSqueezed });
  }
}

/**
 * One column of the history of a {@linkcode TrajectoryWriter}. Position 0 is the first step since the history was cleared. Negative positions count from
 * the newest step. Steps that are too old, or that had no value in this column, can't be read.
 *
 * @example
 * ```ts
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 *
 * await using writer = tables.trajectoryWriter<{ reward: number }>({ numKeepAliveRefs: 5 });
 * for (let t = 0; t < 8; t++) writer.append({ reward: t });
 * const { reward } = writer.history;
 * console.log([...reward.slice(-4).values()]); // [4, 5, 6, 7]: x[-4:] in Python
 * console.log([...reward.at(-1).values()]); // [7]: x[-1], without a dimension for rows
 * console.log([...reward.pick([-5, -1]).values()]); // [3, 7]: x[[-5, -1]]
 * ```
 */
export class ColumnHistory {
  readonly #source: HistorySource;

  private constructor(source: HistorySource) {
    this.#source = source;
  }

  static {
    newColumnHistory = (source) => new ColumnHistory(source);
    isPartOfList = (history) => typeof history.#source.column.path.at(-1) === "number";
  }

  /** The number of steps, also those that are too old to be read. */
  get length(): number {
    return this.#source.length();
  }

  /** One step, without a dimension for rows. */
  at(position: number): TrajectoryColumn {
    return this.#rows([this.#position(position)], true);
  }

  /** The steps from `start` to before `stop`, every `step`th. Without `start`, from the first step on. */
  slice(start?: number, stop?: number, step = 1): TrajectoryColumn {
    const { length } = this;
    if (start !== undefined && (start < -length || start > length)) {
      throw new RangeError(`${this.#name} has ${length} steps, so a slice can't begin at ${start}`);
    }
    return this.#rows(range(this.#name, length, start, stop, step), false);
  }

  /** The steps at these positions. */
  pick(positions: readonly number[]): TrajectoryColumn {
    return this.#rows(positions.map((position) => this.#position(position)), false);
  }

  get #name(): string {
    return `history of ${showPath(this.#source.column.path)}`;
  }

  #position(position: number): number {
    const { length } = this;
    const at = position < 0 ? position + length : position;
    if (!Number.isInteger(at) || at < 0 || at >= length) {
      throw new RangeError(
        `${this.#name} has ${length} steps, so there is no step ${show(position)}`,
      );
    }
    return at;
  }

  #rows(positions: readonly number[], isSqueezed: boolean): TrajectoryColumn {
    const { column } = this.#source;
    const { length } = this;
    if (positions.length === 0) {
      throw new RangeError(`${this.#name}: an empty slice can't be part of an item`);
    }
    const cells = positions.map((position) => {
      const cell = column.cell(position, length);
      if (cell === undefined) {
        const why = position < length - column.reach
          ? "is too old; raise numKeepAliveRefs to reach further back"
          : `has no value; take other steps, or give ${
            showPath(column.path)
          } a value in each append()`;
        throw new RangeError(`${this.#name}: step ${position} of ${length} ${why}`);
      }
      return cell;
    });
    return newTrajectoryColumn(cells, column.spec, isSqueezed);
  }
}

/** The positions of a slice, by the rules of Python. */
function range(
  where: string,
  length: number,
  start: number | undefined,
  stop: number | undefined,
  step: number,
): number[] {
  if (!Number.isInteger(step) || step < 1) {
    throw new RangeError(
      `${where}: the step of a slice must be an integer from 1 on, got ${show(step)}`,
    );
  }
  const bound = (value: number | undefined, missing: number): number => {
    if (value === undefined) return missing;
    if (!Number.isInteger(value)) {
      throw new RangeError(`${where}: a slice needs integers, got ${show(value)}`);
    }
    return Math.min(length, Math.max(0, value < 0 ? value + length : value));
  };
  const positions: number[] = [];
  const end = bound(stop, length);
  for (let at = bound(start, 0); at < end; at += step) positions.push(at);
  return positions;
}
