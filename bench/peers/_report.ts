/**
 * The section of `docs/benchmarks.md` that shows our library beside its peers.
 *
 * @module
 */

import { dotChart, lineChart, type Point } from "../_charts.ts";
import { digits, factor, type Rendered, type Section, table } from "../_section.ts";
import { BY_HAND, OURS, power } from "./_names.ts";
import { checkPeersResults, MEMORY_CALL, type PeersResults, type Row } from "./_results.ts";
import { summarize } from "./_summary.ts";

interface Group {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly chart: "size" | "count" | "dots" | "none";
}

const RECORD = "15 float32 of obs, 3 of action, reward, next obs, done";

const GROUPS: readonly Group[] = [
  {
    id: "uniform",
    title: "Uniform",
    text:
      `Records of ${RECORD}: 140 bytes, of which ours keeps 76, as next obs are the obs of the next record.`,
    chart: "size",
  },
  {
    id: "prioritized",
    title: "Prioritized",
    text:
      "The same records, α = 0.6, β = 0.4. *update* sets priorities of records all over the buffer; *turn* is a learner's turn: a batch is drawn, then the priorities of what was drawn are set.",
    chart: "size",
  },
  {
    id: "sequences",
    title: "Sequences: the paper's get_5000",
    text:
      "5000 sequences of 8 records. After a write, what a system keeps of the last draw may be of no use.",
    chart: "dots",
  },
  {
    id: "prioritized sequences",
    title: "Prioritized sequences",
    text:
      "5000 sequences of 8 records, drawn by priorities of their first records where not said otherwise. *turn*: a batch is drawn, then the priorities of what was drawn are set.",
    chart: "dots",
  },
  {
    id: "images",
    title: "Images",
    text: "Stacks and next stacks of four frames of 84 × 84 bytes.",
    chart: "dots",
  },
  {
    id: "seed 003, uniform",
    title: "The benchmark of cpprb's author, uniform",
    text:
      "As in the comparison of cpprb with Reverb that he published: 4096 records; n records, given as float64, added at once, batches of 2 to 256.",
    chart: "count",
  },
  {
    id: "seed 003, prioritized",
    title: "The benchmark of cpprb's author, prioritized",
    text: "The same with α = β = 0.4.",
    chart: "count",
  },
  {
    id: "seed 001",
    title: "List, named tuple, array",
    text:
      "The comparison from which ElegantRL's buffer came: a full memory in three forms, batches of 256 as arrays.",
    chart: "dots",
  },
  {
    id: "memory, uniform",
    title: "Memory, uniform",
    text:
      "Bytes a record of a full buffer, each in a process of its own: what that grew by (ours: or what the replay says it holds, if that is more). 140 bytes are the values with next obs, 76 without.",
    chart: "none",
  },
  {
    id: "memory, prioritized",
    title: "Memory, prioritized",
    text: "The same with priorities.",
    chart: "none",
  },
];

/** The rows of a table: figures of one call at one size. */
interface Line {
  readonly call: string;
  readonly capacity: number;
  readonly figures: ReadonlyMap<string, Row>;
}

function linesOf(rows: readonly Row[]): Line[] {
  const lines = new Map<string, { call: string; capacity: number; figures: Map<string, Row> }>();
  for (const row of rows) {
    const key = `${row.call} ${row.capacity}`;
    const line = lines.get(key) ??
      { call: row.call, capacity: row.capacity, figures: new Map<string, Row>() };
    line.figures.set(row.system, row);
    lines.set(key, line);
  }
  const calls = [...new Set(rows.map(({ call }) => call))].sort(byKindAndCount);
  return [...lines.values()].sort((a, b) =>
    calls.indexOf(a.call) - calls.indexOf(b.call) || a.capacity - b.capacity
  );
}

