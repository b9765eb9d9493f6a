/**
 * The section of `docs/benchmarks.md` on our server beside Reverb's.
 *
 * @module
 */

import { type Origin, originLine } from "../_results.ts";
import { digits, table } from "../_section.ts";

/** One workload on both servers. */
export interface ReverbRow {
  readonly name: string;
  readonly unit: string;
  /** So many times better ours is to be; nothing where it is the machine's figure, not the servers'. */
  readonly floor?: number | undefined;
  /** Less is better. */
  readonly isCost: boolean;
  readonly reverb: number;
  readonly ours: number;
  /** The median of exrp ÷ Reverb, each turn by the one before it. */
  readonly median?: number | undefined;
}

/** What `bench:reverb` saves. */
export interface ReverbResults extends Origin {
  /** Rounds of which the best counts. */
  readonly rounds: number;
  /** Seconds of a turn. */
  readonly seconds: number;
  /** The same, of the turns for the worst calls. */
  readonly worstRounds: number;
  readonly worstSeconds: number;
  /** Items that memory was measured with. */
  readonly items: number;
  readonly rows: readonly ReverbRow[];
}

/** Bytes a second are easier to read as MB/s. */
function readable(value: number, unit: string): string {
  return unit === "bytes/s" ? `${digits(value / 1e6)} MB/s` : `${digits(value)} ${unit}`;
}

/** The section as Markdown. */
export function render(text: string): string {
  const results = JSON.parse(text) as ReverbResults;
  const rows = results.rows.map(({ name, unit, floor, isCost, reverb, ours, median }) => [
    name,
    readable(reverb, unit),
    readable(ours, unit),
    `${(isCost ? reverb / ours : ours / reverb).toFixed(2)}×`,
    median === undefined ? "" : `${median.toFixed(2)}×`,
    floor === undefined ? "" : `${floor}×`,
  ]);
  return `## Our server beside Reverb's

\`deno task bench:reverb\`, then \`deno task bench:report\`. ${originLine(results)}.

The same unmodified client of Python, dm-reverb 0.14.0, writes into both servers and samples from both. They take turns of ${results.seconds} s in one
run, and the best of ${results.rounds} turns counts. Clients and servers share the cores. An item is one step of 140 bytes in five columns. The last
columns have how many times better ours is, by the best turns and as the median over pairs of turns, and the target. Memory is what the server's process grew by over ${
    results.items.toLocaleString("en-US")
  } items. The worst call is the longest of a turn of ${results.worstSeconds} s while two writers write, and the least of ${results.worstRounds} turns counts. The
last three rows call an idle server, while the writers keep another one busy: they show the machine's own delay.

${table(["", "Reverb", "exrp", "exrp ÷ Reverb", "median", "target"], rows)}
`;
}
