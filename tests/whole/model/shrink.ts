/**
 * Makes a failing program short: takes operations away, many at first and then single ones, as long as it still fails.
 *
 * @module
 */

import type { Program } from "./program.ts";

/** The shortest program found for which `fails` is still true. */
export async function shrink(
  program: Program,
  fails: (program: Program) => Promise<boolean>,
  triesMax = 3000,
): Promise<Program> {
  let tries = 0;
  let shortest = program;
  let size = Math.max(1, Math.floor(program.operations.length / 2));
  while (tries < triesMax) {
    let removed = false;
    for (
      let first = 0;
      first < shortest.operations.length && tries < triesMax;
      tries++
    ) {
      const operations = shortest.operations.toSpliced(first, size);
      if (await fails({ ...shortest, operations })) {
        shortest = { ...shortest, operations };
        removed = true;
      } else first += size;
    }
    if (size > 1) size = Math.floor(size / 2);
    else if (!removed) break;
  }
  return shortest;
}
