/**
 * The section of the pages of benchmarks that compares our library with its peers.
 *
 * @module
 */

import { barPanels } from "../_bars.ts";
import { lineChart, type Point } from "../_charts.ts";
import { digits, factor, type Rendered, type Section, table } from "../_section.ts";
import type { ReverbResults } from "../report/reverb.ts";
import { BY_HAND, OURS, power } from "./_names.ts";
import { OVERVIEW, overview } from "./_overview.ts";
import { headOf, panelOf } from "./_panels.ts";
import {
  checkPeersResults,
  MEMORY_CALL,
  originOf,
  type PeersResults,
  type Row,
} from "./_results.ts";
import { comparisons, summarize } from "./_summary.ts";

interface Group {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly chart: "size" | "count" | "bars" | "none";
}

const RECORD = "15 float32 of obs, 3 of action, reward, next obs, done";

const GROUPS: readonly Group[] = [
  {
    id: "uniform",
    title: "Uniform",
    text:
      `A record has ${RECORD}. These are 140 bytes. Ours keeps 76 of them, because the next obs are the obs of the next record.`,
    chart: "size",
  },
  {
    id: "prioritized",
    title: "Prioritized",
    text:
      "The records are the same, with α = 0.6 and β = 0.4. *update* sets the priorities of records all over the buffer. *sample + update* is what a learner does in each step: it samples a batch, and then it sets the priorities of what it sampled.",
    chart: "size",
  },
  {
    id: "sequences",
    title: "Sequences: the paper's get_5000",
    text:
      "Each batch has 5000 sequences of 8 records. *add 1, sample 5000* writes before it samples, because some systems must then find the sequences again.",
    chart: "bars",
  },
  {
    id: "prioritized sequences",
    title: "Prioritized sequences",
    text:
      "Each batch has 5000 sequences of 8 records. Unless said otherwise, the priority of a sequence is that of its first record. *sample + update* samples a batch, and then it sets the priorities of what it sampled.",
    chart: "bars",
  },
  {
    id: "images",
    title: "Images",
    text:
      "Each pick is a stack of four frames of 84 × 84 bytes, and its next stack. *frames once* gives the five frames of a pick, in which both stacks are: ours by `stackCompact`. flashbax gives nothing else, so its times count for both.",
    chart: "bars",
  },
  {
    id: "seed 003, uniform",
    title: "The benchmark of cpprb's author, uniform",
    text:
      "The author of cpprb published a comparison with Reverb, and this is the same one. The buffer has 4096 records. A call adds n records at once, given as float64, or it samples a batch of 2 to 256.",
    chart: "count",
  },
  {
    id: "seed 003, prioritized",
    title: "The benchmark of cpprb's author, prioritized",
    text: "This is the same comparison with α = β = 0.4.",
    chart: "count",
  },
  {
    id: "seed 001",
    title: "List, named tuple, array",
    text:
      "ElegantRL's buffer came from this comparison. It holds a full memory in three forms, and samples batches of 256 as arrays.",
    chart: "bars",
  },
  {
    id: "memory, uniform",
    title: "Memory, uniform",
    text:
      "The table has the bytes that a record takes in a full buffer. Each buffer has a process of its own, and the figure is the growth of that process. For ours it is `memoryBytes`, if that is more. The values of a record take 140 bytes with next obs, and 76 without.",
    chart: "none",
  },
  {
    id: "memory, prioritized",
    title: "Memory, prioritized",
    text: "The buffers are the same, with priorities.",
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

/** Puts "add 1" before "add 100", and that before "sample 32". */
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

/** Finds the smallest figure of these systems. */
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
    return [shownCall(line.call), power(line.capacity), ...cells, ...compared];
  });
  return table([isMemory ? "bytes" : "µs a call", "N", ...shown, ...ratios], body);
}

/** Says why a figure is missing, once for all calls with the same reason. */
function absences(rows: readonly Row[], systems: readonly string[]): string[] {
  const lines: string[] = [];
  for (const system of systems) {
    const theirs = rows.filter((row) => row.system === system);
    const reasons = new Map<string, Row[]>();
    for (const row of theirs) {
      if (row.why !== undefined) reasons.set(row.why, [...(reasons.get(row.why) ?? []), row]);
    }
    for (const [why, absent] of reasons) {
      lines.push(`- ${system} has no figures (–)${placesOf(absent, theirs)}: ${why}`);
    }
  }
  return lines;
}

/** Writes "a, b, and c". */
const LIST = new Intl.ListFormat("en");

/** Says which of a system's figures are absent: " at 2^20 and 2^23; sample 32 at 2^12". It says nothing if all are. */
function placesOf(absent: readonly Row[], theirs: readonly Row[]): string {
  if (absent.length === theirs.length) return "";
  const capacitiesOf = new Map<string, number[]>();
  for (const capacity of new Set(absent.map((row) => row.capacity))) {
    const here = absent.filter((row) => row.capacity === capacity);
    const isWhole = here.length === theirs.filter((row) => row.capacity === capacity).length;
    const calls = isWhole ? "" : here.map(({ call }) => shownCall(call)).join(", ");
    capacitiesOf.set(calls, [...capacitiesOf.get(calls) ?? [], capacity]);
  }
  const places = [...capacitiesOf].map(([calls, capacities]) =>
    `${calls === "" ? "" : `${calls} `}at ${LIST.format(capacities.map(power))}`
  );
  return ` for ${places.join("; for ")}`.replaceAll("for at", "at");
}

/** What a page calls a call: "turn 256" is "sample + update 256". */
function shownCall(call: string): string {
  return call.replace(/^turn/, "sample + update");
}

