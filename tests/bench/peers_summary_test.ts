/** The first lines of the page say what the results say, those in which ours loses above all. */
import { assert, assertEquals } from "@std/assert";
import { checkPeersResults, type Row } from "../../bench/peers/_results.ts";
import { summarize } from "../../bench/peers/_summary.ts";

const titles = new Map([["uniform", "Uniform"], ["memory, uniform", "Memory"]]);

async function summaryOf(rows: readonly Row[]): Promise<string[]> {
  const sample = new URL("results/peers.json", import.meta.url);
  const results = checkPeersResults(JSON.parse(await Deno.readTextFile(sample)));
  return summarize({ ...results, quick: false, rows }, titles).split("\n");
}

function rows(
  group: string,
  capacity: number,
  call: string,
  values: Record<string, number>,
): Row[] {
  return Object.entries(values).map(([system, value]) => ({
    group,
    capacity,
    call,
    system,
    value,
  }));
}

Deno.test("summarize() has typical calls at 2^20, or the next smaller size, beside the fastest library", async () => {
  const lines = await summaryOf([
    ...rows("uniform", 2 ** 16, "sample 256", { exrp: 1e-6, cpprb: 8e-6 }),
    ...rows("uniform", 2 ** 20, "sample 256", {
      exrp: 4e-6,
      "exrp, into": 2e-6,
      numpy: 5e-6,
      cpprb: 12e-6,
      flashbax: 10e-6,
    }),
    ...rows("uniform", 2 ** 23, "sample 256", { exrp: 9e-6, cpprb: 99e-6 }),
    ...rows("prioritized", 2 ** 16, "turn 256", { exrp: 4e-6, numpy: 6e-6 }),
  ]);
  assertEquals(lines.slice(4, 6), [
    "| a uniform batch of 256, N = 2^20 | 4.00 | 2.00 | 10.0 flashbax | 2.5× | 5.0× |",
    "| a learner's turn: a prioritized batch of 256, and its priorities set, N = 2^16 | 4.00 |  |  |  |  |",
  ]);
  assertEquals(lines.at(-1), "Ours has the smallest figure in all 4 rows that are compared.");
});

Deno.test("summarize() names every row in which another system takes less", async () => {
  const lines = await summaryOf([
    ...rows("uniform", 4096, "sample 32", { exrp: 3e-6, "exrp, into": 1e-6, numpy: 2e-6 }),
    ...rows("uniform", 4096, "sample 256", {
      exrp: 8e-6,
      "exrp, into": 6e-6,
      numpy: 7e-6,
      cpprb: 5e-6,
      flashbax: 9e-6,
    }),
    ...rows("uniform", 4096, "add 1", { exrp: 1e-7, cpprb: 2e-7 }),
    ...rows("memory, uniform", 4096, "bytes a record", { exrp: 100, cpprb: 80 }),
  ]);
  assert(lines.some((line) => line.includes("results have 4 rows in all")));
  assertEquals(lines.slice(-2), [
    "- Uniform: sample 32 at 2^12: numpy 2.00; ours 3.00, reused 1.00; **sample 256 at 2^12: cpprb 5.00, numpy 7.00; ours 8.00, reused 6.00**",
    "- Memory: **bytes a record at 2^12: cpprb 80.0; ours 100**",
  ]);
});
