/**
 * The columns of steps by name, for all objects that return steps: records, drained steps, minibatches and time-major steps.
 *
 * @module
 */

import { arrayText, columnsText } from "../../base/inspect.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import type { OwnArrays } from "./drained.ts";

/** Something for each column: its array, or its shape. */
export interface StepColumns<T> {
  /** That of the state. */
  readonly state: T;
  /** That of the action. */
  readonly action: T;
  /** That of the reward. */
  readonly reward: T;
  /** That of each extra, by name. */
  readonly extras: Readonly<Record<string, T>>;
}

/** Names what a list has for each column: for the state, the action, the reward, and then the extras. */
export function nameColumns<T>(extraNames: readonly string[], list: readonly T[]): StepColumns<T> {
  const [state, action, reward, ...others] = list as readonly [T, T, T, ...T[]];
  const extras = Object.fromEntries(extraNames.map((name, k) => [name, others[k] as T]));
  return { state, action, reward, extras };
}

/** Makes something else of what is there for each column. */
export function eachColumn<T, U>(columns: StepColumns<T>, make: (of: T) => U): StepColumns<U> {
  const { state, action, reward, extras } = columns;
  return {
    state: make(state),
    action: make(action),
    reward: make(reward),
    extras: eachOf(extras, make),
  };
}

/** Makes something else of each value of an object. */
export function eachOf<T, U>(
  values: Readonly<Record<string, T>>,
  make: (of: T) => U,
): Readonly<Record<string, U>> {
  return Object.freeze(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, make(value)])),
  );
}

/**
 * Steps as one line: their columns, and the caller's own arrays. `rows` is the shape of one number a step, such as `[T, N]`; each
 * column has the shape that `shape` says.
 */
export function stepsText(
  columns: StepColumns<unknown>,
  shape: StepColumns<readonly number[]>,
  rows: readonly number[],
  own: OwnArrays = {},
): string {
  const count = rows.reduce((product, length) => product * length, 1);
  const parts = Object.entries(own).map(([name, array]) => {
    const width = count === 0 ? 1 : lengthOf(array) / count;
    return `${name}: ${arrayText(array, width === 1 ? rows : [...rows, width])}`;
  });
  const text = columnsText(columns, shape);
  return parts.length === 0 ? text : `${text} own { ${parts.join(", ")} }`;
}
