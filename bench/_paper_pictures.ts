/**
 * The picture of `bench:paper`.
 *
 * @module
 */

import { svgOf } from "../examples/_svg.ts";
import { curve, type PaperResults, VARIANT_NAMES } from "./report/paper.ts";

/** `get_5000` and `record_100` over N, all variants (the paper's figure 5). */
export function curveSvg(results: PaperResults): Promise<string> {
  const values = curve(results).flatMap(({ variant, power, record100, get5000 }) => [
    { name: VARIANT_NAMES[variant], power, figure: "get_5000, µs", value: get5000 },
    { name: VARIANT_NAMES[variant], power, figure: "record_100, µs", value: record100 },
  ]);
  const plot = (figure: string) => ({
    title: figure,
    width: 380,
    height: 280,
    transform: [{ filter: `datum.figure === '${figure}'` }],
    mark: { type: "line" as const, point: true },
    encoding: {
      x: {
        field: "power",
        type: "quantitative" as const,
        title: "log2 N",
        axis: { grid: false },
        scale: { zero: false },
      },
      y: {
        field: "value",
        type: "quantitative" as const,
        title: "µs",
        scale: { type: "log" as const },
        axis: { values: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000] },
      },
      color: {
        field: "name",
        type: "nominal" as const,
        title: null,
        sort: Object.values(VARIANT_NAMES),
        legend: { orient: "top" as const, columns: 1, labelLimit: 400 },
      },
    },
  });
  return svgOf({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    data: { values },
    hconcat: [plot("get_5000, µs"), plot("record_100, µs")],
  });
}
