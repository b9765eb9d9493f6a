/**
 * One picture of what a learner really sees.
 *
 * @module
 */

import { numberOf } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { show } from "../base/checks.ts";
import {
  area,
  bars,
  type Box,
  brief,
  coordinate,
  cut,
  frame,
  line,
  logTicks,
  roundTicks,
  text,
  type Theme,
  THEMES,
  type Tick,
} from "./_drawing.ts";
import { percent, type ReplayStats, type SelectorStats, short } from "./replay_stats.ts";

/** The options of {@linkcode statsSvg}. */
export interface StatsSvgOptions {
  /** The colours: `"light"` (the default) or `"dark"`. Both have a background of their own, so either is readable anywhere. */
  readonly theme?: "light" | "dark";
  /** The heading; `"Replay"` by default. */
  readonly title?: string;
}

const WIDTH = 820;
const HEAD = 102;
const AGES = 262;
const ROW = 190;

/** More selectors would make the picture too high. */
const ROWS_MAX = 8;

/** Lines that lie on each other are told apart by their dashes too. */
const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "4 4", "12 4"];

/**
 * Draws what a learner really sees, as one SVG: how full the replay is, how old the drawn picks are beside the stored records, and for each
 * selector the weights that it draws by, and how often it draws the same picks.
 *
 * `from` is a replay, or what its `stats()` gave. The result is the text of a file of about 10 to 30 KB, 820 pixels wide, without scripts,
 * fonts or links. The picture shows the first eight selectors.
 *
 * @throws {TypeError} If `from` is neither, or for an unknown option or one of the wrong kind.
 * @throws {ReplayError} `disposed` or `busy`, if `from` is a replay that can't be read now.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
 * import { statsSvg } from "@exrp/replay/stats";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(prioritized());
 * let episode = replay.newEpisode();
 * for (let t = 0; t < 50; t++) episode = replay.record(episode, [t], 0, 0);
 * replay.getBatch(32, selector);
 * const svg = statsSvg(replay, { title: "CartPole" });
 * console.log(svg.includes("50 of 100 records")); // true
 * // Deno.writeTextFileSync("replay.svg", svg);
 * ```
 */
export function statsSvg(
  from: ReplayStats | { stats(): ReplayStats },
  options: StatsSvgOptions = {},
): string {
  checkOptions("statsSvg()", options, ["theme", "title"]);
  const { theme: name = "light", title = "Replay" } = options;
  if (name !== "light" && name !== "dark") {
    throw new TypeError(`statsSvg(): theme must be "light" or "dark", got ${show(name)}`);
  }
  if (typeof title !== "string") {
    throw new TypeError(`statsSvg(): title must be a string, got ${show(title)}`);
  }
  const stats = statsOf(from);
  const theme = THEMES[name];
  const shown = stats.selectors.slice(0, ROWS_MAX);
  const left = stats.selectors.length - shown.length;
  const end = HEAD + AGES + ROW * shown.length;
  const height = end + (left > 0 ? 28 : 6);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif" role="img">`,
    `<rect width="${WIDTH}" height="${height}" rx="6" fill="${theme.paper}"/>`,
    head(stats, title, theme),
    ages(stats, shown, theme),
    ...shown.map((selector, k) =>
      selectorRow(selector, HEAD + AGES + k * ROW, colour(theme, k), theme)
    ),
  ];
  if (left > 0) {
    parts.push(
      text(24, end + 14, `${left} more ${left === 1 ? "selector is" : "selectors are"} not shown`, {
        fill: theme.faint,
      }),
    );
  }
  return `${parts.join("\n")}\n</svg>\n`;
}

/** A whole number as people write it, such as `9,978`. */
function group(value: number): string {
  return value.toLocaleString("en-US");
}

/** A count with its noun, such as `1 pick` or `1,000 picks`. */
function count(value: number, noun: string): string {
  return numberOf(value, noun, group);
}

