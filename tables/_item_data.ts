/**
 * Nested data as the columns of an item: each leaf with its dtype, the shape of a row, and its rows as bytes.
 *
 * @module
 */

import { bytesOf } from "../base/typed_arrays.ts";
import {
  type AtPath,
  inOrderOf,
  samePaths,
  showPath,
  showPaths,
  type StepPath,
} from "../reverb/path.ts";
import { type ColumnShape, fitsShape, showShape, type SignedColumn } from "../reverb/check_item.ts";
import { type DTypeInfo, dtypeOfName } from "../reverb/dtypes.ts";
import { mapSignature, type Signature } from "../reverb/signature.ts";
import { flatten, type StepData, type StepNest } from "../reverb/structure.ts";
import {
  ofColumn,
  type RowSpec,
  rowSpec,
  sameShape,
  showSpec,
  specOfLeaf,
  stringsOfLeaf,
  writeLeaf,
} from "../reverb/tensor.ts";
import type { ColumnRows } from "../wire/new_rows.ts";

/** One column of one or several items, with its rows. */
export interface ColumnData extends ColumnShape, Omit<ColumnRows, "spec"> {
  /** How many rows. */
  readonly rows: number;
}

/** How the leaves of some data stand: `"step"`, each is a row; `"steps"`, each has as many rows; `"trajectory"`, each has rows of its own. */
export type Form = "step" | "steps" | "trajectory";

/** A leaf of nested data. */
interface NewLeaf extends AtPath {
  readonly leaf: unknown;
}

/** The leaves of nested data by sorted keys, each as the column that it makes. Throws unless all these tables have such columns. */
export function columnsOf(
  where: string,
  data: StepData,
  form: Form,
  tables: readonly KnownColumns[],
): ColumnData[] {
  const leaves = flatten(where, data, (path) => {
    throw new TypeError(`${showPath(path)} is missing; an item has a value in each column`);
  });
  const orders = tables.map((known) => known.inOrder(where, leaves));
  return leaves.map((one, k) => {
    // What is no plain number has a dtype of its own.
    if (typeof one.leaf === "object" || typeof one.leaf === "string") {
      return columnOf(where, one, form, undefined);
    }
    let dtype: DTypeInfo | undefined;
    for (const [at, order] of orders.entries()) {
      dtype ??= tables[at]?.dtypeOf(order[k] === one ? k : order.indexOf(one));
    }
    return columnOf(where, one, form, dtype);
  });
}

function columnOf(
  where: string,
  { path, leaf }: NewLeaf,
  form: Form,
  dtype: DTypeInfo | undefined,
): ColumnData {
  const own = specOfLeaf(path, leaf);
  const isPlain = typeof leaf !== "object" && typeof leaf !== "string";
  const whole = isPlain && dtype !== undefined ? rowSpec(dtype, []) : own;
  const isRow = form === "step" || (form === "trajectory" && whole.shape.length === 0);
  const [first] = whole.shape;
  if (!isRow && first === undefined) {
    throw new TypeError(
      `${where}: ${showPath(path)} needs a first dimension of steps, got ${showSpec(whole)}`,
    );
  }
  const spec = isRow ? whole : rowSpec(whole.dtype, whole.shape.slice(1));
  let content: Pick<ColumnData, "bytes" | "strings">;
  try {
    content = contentOf(whole, leaf);
  } catch (error) {
    throw ofColumn(`${where}: ${showPath(path)}`, error);
  }
  return {
    path,
    spec,
    rows: isRow ? 1 : first ?? 0,
    isSqueezed: form === "trajectory" && isRow,
    ...content,
  };
}

/** The elements of a leaf. Those of a typed array stay where they are. */
function contentOf(spec: RowSpec, leaf: unknown): Pick<ColumnData, "bytes" | "strings"> {
  const { array } = spec.dtype;
  if (array === undefined) return { bytes: undefined, strings: stringsOfLeaf(leaf) };
  const values = ArrayBuffer.isView(leaf)
    ? leaf
    : (leaf as { readonly data?: unknown } | null)?.data;
  if (ArrayBuffer.isView(values) && values.byteLength === spec.elements * array.BYTES_PER_ELEMENT) {
    return { bytes: bytesOf(values), strings: undefined };
  }
  const rows = new array(spec.elements);
  writeLeaf(spec, rows, 0, leaf);
  return { bytes: bytesOf(rows), strings: undefined };
}

/** Where columns stand in nested data: the number of each column in its leaf's place. */
export type ColumnNest = StepNest<number>;

/** The places of columns, by the ways to them. */
function nestOf(columns: readonly (readonly [path: StepPath, column: number])[]): ColumnNest {
  const [first] = columns;
  if (first === undefined || first[0].length === 0) return first?.[1] ?? 0;
  const nests = Object.fromEntries(
    [...new Set(columns.map(([[step = ""]]) => step))].map((step) => {
      const part = columns.filter(([path]) => path[0] === step);
      return [step, nestOf(part.map(([path, column]) => [path.slice(1), column]))] as const;
    }),
  );
  return typeof first[0][0] === "number" ? Object.assign([], nests) : nests;
}

