/**
 * Charts of measured times as SVG.
 *
 * @module
 */

import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

/** One measured time. */
export interface Point {
  readonly system: string;
  /** What the chart's panels are of. */
  readonly panel: string;
  /** Where it is on the horizontal axis of a line chart. */
  readonly x: number;
  readonly us: number;
}

/** Colours that can be told apart; the first two are for ours. */
const COLOURS = [
  ...["#d62728", "#ff9896", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf"],
  ...["#bcbd22", "#7f7f7f", "#aec7e8", "#98df8a", "#c5b0d5"],
];

async function draw(spec: TopLevelSpec): Promise<string> {
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** In the order in which they come. */
function distinct(values: readonly string[]): string[] {
  return [...new Set(values)];
}

const TIME = {
  field: "us",
  type: "quantitative",
  title: "µs a call",
  scale: { type: "log" },
} as const;

interface Colour {
  readonly field: "system";
  readonly type: "nominal";
  readonly title: null;
  readonly scale: { domain: string[]; range: string[] };
}

/** Each system's colour is that of its place in `systems`, whatever the chart shows of them. */
function colour(points: readonly Point[], systems: readonly string[]): Colour {
  const domain = systems.filter((system) => points.some((point) => point.system === system));
  const range = domain.map((system) => COLOURS[systems.indexOf(system) % COLOURS.length] ?? "");
  return {
    field: "system",
    type: "nominal",
    title: null,
    scale: { domain, range },
  };
}

/** Panels in a row: as many as can be read in a page's width. */
const PANELS_IN_A_ROW = 3;

/**
 * Time against `x`, a line for each system, rows of panels in the order of the points; both axes logarithmic, and `x` in powers of two,
 * unless `linear`.
 */
export function lineChart(
  points: readonly Point[],
  systems: readonly string[],
  xTitle: string,
  options: { readonly linear?: boolean } = {},
): Promise<string> {
  const { linear = false } = options;
  const powers = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  const scale = linear ? { zero: false } : { type: "log", base: 2 } as const;
  const axis = linear
    ? { tickCount: 5 }
    : { values: powers, labelExpr: "'2^' + round(log(datum.value) / LN2)" };
  return draw({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    background: "white",
    data: { values: [...points] },
    facet: { field: "panel", title: null, sort: distinct(points.map((p) => p.panel)) },
    columns: PANELS_IN_A_ROW,
    spec: {
      width: 220,
      height: 200,
      mark: { type: "line", point: true },
      encoding: {
        x: { field: "x", type: "quantitative", title: xTitle, scale, axis },
        y: TIME,
        color: colour(points, systems),
      },
    },
  });
}

/** Time of each system as a dot, a row for each panel; the axis is logarithmic. */
export function dotChart(
  points: readonly Point[],
  systems: readonly string[],
): Promise<string> {
  return draw({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    background: "white",
    width: 480,
    height: { step: 28 },
    data: { values: [...points] },
    mark: { type: "point", filled: true, size: 80, opacity: 0.85 },
    encoding: {
      x: TIME,
      y: {
        field: "panel",
        type: "nominal",
        title: null,
        sort: distinct(points.map((p) => p.panel)),
        axis: { labelLimit: 320, grid: true },
      },
      color: colour(points, systems),
    },
  });
}
