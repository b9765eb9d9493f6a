/**
 * The columns of a transition as the items of a table have them: by name, each with a dtype and a shape.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { type AtPath, inOrderOf } from "../reverb/path.ts";
import type { SampleBatch } from "../reverb/samples.ts";
import { eachLeaf } from "../reverb/structure.ts";
import { type Tensor, tensor } from "../reverb/tensor.ts";
import type { SampleColumn } from "../reverb/sample_column.ts";
import { StagedColumn } from "../replay/record/staged_column.ts";
import { type AnyColumnArray, Column, float32, type NamedColumn } from "../schema/columns.ts";
import {
  checkColumns,
  columnsOf,
  type NamedColumns,
  type RecordColumns,
} from "../schema/record_columns.ts";
import type { TransitionColumns } from "./types.ts";

/** Checks the columns of an item, and fills in the defaults. */
export function checkItemColumns(
  where: string,
  columns: TransitionColumns,
): RecordColumns & { readonly named: NamedColumns } {
  checkOptions(`${where}: the columns`, columns, ["state", "action", "reward", "extras"]);
  const named = checkColumns(where, columns);
  const checked = columnsOf(named);
  if (checked.reward.dtype !== "float32") {
    throw new TypeError(
      `${where}: reward must be float32, as n-step returns are; got ${checked.reward}`,
    );
  }
  for (const { name, column } of named.columns.slice(named.leaves.length + 2)) {
    if (column.every === 1) continue;
    throw new TypeError(
      `${where}: ${name}: each item keeps its values, so it can't be ${column}`,
    );
  }
  return { ...checked, named };
}

/** A column of an item, and where it stands in the item's data: `["extras", "hidden"]`. */
export interface PlacedColumn extends AtPath {
  /** Its dtype and its shape. */
  readonly column: Column;
}

/** The columns of an item in the order that a table without a signature gives them. */
export function itemOrder({ state, action, reward, extras }: RecordColumns): PlacedColumn[] {
  const item = { action, discount: float32(), extras, nextState: state, reward, state };
  const order: PlacedColumn[] = [];
  eachLeaf(item, (value) => value instanceof Column, (path, column) => {
    order.push({ path, column: column as Column });
  });
  return order;
}

/** Makes what takes the values of one column of steps: it copies a value as the leaf of a row, checked as a replay checks it. */
export function stepColumn(
  where: string,
  { name, column }: NamedColumn,
): (value: unknown) => Tensor {
  const { dtype, shape, elementBytes, elementCount } = column;
  const buffer = new ArrayBuffer(elementBytes * elementCount);
  const staged = new StagedColumn({ name, column }, { operation: { name: where }, buffer });
  return (value) => {
    staged.write(value);
    return tensor(staged.view.slice(), { dtype, shape });
  };
}

/**
 * The columns of sampled items in the order of `wanted`: by name where the table knows the names, else by place. Throws unless they are as
 * many, with the same names.
 */
export function sampledInOrder(
  where: string,
  wanted: readonly PlacedColumn[],
  { columns, data }: SampleBatch,
): readonly SampleColumn[] {
  const found: (AtPath & { readonly sampled: SampleColumn })[] = [];
  const isColumn = (value: unknown): boolean => columns.includes(value as SampleColumn);
  eachLeaf(data, isColumn, (path, sampled) => {
    found.push({ path, sampled: sampled as SampleColumn });
  });
  const ordered = inOrderOf(wanted, found);
  if (ordered !== undefined) return ordered.map(({ sampled }) => sampled);
  throw new TypeError(
    `${where}: the table's items must have the columns ${namesOf(wanted)}; got ${namesOf(found)}`,
  );
}

function namesOf(columns: readonly AtPath[]): string {
  const isNamed = columns.some(({ path }) => typeof path[0] === "string");
  return isNamed
    ? columns.map(({ path }) => path.join(".")).join(", ")
    : `${columns.length} columns without names`;
}

/** The numbers of a column of sampled items, which must be what the column says. */
export function arrayOf(
  where: string,
  name: string,
  wanted: Column,
  size: number,
  column: SampleColumn,
): AnyColumnArray {
  const { dtype, shape } = wanted;
  const row = column.shape.slice(column.shape.length - shape.length);
  const isLike = column.dtype === dtype && row.join() === shape.join() &&
    column.data.length === size * wanted.elementCount;
  if (!isLike) {
    throw new TypeError(
      `${where}: ${name} of the table's items must be ${String(wanted)}, got ${column.dtype} of ${
        show(column.shape)
      }`,
    );
  }
  const { data } = column;
  if (dtype !== "float16") return data as AnyColumnArray;
  const bits = data as Uint16Array<ArrayBuffer>;
  return new Float16Array(bits.buffer, bits.byteOffset, bits.length);
}
