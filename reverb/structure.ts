/**
 * Nested data, and its leaves in the order that Reverb's Python clients give them: the values of objects by sorted keys, those of arrays
 * as they come.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { showPath, type StepPath } from "./path.ts";
import type { Tensor } from "./tensor.ts";
import { isLeaf } from "./tensor.ts";

/** One leaf of nested data: a value of one column. {@linkcode tensor} makes some. */
export type StepLeaf = ArrayBufferView | Tensor | number | bigint | boolean | string;

/** Nested data: a leaf, an array of nested data, or an object of it. An empty array or object has no leaf. {@linkcode SampleBatch} has some. */
export type StepNest<L> = L | readonly StepNest<L>[] | { readonly [key: string]: StepNest<L> };

/** Nested data, whose leaves may be left out by `null` or `undefined`: what {@linkcode ReverbClient.insert} takes. */
export type StepData = StepNest<StepLeaf | null | undefined>;

/** Calls back with each leaf and its path. Values that are `null` or `undefined` are left out. */
export function eachLeaf(
  data: unknown,
  isOneLeaf: (value: unknown) => boolean,
  found: (path: StepPath, leaf: unknown) => void,
  path: StepPath = [],
): void {
  if (data === null || data === undefined) return;
  if (isOneLeaf(data)) found(path, data);
  else if (Array.isArray(data)) {
    for (const [k, one] of data.entries()) eachLeaf(one, isOneLeaf, found, [...path, k]);
  } else {
    checkPlain(path, data);
    for (const key of Object.keys(data).sort()) {
      eachLeaf((data as Record<string, unknown>)[key], isOneLeaf, found, [...path, key]);
    }
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

/** The leaves of one step, in order. None may be left out. */
export function flatten(
  where: string,
  data: StepData,
): { readonly path: StepPath; leaf: unknown }[] {
  const leaves: { path: StepPath; leaf: unknown }[] = [];
  eachLeaf(data, isLeaf, (path, leaf) => leaves.push({ path, leaf }));
  if (leaves.length === 0) throw new TypeError(`${where} needs data with at least one value`);
  return leaves;
}
