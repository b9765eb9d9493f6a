/// <reference lib="dom" />
/**
 * The pages' charts, drawn by uPlot: learning curves, the priorities, and the ages of what was drawn.
 *
 * @module
 */
import type { AgeStats, Histogram } from "@exrp/replay/stats";
import uPlot from "uplot";
import type { CurvePoint } from "../_curve.ts";
import { edgeLabels } from "./_edge_labels.ts";

/** A run as the learning curve shows it. */
export interface RunCurve {
  /** Which of the colours and dashes it has. */
  readonly colour: number;
  readonly episodes: readonly CurvePoint[];
  readonly evaluations: readonly CurvePoint[];
}

/** Colours and dashes that tell runs apart, also for a reader who is colour-blind. */
export const COLOUR_COUNT = 6;
const DASHES: readonly number[][] = [
  [10, 5],
  [3, 4],
  [12, 4, 3, 4],
  [6, 6],
  [16, 6],
  [12, 4, 3, 4, 3, 4],
];

/** A colour of the page's style. */
function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The colour of a run; older runs are fainter. */
export function runColour(k: number, isFaint: boolean): string {
  return colour(`--series-${k + 1}`) + (isFaint ? "99" : "");
}

/** The dashes of a run, in pixels. The line of the run that trains now is whole. */
export function runDash(k: number, isFaint: boolean): number[] {
  return isFaint ? DASHES[k] ?? [] : [];
}

/** The height of an axis below a chart, without its label, in pixels. */
const X_SIZE = 26;

type Options = Omit<uPlot.Options, "width" | "height">;

/** An axis in the page's colours. */
function axis(label: string, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    label,
    labelSize: 16,
    labelGap: 2,
    labelFont: "12px system-ui, sans-serif",
    font: "11px system-ui, sans-serif",
    stroke: colour("--faint"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--grid"), width: 1, size: 4 },
    ...more,
  };
}

/** A chart that fills its element, and is made anew where its series or the page's colours change. */
class Chart {
  readonly #host: HTMLElement;
  #plot: uPlot | undefined;
  #made = "";

  constructor(host: HTMLElement) {
    this.#host = host;
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(host);
  }

  #size(): { width: number; height: number } {
    const { clientWidth: width, clientHeight: height } = this.#host;
    return { width, height };
  }

  /** Draws. The chart is made anew where `key` is another one than before. */
  draw(key: string, options: () => Options, data: uPlot.AlignedData): void {
    const made = `${key} ${colour("--paper")}`;
    if (this.#plot !== undefined && this.#made === made) return this.#plot.setData(data);
    this.clear();
    this.#made = made;
    this.#plot = new uPlot(
      { legend: { show: false }, cursor: { show: false }, ...options(), ...this.#size() },
      data,
      this.#host,
    );
  }

  /** Shows nothing. */
  clear(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }
}

/** The learning curves of the run that trains now, and of earlier ones. */
export class LearningChart {
  readonly #chart: Chart;

  constructor(host: HTMLElement) {
    this.#chart = new Chart(host);
  }

  /** Draws the runs. The last one is the one that trains now. */
  draw(runs: readonly RunCurve[]): void {
    const columns = (points: readonly CurvePoint[]): uPlot.AlignedData => [
      points.map(({ step }) => step),
      points.map((point) => point.return),
    ];
    const now = runs.at(-1);
    const data = uPlot.join([
      columns(now?.episodes ?? []),
      ...runs.map(({ evaluations }) => columns(evaluations)),
    ]);
    const key = runs.map((run) => run.colour).join();
    this.#chart.draw(key, () => this.#options(runs), data);
  }

  #options(runs: readonly RunCurve[]): Options {
    const dots = runColour(runs.at(-1)?.colour ?? 0, false) + "80";
    return {
      scales: {
        x: { time: false, range: (_, __, max) => [0, Math.max(2000, max ?? 0)] },
        y: { range: [0, 515] },
      },
      axes: [
        axis("environment steps", {
          size: X_SIZE,
          values: (_, steps) => steps.map((step) => step.toLocaleString("en")),
        }),
        axis("return", { splits: [0, 100, 200, 300, 400, 500], size: 44 }),
      ],
      series: [
        {},
        { paths: () => null, points: { show: true, size: 5, stroke: "transparent", fill: dots } },
        ...runs.map(({ colour: k }, index): uPlot.Series => {
          const isFaint = index < runs.length - 1;
          const stroke = runColour(k, isFaint);
          return {
            stroke,
            width: isFaint ? 1.5 : 3,
            dash: runDash(k, isFaint),
            spanGaps: true,
            points: { show: !isFaint, size: 7, stroke, fill: colour("--paper") },
          };
        }),
      ],
    };
  }
}

