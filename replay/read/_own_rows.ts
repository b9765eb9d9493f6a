/**
 * Rows of typed arrays: of drained columns, and of the caller's own arrays beside them.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { checkHonest, isNumeric, lengthOf } from "../../base/typed_arrays.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import type { OwnArrays } from "./drained.ts";

/** `set` of a view is faster than a loop for this many elements or more. */
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

/** A new array of the same kind. */
export function sameKind<A extends AnyColumnArray>(array: A, length: number): A {
  const make = array.constructor as new (length: number) => A;
  return new make(length);
}

/** Copies elements between arrays of one kind. It copies few elements without making a view. */
export function copy(
  from: AnyColumnArray,
  first: number,
  to: AnyColumnArray,
  at: number,
  count: number,
): void {
  if (count >= SET_COUNT_MIN) to.set(from.subarray(first, first + count), at);
  else for (let k = 0; k < count; k++) to[at + k] = from[first + k] as number;
}

/** Copies rows of `width` elements, or of each only the `count` elements from `first` on, to `target`, one after the other. */
export function gatherRows<A extends AnyColumnArray>(
  source: AnyColumnArray,
  width: number,
  rows: Int32Array,
  target: A,
  first = 0,
  count = width,
): A {
  const { length } = rows;
  if (width === 1) {
    for (let k = 0; k < length; k++) target[k] = source[rows[k] as number] as number;
  } else {
    for (let k = 0; k < length; k++) {
      copy(source, (rows[k] as number) * width + first, target, k * count, count);
    }
  }
  return target;
}
