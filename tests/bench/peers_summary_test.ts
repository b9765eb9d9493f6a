/** The short page says what the results say, above all where ours loses. */
import { assert, assertEquals } from "../_assert.ts";
import { checkPeersResults, type Note, type Row } from "../../bench/peers/_results.ts";
import { summarize } from "../../bench/peers/_summary.ts";

const titles = new Map([["uniform", "Uniform"], ["memory, uniform", "Memory"]]);

async function summaryOf(rows: readonly Row[], notes: readonly Note[] = []): Promise<string[]> {
  const sample = new URL("results/peers.json", import.meta.url);
  const results = checkPeersResults(JSON.parse(await Deno.readTextFile(sample)));
  return summarize({ ...results, quick: false, rows, notes }, titles).split("\n");
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

Deno.test("summarize() has typical calls at 2^20, or the next smaller size, with what the others take ÷ ours", async () => {
  const lines = await summaryOf([
    ...rows("uniform", 2 ** 16, "sample 256", { exrp: 1e-6, cpprb: 8e-6 }),
    ...rows("uniform", 2 ** 20, "sample 256", {
      exrp: 4e-6,
      "exrp, into": 2e-6,
      numpy: 5e-6,
      flashbax: 10e-6,
    }),
    ...rows("uniform", 2 ** 23, "sample 256", { exrp: 9e-6, cpprb: 99e-6 }),
    ...rows("prioritized", 2 ** 16, "turn 256", { exrp: 4e-6, numpy: 3.9e-6 }),
    ...rows("memory, prioritized", 2 ** 20, "bytes a record", { exrp: 100, numpy: 156 }),
  ], [
    { group: "memory, prioritized", system: "numpy", text: "Held 2^16 records only." },
    { group: "memory, prioritized", system: "cpprb", text: "Held 2^17 records only." },
    { group: "uniform", system: "flashbax", text: "It gives frames: 62 % of the bytes." },
  ]);
  assertEquals(lines.filter((line) => line.startsWith("|")), [
    "|  | exrp | exrp, reused | numpy | flashbax |",
    "|---|---:|---:|---:|---:|",
    "| sample 256 steps uniformly, N = 2^20 (flashbax: 62 % of the bytes) | 4.00 µs | **0.50×** | 1.3× | 2.5× |",
    "| sample 256 steps by priority, then update their priorities, N = 2^16 | 4.00 µs |  | **0.97×** |  |",
    "| memory of one step, prioritized, N = 2^20 (numpy: 2¹⁶ steps) | 100 bytes |  | 1.6× |  |",
  ]);
});

Deno.test("summarize() says that ours has the smallest figures only where it has", async () => {
  const lines = await summaryOf(rows("uniform", 4096, "add 1", { exrp: 1e-7, cpprb: 2e-7 }));
  assertEquals(lines.at(-1), "Ours has the smallest figure in all 1 rows that are compared.");
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
  assert(lines.some((line) => line.includes("Of all 4 rows")));
  assertEquals(lines.slice(-2), [
    "- Uniform: sample 32 at 2^12: numpy 2.00; ours 3.00, reused 1.00; **sample 256 at 2^12: cpprb 5.00, numpy 7.00; ours 8.00, reused 6.00**",
    "- Memory: **bytes a record at 2^12: cpprb 80.0; ours 100**",
  ]);
});
