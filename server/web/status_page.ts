/**
 * The status page: the tables' fill, rate limiters and rates. It is whole without script; a little script brings new figures every 2 s.
 *
 * @module
 */
import { numberOf } from "../../base/inspect.ts";
import {
  type CheckpointFigures,
  rateLimiterState,
  type Rates,
  type ServerFigures,
  type TableFigures,
} from "../figures.ts";

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
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? "");
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
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
function stateWords(table: TableFigures): string {
  const { canInsert, canSample } = rateLimiterState(table);
  const words = [
    canInsert ? "inserts go in" : "inserts wait",
    table.size === 0 ? "no item to sample" : canSample ? "samples go out" : "samples wait",
  ];
  return words.join(", ");
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

function tableRow(table: TableFigures, rates: Rates): string {
  const fill = table.maxSize > 0 ? table.size / table.maxSize : 0;
  const name = escape(table.name);
  return `<tr><th scope="row">${name}</th>
<td><meter min="0" max="1" value="${fill.toFixed(4)}" aria-label="fill of ${name}"></meter> ${
    (100 * fill).toFixed(1)
  } %</td><td>${count(table.waitingInserts)} / ${count(table.waitingSamplers)}</td>
<td class="text">${escape(stateWords(table))}</td>
<td>${count(table.size)} / ${count(table.maxSize)}</td><td>${bytes(table.bytes)}${
    table.maxBytes > 0 ? ` / ${bytes(table.maxBytes)}` : ""
  }</td>
<td>${rate(rates.inserts)}</td><td>${rate(rates.samples)}</td>
<td>${count(table.inserts)}</td><td>${count(table.samples)}</td><td>${
    count(table.deletes)
  }</td></tr>`;
}

function ruleRow(table: TableFigures): string {
  return `<tr><th scope="row">${escape(table.name)}</th><td class="text">${
    escape(table.sampler)
  }</td><td class="text">${escape(table.remover)}</td>
<td class="text">${escape(limitWords(table))}</td>
<td>${table.maxTimesSampled > 0 ? count(table.maxTimesSampled) : "no limit"}</td><td>${
    count(table.episodes)
  }</td></tr>`;
}

/** The checkpoints in words; nothing for a server that writes none. */
function checkpointLine(checkpoints: CheckpointFigures | undefined): string {
  if (checkpoints === undefined) return "";
  const { written, failed, last } = checkpoints;
  const time = last === undefined ? "" : new Date(1000 * last.at).toISOString();
  const words = last === undefined
    ? "none was written yet"
    : `${count(written)} written, the last on <time datetime="${time}">${
      time.slice(0, 19).replace("T", " ")
    } UTC</time>: ${bytes(last.bytes)} in ${seconds(last.seconds)}`;
  const failures = failed === 0 ? "" : `; <strong>${count(failed)} could not be written</strong>`;
  return `\n<p>Checkpoints: ${words}${failures}.</p>`;
}

/** The columns of words. Those of numbers stand right. */
const textColumns: ReadonlySet<string> = new Set(["now", "sampler", "remover", "rate limiter"]);

/** The page as HTML. */
export function statusPage(figures: ServerFigures, rates: ReadonlyMap<string, Rates>): string {
  const none: Rates = { inserts: 0, samples: 0 };
  const rows = figures.tables.map((table) => tableRow(table, rates.get(table.name) ?? none));
  const rules = figures.tables.map(ruleRow);
  const columns = (...names: readonly string[]): string =>
    names.map((name) =>
      `<th scope="col"${textColumns.has(name) ? ' class="text"' : ""}>${name}</th>`
    ).join("");
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
<p>Up for ${duration(figures.uptime)}, ${numberOf(figures.connections, "connection", count)}, ${
    count(figures.chunks)
  } chunks of ${bytes(figures.chunkBytes)}, ${bytes(figures.memoryBytes)} of memory, ${
    bytes(figures.receivedBytes)
  } in, ${bytes(figures.sentBytes)} out.</p>${checkpointLine(figures.checkpoints)}
<h2 id="fill">Fill and rates</h2>
<div class="wide" tabindex="0" role="region" aria-labelledby="fill"><table>
<thead><tr>${
    columns(
      ...["table", "fill", "waiting in / out", "now", "items", "bytes"],
      ...["inserts", "samples", "inserted", "sampled", "removed"],
    )
  }</tr></thead>
<tbody>${rows.join("\n")}</tbody>
</table></div>
<h2 id="rules">Rules and rate limiters</h2>
<div class="wide" tabindex="0" role="region" aria-labelledby="rules"><table>
<thead><tr>${
    columns("table", "sampler", "remover", "rate limiter", "times sampled", "episodes")
  }</tr></thead>
<tbody>${rules.join("\n")}</tbody>
</table></div>
<p><a href="/metrics">Metrics for Prometheus</a></p>
</main>
<p id="note" role="status"></p>
<script>${script}</script>
</body>
</html>
`;
}
