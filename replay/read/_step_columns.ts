/**
 * The columns of steps by name, for all objects that return steps: records, drained steps, minibatches and time-major steps.
 *
 * @module
 */

import { arrayText, columnsText } from "../../base/inspect.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import type { ByName } from "../../schema/record_columns.ts";
import { mapLeaves, type StateTree } from "../../schema/state.ts";
import type { OwnArrays } from "./drained.ts";

/** Makes something else of what is there for each column. `tree` is the structure of the state. */
export function eachColumn<T, U>(
  tree: StateTree,
  columns: ByName<T>,
  make: (of: T) => U,
): ByName<U> {
  const { state, action, reward, extras } = columns;
  return {
    state: mapLeaves(tree, state, make),
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
  columns: ByName<unknown>,
  shape: ByName<readonly number[]>,
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
