/**
 * Rows of typed arrays: of drained columns, and of the caller's own arrays beside them.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { checkHonest, isNumeric, lengthOf } from "../../base/typed_arrays.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { OwnArrays } from "./drained.ts";

/** `set` of a view is faster than a loop for rows of this many elements or more. */
const SET_COUNT_MIN = 48;

/** How many elements each row of an array of `count` rows has. */
export function widthOf(array: AnyColumnArray, count: number): number {
  return count === 0 ? 0 : array.length / count;
}

/**
 * Refuses arrays that have not one row for each of `count` steps.
 *
 * @throws {TypeError} For what is no object of numeric typed arrays.
 * @throws {RangeError} For an array without a whole number of elements a step.
 */
export function checkOwn(operation: string, own: unknown, count: number): OwnArrays {
  if (typeof own !== "object" || own === null || ArrayBuffer.isView(own) || Array.isArray(own)) {
    throw new TypeError(
      `${operation}: own must be an object of typed arrays by name, got ${show(own)}`,
    );
  }
  for (const [name, array] of Object.entries(own)) {
    checkHonest(`${operation}: own.${name}`, array);
    if (!isNumeric(array)) {
      throw new TypeError(
        `${operation}: own.${name} must be a numeric typed array, got ${show(array)}`,
      );
    }
    const length = lengthOf(array);
    if (count === 0 ? length === 0 : length > 0 && length % count === 0) continue;
    throw new RangeError(
      `${operation}: own.${name} must have as many elements for each of the ${count} steps, got ${length}`,
    );
  }
  return own as OwnArrays;
}

/** A new array of the same kind for `count` rows of `width` elements. */
export function sameKind<A extends AnyColumnArray>(array: A, count: number, width: number): A {
  const make = array.constructor as new (length: number) => A;
  return new make(count * width);
}

/** Copies rows `rows[from]` to `rows[from + count - 1]` of one array to the first rows of another. */
export function gatherRows(
  source: AnyColumnArray,
  width: number,
  rows: Int32Array,
  from: number,
  count: number,
  target: AnyColumnArray,
): void {
  if (width === 1) {
    for (let k = 0; k < count; k++) target[k] = source[rows[from + k] as number] as number;
    return;
  }
  for (let k = 0; k < count; k++) {
    const row = rows[from + k] as number;
    const [at, to] = [row * width, k * width];
    if (width < SET_COUNT_MIN) {
      for (let at2 = 0; at2 < width; at2++) target[to + at2] = source[at + at2] as number;
    } else target.set(source.subarray(at, at + width), to);
  }
}
