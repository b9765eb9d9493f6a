/**
 * Nested data, and its leaves in the order that Reverb's Python clients give them: the values of objects by sorted keys, those of arrays
 * as they come.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { showPath, type StepPath } from "./path.ts";
import type { Tensor } from "./tensor.ts";
import { isLeaf, ofColumn } from "./tensor.ts";

/** One leaf of nested data: a value of one column. {@linkcode tensor} makes some. */
export type StepLeaf = ArrayBufferView | Tensor | number | bigint | boolean | string;

/** Nested data: a leaf, an array of nested data, or an object of it. An empty array or object has no leaf. {@linkcode SampleBatch} has some. */
export type StepNest<L> = L | readonly StepNest<L>[] | { readonly [key: string]: StepNest<L> };

/** Nested data, whose leaves may be left out by `null` or `undefined`: what {@linkcode ReverbClient.insert} takes. */
export type StepData = StepNest<StepLeaf | null | undefined>;

/** Calls back with each leaf and its path, or with that of a value that is left out by `null` or `undefined`. */
export function eachLeaf(
  data: unknown,
  isOneLeaf: (value: unknown) => boolean,
  found: (path: StepPath, leaf: unknown) => void,
  leftOut: (path: StepPath) => void = () => {},
  path: StepPath = [],
): void {
  const visit = (part: unknown, key: string | number): void =>
    eachLeaf(part, isOneLeaf, found, leftOut, [...path, key]);
  if (data === null || data === undefined) leftOut(path);
  else if (isOneLeaf(data)) found(path, data);
  else if (Array.isArray(data)) data.forEach(visit);
  else {
    checkPlain(path, data);
    const parts = data as Record<string, unknown>;
    for (const key of Object.keys(data).sort()) visit(parts[key], key);
  }
}

/** Throws for an object that is neither a leaf nor plain. */
export function checkPlain(path: StepPath, data: object): void {
  const prototype = Object.getPrototypeOf(data);
  if (prototype === null || prototype === Object.prototype) return;
  throw new TypeError(
    `${showPath(path)} must be a value, an array or a plain object, got ${show(data)}`,
  );
}

/** The leaves of some data, in order. There is at least one. */
export function flatten(
  where: string,
  data: StepData,
  leftOut?: (path: StepPath) => void,
): { readonly path: StepPath; leaf: unknown }[] {
  const leaves: { path: StepPath; leaf: unknown }[] = [];
  try {
    eachLeaf(data, isLeaf, (path, leaf) => leaves.push({ path, leaf }), leftOut);
  } catch (error) {
    throw ofColumn(where, error);
  }
  if (leaves.length === 0) throw new TypeError(`${where} needs data with at least one value`);
  return leaves;
}
