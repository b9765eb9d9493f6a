/**
 * Fills a replay as a dataset says, which is its only argument as JSON, and prints what that takes: see `_our_memory.ts`.
 *
 * @module
 */

import type { Dataset } from "./_datasets.ts";
import type { OurMemory } from "./_our_memory.ts";
import { openOurs } from "./_ours.ts";
import { checkVectors, ContentError } from "./_records.ts";

/** Bytes of physical memory that this process has, when what is free was given back. */
function residentBytes(): number {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("needs --v8-flags=--expose-gc");
  // The second collects what the first one's finalizers let go.
  gc();
  gc();
  return Deno.memoryUsage().rss;
}

if (import.meta.main) {
  const dataset = JSON.parse(Deno.args[0] ?? "") as Dataset;
  // A small one first, as the peers do, so that what is compiled and loaded does not count.
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
