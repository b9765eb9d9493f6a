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
