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

/** A coordinate, without more digits than a picture shows. */
export function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A line of text. */
export function text(
  x: number,
  y: number,
  content: string,
  { fill, size = 12, anchor = "start", weight = "normal" }: {
    readonly fill: string;
    readonly size?: number;
    readonly anchor?: "start" | "middle" | "end";
    readonly weight?: "normal" | "bold";
  },
): string {
  return `<text x="${coordinate(x)}" y="${
    coordinate(y)
  }" fill="${fill}" font-size="${size}" text-anchor="${anchor}" font-weight="${weight}">${
    escapeText(content)
  }</text>`;
}

/** The frame of a chart: grid lines, ticks, and the titles of the axes. */
export function frame(
  box: Box,
  theme: Theme,
  x: { readonly ticks: readonly Tick[]; readonly title: string },
  y: { readonly ticks: readonly Tick[]; readonly title: string },
): string {
  const bottom = box.y + box.height;
  const parts: string[] = [];
  for (const { at, label } of y.ticks) {
    const height = bottom - at * box.height;
    parts.push(
      `<path d="M${coordinate(box.x)} ${coordinate(height)}h${box.width}" stroke="${theme.grid}"/>`,
      text(box.x - 6, height + 3.5, label, { fill: theme.faint, size: 10, anchor: "end" }),
    );
  }
  for (const { at, label } of x.ticks) {
    const left = box.x + at * box.width;
    parts.push(
      `<path d="M${coordinate(left)} ${coordinate(bottom)}v4" stroke="${theme.faint}"/>`,
      text(left, bottom + 15, label, { fill: theme.faint, size: 10, anchor: "middle" }),
    );
  }
  parts.push(
    `<path d="M${coordinate(box.x)} ${coordinate(bottom)}h${box.width}" stroke="${theme.faint}"/>`,
    text(box.x + box.width / 2, bottom + 29, x.title, {
      fill: theme.faint,
      size: 11,
      anchor: "middle",
    }),
    text(box.x, box.y - 8, y.title, { fill: theme.faint, size: 11 }),
  );
  return parts.join("");
}

/** Bars that stand side by side; heights are from 0 to 1. */
export function bars(box: Box, heights: readonly number[], fill: string, gap = 1): string {
  const width = box.width / Math.max(1, heights.length);
  return heights.map((height, k) =>
    height <= 0
      ? ""
      : `<rect x="${coordinate(box.x + k * width + gap / 2)}" y="${
        coordinate(box.y + (1 - height) * box.height)
      }" width="${coordinate(Math.max(0.5, width - gap))}" height="${
        coordinate(height * box.height)
      }" fill="${fill}"/>`
  ).join("");
}

/** A line through points that are equally far apart; heights are from 0 to 1. */
export function line(box: Box, heights: readonly number[], stroke: string, dash: string): string {
  return `<path d="${
    path(box, heights)
  }" fill="none" stroke="${stroke}" stroke-width="2" stroke-dasharray="${dash}"/>`;
}

/** The area below such a line. */
export function area(box: Box, heights: readonly number[], fill: string): string {
  const bottom = coordinate(box.y + box.height);
  const outline = `${path(box, heights)}V${bottom}H${coordinate(box.x)}Z`;
  return `<path d="${outline}" fill="${fill}"/>`;
}

function path(box: Box, heights: readonly number[]): string {
  const width = box.width / Math.max(1, heights.length - 1);
  return heights.map((height, k) =>
    `${k === 0 ? "M" : "L"}${coordinate(box.x + k * width)} ${
      coordinate(box.y + (1 - height) * box.height)
    }`
  ).join("");
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
