/**
 * The way to a leaf of nested data.
 *
 * @module
 */

/** The way to a leaf: names of objects' keys, and positions in arrays. {@linkcode TrajectoryWriter.configure} takes one. */
export type Path = readonly (string | number)[];

/** A path in words. */
export function showPath(path: Path): string {
  return path.length === 0 ? "the data" : path.join("/");
}

/** What stands at the end of a path. */
export interface AtPath {
  readonly path: Path;
}

/** Whether two paths are the same. A position may come as a text. */
export function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((step, k) => String(step) === String(b[k]));
}

/** Whether both have the same paths, in the same order. */
export function samePaths(a: readonly AtPath[], b: readonly AtPath[]): boolean {
  return a.length === b.length && a.every(({ path }, k) => samePath(path, b[k]?.path ?? []));
}

/** The same in the order of `wanted`, if they have the same paths in another order; else as they are. */
export function inOrderOf<T extends AtPath>(
  wanted: readonly AtPath[],
  given: readonly T[],
): readonly T[] {
  if (wanted.length !== given.length || samePaths(wanted, given)) return given;
  const found = wanted.map(({ path }) => given.find((one) => samePath(one.path, path)));
  return found.every((one) => one !== undefined) ? found : given;
}

/** Paths in words. */
export function showPaths(all: readonly AtPath[]): string {
  return all.map(({ path }) => showPath(path)).join(", ");
}
