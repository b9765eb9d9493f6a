/**
 * Checks `[batch, length]` arrays for the functions of this folder.
 *
 * @module
 */

import { checkBoolean, show } from "../base/checks.ts";
import { checkHonest, isKind, kindOf, lengthOf } from "../base/typed_arrays.ts";

/** Numbers in a plain or typed array. */
type Numbers = ArrayLike<number>;

/** Throws unless `value` is an array of numbers. */
export function checkArray(where: string, name: string, value: unknown): void {
  if (Array.isArray(value)) return;
  const kind = kindOf(value);
  if (kind !== undefined && !kind.startsWith("Big")) {
    const array = value as ArrayBufferView & ArrayLike<number>;
    if (array.length !== lengthOf(array)) checkHonest(`${where}: ${name}`, array);
    return;
  }
  throw new TypeError(
    `${where}: ${name} must be a plain or typed array of numbers, got ${show(value)}`,
  );
}

/**
 * Checks `array`, which is `[batch, length]`, against the lengths of its rows. Returns the distance between the
 * beginnings of two rows; 0 for packed rows, where each row begins at the end of the row before it.
 *
 * @throws {TypeError} When `array` or `seqLen` is not an array of numbers.
 * @throws {RangeError} When `array` is not a whole number of rows, or `seqLen` has a row longer than `length`. For packed
 *   rows: when `array` does not have one number per step.
 */
export function checkRows(
  where: string,
  name: string,
  array: Numbers,
  seqLen: Numbers,
  packed: boolean | undefined,
): number {
  checkArray(where, name, array);
  checkArray(where, "seqLen", seqLen);
  if (checkBoolean(`${where}: packed`, packed ?? false)) {
    checkPacked(where, name, array, seqLen);
    return 0;
  }
  const batch = seqLen.length;
  const length = batch === 0 ? 0 : array.length / batch;
  if (!Number.isInteger(length) || batch * length !== array.length) {
    throw new RangeError(
      `${where}: ${name} must be [batch, length], but ${array.length} numbers do not make ${batch} rows, the number in seqLen${
        packedHint(array, seqLen)
      }`,
    );
  }
  for (let row = 0; row < batch; row++) {
    const steps = seqLen[row] as number;
    if (!(Number.isInteger(steps) && steps >= 0 && steps <= length)) {
      throw new RangeError(
        `${where}: seqLen[${row}] must be an integer from 0 to ${length}, got ${steps}${
          packedHint(array, seqLen)
        }`,
      );
    }
  }
  return length;
}

/** A hint for an error where the array would fit packed rows; else nothing. */
function packedHint(array: Numbers, seqLen: Numbers): string {
  let sum = 0;
  for (let row = 0; row < seqLen.length; row++) sum += seqLen[row] as number;
  return sum === array.length && sum > 0
    ? "; rows without padding, as those of drain(), need packed: true"
    : "";
}

function checkPacked(where: string, name: string, array: Numbers, seqLen: Numbers): void {
  let sum = 0;
  for (let row = 0; row < seqLen.length; row++) {
    const steps = seqLen[row] as number;
    if (!(Number.isInteger(steps) && steps >= 1)) {
      throw new RangeError(
        `${where}: seqLen[${row}] of packed rows must be an integer of at least 1, got ${steps}`,
      );
    }
    sum += steps;
  }
  if (sum === array.length) return;
  throw new RangeError(
    `${where}: ${name} must have ${sum} numbers, the sum of seqLen, because its rows are packed; got ${array.length}`,
  );
}

/** Throws unless an array has `count` numbers. */
export function checkCount(where: string, name: string, array: Numbers, count: number): void {
  checkArray(where, name, array);
  if (array.length !== count) {
    throw new RangeError(
      `${where}: ${name} must have ${count} numbers, as many as there are steps, got ${array.length}`,
    );
  }
}

/**
 * True where `nextValue` has one number per row, the value after its last step; false where it has one per step. For rows
 * of one step both are the same.
 *
 * @throws {RangeError} When `nextValue` has another number of elements.
 */
export function checkNextValue(
  where: string,
  nextValue: Numbers,
  count: number,
  batch: number,
): boolean {
  checkArray(where, "nextValue", nextValue);
  if (nextValue.length === count) return false;
  if (nextValue.length === batch) return true;
  throw new RangeError(
    `${where}: nextValue must have ${count} numbers, one per step, or ${batch}, one per row, got ${nextValue.length}`,
  );
}

/** The array for a result: `into`, which must fit, or a new one. */
export function checkInto(
  where: string,
  name: string,
  into: unknown,
  count: number,
): Float32Array<ArrayBuffer> {
  if (into === undefined) return new Float32Array(count);
  if (!isKind("Float32Array", into)) {
    checkHonest(`${where}: ${name}`, into);
    throw new TypeError(`${where}: ${name} must be a Float32Array, got ${show(into)}`);
  }
  const length = lengthOf(into);
  if (length !== count) {
    checkHonest(`${where}: ${name}`, into);
    throw new RangeError(`${where}: ${name} must have ${count} elements, got ${length}`);
  }
  return into;
}

/** Throws where two results share one array. */
export function checkApart(
  where: string,
  a: Float32Array,
  b: Float32Array,
  names: string,
): void {
  if (a === b && a.length > 0) {
    throw new TypeError(`${where}: ${names} must be two arrays, got one`);
  }
}
