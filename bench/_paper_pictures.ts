/**
 * The pictures of `bench:paper`.
 *
 * @module
 */

import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { curve, type PaperResults, VARIANT_NAMES } from "./report/paper.ts";

const SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json";

async function svg(spec: TopLevelSpec): Promise<string> {
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

/** `record_100` and `get_5000` of this library over k and s, as colours with their numbers (the paper's figures 3 and 4). */
export function surfaceSvg(results: PaperResults): Promise<string> {
  const values = results.cells.flatMap(({ k, s, ours }) =>
    ours === undefined ? [] : [
      { k, s, figure: "record_100, µs", value: ours.record100 },
      { k, s, figure: "get_5000, µs", value: ours.get5000 },
    ]
  );
  const surface = (figure: string, format: string) => {
    const found = values.filter((cell) => cell.figure === figure).map(({ value }) => value);
    const [least, most] = [Math.min(...found), Math.max(...found)];
    return {
      title: figure,
      width: 640,
      height: 380,
      transform: [{ filter: `datum.figure === '${figure}'` }],
      encoding: {
        x: { field: "s", type: "ordinal" as const, title: "s (2^s records an episode)" },
        y: {
          field: "k",
          type: "ordinal" as const,
          title: "k (2^k episodes)",
          sort: "descending" as const,
        },
      },
      layer: [
        {
          mark: "rect" as const,
          encoding: {
            color: {
              field: "value",
              type: "quantitative" as const,
              title: "µs",
              scale: { scheme: "yellowgreenblue" as const, domain: [least, most] },
            },
          },
        },
        {
          mark: { type: "text" as const, fontSize: 11 },
          encoding: {
            text: { field: "value", type: "quantitative" as const, format },
            // The greater a figure, the darker its cell.
            color: {
              condition: { test: `datum.value > ${(least + most) / 2}`, value: "white" },
              value: "black",
            },
          },
        },
      ],
    };
  };
  return svg({
    $schema: SCHEMA,
    background: "white",
    data: { values },
    vconcat: [surface("record_100, µs", ".1f"), surface("get_5000, µs", ".0f")],
    resolve: { scale: { color: "independent" } },
  });
}

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
      x: { field: "power", type: "quantitative" as const, title: "log2 N", scale: { zero: false } },
      y: {
        field: "value",
        type: "quantitative" as const,
        title: "µs",
        scale: { type: "log" as const },
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
  return svg({
    $schema: SCHEMA,
    background: "white",
    data: { values },
    hconcat: [plot("get_5000, µs"), plot("record_100, µs")],
  });
}