function statsOf(from: ReplayStats | { stats(): ReplayStats }): ReplayStats {
  if (typeof from === "object" && from !== null) {
    if ("stats" in from && typeof from.stats === "function") return from.stats();
    if ("selectors" in from && "ages" in from) return from;
  }
  throw new TypeError(`statsSvg() takes a replay, or what its stats() gave, got ${show(from)}`);
}

function colour({ series }: Theme, k: number): string {
  return series[k % series.length] ?? "";
}

/** The heading: what is stored, the fill as a bar, and what was drawn. */
function head(stats: ReplayStats, title: string, theme: Theme): string {
  const { records, episodes, drawnCount, drawsPerRecord } = stats;
  const bar = { x: 24, y: 84, width: WIDTH - 48, height: 6 };
  const rect = (width: number, fill: string): string =>
    `<rect x="${bar.x}" y="${bar.y}" width="${
      coordinate(width)
    }" height="${bar.height}" rx="3" fill="${fill}"/>`;
  return [
    text(24, 30, cut(title, 60), { fill: theme.text, size: 17, weight: "bold" }),
    text(
      24,
      52,
      `${group(records.stored)} of ${group(records.capacity)} records (${
        percent(records.fill)
      }) in ${count(episodes.stored, "episode")} of mean length ${
        short(episodes.meanLength, group)
      }; ${group(episodes.open)} open`,
      { fill: theme.text },
    ),
    text(
      24,
      71,
      `${count(records.written, "record")} written; ${count(drawnCount, "pick")} drawn, ${
        brief(drawsPerRecord)
      } for each record written`,
      { fill: theme.text },
    ),
    rect(bar.width, theme.grid),
    rect(Math.min(1, records.fill) * bar.width, theme.faint),
  ].join("");
}

/** The ages of what is stored, as an area, and of what each selector drew, as lines: the share that is at most so old. */
function ages({ ages }: ReplayStats, selectors: readonly SelectorStats[], theme: Theme): string {
  const box = { x: 64, y: HEAD + 56, width: 500, height: 150 };
  const heading = text(24, HEAD + 28, "How old are the records: those stored, and those drawn", {
    fill: theme.text,
    size: 14,
    weight: "bold",
  });
  if (ages.count === 0) return heading + nothing(box, "no record is stored", theme);
  const largest = ages.histogram.edges.at(-1) ?? 1;
  const quarters = [0, 0.25, 0.5, 0.75, 1].map((at): Tick => ({ at, label: percent(at) }));
  const dash = (k: number): string => DASHES[k % DASHES.length] ?? "";
  return [
    heading,
    area(box, cumulated(ages.histogram.counts), theme.stored),
    frame(box, theme, {
      ticks: roundTicks(largest, 6),
      title: "age: how many records were written since (the newest has age 0)",
    }, { ticks: quarters, title: "share that is at most so old" }),
    ...selectors.map(({ noted }, k) =>
      noted.count === 0
        ? ""
        : line(box, cumulated(noted.ages.histogram.counts), colour(theme, k), dash(k))
    ),
    legendLine(0, theme.stored, "", "stored", ages, theme),
    ...selectors.map(({ id, kind, noted }, k) =>
      legendLine(k + 1, colour(theme, k), dash(k), `${id} ${kind}`, noted.ages, theme)
    ),
  ].join("");
}

/** From counts of bins to the share of all at each edge. */
function cumulated(counts: readonly number[]): number[] {
  let sum = 0;
  const sums = [0, ...counts.map((count) => sum += count)];
  return sums.map((value) => sum === 0 ? 0 : value / sum);
}

function legendLine(
  k: number,
  stroke: string,
  dash: string,
  name: string,
  { count, median }: { readonly count: number; readonly median: number },
  theme: Theme,
): string {
  const [x, y] = [588, HEAD + 60 + 19 * k];
  const mark = dash === ""
    ? `<rect x="${x}" y="${y - 9}" width="22" height="10" fill="${stroke}"/>`
    : `<path d="M${x} ${
      y - 4
    }h22" stroke="${stroke}" stroke-width="2" stroke-dasharray="${dash}"/>`;
  const middle = count === 0 ? "none noted" : `median ${brief(median)}`;
  return mark + text(x + 30, y, `${cut(name, 16)}: ${middle}`, { fill: theme.text });
}