/** The share of episodes that reach the goal, over the steps of one run. */
export class ShareChart {
  readonly #chart: Chart;
  readonly #steps: number;

  constructor(host: HTMLElement, steps: number) {
    this.#chart = new Chart(host);
    this.#steps = steps;
  }

  /** Draws the evaluations. */
  draw(evaluations: readonly CurvePoint[]): void {
    const stroke = runColour(0, false);
    this.#chart.draw("", () => ({
      scales: { x: { time: false, range: [0, this.#steps] }, y: { range: [0, 1.05] } },
      axes: [
        axis("environment steps", { size: X_SIZE }),
        axis("share of episodes", { splits: [0, 0.25, 0.5, 0.75, 1], size: 44 }),
      ],
      series: [{}, { stroke, width: 3, points: { show: true, size: 7, fill: colour("--paper") } }],
    }), [evaluations.map(({ step }) => step), evaluations.map((point) => point.return)]);
  }
}

/** How many picks have which priority. */
export class PriorityChart {
  readonly #chart: Chart;

  constructor(host: HTMLElement) {
    this.#chart = new Chart(host);
  }

  /** Draws the histogram. Its bins are equal steps of the logarithm. */
  draw({ edges, counts }: Histogram): void {
    const bins = counts.map((_, k) => k);
    this.#chart.draw(edges.join(), () => ({
      scales: {
        x: { time: false, range: [-0.5, counts.length - 0.5] },
        y: { range: (_, __, max) => [0, Math.max(1, max) * 1.05] },
      },
      axes: [
        axis("priority (logarithmic)", {
          size: X_SIZE,
          // Edge k of the histogram lies left of bin k.
          splits: edges.map((_, k) => k - 0.5),
          values: (plot) => edgeLabels(edges, plot.bbox.width / devicePixelRatio),
          grid: { show: false },
        }),
        axis("picks", {
          values: (_, picks) => picks.map((count) => count.toLocaleString("en")),
          size: 56,
        }),
      ],
      series: [
        {},
        {
          fill: colour("--series-1"),
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars?.({ size: [0.92] }),
        },
      ],
    }), [bins, [...counts]]);
  }

  /** Shows nothing. */
  clear(): void {
    this.#chart.clear();
  }
}

/** How old the drawn picks are, beside the stored records. */
export class AgeChart {
  readonly #chart: Chart;

  constructor(host: HTMLElement) {
    this.#chart = new Chart(host);
  }

  /** Draws the shares of both, age by age. They have the same edges. */
  draw(stored: AgeStats, drawn: AgeStats): void {
    const { edges } = stored.histogram;
    const shares = ({ count, histogram }: AgeStats): number[] => [
      ...histogram.counts.map((each) => 100 * each / Math.max(1, count)),
      0,
    ];
    this.#chart.draw("", () => ({
      scales: {
        x: { time: false, range: (_, __, max) => [0, Math.max(1, max ?? 0)] },
        y: { range: (_, __, max) => [0, Math.max(1, max ?? 0) * 1.1] },
      },
      axes: [
        axis("age, in records written since", {
          size: X_SIZE,
          values: (_, ages) => ages.map((age) => age.toLocaleString("en")),
        }),
        axis("share, %", { size: 44 }),
      ],
      series: [
        {},
        {
          fill: colour("--stored"),
          width: 0,
          points: { show: false },
          paths: uPlot.paths.stepped?.({ align: 1 }),
        },
        {
          stroke: colour("--series-2"),
          width: 2.5,
          points: { show: false },
          paths: uPlot.paths.stepped?.({ align: 1 }),
        },
      ],
    }), [[...edges], shares(stored), shares(drawn)]);
  }
}