async function chartOf(
  { chart, title }: Group,
  rows: readonly Row[],
  systems: readonly string[],
): Promise<string | undefined> {
  const ordered = rows.toSorted((a, b) =>
    byKindAndCount(a.call, b.call) || a.capacity - b.capacity
  );
  if (chart === "bars") {
    const panels = comparisons(ordered).map((one) => panelOf(one, { title: shownCall(one.call) }));
    return panels.length === 0
      ? undefined
      : barPanels({ title, head: headOf(panels), panels, foot: [] });
  }
  const points = ordered.flatMap(({ system, call, capacity, value }): Point[] => {
    if (value === undefined) return [];
    const us = value * 1e6;
    if (chart === "size") return [{ system, panel: shownCall(call), x: capacity, us }];
    const [, panel = call, count = "1"] = /^(\w+) (\d+)$/.exec(call) ?? [];
    return [{ system, panel, x: Number(count), us }];
  });
  if (points.length === 0 || chart === "none") return undefined;
  return await (chart === "size"
    ? lineChart(points.filter(({ panel }) => !panel.startsWith("add")), systems, OURS, "N")
    : lineChart(points, systems, OURS, "records", { linear: true }));
}

function introduction(results: PeersResults): string {
  const { windowMs, repeats, quick } = results;
  const lines = [
    "## Compared with Python libraries",
    "",
    `\`deno task bench:peers\`, then \`deno task bench:report\`. ${originOf(results)}.`,
    "",
    ...(quick
      ? [
        "**This was a quick run (`--quick`) with small buffers and short windows. It shows that every library works. Its figures are not to be quoted.**",
        "",
      ]
      : []),
    `Every system holds the same N records, whose values tell their episode and position. One batch of each system is checked before anything is
timed. Then windows of about ${windowMs} ms take turns: ours, the first library, the second one and so on, ${repeats} times. The minimum counts. Each
library is a Python process of its own, driven over a pipe, and the times leave out the pipe. Garbage collection is off while Python is timed, and on for ours.`,
    "",
    `*exrp* gives a new batch in every call, as the other libraries do. *exrp, into* writes into the batch before, which most of them can't do. So
where only that column wins, reuse wins. *exrp, using* gives a new batch whose memory is handed back behind it. Python does that by itself, as it counts
references. Adding and updating have one figure, because there is nothing to reuse. The smallest figure of a row is
bold. *÷* says how many times as long as ours the fastest of the others took.`,
    "",
    table(
      ["system", "version", "threads", "on"],
      results.systems.filter(({ name }) => !OURS.slice(1).includes(name)).map((system) => [
        system.name,
        system.version,
        system.threads,
        Object.entries(system.packages).map(([name, version]) => `${name} ${version}`).join(", "),
      ]),
    ),
    "",
    ...(results.missing.length === 0
      ? ["No library is missing."]
      : results.missing.map(({ name, why }) => `- **missing: ${name}**: ${why}`)),
  ];
  return lines.join("\n");
}

/** Says when a group's figures were measured again, and which of them were not. */
function partLines({ parts = [], date }: PeersResults, rows: readonly Row[]): string[] {
  return parts.filter(({ groups }) => groups.includes(rows[0]?.group ?? "")).flatMap((part) => {
    const systems = [...new Set(rows.map(({ system }) => system))];
    const older = systems.filter((system) => !part.measured.includes(system));
    return [
      `Measured again on ${originOf(part)}.`,
      ...(older.length === 0 ? [] : [`The figures of ${LIST.format(older)} are of ${date}.`]),
    ];
  });
}

/** Makes a group's table and the notes on it; undefined where the group has no figures. */
function renderGroup(group: Group, results: PeersResults): string | undefined {
  const order = results.systems.map(({ name }) => name);
  const rows = results.rows.filter((row) => row.group === group.id);
  if (rows.length === 0) return undefined;
  const notes = results.notes.filter((note) => note.group === group.id)
    .map(({ system, text }) => `- ${system}: ${text}`);
  const remarks = [...absences(rows, order), ...notes];
  const parts = [
    `### ${group.title}`,
    [group.text, ...partLines(results, rows)].join(" "),
    groupTable(rows, order),
    remarks.join("\n"),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Makes all tables of a run. */
export function tablesOf(results: PeersResults): string {
  return GROUPS.flatMap((group) => renderGroup(group, results) ?? []).join("\n\n");
}

/** The section on Python libraries. */
export const peersSection: Section = {
  file: "peers.json",
  also: "reverb.json",
  render: async (value, reverb): Promise<Rendered> => {
    const results = checkPeersResults(value);
    const order = results.systems.map(({ name }) => name);
    const parts = [introduction(results)];
    const images = new Map<string, string>();
    const picture = overview(results, reverb as ReverbResults | undefined);
    if (picture !== undefined) images.set(OVERVIEW, picture);
    for (const group of GROUPS) {
      const text = renderGroup(group, results);
      if (text === undefined) continue;
      parts.push(text);
      const rows = results.rows.filter((row) => row.group === group.id);
      const svg = await chartOf(group, rows, order);
      if (svg === undefined) continue;
      const name = `bench_peers_${group.id.replaceAll(/[^a-z0-9]+/g, "_")}.svg`;
      images.set(name, svg);
      const scale = group.chart === "bars" ? "" : ", logarithmic";
      parts.push(`![${group.title}: time of a call${scale}](../images/${name})`);
    }
    const titles = new Map(GROUPS.map(({ id, title }) => [id, title]));
    const shown = picture === undefined ? undefined : OVERVIEW;
    return { markdown: parts.join("\n\n"), images, summary: summarize(results, titles, shown) };
  },
};
