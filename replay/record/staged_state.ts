/**
 * The staging of states: of one column, or of several leaves.
 *
 * @module
 */

import type { NamedColumn } from "../../schema/columns.ts";
import { type StateTree, takeApart } from "../../schema/state.ts";
import type { StagedColumn } from "./staged_column.ts";

/** The staging of a state. That of a state of one column is a {@linkcode StagedColumn}. */
export interface StagedState {
  /** Writes the values of all steps. */
  write(value: unknown): void;
  /** The values, of which there must be as many as `steps` steps take. */
  check(value: unknown, steps?: number): ArrayLike<unknown>;
  /** Writes the values of step `from` as those of step `to`, from what `check` gave. */
  writeStep(values: ArrayLike<unknown>, from: number, to: number): void;
}

/** What stages a state whose leaves are staged by these columns. `name` is that of the state in errors of the call that `operation` names. */
export function stageState(
  operation: { readonly name: string },
  name: string,
  tree: StateTree,
  leaves: readonly StagedColumn[],
): StagedState {
  const [only] = leaves;
  if (tree === 0 && only !== undefined) return only;
  const apart = (value: unknown): readonly unknown[] =>
    takeApart(`${operation.name}: ${name}`, tree, value);
  return {
    write(value): void {
      const values = apart(value);
      for (let k = 0; k < leaves.length; k++) leaves[k]?.write(values[k]);
    },
    check(value, steps): ArrayLike<unknown> {
      const values = apart(value);
      return leaves.map((leaf, k) => leaf.check(values[k], steps));
    },
    writeStep(values, from, to): void {
      for (const [k, leaf] of leaves.entries()) {
        leaf.writeStep(values[k] as ArrayLike<unknown>, from, to);
      }
    },
  };
}

/** The leaves of a state under the name of another state, such as `nextState.image`. */
export function leavesAs(name: string, leaves: readonly NamedColumn[]): readonly NamedColumn[] {
  return leaves.map((leaf) => ({
    name: `${name}${leaf.name.slice("state".length)}`,
    column: leaf.column,
  }));
}

/**
 * Where the rows of each leaf begin in `count` states, counted in bytes from where the states begin, as the kernel reads and writes them. The
 * last number is the bytes of all.
 */
export function stateOffsets(leaves: readonly NamedColumn[], count: number): readonly number[] {
  const offsets: number[] = [];
  let end = 0;
  for (const { column: { elementBytes, elementCount } } of leaves) {
    const begin = Math.ceil(end / 8) * 8;
    offsets.push(begin);
    end = begin + count * elementBytes * elementCount;
  }
  return [...offsets, end];
}
