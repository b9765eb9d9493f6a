/**
 * What `dqn_cartpole.ts` shows: a progress bar while it runs, and at the end the learning curve and where the time went.
 *
 * @module
 */
import type { ReplayStats } from "@exrp/replay/stats";
import process from "node:process";
// @ts-types="@types/asciichart"
import asciichart from "asciichart";
// @ts-types="@types/cli-progress"
import { SingleBar } from "cli-progress";
import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

/** One point of the learning curve. */
export interface CurvePoint {
  /** Environment steps so far. */
  step: number;
  /** The undiscounted return of one episode, or the mean over several. */
  return: number;
}

/** The points of the learning curve. */
export interface LearningCurve {
  /** One point for each training episode, which explores. */
  episodes: CurvePoint[];
  /** One point for each greedy evaluation. */
  evaluations: CurvePoint[];
  /** What the replay held and drew, at the end of training. */
  replay?: ReplayStats;
}

/** Adds up the time that calls take, by name. */
export class Stopwatch {
  readonly #entries = new Map<string, { count: number; ms: number }>();
  readonly #startedAt = performance.now();

  /** Runs `call` and measures its time. */
  readonly time = <Result>(name: string, call: () => Result): Result => {
    const startedAt = performance.now();
    const result = call();
    const ms = performance.now() - startedAt;
    const entry = this.#entries.get(name);
    if (entry === undefined) this.#entries.set(name, { count: 1, ms });
    else {
      entry.count++;
      entry.ms += ms;
    }
    return result;
  };

  /** Seconds since the stopwatch was made. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  /** Seconds of all calls whose name begins with the given text. */
  secondsOf(prefix: string): number {
    const entries = [...this.#entries].filter(([name]) => name.startsWith(prefix));
    return entries.reduce((sum, [, { ms }]) => sum + ms / 1000, 0);
  }

  /** A line for each name: seconds, share of the whole, and time for one call. */
  table(): string {
    const total = this.seconds;
    const line = (name: string, seconds: number, count?: number) =>
      `  ${name.padEnd(20)}${seconds.toFixed(2).padStart(8)} s` +
      `${(100 * seconds / total).toFixed(1).padStart(7)} %` +
      (count === undefined
        ? ""
        : `${(1e6 * seconds / count).toFixed(1).padStart(9)} µs × ${count}`);
    const lines = [...this.#entries].map(([name, { count, ms }]) => line(name, ms / 1000, count));
    return [...lines, line("all of training", total)].join("\n");
  }
}

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
export async function curveSvg(curve: LearningCurve, title: string): Promise<string> {
  const spec: TopLevelSpec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title,
    width: 560,
    height: 280,
    background: "white",
    data: {
      values: [
        ...curve.episodes.map((point) => ({ ...point, kind: "training episode" })),
        ...curve.evaluations.map((point) => ({ ...point, kind: "greedy mean" })),
      ],
    },
    encoding: {
      x: { field: "step", type: "quantitative", title: "environment steps" },
      y: { field: "return", type: "quantitative", title: "return", scale: { domain: [0, 500] } },
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
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: "none" });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}