/** "add 1" before "add 100" before "sample 32". */
function byKindAndCount(a: string, b: string): number {
  const split = (call: string): [string, number] => {
    const count = Number(/\d+$/.exec(call)?.[0] ?? NaN);
    return Number.isNaN(count) ? [call, 0] : [call.replace(/\d+$/, ""), count];
  };
  const [[kindA, countA], [kindB, countB]] = [split(a), split(b)];
  return kindA === kindB ? countA - countB : kindA < kindB ? -1 : 1;
}

function valueOf(line: Line, system: string): number | undefined {
  return line.figures.get(system)?.value;
}

/** The smallest of these systems' figures. */
function best(
  line: Line,
  systems: readonly string[],
): { system: string; value: number } | undefined {
  let found: { system: string; value: number } | undefined;
  for (const system of systems) {
    const value = valueOf(line, system);
    if (value !== undefined && (found === undefined || value < found.value)) {
      found = { system, value };
    }
  }
  return found;
}

function groupTable(rows: readonly Row[], systems: readonly string[]): string {
  const lines = linesOf(rows);
  const shown = systems.filter((system) =>
    lines.some((line) => valueOf(line, system) !== undefined)
  );
  const ours = OURS.filter((system) => shown.includes(system));
  const libraries = shown.filter((system) => !ours.includes(system) && !BY_HAND.includes(system));
  const byHand = shown.filter((system) => BY_HAND.includes(system));
  const rivals: [string, readonly string[]][] = [];
  if (libraries.length > 0) rivals.push(["the best library", libraries]);
  if (byHand.length > 0) rivals.push([byHand.length > 1 ? "the best by hand" : "numpy", byHand]);
  const isMemory = rows[0]?.call === MEMORY_CALL;
  const unit = isMemory ? 1 : 1e6;
  const ratios = rivals.flatMap(([name]) => ours.map((system) => `${name} ÷ ${system}`));
  const body = lines.map((line) => {
    const smallest = best(line, shown)?.system;
    const cells = shown.map((system) => {
      const value = valueOf(line, system);
      if (value === undefined) return line.figures.has(system) ? "–" : "";
      const text = digits(value * unit);
      return system === smallest ? `**${text}**` : text;
    });
    const compared = rivals.flatMap(([, group]) =>
      ours.map((system) => {
        const [own, other] = [valueOf(line, system), best(line, group)];
        if (own === undefined || other === undefined) return "";
        return group.length > 1
          ? `${factor(other.value / own)} ${other.system}`
          : factor(other.value / own);
      })
    );
    return [line.call, power(line.capacity), ...cells, ...compared];
  });
  return table([isMemory ? "bytes" : "µs a call", "N", ...shown, ...ratios], body);
}

/** Why there is no figure, said once for all calls where it is the same. */
function absences(rows: readonly Row[], systems: readonly string[]): string[] {
  const lines: string[] = [];
  for (const system of systems) {
    const theirs = rows.filter((row) => row.system === system);
    const reasons = new Map<string, Row[]>();
    for (const row of theirs) {
      if (row.why !== undefined) reasons.set(row.why, [...(reasons.get(row.why) ?? []), row]);
    }
    for (const [why, absent] of reasons) {
      const where = absent.length === theirs.length
        ? ""
        : ` (${absent.map(({ call, capacity }) => `${call} at ${power(capacity)}`).join(", ")})`;
      lines.push(`- ${system}${where}: – because ${why}`);
    }
  }
  return lines;
}

function chartOf(
  { chart }: Group,
  rows: readonly Row[],
  systems: readonly string[],
): Promise<string> | undefined {
  const ordered = rows.toSorted((a, b) =>
    byKindAndCount(a.call, b.call) || a.capacity - b.capacity
  );
  const points = ordered.flatMap(({ system, call, capacity, value }): Point[] => {
    if (value === undefined) return [];
    const us = value * 1e6;
    if (chart === "count") {
      const [, panel = call, count = "1"] = /^(\w+) (\d+)$/.exec(call) ?? [];
      return [{ system, panel, x: Number(count), us }];
    }
    const panel = chart === "size" ? call : `${call}, N = ${power(capacity)}`;
    return [{ system, panel, x: capacity, us }];
  });
  if (points.length === 0 || chart === "none") return undefined;
  if (chart === "dots") return dotChart(points, systems);
  return chart === "size"
    ? lineChart(points.filter(({ panel }) => !panel.startsWith("add")), systems, "N")
    : lineChart(points, systems, "records", { linear: true });
}

