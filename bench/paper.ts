/**
 * The experiment of the paper that this library follows (Chen and Wang, section 4). For k = 5 to 11 and s = 6 to 12 in half steps, each
 * of 169 cells has 2^k episodes of 2^s records. `record_100` and `get_5000` are the smallest of five runs. The report has the paper's
 * tables 1 to 3, and its curve over N as a picture. It compares this library with a replay in plain TypeScript. It also
 * measures this library with the kernel by the system's compiler, if `deno task build:cmake` made one.
 *
 * Run it: `deno task bench:paper`. `--quick` takes whole steps and two runs. `--save` keeps the results of a whole run for `deno task
 * bench:report`.
 *
 * @module
 */

import { builtLibraryPath, inRepository, isNewer, listTree } from "../tools/_repository.ts";
import { basename } from "node:path";
import { type Cell, type CellSize, counts } from "./_paper_measure.ts";
import { PaperWorker } from "./_paper_worker.ts";
import { benchOptions } from "./_options.ts";
import { origin, saveResults } from "./_results.ts";
import { type PaperResults, render, type VariantName } from "./report/paper.ts";

const { quick, save } = benchOptions("bench:paper", "The experiment of the paper over 169 sizes.", [
  "quick",
  "save",
]);
const [step, repeats, batches] = quick ? [1, 2, 20] : [0.5, 5, 50];

const cmakePath = inRepository("build", "cmake", basename(builtLibraryPath()));
const sources = await Promise.all(
  ["kernel", "selectors", "eviction"].map((from) => listTree(from, ".cpp", ".hpp", ".h", ".txt")),
);
const hasCmake = await isNewer(cmakePath, sources.flat());
if (!hasCmake) {
  console.error(
    "no kernel in build/cmake, or one older than its sources (deno task build:cmake): left out",
  );
}

const workers = new Map<VariantName, PaperWorker>([
  ["ours", new PaperWorker("ours")],
  ...(hasCmake ? [["cmake", new PaperWorker("cmake", cmakePath)] as const] : []),
  ["plain", new PaperWorker("plain")],
]);
// V8 compiles everything here, so that the first cell is measured like the others.
for (const worker of workers.values()) await worker.measure({ k: 8, s: 8 }, batches);

const sizes: CellSize[] = [];
for (let k = 5; k <= 11; k += step) {
  for (let s = 6; s <= 12; s += step) sizes.push({ k, s });
}
const cells: (CellSize & { [name in VariantName]?: Cell })[] = sizes.map((size) => ({ ...size }));

const recordsOfAll = sizes.reduce((sum, size) => {
  const { episodes, records } = counts(size);
  return sum + episodes * records;
}, 0);
const start = performance.now();
let shownAt = start;
let done = 0;
for (let repeat = 0; repeat < repeats; repeat++) {
  for (const cell of cells) {
    for (const [name, worker] of workers) {
      const found = await worker.measure(cell, batches);
      const best = cell[name] ?? found;
      cell[name] = {
        record100: Math.min(best.record100, found.record100),
        get5000: Math.min(best.get5000, found.get5000),
      };
    }
    const { episodes, records } = counts(cell);
    done += episodes * records;
    if (performance.now() - shownAt < (Deno.stderr.isTerminal() ? 300 : 10_000)) continue;
    shownAt = performance.now();
    const share = done / (recordsOfAll * repeats);
    const left = (shownAt - start) / share * (1 - share) / 1000;
    const line = `run ${repeat + 1} of ${repeats}, k = ${cell.k}, s = ${cell.s}: ${
      (100 * share).toFixed(0)
    } %, about ${left.toFixed(0)} s left`;
    console.error(line);
  }
}
for (const worker of workers.values()) await worker[Symbol.asyncDispose]();

const results: PaperResults = { ...await origin("paper"), repeats, batches, cells };
console.log(render(JSON.stringify(results)));
if (save) await saveResults(results);