/**
 * What the columns of a table's items must be: what its signature says, or else what the first item was that this program or its writers inserted.
 * Clients of a server may write other items.
 */
export class KnownColumns {
  readonly #signature: readonly SignedColumn[] | undefined;
  #first: readonly ColumnShape[] | undefined;
  /** The columns that a writer's last item had: another one of it often has the same. */
  #noted: readonly ColumnShape[] | undefined;
  /** Where columns stand in nested data, once it is known. */
  nest: ColumnNest | undefined;
  /** Called once the first item is known. */
  onLearned: (() => void) | undefined;

  constructor(signature: Signature | undefined) {
    if (signature === undefined) return;
    const columns: SignedColumn[] = [];
    this.nest = mapSignature(signature, (spec, path) => columns.push({ ...spec, path }) - 1);
    this.#signature = columns;
  }

  /** The dtype that plain numbers take in a column. */
  dtypeOf(column: number): DTypeInfo | undefined {
    const name = this.#signature?.[column]?.dtype;
    return name === undefined ? this.#first?.[column]?.spec.dtype : dtypeOfName(name);
  }

  /**
   * The columns of an item in the order that they have in this table: a tuple with names has an order of its own. Throws unless they are those that
   * the table has.
   */
  inOrder<C extends AtPath>(where: string, columns: readonly C[]): readonly C[] {
    const wanted = this.#signature ?? this.#first;
    if (wanted === undefined || samePaths(wanted, columns)) return columns;
    const ordered = this.#signature && inOrderOf(this.#signature, columns);
    if (ordered !== undefined) return ordered;
    throw new TypeError(
      `${where}: items of this table have the columns ${showPaths(wanted)}; got ${
        showPaths(columns)
      }`,
    );
  }

  /** Throws unless columns, in this table's order, are what they must be. `rows` is how many rows of them an item has, where that is not all. */
  check(where: string, columns: readonly ColumnData[], rows?: number): void {
    if (this.#signature === undefined) return this.#checkAlike(where, columns);
    for (const [k, column] of columns.entries()) {
      checkSigned(where, this.#signature[k], column, rows);
    }
  }

  #checkAlike(where: string, columns: readonly ColumnShape[]): void {
    for (const [k, column] of columns.entries()) checkAlike(where, this.#first?.[k], column);
  }

  /** Remembers the first item. */
  learn(columns: readonly ColumnShape[]): void {
    if (this.#first === undefined) this.#know(columns);
  }

  /** The same for an item of a writer, whose columns are not checked yet where there is no signature. Throws unless they are those of the first item. */
  note(where: string, columns: readonly ColumnShape[]): void {
    if (this.#signature !== undefined || columns === this.#noted) return;
    if (this.#first === undefined) this.#know(columns);
    else this.#checkAlike(where, this.inOrder(where, columns));
    this.#noted = columns;
  }

  #know(columns: readonly ColumnShape[]): void {
    this.#first = columns.map(({ path, spec, isSqueezed }) => ({ path, spec, isSqueezed }));
    this.nest ??= nestOf(columns.map(({ path }, column) => [path, column]));
    this.onLearned?.();
  }

  /** The columns of the first item, to be saved; undefined if there was none. */
  get first(): readonly ColumnShape[] | undefined {
    return this.#first;
  }

  /** Knows what was saved, instead of what it knew. */
  load(saved: readonly ColumnShape[] | undefined): void {
    this.forget();
    if (saved !== undefined) this.#know(saved);
  }

  /** Forgets the first item, as the table is empty. */
  forget(): void {
    this.#first = undefined;
    this.#noted = undefined;
    if (this.#signature === undefined) this.nest = undefined;
  }
}

function checkAlike(
  where: string,
  wanted: ColumnShape | undefined,
  { path, spec, isSqueezed }: ColumnShape,
): void {
  if (wanted === undefined) return;
  const isSame = wanted.spec.dtype === spec.dtype && sameShape(wanted.spec.shape, spec.shape) &&
    wanted.isSqueezed === isSqueezed;
  if (isSame) return;
  throw new TypeError(
    `${where}: ${showPath(path)} is a column of ${showSpec(wanted.spec)}${
      wanted.isSqueezed ? " without steps" : ""
    } in this table, got ${showSpec(spec)}${
      isSqueezed ? " without steps" : ""
    }; all items that you insert have the same columns`,
  );
}

function checkSigned(
  where: string,
  wanted: SignedColumn | undefined,
  { path, spec, rows, isSqueezed }: ColumnData,
  rowsOfItem: number | undefined,
): void {
  if (wanted === undefined) return;
  const shape = isSqueezed ? spec.shape : [rowsOfItem ?? rows, ...spec.shape];
  if (wanted.dtype === spec.dtype.name && fitsShape(wanted.shape, shape)) return;
  throw new TypeError(
    `${where}: the table's signature says that ${showPath(path)} is ${wanted.dtype} of ${
      showShape(wanted.shape)
    }, got ${showSpec({ dtype: spec.dtype, shape })}`,
  );
}
