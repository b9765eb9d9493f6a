/**
 * Checks items before they are sent: a server of Reverb's own ends a table's work for everybody at some of these mistakes.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { numberOf } from "../base/inspect.ts";
import { type Path, showPath } from "./_path.ts";
import { ReverbError } from "./errors.ts";
import { eachLeaf } from "./structure.ts";
import type { Signature, TensorSpec } from "./signature.ts";
import { type RowSpec, showSpec } from "./tensor.ts";

/** A leaf of a signature, and the way to it where that is known. */
export interface SignedColumn extends TensorSpec {
  readonly path?: Path;
}

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

/** Throws unless it is the name of a table. */
export function checkTable(where: string, table: unknown): string {
  if (typeof table === "string" && table !== "") return table;
  throw new TypeError(`${where} must be the name of a table, got ${show(table)}`);
}

/** True for one leaf of a signature. */
export function isSpec(value: unknown): value is TensorSpec {
  return typeof value === "object" && value !== null && "dtype" in value && "shape" in value &&
    typeof value.dtype === "string" && Array.isArray(value.shape);
}

/** The leaves of a signature, in the order of an item's columns. */
export function flatSignature(signature: Signature): SignedColumn[] {
  const specs: SignedColumn[] = [];
  eachLeaf(signature, isSpec, (path, spec) => specs.push({ ...(spec as TensorSpec), path }));
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
  /** Whether a column fits. */
  readonly fits?: (wanted: TensorSpec, got: RowSpec) => boolean;
  /** The ways to the columns, which only an error asks for. */
  readonly paths: () => readonly Path[];
  /** Whether the writer has `configure()`. */
  readonly isConfigurable?: boolean;
}

/** Throws unless the server has the table, and its items look like this one. */
export function checkAgainst(
  where: string,
  signatures: Signatures,
  table: string,
  columns: readonly RowSpec[],
  { fits = fitsWhole, paths, isConfigurable = false }: ItemCheck,
): void {
  if (!signatures.has(table)) throw noTable(where, table, signatures.keys());
  const wanted = signatures.get(table);
  if (wanted === undefined) return;
  if (wanted.length !== columns.length) {
    const needed = wanted.map(({ path }, k) => path === undefined ? String(k) : showPath(path));
    throw new TypeError(
      `${where}: items of table ${show(table)} have ${numberOf(wanted.length, "column")} (${
        needed.join(", ")
      }), got ${columns.length} (${paths().map(showPath).join(", ")})`,
    );
  }
  for (const [k, spec] of wanted.entries()) {
    const got = columns[k];
    if (got === undefined || fits(spec, got)) continue;
    const { path = [], name, dtype } = spec;
    const column = path.some((part) => typeof part === "string") ? show(showPath(path)) : k;
    throw new TypeError(
      `${where}: column ${column}${name === undefined ? "" : ` (${name})`} of table ${
        show(table)
      } is ${dtype} of shape [${spec.shape.map((size) => size ?? "any")}], got ${showSpec(got)}${
        remedy(dtype, got.dtype.name, isConfigurable)
      }`,
    );
  }
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

/** Whether a column fits its signature. */
export function fitsWhole(wanted: TensorSpec, got: RowSpec): boolean {
  return wanted.dtype === got.dtype.name && fitsShape(wanted.shape, got.shape);
}

/** Whether a shape fits one whose sizes may be open. */
export function fitsShape(wanted: TensorSpec["shape"], got: readonly number[]): boolean {
  return wanted.length === got.length &&
    wanted.every((size, k) => size === null || size === got[k]);
}
