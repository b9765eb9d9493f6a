/**
 * Names of options: refuses an option that does not exist, and finds the one that it was meant to be.
 *
 * @module
 */

import { show } from "./checks.ts";

/** What to write instead of an option that does not exist, by its name. It is for names that other libraries have. */
export type OptionHints = Readonly<Partial<Record<string, string>>>;

/**
 * Throws unless `options` is a plain object whose keys are all known. `hints` says what to write instead of some unknown ones.
 *
 * @throws {TypeError} When `options` is not an object, or has a key that is not in `known`.
 */
export function checkOptions(
  where: string,
  options: unknown,
  known: readonly string[],
  hints: OptionHints = {},
): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${where} takes an object of options, got ${show(options)}`);
  }
  for (const key in options) {
    if (!known.includes(key)) throw unknownOption(where, key, known, hints);
  }
}

/** The error for an option that does not exist, or for another thing with a name. The library never ignores an option. */
export function unknownOption(
  where: string,
  key: string,
  known: readonly string[],
  hints: OptionHints = {},
  what = "option",
): TypeError {
  const advice = Object.hasOwn(hints, key) ? hints[key] : undefined;
  const nearest = nearestName(key, known);
  let hint = nearest === undefined ? "; it" : `; did you mean ${nearest}? It`;
  if (advice !== undefined) hint = `: ${advice}. It`;
  return new TypeError(
    `${where} has no ${what} ${JSON.stringify(key)}${hint} has ${
      known.length > 0 ? known.join(", ") : "none"
    }`,
  );
}

/**
 * The name nearest to a misspelt one, or undefined where none is near: at most two letters in five may be wrong. An extra letter, a
 * missing letter, a wrong letter and two swapped letters count as one mistake each. Upper and lower case are the same.
 *
 * Cost: O(product of both lengths) per name, paid only in errors.
 */
export function nearestName(misspelt: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let fewest = Infinity;
  for (const name of names) {
    const most = 0.4 * Math.max(misspelt.length, name.length);
    if (Math.abs(misspelt.length - name.length) > most) continue;
    const mistakes = countMistakes(misspelt.toLowerCase(), name.toLowerCase());
    if (mistakes >= fewest || mistakes > most) continue;
    [nearest, fewest] = [name, mistakes];
  }
  return nearest;
}

/** The distance of Damerau and Levenshtein in which no letter changes twice. */
function countMistakes(from: string, to: string): number {
  const known: number[] = [];
  const count = (i: number, j: number): number => {
    if (i === 0 || j === 0) return i + j;
    const isSame = from[i - 1] === to[j - 1];
    const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
    return known[i * (to.length + 1) + j] ??= Math.min(
      count(i - 1, j) + 1,
      count(i, j - 1) + 1,
      count(i - 1, j - 1) + (isSame ? 0 : 1),
      isSwapped ? count(i - 2, j - 2) + 1 : Infinity,
    );
  };
  return count(from.length, to.length);
}