/** One selector: facts, weights, repeats. */
function selectorRow(stats: SelectorStats, top: number, fill: string, theme: Theme): string {
  const { id, kind, parts, view, noted, weights, pickCount } = stats;
  const name = cut(kind, 22);
  const facts = [
    ...(parts.length > 0 ? [cut(`of selectors ${parts.join(", ")}`, 34)] : []),
    `${count(pickCount, "pick")} in pick view ${view}`,
    `${group(stats.drawnCount)} drawn, ${brief(stats.drawsPerRecord)} a record`,
    ...(noted.count === 0 ? [] : [
      `drawn ages: mean ${brief(noted.ages.mean)},`,
      `  median ${brief(noted.ages.median)}, largest ${brief(noted.ages.largest)}`,
    ]),
    ...(weights === undefined || pickCount === 0 ? [] : [
      `effective sample size ${brief(weights.effectiveCount)} (${
        percent(weights.effectiveCount / pickCount)
      })`,
    ]),
  ];
  return [
    `<path d="M24 ${top}h${WIDTH - 48}" stroke="${theme.grid}"/>`,
    text(24, top + 28, `${id} ${name}`, { fill, size: 14, weight: "bold" }),
    ...facts.map((fact, k) => text(24, top + 50 + 18 * k, fact, { fill: theme.text })),
    weightChart(stats, { x: 300, y: top + 44, width: 210, height: 96 }, fill, theme),
    repeatChart(stats, { x: 590, y: top + 44, width: 200, height: 96 }, fill, theme),
  ].join("");
}

function weightChart(
  { weights, priorities, parts }: SelectorStats,
  box: Box,
  fill: string,
  theme: Theme,
): string {
  const kept = weights ?? priorities;
  if (kept === undefined) {
    const why = parts.length > 0 ? "its parts have the weights" : "it keeps no weights";
    return nothing(box, why, theme);
  }
  const name = weights === undefined ? "priority" : "weight";
  const { edges, counts } = kept.histogram;
  if (edges.length < 2) return nothing(box, `no ${name} above 0`, theme);
  if (kept.smallest === kept.largest && kept.zeroCount === 0) {
    const all = weights === undefined ? "all priorities" : "all weights";
    return nothing(box, `${all} are ${brief(kept.largest)}`, theme);
  }
  const most = Math.max(1, ...counts);
  const zeros = kept.zeroCount === 0 ? "" : `; ${brief(kept.zeroCount)} more are 0`;
  return frame(box, theme, {
    ticks: logTicks(edges[0] ?? 1, edges.at(-1) ?? 10),
    title: `${name} (logarithmic)${zeros}`,
  }, { ticks: roundTicks(most, 3), title: "number of picks" }) +
    bars(box, counts.map((count) => count / most), fill);
}

function repeatChart({ noted }: SelectorStats, box: Box, fill: string, theme: Theme): string {
  if (noted.count === 0) return nothing(box, "no draw is noted", theme);
  const most = Math.max(...noted.repeats);
  const bins = noted.repeats.length;
  const ticks = noted.repeats.map((_, k): Tick => ({
    at: (k + 0.5) / bins,
    label: k === bins - 1 ? `${bins}+` : String(k + 1),
  }));
  return frame(box, theme, {
    ticks,
    title: `times, in ${count(noted.count, "noted draw")}`,
  }, {
    ticks: roundTicks(most, 3),
    title: `number of picks, ${group(noted.distinctCount)} in all`,
  }) + bars(box, noted.repeats.map((count) => count / most), fill, 6);
}

/** A chart without values says why. */
function nothing(box: Box, why: string, theme: Theme): string {
  return `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="4" fill="none" stroke="${theme.grid}"/>` +
    text(box.x + box.width / 2, box.y + box.height / 2 + 4, why, {
      fill: theme.faint,
      anchor: "middle",
    });
}
