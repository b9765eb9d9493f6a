/**
 * The status page: the tables' fill, rate limiters and rates. It is whole without script; a little script brings new figures every 2 s.
 *
 * @module
 */
import { bytesText, numberOf } from "../../base/inspect.ts";
import type { CheckpointFigures, Rates, ServerFigures, TableFigures } from "../figures.ts";

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid #8886; white-space: nowrap; }
th:first-child, td:first-child, .text { text-align: left; }
meter { width: 4rem; vertical-align: middle; }
.text { white-space: normal; min-width: 8.5rem; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; }
  th, td { padding: .3rem; }
  th { white-space: normal; }
  th:first-child { overflow-wrap: anywhere; min-width: 4rem; }
  meter { display: none; }
}
`;

/** Brings the figures again without moving the page. It stops while nobody looks. */
const script = `
setInterval(async () => {
  if (document.hidden) return;
  const note = document.getElementById("note");
  try {
    const text = await (await fetch(location.href)).text();
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
    document.querySelector("main").replaceWith(fresh);
    note.textContent = "";
  } catch {
    note.textContent = "The server does not answer.";
  }
}, 2000);
`;

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function rate(value: number): string {
  return `${value >= 100 ? count(value) : value.toFixed(1)} /s`;
}

function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const [hours = 0, ...rest] = parts;
  return [String(hours), ...rest.map((part) => String(part).padStart(2, "0"))].join(":");
}

/** A short time. */
function seconds(value: number): string {
  return value < 1 ? `${Math.ceil(1000 * value)} ms` : `${value.toFixed(1)} s`;
}

/** What goes in and out now, in words. */
function stateWords({ size, canInsert, canSample }: TableFigures): string {
  const goesIn = canInsert ? "inserts go in" : "inserts wait";
  const goesOut = canSample ? "samples go out" : "samples wait";
  return `${goesIn}, ${size === 0 ? "no item to sample" : goesOut}`;
}

function limitWords({ rateLimiter }: TableFigures): string {
  const limit = (value: number): string =>
    Math.abs(value) >= 1e300 ? (value < 0 ? "−∞" : "∞") : count(value);
  const items = `at least ${numberOf(rateLimiter.minSize, "item", count)}`;
  const band = [limit(rateLimiter.differenceMin), limit(rateLimiter.differenceMax)] as const;
  if (band[0] === "−∞" && band[1] === "∞") return items;
  const samples = numberOf(rateLimiter.ratio, "sample", String);
  return `${items}; ${samples} an insert; difference ${band.join(" to ")}`;
}

/** A column: its head, its cells as HTML, and whether they are words, which stand left. */
type Column = readonly [head: string, cell: (table: TableFigures) => string, isText?: true];

/** A part of the page: figures of each table. */
function section(
  id: string,
  title: string,
  tables: readonly TableFigures[],
  columns: readonly Column[],
): string {
  const text = (isText?: true): string => isText ? ' class="text"' : "";
  const heads = columns.map(([head, , isText]) => `<th scope="col"${text(isText)}>${head}</th>`);
  const rows = tables.map((table) => {
    const cells = columns.map(([, cell, isText]) => `<td${text(isText)}>${cell(table)}</td>`);
    return `<tr><th scope="row">${escape(table.name)}</th>${cells.join("")}</tr>`;
  });
  return `<h2 id="${id}">${title}</h2>
<div class="wide" tabindex="0" role="region" aria-labelledby="${id}"><table>
<thead><tr><th scope="col">table</th>${heads.join("")}</tr></thead>
<tbody>${rows.join("\n")}</tbody>
</table></div>`;
}

function fillCell({ name, size, maxSize }: TableFigures): string {
  const fill = maxSize > 0 ? size / maxSize : 0;
  const label = `fill of ${escape(name)}`;
  const meter = `<meter min="0" max="1" value="${fill.toFixed(4)}" aria-label="${label}"></meter>`;
  return `${meter} ${(100 * fill).toFixed(1)} %`;
}

/** The columns of the first part. */
function fillColumns(rates: ReadonlyMap<string, Rates>): Column[] {
  return [
    ["fill", fillCell],
    ["waiting in / out", (it) => `${count(it.insertsWaiting)} / ${count(it.samplersWaiting)}`],
    ["now", (it) => escape(stateWords(it)), true],
    ["items", (it) => `${count(it.size)} / ${count(it.maxSize)}`],
    [
      "bytes",
      (it) => bytesText(it.bytes) + (it.maxBytes > 0 ? ` / ${bytesText(it.maxBytes)}` : ""),
    ],
    ["inserts", (it) => rate(rates.get(it.name)?.inserts ?? 0)],
    ["samples", (it) => rate(rates.get(it.name)?.samples ?? 0)],
    ["inserted", (it) => count(it.inserts)],
    ["sampled", (it) => count(it.samples)],
    ["removed", (it) => count(it.deletes)],
  ];
}

/** The columns of the second part. */
const ruleColumns: readonly Column[] = [
  ["sampler", (it) => escape(it.sampler), true],
  ["remover", (it) => escape(it.remover), true],
  ["rate limiter", (it) => escape(limitWords(it)), true],
  ["times sampled", (it) => it.maxTimesSampled > 0 ? count(it.maxTimesSampled) : "no limit"],
  ["episodes", (it) => count(it.episodes)],
];

/** The checkpoints in words; nothing for a server that writes none. */
function checkpointLine(checkpoints: CheckpointFigures | undefined): string {
  if (checkpoints === undefined) return "";
  const { written, failed, last } = checkpoints;
  const time = last === undefined ? "" : new Date(1000 * last.at).toISOString();
  const words = last === undefined
    ? "none was written yet"
    : `${count(written)} written, the last on <time datetime="${time}">${
      time.slice(0, 19).replace("T", " ")
    } UTC</time>: ${bytesText(last.bytes)} in ${seconds(last.seconds)}`;
  const failures = failed === 0 ? "" : `; <strong>${count(failed)} could not be written</strong>`;
  return `\n<p>Checkpoints: ${words}${failures}.</p>`;
}

/** The page as HTML. */
export function statusPage(figures: ServerFigures, rates: ReadonlyMap<string, Rates>): string {
  const { tables, uptime, connections, chunks } = figures;
  const facts = [
    `Up for ${duration(uptime)}`,
    numberOf(connections, "connection", count),
    `${count(chunks)} chunks of ${bytesText(figures.chunkBytes)}`,
    `${bytesText(figures.memoryBytes)} of memory`,
    `${bytesText(figures.receivedBytes)} in`,
    `${bytesText(figures.sentBytes)} out`,
  ];
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Replay tables</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Replay tables</h1>
<p>${facts.join(", ")}.</p>${checkpointLine(figures.checkpoints)}
${section("fill", "Fill and rates", tables, fillColumns(rates))}
${section("rules", "Rules and rate limiters", tables, ruleColumns)}
<p><a href="/metrics">Metrics for Prometheus</a></p>
</main>
<p id="note" role="status"></p>
<script>${script}</script>
</body>
</html>
`;
}
