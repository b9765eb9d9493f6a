/**
 * What the agents of all examples show: a progress bar while they run, learning curves as a picture, and where the time went.
 *
 * @module
 */
import process from "node:process";
// @ts-types="@types/cli-progress"
import { SingleBar } from "cli-progress";
import { type CurvePoint, returnDomain } from "./_curve.ts";
import { svgOf } from "./_svg.ts";

export { Stopwatch } from "./_stopwatch.ts";

/** What the progress bar shows beside the step. */
export interface Status {
  /** Mean return of the latest training episodes. */
  return: number;
  /** Loss of the latest update; NaN before the first. */
  loss: number;
  /** Mean return of the best greedy evaluation so far. */
  best: number;
}

/** A progress bar on a terminal. In a file or a log, a plain line every few seconds. */
export class Progress {
  readonly #bar: SingleBar | undefined;
  readonly #total: number;
  readonly #startedAt = performance.now();
  #shownAt = this.#startedAt;

  constructor(total: number) {
    this.#total = total;
    if (!Deno.stdout.isTerminal()) return;
    this.#bar = new SingleBar({
      format: "[{bar}] {value}/{total} | return {return} | loss {loss} | best {best} | {rate}/s",
      stream: process.stdout,
      barsize: 20,
    });
    this.#bar.start(total, 0, { return: "-", loss: "-", best: "-", rate: "-" });
  }

  /** Shows how far training is. You may call it as often as you like. */
  update(step: number, status: Status): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#bar === undefined ? 5_000 : 200)) return;
    this.#shownAt = now;
    const shown = {
      return: status.return.toFixed(1),
      loss: Number.isNaN(status.loss) ? "-" : status.loss.toPrecision(2),
      best: status.best.toFixed(1),
      rate: (1000 * step / (now - this.#startedAt)).toFixed(0),
    };
    if (this.#bar !== undefined) this.#bar.update(step, shown);
    else {
      console.log(
        `step ${step}/${this.#total} | return ${shown.return} | loss ${shown.loss} | ` +
          `best ${shown.best} | ${shown.rate} steps/s`,
      );
    }
  }

  /** Leaves the bar as it is and goes to the next line. */
  [Symbol.dispose](): void {
    this.#bar?.stop();
  }
}

/** A learning curve with its name, for a picture of several. Curves of one name have one colour. */
export interface NamedCurve {
  readonly name: string;
  readonly points: readonly CurvePoint[];
}

/**
 * Several learning curves as an SVG: a line for each, and a dashed line, which is named, at the return that counts as solved.
 *
 * @param returns The title and the usual ends of the vertical axis, and the return that counts as solved.
 */
export function curvesSvg(
  curves: readonly NamedCurve[],
  title: string,
  returns: { title: string; domain: readonly [number, number]; solved: number },
): Promise<string> {
  const domain = returnDomain(curves.flatMap(({ points }) => points), returns.domain);
  return svgOf({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title,
    width: 560,
    height: 280,
    layer: [
      {
        data: { values: [{ return: returns.solved }] },
        mark: { type: "rule", strokeDash: [4, 4], color: "gray" },
        encoding: { y: { field: "return", type: "quantitative" } },
      },
      {
        data: { values: [{ return: returns.solved, text: `solved: ${returns.solved}` }] },
        mark: { type: "text", align: "right", baseline: "top", dy: 4, color: "gray" },
        encoding: {
          x: { value: "width" },
          y: { field: "return", type: "quantitative" },
          text: { field: "text", type: "nominal" },
        },
      },
      {
        data: {
          values: curves.flatMap(({ name, points }, curve) =>
            points.map((p) => ({ ...p, name, curve }))
          ),
        },
        mark: { type: "line", point: { size: 15 }, clip: true },
        encoding: {
          x: {
            field: "step",
            type: "quantitative",
            title: "environment steps",
            scale: { zero: true },
          },
          y: {
            field: "return",
            type: "quantitative",
            title: returns.title,
            // There is room above the best return, so that a line along it can be seen.
            scale: { domain, nice: false },
          },
          detail: { field: "curve" },
          color: {
            field: "name",
            type: "nominal",
            title: null,
            sort: [...new Set(curves.map(({ name }) => name))],
            legend: { orient: "top", labelLimit: 0 },
          },
        },
      },
    ],
  });
}
