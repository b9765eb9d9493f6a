/**
 * Checks items before they are sent: a server of Reverb's own ends a table's work for everybody at some of these mistakes.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { numberOf } from "../base/inspect.ts";
import { type AtPath, inOrderOf, showPath, showPaths } from "./path.ts";
import { ReverbError } from "./errors.ts";
import { mapSignature, type Signature, type TensorSpec } from "./signature.ts";
import { type RowSpec, showSpec } from "./tensor.ts";

/** A leaf of a signature, and the way to it. */
export interface SignedColumn extends TensorSpec, AtPath {}

/** What a server says of its tables: undefined where a table has no signature. */
export type Signatures = ReadonlyMap<string, readonly SignedColumn[] | undefined>;

/** Whether a priority is finite and not negative. */
export function isPriority(priority: unknown): priority is number {
  return typeof priority === "number" && priority >= 0 && priority < Infinity;
}

/** Throws unless a priority is finite and not negative. */
export function checkPriority(where: string, priority: unknown): number {
  if (typeof priority !== "number") {
    throw new TypeError(`${where} must be a number, got ${show(priority)}`);
  }
  if (!isPriority(priority)) {
    throw new RangeError(`${where} must be finite and not negative, got ${priority}`);
  }
  return priority;
}

/** Throws unless the items' own priorities for the removers are some, each for a table that gets an item. */
export function checkRemoverPriorities(
  where: string,
  own: unknown,
  priorities: Readonly<Record<string, number>>,
): void {
  if (typeof own !== "object" || own === null) {
    throw new TypeError(
      `${where}: removerPriorities must be an object of priorities by table, got ${show(own)}`,
    );
  }
  for (const [table, priority] of Object.entries(own)) {
    if (!Object.hasOwn(priorities, table)) {
      throw new TypeError(
        `${where}: removerPriorities has table ${
          show(table)
        }, which gets no item; priorities need it too`,
      );
    }
    checkPriority(`${where}: the remover's priority for table ${show(table)}`, priority);
  }
}

/** Throws unless it is the name of a table. */
export function checkTable(where: string, table: unknown): string {
  if (typeof table === "string" && table !== "") return table;
  throw new TypeError(`${where} must be the name of a table, got ${show(table)}`);
}

/** The columns of a signature, in the order of an item's. */
export function flatSignature(signature: Signature): SignedColumn[] {
  const specs: SignedColumn[] = [];
  mapSignature(signature, (spec, path) => specs.push({ ...spec, path }));
  return specs;
}

/** The error of a call on a table. Where the server has no such table, it names those that there are: `ask` gives them by name. */
export async function explained(
  where: string,
  table: string,
  error: unknown,
  ask: () => Promise<object>,
): Promise<unknown> {
  if (!(error instanceof ReverbError) || error.code !== "not-found") return error;
  try {
    const known = Object.keys(await ask());
    return known.includes(table) ? error : noTable(where, table, known, error);
  } catch {
    return error;
  }
}

function noTable(
  where: string,
  table: string,
  known: Iterable<string>,
  cause?: unknown,
): ReverbError {
  const names = [...known].sort().map(show).join(", ");
  const words = `${where}: the server has no table ${show(table)}; it has ${names}`;
  return new ReverbError("not-found", words, cause === undefined ? {} : { cause });
}

/** How {@linkcode checkAgainst} looks at an item. */
export interface ItemCheck {
  /** The steps of an item whose columns come as single rows. A signature may describe these, or the whole item. */
  readonly steps?: number;
  /** Whether the writer has `configure()`. */
  readonly isConfigurable?: boolean;
  /** False where items are only put in order, and all goes. */
  readonly isChecked?: boolean;
}

/** A column of an item. */
export interface NewColumn extends AtPath {
  readonly spec: RowSpec;
}

/** What the columns of a table's items have in common. */
export interface ColumnShape extends AtPath {
  /** The dtype, and the shape of a row. */
  readonly spec: RowSpec;
  /** Whether it is one row that stands for itself. */
  readonly isSqueezed: boolean;
}

/**
 * The columns of an item in the order of the table's signature, which may have one of its own. Throws unless the server has the table, and
 * its items look like this one.
 */
export function checkAgainst<C extends NewColumn>(
  where: string,
  signatures: Signatures,
  table: string,
  columns: readonly C[],
  { steps, isConfigurable = false, isChecked = true }: ItemCheck = {},
): readonly C[] {
  if (isChecked && !signatures.has(table)) throw noTable(where, table, signatures.keys());
  const wanted = signatures.get(table);
  if (wanted === undefined) return columns;
  const ordered = inOrderOf(wanted, columns);
  if (!isChecked) return ordered ?? columns;
  if (ordered === undefined) {
    throw new TypeError(
      `${where}: items of table ${show(table)} have ${numberOf(wanted.length, "column")} (${
        showPaths(wanted)
      }), got ${columns.length} (${showPaths(columns)})`,
    );
  }
  for (const [k, spec] of wanted.entries()) {
    const got = ordered[k]?.spec;
    const { path, name, dtype, shape } = spec;
    if (got === undefined) continue;
    const hasShape = fitsShape(shape, got.shape) ||
      (steps !== undefined && fitsShape(shape, [steps, ...got.shape]));
    if (hasShape && dtype === got.dtype.name) continue;
    const column = path.some((part) => typeof part === "string") ? show(showPath(path)) : k;
    throw new TypeError(
      `${where}: column ${column}${name === undefined ? "" : ` (${name})`} of table ${
        show(table)
      } is ${dtype} of ${showShape(shape)}, got ${showSpec(got)}${
        remedy(dtype, got.dtype.name, isConfigurable)
      }`,
    );
  }
  return ordered;
}

/** How numbers get another dtype, in words; empty where they can't, or need not. */
function remedy(wanted: string, got: string, isConfigurable: boolean): string {
  const isNumber = /^(u?int\d+|float(32|64)|bool)$/;
  if (wanted === got || !isNumber.test(wanted) || !isNumber.test(got)) return "";
  const options = `{ dtype: "${wanted}" }`;
  return `; give tensor(x, ${options})${
    isConfigurable
      ? `, or call writer.configure([…], ${options}) before the first plain number`
      : ""
  }`;
}

/** A shape of a signature in words. */
export function showShape(shape: TensorSpec["shape"]): string {
  if (shape === null) return "any shape";
  return `shape [${shape.map((size) => size ?? "any").join(", ")}]`;
}

/** Whether a shape fits one whose sizes may be open. */
export function fitsShape(wanted: TensorSpec["shape"], got: readonly number[]): boolean {
  if (wanted === null) return true;
  return wanted.length === got.length &&
    wanted.every((size, k) => size === null || size === got[k]);
}
