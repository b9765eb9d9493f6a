/**
 * The memory of replays of 24-byte records, as the table in docs/memory.md. Each figure is the growth of a process of its own.
 *
 * Run it with `deno task bench:memory`.
 *
 * @module
 */

import { CAN_MEASURE, measure } from "./_measure.ts";
import type { Plan } from "./_program.ts";

if (!CAN_MEASURE) throw new Error("bench:memory reads /proc/self, so it needs Linux");

const RULES: readonly Plan["selectors"][] = [[], ["prioritized"], ["ucb"], ["rankBased"]];
const rows = ["| records | of an episode | no selector | prioritized | ucb | rank-based |"];
rows.push("|---|---|---:|---:|---:|---:|");
for (const count of [2 ** 16, 2 ** 20]) {
  for (const length of [0, 1000, 100, 10]) {
    const figures: string[] = [];
    for (const selectors of RULES) {
      const records = Math.ceil(1.1 * count);
      const plan: Plan = { capacity: count, records, length, selectors, then: ["smallBatch"] };
      const { later: [drawn] } = await measure(plan);
      figures.push(((drawn?.resident ?? NaN) / count).toFixed(1));
    }
    rows.push(
      `| 2^${Math.log2(count)} | ${length === 0 ? "it never ends" : length} | ${
        figures.join(" | ")
      } |`,
    );
  }
}
console.log(rows.join("\n"));
