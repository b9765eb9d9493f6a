/**
 * The picture of this example: for each way to learn, the mean over the seeds, and the range from the worst to the best of them.
 *
 * @module
 */
import { type CurvePoint, mean } from "../_curve.ts";
import { svgOf } from "../_svg.ts";

/** The learning curves of several seeds that learned in one way: one for each seed, with the same steps. */
export interface Curves {
  readonly name: string;
  readonly seeds: readonly (readonly CurvePoint[])[];
}

/** A point of the picture. */
interface Band {
  step: number;
  mean: number;
  low: number;
  high: number;
}

/** Mean, lowest and highest return of the seeds at each step. */
export function bandOf({ seeds }: Curves): Band[] {
  return (seeds[0] ?? []).map(({ step }, index) => {
    const returns = seeds.map((points) => points[index]?.return ?? NaN);
    return { step, mean: mean(returns), low: Math.min(...returns), high: Math.max(...returns) };
  });
}

/** Draws the curves as an SVG, with a dashed line at the return that counts as solved. */
export function bandsSvg(
  curves: readonly Curves[],
  title: string,
  returns: { title: string; domain: readonly [number, number]; solved: number },
): Promise<string> {
  const x = { field: "step", type: "quantitative", title: "environment steps" } as const;
  const color = {
    field: "name",
    type: "nominal",
    title: null,
    sort: curves.map(({ name }) => name),
    legend: { orient: "top", labelLimit: 0 },
  } as const;
  const axis = { title: returns.title, scale: { domain: [...returns.domain], nice: false } };
  return svgOf({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title,
    width: 560,
    height: 280,
    data: { values: curves.flatMap((all) => bandOf(all).map((p) => ({ ...p, name: all.name }))) },
    layer: [
      {
        mark: { type: "area", opacity: 0.2, clip: true },
        encoding: {
          x,
          y: { field: "low", type: "quantitative", ...axis },
          y2: { field: "high" },
          color,
        },
      },
      {
        mark: { type: "line", clip: true },
        encoding: { x, y: { field: "mean", type: "quantitative", ...axis }, color },
      },
      {
        data: { values: [{ solved: returns.solved, text: `solved: ${returns.solved}` }] },
        layer: [
          { mark: { type: "rule", strokeDash: [4, 4], color: "gray" } },
          {
            mark: { type: "text", align: "left", baseline: "top", dx: 4, dy: 4, color: "gray" },
            encoding: { x: { value: 0 }, text: { field: "text" } },
          },
        ],
        encoding: { y: { field: "solved", type: "quantitative" } },
      },
    ],
  });
}
