/**
 * Checks `[batch, length]` arrays for the functions of this folder.
 *
 * @module
 */

import { checkBoolean, checkNumbers, show } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { checkHonest, isKind, lengthOf } from "../base/typed_arrays.ts";
import type { StepOptions } from "./step_options.ts";

/** Numbers in a plain or typed array. */
type Numbers = ArrayLike<number>;

/** Rows of steps. */
export interface Rows {
  /** How many rows there are. */
  readonly batch: number;
  /** How many numbers an array has that has one for each step. */
  readonly count: number;
  /** Where each row begins. */
  readonly firsts: Int32Array;
}

/**
 * Checks options of which `steps` are arrays with a number for each step. `others` are those that the function has beside these, `seqLen`,
 * `packed` and `into`.
 */
export function checkSteps<O extends StepOptions>(
  where: string,
  options: O,
  steps: readonly (keyof O & string)[],
  others: readonly string[],
): Rows {
  checkOptions(where, options, [...steps, ...others, "seqLen", "packed", "into"]);
  const [first = "", ...rest] = steps;
  const array = options[first as keyof O] as Numbers;
  const rows = checkRows(where, first, array, options.seqLen, options.packed);
  for (const name of rest) checkCount(where, name, options[name], rows.count);
  return rows;
}

/**
 * Checks `array`, which is `[batch, length]`, against the lengths of its rows.
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
  packed = false,
): Rows {
  checkNumbers(where, name, array);
  checkNumbers(where, "seqLen", seqLen);
  const [batch, count] = [seqLen.length, array.length];
  if (checkBoolean(`${where}: packed`, packed)) {
    return { batch, count, firsts: checkPacked(where, name, array, seqLen) };
  }
  const length = batch === 0 ? 0 : count / batch;
  if (!Number.isInteger(length) || batch * length !== count) {
    throw new RangeError(
      `${where}: ${name} must be [batch, length], but ${count} numbers do not make ${batch} rows, the number in seqLen${
        packedHint(array, seqLen)
      }`,
    );
  }
  const firsts = new Int32Array(batch);
  for (let row = 0; row < batch; row++) {
    firsts[row] = row * length;
    const steps = seqLen[row] as number;
    if (!(Number.isInteger(steps) && steps >= 0 && steps <= length)) {
      throw new RangeError(
        `${where}: seqLen[${row}] must be an integer from 0 to ${length}, got ${steps}${
          packedHint(array, seqLen)
        }`,
      );
    }
  }
  return { batch, count, firsts };
}

/** Zeros in results, from the end of each row to the beginning of the next one. */
export function clearPadding(
  { firsts, batch, count }: Rows,
  seqLen: Numbers,
  ...results: readonly Float32Array[]
): void {
  for (let row = 0; row < batch; row++) {
    const end = (firsts[row] as number) + (seqLen[row] as number);
    const next = firsts[row + 1] ?? count;
    if (end < next) { for (const result of results) result.fill(0, end, next); }
  }
}

/** A hint for an error where the array would fit packed rows; else nothing. */
function packedHint(array: Numbers, seqLen: Numbers): string {
  let sum = 0;
  for (let row = 0; row < seqLen.length; row++) sum += seqLen[row] as number;
  return sum === array.length && sum > 0
    ? "; rows without padding, as those of drain(), need packed: true"
    : "";
}

function checkPacked(where: string, name: string, array: Numbers, seqLen: Numbers): Int32Array {
  const firsts = new Int32Array(seqLen.length);
  let sum = 0;
  for (let row = 0; row < seqLen.length; row++) {
    const steps = seqLen[row] as number;
    if (!(Number.isInteger(steps) && steps >= 1)) {
      throw new RangeError(
        `${where}: seqLen[${row}] of packed rows must be an integer of at least 1, got ${steps}`,
      );
    }
    firsts[row] = sum;
    sum += steps;
  }
  if (sum === array.length) return firsts;
  throw new RangeError(
    `${where}: ${name} must have ${sum} numbers, the sum of seqLen, because its rows are packed; got ${array.length}`,
  );
}

/** Throws unless `array` has a number for each step. */
export function checkCount(where: string, name: string, array: unknown, count: number): void {
  const { length } = checkNumbers(where, name, array);
  if (length === count) return;
  throw new RangeError(
    `${where}: ${name} must have ${count} numbers, as many as there are steps, got ${length}`,
  );
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
  checkNumbers(where, "nextValue", nextValue);
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

/** The arrays for several results: those of `into`, which must be different ones, or new ones. */
export function checkResults<N extends string>(
  where: string,
  into: Readonly<Record<N, unknown>> | undefined,
  names: readonly N[],
  count: number,
): Record<N, Float32Array<ArrayBuffer>> {
  if (into !== undefined) checkOptions(`${where}: into`, into, names);
  const results = {} as Record<N, Float32Array<ArrayBuffer>>;
  for (const [k, name] of names.entries()) {
    results[name] = checkInto(where, `into.${name}`, into?.[name], count);
    const same = names.slice(0, k).find((other) => results[other] === results[name]);
    if (same === undefined || count === 0) continue;
    throw new TypeError(`${where}: into.${same} and into.${name} must be two arrays, got one`);
  }
  return results;
}
