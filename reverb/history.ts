/**
 * What a {@linkcode TrajectoryWriter} still has of what was appended, by column, and the parts of it that go into items.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import type { Cell, Column } from "./_column.ts";
import { showPath } from "./path.ts";
import { type RowSpec, showSpec } from "./tensor.ts";
import type { ReverbArray, ReverbDType } from "./dtypes.ts";

/** The rows of a column of an item. */
interface TrajectoryRows {
  /** Where each row is. */
  readonly cells: readonly Cell[];
  /** The dtype and the shape of a row. */
  readonly spec: RowSpec;
}

/** Makes a column of rows. */
export let newTrajectoryColumn: (rows: TrajectoryRows, isSqueezed: boolean) => TrajectoryColumn;
/** The rows of a column. */
export let rowsOf: (column: TrajectoryColumn) => TrajectoryRows;
/** Makes the history of a column of some steps. */
export let newColumnHistory: (
  column: Column,
  steps: { readonly length: number },
) => ColumnHistory;
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
  readonly #rows: TrajectoryRows;
  /** Whether the only row comes without a dimension for rows. */
  readonly isSqueezed: boolean;

  private constructor(rows: TrajectoryRows, isSqueezed: boolean) {
    this.#rows = rows;
    this.isSqueezed = isSqueezed;
  }

  static {
    newTrajectoryColumn = (rows, isSqueezed) => new TrajectoryColumn(rows, isSqueezed);
    rowsOf = (column) => column.#rows;
  }

  /** The number of rows. */
  get length(): number {
    return this.#rows.cells.length;
  }

  /** The dtype of the values. */
  get dtype(): ReverbDType {
    return this.#rows.spec.dtype.name;
  }

  /** The shape: `[rows, ...]`, or that of one row where the column is squeezed. */
  get shape(): readonly number[] {
    const { shape } = this.#rows.spec;
    return this.isSqueezed ? shape : [this.length, ...shape];
  }

  /** One row, without a dimension for rows. Negative positions count from the end. */
  at(position: number): TrajectoryColumn {
    return newTrajectoryColumn(rowsOf(this.pick([position])), true);
  }

  /** The rows from `start` to before `stop`, every `step`th. Negative positions count from the end. */
  slice(start?: number, stop?: number, step = 1): TrajectoryColumn {
    return this.pick(range("slice()", this.length, start, stop, step));
  }

  /** The rows at these positions. */
  pick(positions: readonly number[]): TrajectoryColumn {
    const cells = positions.map((position) => {
      const cell = this.#rows.cells.at(position);
      if (cell === undefined) {
        throw new RangeError(`row ${position} of ${this.length} rows is not there`);
      }
      return cell;
    });
    return new TrajectoryColumn({ cells, spec: this.#rows.spec }, false);
  }

  /** The values in a new array, row after row. */
  values(): ReverbArray | Uint8Array[] {
    const { cells, spec: { dtype: { array }, elements } } = this.#rows;
    const rows = cells.map(({ chunk, offset }) => chunk.row(offset));
    if (array === undefined) return (rows as Uint8Array[][]).flat();
    const out = new array(rows.length * elements);
    for (const [k, row] of (rows as Float64Array<ArrayBuffer>[]).entries()) {
      (out as Float64Array).set(row, k * elements);
    }
    return out;
  }

  /** The column in words. */
  toString(): string {
    return `TrajectoryColumn(${showSpec({ dtype: this.#rows.spec.dtype, shape: this.shape })})`;
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
  readonly #column: Column;
  readonly #steps: { readonly length: number };

  private constructor(column: Column, steps: { readonly length: number }) {
    this.#column = column;
    this.#steps = steps;
  }

  static {
    newColumnHistory = (column, steps) => new ColumnHistory(column, steps);
    isPartOfList = (history) => typeof history.#column.path.at(-1) === "number";
  }

  /** The number of steps, also those that are too old to be read. */
  get length(): number {
    return this.#steps.length;
  }

  /** One step, without a dimension for rows. */
  at(position: number): TrajectoryColumn {
    return this.#rows([position], true);
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
    return this.#rows(positions, false);
  }

  get #name(): string {
    return `history of ${showPath(this.#column.path)}`;
  }

  #rows(positions: readonly number[], isSqueezed: boolean): TrajectoryColumn {
    if (positions.length === 0) {
      throw new RangeError(`${this.#name}: an empty slice can't be part of an item`);
    }
    const cells = positions.map((position) => this.#cell(position));
    const [spec] = this.#column.specs;
    return newTrajectoryColumn({ cells, spec }, isSqueezed);
  }

  #cell(position: number): Cell {
    const { length } = this;
    const { path, reach } = this.#column;
    const at = position < 0 ? position + length : position;
    if (!Number.isInteger(at) || at < 0 || at >= length) {
      throw new RangeError(
        `${this.#name} has ${length} steps, so there is no step ${show(position)}`,
      );
    }
    const cell = this.#column.cell(at, length);
    if (cell !== undefined) return cell;
    const why = at < length - reach
      ? "is too old; raise numKeepAliveRefs to reach further back"
      : `has no value; take other steps, or give ${showPath(path)} a value in each append()`;
    throw new RangeError(`${this.#name}: step ${at} of ${length} ${why}`);
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
