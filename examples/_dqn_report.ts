/**
 * What `dqn_cartpole.ts` shows at the end: its learning curve, on the terminal and as a picture.
 *
 * @module
 */
import type { ReplayStats } from "@exrp/replay/stats";
// @ts-types="@types/asciichart"
import asciichart from "asciichart";

import type { CurvePoint } from "./_curve.ts";
import { svgOf, type TopLevelSpec } from "./_svg.ts";

/** The points of the learning curve. */
export interface LearningCurve {
  /** One point for each training episode, which explores. */
  episodes: CurvePoint[];
  /** One point for each greedy evaluation. */
  evaluations: CurvePoint[];
  /** What the replay held and drew, at the end of training. */
  replay?: ReplayStats;
}

/** The greedy evaluations as a chart of characters, `width` columns wide. */
export function terminalChart({ evaluations }: LearningCurve, width = 64): string {
  const last = evaluations.length - 1;
  const columns = Array.from({ length: width }, (_, column) => {
    const point = evaluations[Math.round(last * column / (width - 1))];
    return point?.return ?? 0;
  });
  return asciichart.plot(columns, {
    height: 10,
    min: 0,
    max: 500,
    format: (value) => value.toFixed(0).padStart(6),
  });
}

/** The learning curve as an SVG: a dot for each training episode, a line of greedy evaluations. */
export function curveSvg(curve: LearningCurve, title: string): Promise<string> {
  const spec: TopLevelSpec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title,
    width: 560,
    height: 280,
    data: {
      values: [
        ...curve.episodes.map((point) => ({ ...point, kind: "training episode" })),
        ...curve.evaluations.map((point) => ({ ...point, kind: "greedy mean" })),
      ],
    },
    encoding: {
      x: { field: "step", type: "quantitative", title: "environment steps" },
      y: {
        field: "return",
        type: "quantitative",
        title: "return",
        // There is room above the best return, so that no dot lies on the frame.
        scale: { domain: [0, 525], nice: false },
      },
      color: { field: "kind", type: "nominal", title: null, legend: { orient: "top" } },
    },
    layer: [
      {
        transform: [{ filter: "datum.kind === 'training episode'" }],
        mark: { type: "circle", size: 20, opacity: 0.6 },
      },
      {
        transform: [{ filter: "datum.kind !== 'training episode'" }],
        mark: { type: "line", point: true },
      },
    ],
  };
  return svgOf(spec);
}
