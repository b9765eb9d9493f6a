/**
 * Charts of measured times as SVG.
 *
 * @module
 */

import { svgOf } from "../examples/_svg.ts";

/** One measured time. */
export interface Point {
  readonly system: string;
  /** The panel that shows the point. */
  readonly panel: string;
  /** Where it is on the horizontal axis. */
  readonly x: number;
  readonly us: number;
}

/** Colours that a reader can tell apart on white and on black. The first is ours. */
const COLOURS = [
  ...["#e0303a", "#2f81d8", "#2ca02c", "#9467bd", "#a5715c", "#f08c1a", "#17a8bd", "#a3a61d"],
  ...["#8a8f98", "#7fa8d8", "#7cc47a"],
];

/** Ours with reused outputs has the colour of ours and a line of its own. */
const DASHED = [5, 3];

/** How many panels stand in a row: more would be too narrow to read. */
const PANELS_IN_A_ROW = 3;

/** The different values, in the order of their first appearance. */
function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}

/** The powers of ten between two numbers. */
function powersOfTen([least, most]: readonly [number, number]): number[] {
  const first = Math.ceil(Math.log10(least));
  const count = Math.floor(Math.log10(most)) - first + 1;
  return Array.from({ length: count }, (_, k) => Number(`1e${first + k}`));
}

/**
 * Draws time against `x`, with a line for each system. The panels have the order of the points. Both axes are logarithmic, and `x` is in
 * powers of two. With `linear`, `x` is linear. A system's colour follows from its place in `systems`, so that all charts give it the same
 * one. `ours` are the names of ours with fresh and with reused outputs.
 */
export function lineChart(
  points: readonly Point[],
  systems: readonly string[],
  ours: readonly string[],
  xTitle: string,
  options: { readonly linear?: boolean } = {},
): Promise<string> {
  const { linear = false } = options;
  const sizes = distinct(points.map(({ x }) => x)).sort((a, b) => a - b);
  const others = systems.filter((system) => !ours.includes(system));
  const shown = systems.filter((system) => points.some((point) => point.system === system));
  const times = points.map(({ us }) => us);
  const domain: [number, number] = [0.7 * Math.min(...times), 1.4 * Math.max(...times)];
  const title = { field: "system", type: "nominal", title: null } as const;
  return svgOf({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    config: {
      axis: { labelFontSize: 12, titleFontSize: 12 },
      header: { labelFontSize: 14, labelFontWeight: "bold" },
      legend: { labelFontSize: 13, labelLimit: 0, symbolSize: 400, symbolType: "stroke" },
    },
    data: { values: [...points] },
    facet: { field: "panel", title: null, sort: distinct(points.map((p) => p.panel)) },
    columns: PANELS_IN_A_ROW,
    spacing: 16,
    spec: {
      width: 190,
      height: 170,
      mark: { type: "line", point: { size: 22 } },
      encoding: {
        x: {
          field: "x",
          type: "quantitative",
          title: xTitle,
          scale: linear ? { zero: false } : { type: "log", base: 2 },
          axis: linear ? { tickCount: 5 } : {
            values: sizes,
            labelExpr: "'2^' + round(log(datum.value) / LN2)",
            labelOverlap: false,
            grid: false,
          },
        },
        y: {
          field: "us",
          type: "quantitative",
          title: "µs a call",
          scale: { type: "log", domain, nice: false },
          axis: { values: powersOfTen(domain), format: ",~r" },
        },
        color: {
          ...title,
          scale: {
            domain: shown,
            range: shown.map((system) =>
              COLOURS[(others.indexOf(system) + 1) % COLOURS.length] ?? ""
            ),
          },
          legend: { orient: "bottom", columns: 5 },
        },
        strokeDash: {
          ...title,
          scale: {
            domain: shown,
            range: shown.map((system) => system === ours[1] ? DASHED : [1, 0]),
          },
        },
        strokeWidth: {
          condition: { test: `indexof(${JSON.stringify(ours)}, datum.system) >= 0`, value: 2.5 },
          value: 1.5,
        },
      },
    },
  });
}
