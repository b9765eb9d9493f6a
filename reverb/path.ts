/**
 * The way to a leaf of nested data.
 *
 * @module
 */

/** The way to a leaf: names of objects' keys, and positions in arrays. {@linkcode TrajectoryWriter.configure} takes one. */
export type StepPath = readonly (string | number)[];

/** A path in words. */
export function showPath(path: StepPath): string {
  return path.length === 0 ? "the data" : path.join("/");
}

/** What stands at the end of a path. */
export interface AtPath {
  readonly path: StepPath;
}

/** Whether two paths are the same. A position may come as a text. */
export function samePath(a: StepPath, b: StepPath): boolean {
  return a.length === b.length &&
    a.every((step, k) => step === b[k] || String(step) === String(b[k]));
}

/** Whether both have the same paths, in the same order. */
export function samePaths(a: readonly AtPath[], b: readonly AtPath[]): boolean {
  return a.length === b.length && a.every(({ path }, k) => samePath(path, b[k]?.path ?? []));
}

/**
 * What is given, in the order of `wanted`: by the same paths, or else by place where one of the two has no names at all. Undefined if it does
 * not fit.
 */
export function inOrderOf<T extends AtPath>(
  wanted: readonly AtPath[],
  given: readonly T[],
): readonly T[] | undefined {
  if (wanted.length !== given.length) return undefined;
  if (samePaths(wanted, given) || !hasNames(wanted) || !hasNames(given)) return given;
  const byPath = new Map(given.map((one) => [keyOf(one), one]));
  const found = wanted.map((one) => byPath.get(keyOf(one)));
  return found.every((one) => one !== undefined) ? found : undefined;
}

function hasNames(all: readonly AtPath[]): boolean {
  return all.some(({ path }) => path.some((step) => typeof step === "string"));
}

function keyOf({ path }: AtPath): string {
  return JSON.stringify(path.map(String));
}

/** Paths in words. */
export function showPaths(all: readonly AtPath[]): string {
  return all.map(({ path }) => showPath(path)).join(", ");
}
