/**
 * What flows between a file and a replay: the columns, and pieces of episodes.
 *
 * @module
 */

import type { Column, Columns } from "../schema/columns.ts";
import { checkColumns, type NamedColumns } from "../schema/record_columns.ts";
import { leafPaths, type StateColumns, type StateTree } from "../schema/state.ts";
import { dataError, type Values } from "./_values.ts";

/** Consecutive steps of one episode. */
export interface Piece {
  /** How many. It may be 0 where only the end comes. */
  readonly count: number;
  /** `[count, ...shape]` of each column: the leaves of the state, the action, the reward, the extras. */
  readonly columns: readonly Values[];
  /** How the episode ended with these steps; undefined where it goes on. */
  readonly end:
    | { readonly finalState: readonly Values[]; readonly isTruncated: boolean }
    | undefined;
  /** The tag of the episode; undefined where the file has none. */
  readonly tag: number | undefined;
}

/** Episodes that are read from a file. */
export interface Source {
  /** The columns of a step. */
  readonly named: NamedColumns;
  /** How many steps there are at most; undefined where only reading all would tell. */
  readonly stepCount: number | undefined;
  /** How many episodes there are; undefined where only reading all would tell. */
  readonly episodeCount: number | undefined;
  /** What of the file is left out, in sentences. */
  readonly notes: readonly string[];
  /** The steps, episode by episode. */
  pieces(): AsyncGenerator<Piece>;
  /** Closes the file. */
  close(): Promise<void>;
}

/** How a reader takes what is not clear. */
export interface Reading {
  /** Whether an episode that just stops counts as truncated. Else it is an error. */
  readonly truncatesUnfinished: boolean;
}

/** A column of a file for a part of the state: the way to the part, and its column. */
export interface Leaf {
  readonly path: readonly string[];
  readonly column: Column;
}

/** The name of a place in a list, in files that have names only. Minari has it so. */
const PLACE = /^_index_(\d+)$/;

/** The columns of a state from its leaves. Parts that are called `_index_0`, `_index_1` and so on are a list. */
export function stateOf(leaves: readonly Leaf[]): StateColumns {
  const [first] = leaves;
  if (first === undefined) throw dataError("there is no observation");
  if (leaves.length === 1 && first.path.length === 0) return first.column;
  const parts = new Map<string, Leaf[]>();
  for (const { path: [name, ...path], column } of leaves) {
    if (name === undefined) throw dataError("an observation is both an array and a group");
    parts.set(name, [...parts.get(name) ?? [], { path, column }]);
  }
  const names = [...parts.keys()];
  const isList = names.every((_, k) => parts.has(`_index_${k}`));
  const part = (name: string): StateColumns => stateOf(parts.get(name) ?? []);
  if (isList) return names.map((_, k) => part(`_index_${k}`));
  return Object.fromEntries(names.map((name) => [name, part(name)]));
}

/** The names on the way to each leaf, as files have them. */
export function fileNames(tree: StateTree): readonly (readonly string[])[] {
  return leafPaths(tree).map((path) =>
    path.map((part) => typeof part === "number" ? `_index_${part}` : part)
  );
}

/** Columns with names, from what a file has. */
export function nameColumns(
  leaves: readonly Leaf[],
  action: Column,
  reward: Column,
  extras: Columns,
): NamedColumns {
  return checkColumns("the file", { state: stateOf(leaves), action, reward, extras });
}

/** A name of a leaf that does not depend on how it is written. */
function keyOf(path: readonly string[]): string {
  return path.map((part) => part.replace(PLACE, "$1")).join("\0");
}

/**
 * Which column of the source each column of the replay gets. A state of one column takes the only leaf of the source, whatever its name is.
 *
 * @throws {ReplayError} `data-set` for a column that the source lacks, or that has another shape there.
 */
export function matchColumns(
  source: NamedColumns,
  target: NamedColumns,
): { readonly order: readonly number[]; readonly notes: readonly string[] } {
  const [has, wants] = [fileNames(source.tree), fileNames(target.tree)].map((paths) =>
    paths.map(keyOf)
  );
  const leafCount = source.leaves.length;
  const isOne = leafCount === 1 && target.leaves.length === 1;
  const leaves = (wants ?? []).map((key) => isOne ? 0 : (has ?? []).indexOf(key));
  const left = source.leaves.filter((_, k) => !leaves.includes(k)).map(({ name }) => name);
  const extras = target.extraNames.map((name) => {
    const at = source.extraNames.indexOf(name);
    return at < 0 ? -1 : leafCount + 2 + at;
  });
  const order = [...leaves, leafCount, leafCount + 1, ...extras];
  for (const [k, { name, column }] of target.columns.entries()) {
    const found = source.columns[order[k] ?? -1];
    if (found === undefined) {
      throw dataError(
        `the replay has ${name}, and the file has not; it has ${
          source.columns.map((each) => `${each.name} ${each.column}`).join(", ")
        }`,
      );
    }
    if (found.column.elementCount === column.elementCount) continue;
    throw dataError(`${name} is ${column} in the replay and ${found.column} in the file`);
  }
  for (const name of source.extraNames) {
    if (!target.extraNames.includes(name)) left.push(`extras.${name}`);
  }
  const notes = left.length === 0
    ? []
    : [`The replay has no column for ${left.join(", ")}, so it was left out.`];
  return { order, notes };
}
