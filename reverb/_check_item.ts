/**
 * Checks items before they are sent: a server of Reverb's own ends a table's work for everybody at some of these mistakes.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { ReverbError } from "./errors.ts";
import { eachLeaf } from "./structure.ts";
import type { Signature, TensorSpec } from "./signature.ts";
import { type RowSpec, showSpec } from "./tensor.ts";

/** What a server says of its tables: undefined where a table has no signature. */
export type Signatures = ReadonlyMap<string, readonly TensorSpec[] | undefined>;

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

/** Throws unless an item's own priority for the remover is one, or is left out. */
export function checkRemoverPriority(where: string, priority: unknown): void {
  if (priority !== undefined) checkPriority(`${where}: removerPriority`, priority);
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

/** True for one leaf of a signature. */
export function isSpec(value: unknown): value is TensorSpec {
  return typeof value === "object" && value !== null && "dtype" in value && "shape" in value &&
    typeof value.dtype === "string" && Array.isArray(value.shape);
}

/** The leaves of a signature, in the order of an item's columns. */
export function flatSignature(signature: Signature): TensorSpec[] {
  const specs: TensorSpec[] = [];
  eachLeaf(signature, isSpec, (_, spec) => specs.push(spec as TensorSpec));
  return specs;
}

/** Throws unless the server has the table, and its items look like this one. */
export function checkAgainst(
  where: string,
  signatures: Signatures,
  table: string,
  columns: readonly RowSpec[],
  fits: (wanted: TensorSpec, got: RowSpec) => boolean = fitsWhole,
): void {
  if (!signatures.has(table)) {
    const names = [...signatures.keys()].sort().map(show).join(", ");
    throw new ReverbError(
      "not-found",
      `${where}: the server has no table ${show(table)}; it has ${names}`,
    );
  }
  const wanted = signatures.get(table);
  if (wanted === undefined) return;
  if (wanted.length !== columns.length) {
    throw new TypeError(
      `${where}: items of table ${
        show(table)
      } have ${wanted.length} columns, got ${columns.length}: ${columns.map(showSpec).join("; ")}`,
    );
  }
  for (const [k, spec] of wanted.entries()) {
    const got = columns[k];
    if (got === undefined || fits(spec, got)) continue;
    const name = spec.name === undefined ? "" : ` (${spec.name})`;
    throw new TypeError(
      `${where}: column ${k}${name} of table ${show(table)} is ${spec.dtype} of shape [${
        spec.shape.map((size) => size ?? "any")
      }], got ${showSpec(got)}`,
    );
  }
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
