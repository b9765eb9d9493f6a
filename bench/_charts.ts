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
  /** The panel that shows the point. */
  readonly panel: string;
  /** Where it is on the horizontal axis of a line chart. */
  readonly x: number;
  readonly us: number;
}

/** Colours that a reader can tell apart. The first two are ours. */
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

/** The different values, in the order of their first appearance. */
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

/** A system's colour follows from its place in `systems`, so that all charts give it the same one. */
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

/** How many panels stand in a row: more would be too narrow to read. */
const PANELS_IN_A_ROW = 3;

/**
 * Draws time against `x`, with a line for each system. The panels have the order of the points. Both axes are logarithmic, and `x` is in
 * powers of two. With `linear`, `x` is linear.
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

/** Draws the time of each system as a dot, with a row for each panel. The axis is logarithmic. */
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

/** One bar of a panel. */
export interface Bar {
  readonly system: string;
  readonly value: number;
  /** What stands at the bar's end. */
  readonly label: string;
}

/** One panel of bars, which has a scale of its own. */
export interface BarPanel {
  readonly title: string;
  readonly subtitle: string;
  readonly bars: readonly Bar[];
}

/** The colour of a system in {@linkcode barPanels}: only ours stand out. */
function barColour(system: string, ours: readonly string[]): string {
  const place = ours.indexOf(system);
  return COLOURS[place] ?? "#b8bec6";
}

/**
 * The largest value that a panel shows in full. The longest bar may be so long that it would hide what the others say. Then the second
 * longest decides, and the longest is cut.
 */
function shownUpTo(bars: readonly Bar[]): number {
  const [longest = 1, second = longest] = bars.map(({ value }) => value).sort((a, b) => b - a);
  return longest > 1.5 * second ? 1.15 * second : longest;
}

/** Draws panels of bars from zero on, the shortest first. A bar that is cut has an arrow before its label. */
export function barPanels(
  panels: readonly BarPanel[],
  ours: readonly string[],
): Promise<string> {
  return draw({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    background: "white",
    columns: 2,
    // Columns and rows follow from the panels alone. The spaces hold the names and the titles.
    bounds: "flush",
    spacing: { row: 56, column: 150 },
    config: { view: { stroke: null } },
    concat: panels.map(({ title, subtitle, bars }) => {
      const end = shownUpTo(bars);
      return {
        title: {
          text: title,
          subtitle,
          anchor: "start" as const,
          frame: "group" as const,
          fontSize: 13,
        },
        width: 270,
        height: { step: 19 },
        data: {
          values: bars.map(({ system, value, label }) => ({
            system,
            shown: Math.min(value, end),
            label: value > end ? `→ ${label}` : label,
            colour: barColour(system, ours),
          })),
        },
        encoding: {
          y: {
            field: "system",
            type: "nominal" as const,
            title: null,
            sort: bars.toSorted((a, b) => a.value - b.value).map(({ system }) => system),
            axis: {
              domain: false,
              ticks: false,
              labelLimit: 0,
              labelFontSize: 11,
              labelColor: {
                condition: {
                  test: `indexof(${JSON.stringify(ours)}, datum.value) >= 0`,
                  value: "#d62728",
                },
                value: "black",
              },
            },
          },
        },
        layer: [{
          mark: { type: "bar" as const, height: 13 },
          encoding: {
            x: {
              field: "shown",
              type: "quantitative" as const,
              axis: null,
              // Room for the longest bar's label.
              scale: { domain: [0, 1.35 * end] },
            },
            color: { field: "colour", type: "nominal" as const, scale: null },
          },
        }, {
          mark: { type: "text" as const, align: "left" as const, dx: 4, fontSize: 11 },
          encoding: {
            x: { field: "shown", type: "quantitative" as const },
            text: { field: "label", type: "nominal" as const },
          },
        }],
      };
    }),
  });
}
