/**
 * The section of the pages of benchmarks on our server and Reverb's.
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

/** Calls that most users make, with what the short page calls them. */
const TYPICAL: ReadonlyMap<string, string> = new Map([
  ["client.writer, 1 process", "write steps"],
  ["images 84×84×4 by client.writer", "write images"],
  ["TimestepDataset, batches of 256", "sample batches of steps"],
  ["images 84×84×4 by client.sample(256)", "sample images"],
  ["mutate_priorities, 1 key", "update 1 priority"],
  ["mutate_priorities, 256 keys", "update 256 priorities"],
  ["memory of an item of 140 bytes", "memory of a step"],
]);

/** How many times better ours is, by the best turns. */
function timesBetter({ isCost, reverb, ours }: ReverbRow): number {
  return isCost ? reverb / ours : ours / reverb;
}

/** The rows of typical calls: what each does, and how many times better ours is. */
export function typicalRows(
  { rows }: ReverbResults,
): { readonly row: ReverbRow; readonly what: string; readonly times: number }[] {
  return rows.flatMap((row) => {
    const what = TYPICAL.get(row.name);
    return what === undefined ? [] : [{ row, what, times: timesBetter(row) }];
  });
}

/** Bytes a second are easier to read as MB/s. */
function readable(value: number, unit: string): string {
  return unit === "bytes/s" ? `${digits(value / 1e6)} MB/s` : `${digits(value)} ${unit}`;
}

/** All figures as Markdown. */
export function render(text: string): string {
  const results = JSON.parse(text) as ReverbResults;
  const rows = results.rows.map((row) => [
    row.name,
    readable(row.reverb, row.unit),
    readable(row.ours, row.unit),
    `${timesBetter(row).toFixed(2)}×`,
    row.median === undefined ? "" : `${row.median.toFixed(2)}×`,
    row.floor === undefined ? "" : `${row.floor}×`,
  ]);
  return `${HEADING}

\`deno task bench:reverb --save\`, then \`deno task bench:report\`. ${originLine(results)}.

The same unmodified Python client, dm-reverb 0.14.0, writes into both servers and samples from both. The servers take turns of ${results.seconds} s in one
run, and the best of ${results.rounds} turns counts. Clients and servers share the cores. An item is one step of 140 bytes in five columns. *exrp ÷ Reverb* says how many
times better ours is, by the best turns. *Median* is the median over pairs of turns, and *target* is what ours should reach. Memory is what the server's
process grew by over ${
    results.items.toLocaleString("en-US")
  } items. The worst call is the longest one in a turn of ${results.worstSeconds} s while two
writers work, and the least of ${results.worstRounds} turns counts. The last of these rows call an idle server while another server is busy: they show the machine's own delay.

${table(["", "Reverb", "exrp", "exrp ÷ Reverb", "median", "target"], rows)}
`;
}

/** What the short page says. */
export function summarize(results: ReverbResults): string {
  const rows = typicalRows(results).map(({ row, what, times }) => [
    what,
    readable(row.reverb, row.unit),
    readable(row.ours, row.unit),
    `${times.toFixed(2)}×`,
  ]);
  return `${HEADING}

Reverb's own Python client, unchanged, talks to both servers in turns. The last column says how many times better ours is.
${originLine(results)}.

${table(["", "Reverb", "exrp", "exrp ÷ Reverb"], rows)}`;
}

const HEADING = "## Our server compared with Reverb's";