function introduction(results: PeersResults): string {
  const { date, cpu, cores, memoryBytes, os, deno, commit = "", windowMs, repeats, quick } =
    results;
  const lines = [
    "## Beside its peers",
    "",
    `\`deno task bench:peers\`, then \`deno task bench:report\`. ${date}, ${cpu}, ${cores} cores, ` +
    `${(memoryBytes / 2 ** 30).toFixed(0)} GiB, ${os}, Deno ${deno}` +
    (commit === "" ? "." : `, commit ${commit}.`),
    "",
    ...(quick
      ? [
        "**This was a quick run (`--quick`) with small buffers and short windows, to see that every peer works. Its figures are not to be quoted.**",
        "",
      ]
      : []),
    `Every system was filled with the same records, whose values tell their episode and position; a batch of each was checked against that
before anything was timed. Then windows of about ${windowMs} ms took turns: ours, the first peer, the second, and again, ${repeats} times. The minimum counts. Each
peer is a Python process of its own that is driven over a pipe; the pipe is not timed. Garbage collection is off while Python is timed, and on for ours.`,
    "",
    `*exrp* gives a fresh batch in every call, as the peers do; *exrp, into* writes into the last one, which most of them can't: a win
of that column alone is a win by reuse. Where there is nothing to reuse (adding, updating) there is one figure. The smallest figure of a row is
bold. *÷* says how many times longer the fastest of the others took than ours.`,
    "",
    table(
      ["system", "version", "threads", "on"],
      results.systems.filter(({ name }) => name !== OURS[1]).map((system) => [
        system.name,
        system.version,
        system.threads,
        Object.entries(system.packages).map(([name, version]) => `${name} ${version}`).join(", "),
      ]),
    ),
    "",
    ...(results.missing.length === 0
      ? ["No peer is missing."]
      : results.missing.map(({ name, why }) => `- **missing: ${name}**: ${why}`)),
  ];
  return lines.join("\n");
}

/** A group's table with what is to be known of it; undefined where it has no figures. */
function renderGroup(group: Group, results: PeersResults): string | undefined {
  const order = results.systems.map(({ name }) => name);
  const rows = results.rows.filter((row) => row.group === group.id);
  if (rows.length === 0) return undefined;
  const notes = results.notes.filter((note) => note.group === group.id)
    .map(({ system, text }) => `- ${system}: ${text}`);
  const remarks = [...absences(rows, order), ...notes];
  const parts = [`### ${group.title}`, group.text, groupTable(rows, order), remarks.join("\n")];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** All tables of a run. */
export function tablesOf(results: PeersResults): string {
  return GROUPS.flatMap((group) => renderGroup(group, results) ?? []).join("\n\n");
}

/** Beside its peers. */
export const peersSection: Section = {
  file: "peers.json",
  render: async (value): Promise<Rendered> => {
    const results = checkPeersResults(value);
    const order = results.systems.map(({ name }) => name);
    const parts = [introduction(results)];
    const images = new Map<string, string>();
    for (const group of GROUPS) {
      const text = renderGroup(group, results);
      if (text === undefined) continue;
      parts.push(text);
      const rows = results.rows.filter((row) => row.group === group.id);
      const svg = await chartOf(group, rows, order);
      if (svg === undefined) continue;
      const name = `bench_peers_${group.id.replaceAll(/[^a-z0-9]+/g, "_")}.svg`;
      images.set(name, svg);
      parts.push(`![${group.title}: time of a call, logarithmic](images/${name})`);
    }
    const titles = new Map(GROUPS.map(({ id, title }) => [id, title]));
    return { markdown: parts.join("\n\n"), images, summary: summarize(results, titles) };
  },
};
