/**
 * Fills a replay with the dataset in its only argument, as JSON. Prints the memory that this takes: see `_our_memory.ts`.
 *
 * @module
 */

import type { Dataset } from "./_datasets.ts";
import type { OurMemory } from "./_our_memory.ts";
import { openOurs } from "./_ours.ts";
import { checkVectors, ContentError } from "./_records.ts";

/** The physical memory of this process in bytes, after free memory was given back. */
function residentBytes(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("needs --v8-flags=--expose-gc");
  // The second call collects what the finalizers of the first one freed.
  gc();
  gc();
  return Deno.memoryUsage().rss;
}

if (import.meta.main) {
  const dataset = JSON.parse(Deno.args[0] ?? "") as Dataset;
  // A small dataset comes first, as for the peers, so that compiling and loading do not count.
  (await openOurs({ ...dataset, capacity: 2 ** 12 }))[Symbol.dispose]();
  const before = residentBytes();
  using opened = await openOurs(dataset);
  const grown = residentBytes() - before;
  let wrong = "";
  try {
    for (const batch of opened.check()) checkVectors(batch);
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    wrong = error.message;
  }
  const found: OurMemory = { grown, described: opened.bytes, wrong };
  console.log(JSON.stringify(found));
}
