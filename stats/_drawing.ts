/**
 * Small parts of an SVG: text that fits, axes, bars and steps.
 *
 * @module
 */

import { escapeText } from "../base/notebook.ts";

/** The colours of a picture. */
export interface Theme {
  readonly paper: string;
  readonly text: string;
  readonly faint: string;
  readonly grid: string;
  readonly stored: string;
  readonly series: readonly string[];
}

/** Colours that a reader can tell apart, also one who is colour-blind (after Okabe and Ito). */
export const THEMES: Readonly<Record<"light" | "dark", Theme>> = {
  light: {
    paper: "#ffffff",
    text: "#1f2328",
    faint: "#59636e",
    grid: "#d8dee4",
    stored: "#c4ccd4",
    series: ["#0072b2", "#d55e00", "#009e73", "#b5478f", "#7a5c00", "#3a3aa8"],
  },
  dark: {
    paper: "#1b1f24",
    text: "#e6e9ec",
    faint: "#a3adb8",
    grid: "#3a424b",
    stored: "#56606b",
    series: ["#56b4e9", "#f0883e", "#2ec796", "#e38ac4", "#e0c341", "#a5a5ff"],
  },
};

/** A rectangle in which something is drawn. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** One tick of an axis: where it is, from 0 to 1, and its label. */
export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** The text, cut where it would have more than `most` characters. */
export function cut(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** What an element has beside its content. */
type Attributes = Readonly<Record<string, string | number>>;

/** An element. Its numbers have no more digits than a picture shows. */
export function tag(name: string, attributes: Attributes, content?: string): string {
  const given = Object.entries(attributes).map(([key, value]) =>
    ` ${key}="${typeof value === "number" ? coordinate(value) : value}"`
  );
  const end = content === undefined ? "/>" : `>${escapeText(content)}</${name}>`;
  return `<${name}${given.join("")}${end}`;
}

function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A line of text. */
export function text(x: number, y: number, content: string, style: Attributes): string {
  return tag("text", { x, y, "font-size": 12, ...style }, content);
}

/** What stands at an axis of a chart. */
interface Axis {
  readonly ticks: readonly Tick[];
  readonly title: string;
}

/** The frame of a chart: grid lines, ticks, and the titles of the axes. */
export function frame(box: Box, { grid, faint }: Theme, x: Axis, y: Axis): string {
  const [right, bottom] = [box.x + box.width, box.y + box.height];
  const mark = (x1: number, y1: number, x2: number, y2: number, stroke: string): string =>
    tag("line", { x1, y1, x2, y2, stroke });
  const label = (x: number, y: number, content: string, anchor: string, size = 10): string =>
    text(x, y, content, { fill: faint, "font-size": size, "text-anchor": anchor });
  const rows = y.ticks.map((tick) => {
    const height = bottom - tick.at * box.height;
    return mark(box.x, height, right, height, grid) +
      label(box.x - 6, height + 3.5, tick.label, "end");
  });
  const columns = x.ticks.map((tick) => {
    const left = box.x + tick.at * box.width;
    return mark(left, bottom, left, bottom + 4, faint) +
      label(left, bottom + 15, tick.label, "middle");
  });
  return [
    ...rows,
    ...columns,
    mark(box.x, bottom, right, bottom, faint),
    label(box.x + box.width / 2, bottom + 29, x.title, "middle", 11),
    label(box.x, box.y - 8, y.title, "start", 11),
  ].join("");
}

/** Bars that stand side by side; heights are from 0 to 1. */
export function bars(box: Box, heights: readonly number[], fill: string, gap = 1): string {
  const width = box.width / Math.max(1, heights.length);
  return heights.map((share, k) => {
    const [x, height] = [box.x + k * width + gap / 2, share * box.height];
    const y = box.y + box.height - height;
    return share <= 0 ? "" : tag("rect", { x, y, width: Math.max(0.5, width - gap), height, fill });
  }).join("");
}

/** A line through points that are equally far apart; heights are from 0 to 1. */
export function line(box: Box, heights: readonly number[], stroke: string, dash: string): string {
  const style = { fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dash };
  return tag("path", { d: path(box, heights), ...style });
}

/** The area below such a line. */
export function area(box: Box, heights: readonly number[], fill: string): string {
  const bottom = coordinate(box.y + box.height);
  return tag("path", { d: `${path(box, heights)}V${bottom}H${coordinate(box.x)}Z`, fill });
}

function path(box: Box, heights: readonly number[]): string {
  const width = box.width / Math.max(1, heights.length - 1);
  const points = heights.map((height, k) =>
    `${coordinate(box.x + k * width)} ${coordinate(box.y + (1 - height) * box.height)}`
  );
  return `M${points.join("L")}`;
}

/** A number of at most four characters or so, such as 20k. */
export function brief(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.01) return value.toExponential(0);
  for (const [unit, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(value) >= unit) return `${Number((value / unit).toPrecision(3))}${name}`;
  }
  return String(Number(value.toPrecision(3)));
}

/** Up to `most` + 1 ticks at round numbers from 0 to `largest`, and only at whole numbers. */
export function roundTicks(largest: number, most: number): Tick[] {
  if (!(largest > 0)) return [{ at: 0, label: "0" }];
  const step = roundStep(Math.max(1, largest / most));
  const count = Math.floor(largest / step * 1.000001);
  return Array.from({ length: count + 1 }, (_, k) => ({
    at: k * step / largest,
    label: brief(k * step),
  }));
}

/** 1, 2 or 5 times a power of ten: the first that is not below `least`. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return power * ([1, 2, 5].find((factor) => factor * power >= least * 0.999999) ?? 10);
}

/** Ticks of a logarithmic axis: at powers of ten, or also at 2 and 5 times them where it is short. */
export function logTicks(smallest: number, largest: number): Tick[] {
  const [low, high] = [Math.log10(smallest), Math.log10(largest)];
  const [first, last] = [Math.floor(low), Math.ceil(high)];
  const every = Math.ceil((high - low) / 6);
  const factors = high - low < 2 ? [1, 2, 5] : [1];
  const values: number[] = [];
  for (let log = first; log <= last; log += every) {
    values.push(...factors.map((factor) => factor * 10 ** log));
  }
  return values
    .map((value) => ({ at: (Math.log10(value) - low) / (high - low), label: brief(value) }))
    .filter(({ at }) => at >= -1e-9 && at <= 1 + 1e-9);
}
