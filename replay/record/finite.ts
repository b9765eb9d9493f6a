/**
 * The option `checkFinite`: refuses NaN and infinite values.
 *
 * It looks at the values as they will be stored. So it also refuses a finite number that is infinite as a float32.
 *
 * @module
 */

import type { AnyColumnArray, DType } from "../../schema/columns.ts";

/** What {@linkcode checkFinite} looks at: values of one column, in the memory that the kernel will read. */
export interface StagedValues {
  /** The column's name in errors, such as `state`. */
  readonly name: string;
  /** The kind of element. */
  readonly dtype: DType;
  /** The values, step after step. */
  readonly view: AnyColumnArray;
  /** How many elements one step has. */
  readonly elementCount: number;
}

/** Whether a column of this dtype can hold NaN. */
export function canBeNaN(dtype: DType): boolean {
  return dtype.startsWith("float");
}

/**
 * Throws if one of the elements `from` to `to` is NaN or infinite. In a call with many steps, the error names the step: that of the
 * element plus `stepShift`.
 *
 * @throws {RangeError} When an element is not finite. The text has its column, step and place.
 */
export function checkFinite(
  operation: string,
  { name, dtype, view, elementCount }: StagedValues,
  from: number,
  to: number,
  stepShift?: number,
): void {
  // NaN and the infinities times 0 are NaN, every other number is 0. Two sums, because each addition waits for the one before.
  let [sum, other] = [0, 0];
  let k = from;
  for (; k + 1 < to; k += 2) {
    sum += (view[k] as number) * 0;
    other += (view[k + 1] as number) * 0;
  }
  if (k < to) sum += (view[k] as number) * 0;
  if (sum + other === 0) return;
  for (k = from; Number.isFinite(view[k]); k++);
  const element = k % elementCount;
  const step = stepShift === undefined
    ? ""
    : ` of step ${(k - element) / elementCount + stepShift}`;
  const place = elementCount > 1 ? `element ${element} of ${name}${step}` : `${name}${step}`;
  throw new RangeError(
    `${operation}: ${place} is ${
      view[k]
    } as ${dtype}; this replay takes only finite states, actions and rewards (checkFinite)`,
  );
}
