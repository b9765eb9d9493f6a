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

/** The error for an option that does not exist. The library never ignores an option. */
export function unknownOption(
  where: string,
  key: string,
  known: readonly string[],
  hints: OptionHints = {},
): TypeError {
  const advice = Object.hasOwn(hints, key) ? hints[key] : undefined;
  const nearest = nearestName(key, known);
  let hint = nearest === undefined ? "; it" : `; did you mean ${nearest}? It`;
  if (advice !== undefined) hint = `: ${advice}. It`;
  return new TypeError(
    `${where} has no option ${JSON.stringify(key)}${hint} has ${
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
    const mistakes = countMistakes(misspelt.toLowerCase(), name.toLowerCase());
    if (mistakes >= fewest || mistakes > 0.4 * Math.max(misspelt.length, name.length)) continue;
    [nearest, fewest] = [name, mistakes];
  }
  return nearest;
}

/** The distance of Damerau and Levenshtein in which no letter changes twice. */
function countMistakes(from: string, to: string): number {
  let twoBack: number[] = [];
  let back = Array.from({ length: to.length + 1 }, (_, k) => k);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      let least = Math.min(
        (back[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (back[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (isSwapped) least = Math.min(least, (twoBack[j - 2] ?? 0) + 1);
      row.push(least);
    }
    [twoBack, back] = [back, row];
  }
  return back[to.length] ?? 0;
}
