/**
 * The section of the pages of benchmarks on the paper's experiment.
 *
 * @module
 */

import type { Cell, CellSize } from "../_paper_measure.ts";
import { type Origin, originLine } from "../_results.ts";
import { factor } from "../_section.ts";

/** What is measured: this library, the same with a kernel by the system's compiler, and a replay in plain TypeScript. */
export type VariantName = "ours" | "cmake" | "plain";

/** What each variant took in one cell. */
export type PaperCell = CellSize & { readonly [name in VariantName]?: Cell };

/** What `bench:paper` saves. */
export interface PaperResults extends Origin {
  /** Runs of which the smallest counts. */
  readonly repeats: number;
  /** Batches a run. */
  readonly batches: number;
  /** All cells. */
  readonly cells: readonly PaperCell[];
}

/** The names that people read. */
export const VARIANT_NAMES: Readonly<Record<VariantName, string>> = {
  ours: "@exrp/replay",
  cmake: "@exrp/replay, kernel by the system's compiler",
  plain: "plain TypeScript",
};

/** One point of the curve over N. */
export interface CurvePoint {
  readonly variant: VariantName;
  /** The binary logarithm of N. */
  readonly power: number;
  readonly record100: number;
  readonly get5000: number;
}

/** The means of the cells of each N = 2^(k + s), as in the paper's figure 5. */
export function curve({ cells }: PaperResults): CurvePoint[] {
  const points: CurvePoint[] = [];
  for (const variant of Object.keys(VARIANT_NAMES) as VariantName[]) {
    const byPower = new Map<number, Cell[]>();
    for (const cell of cells) {
      const measured = cell[variant];
      if (measured === undefined) continue;
      const power = cell.k + cell.s;
      byPower.set(power, [...byPower.get(power) ?? [], measured]);
    }
    for (const [power, found] of [...byPower].toSorted(([a], [b]) => a - b)) {
      points.push({
        variant,
        power,
        record100: mean(found.map((cell) => cell.record100)),
        get5000: mean(found.map((cell) => cell.get5000)),
      });
    }
  }
  return points;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Markdown of the results, given as the text of their file. */
export function render(text: string): string {
  const results = JSON.parse(text) as PaperResults;
  const hasCmake = results.cells.some(({ cmake }) => cmake !== undefined);
  return `## The paper's experiment

\`deno task bench:paper --save\` repeats section 4 of Chen and Wang, "Design of experience-replay module with high performance". It records 2^k episodes of
2^s records each into an empty replay, one by one. \`record_100\` is the time of 100 of these calls. Then it draws batches of 5000 sequences of 8 records,
and \`get_5000\` is the time of one batch. Times are µs, the smallest of ${results.repeats} runs of ${results.batches} batches each (10,000 in the paper). Batches are reused.
A record has 4 float32 of state, an int32 action and a float32 reward, as the paper doesn't say how large its states are.
*Plain TypeScript* is \`bench/_plain_replay.ts\`: typed arrays in a ring, which give the same records.

The paper's own figures come from a Core i7-7700K, and its states have an unknown size. There record_100 takes about 700 µs and get_5000 up to 800 µs.
Without its C++ kernel, get_5000 takes more than 33,000 µs.

${originLine(results)}

![get_5000 over N](../images/bench_paper_curve.svg)

${curveTable(results, hasCmake)}

${grid(results, "Table 1: record_100, @exrp/replay", ({ ours }) => ours?.record100)}

${grid(results, "Table 2: get_5000, @exrp/replay", ({ ours }) => ours?.get5000)}

${grid(results, "Table 3a: record_100, plain TypeScript", ({ plain }) => plain?.record100)}

${grid(results, "Table 3b: get_5000, plain TypeScript", ({ plain }) => plain?.get5000)}
`;
}

function curveTable(results: PaperResults, hasCmake: boolean): string {
  const points = curve(results);
  const at = (variant: VariantName, power: number) =>
    points.find((point) => point.variant === variant && point.power === power);
  const powers = points.filter(({ variant }) => variant === "ours").map(({ power }) => power);
  const shown = powers.filter(Number.isInteger);
  const cmakeHead = hasCmake ? " kernel by the system's compiler |" : "";
  const rule = hasCmake ? "---:|" : "";
  const rows = shown.map((power) => {
    const [ours, cmake, plain] = [at("ours", power), at("cmake", power), at("plain", power)];
    const columns = (["record100", "get5000"] as const).map((figure) =>
      `${figureText(ours?.[figure])} |${hasCmake ? ` ${figureText(cmake?.[figure])} |` : ""} ${
        figureText(plain?.[figure])
      } | ${comparedText((plain?.[figure] ?? NaN) / (ours?.[figure] ?? NaN))} |`
    );
    return `| 2^${power} | ${columns.join(" ")}`;
  });
  return `Each figure is the mean over the cells of one N. Each \`record\` calls a native function, which costs more than the few stores of plain TypeScript. \`recordMany\` and \`recordBatch\` take many steps in one call.

| N | record_100: @exrp/replay |${cmakeHead} plain | @exrp/replay is | get_5000: @exrp/replay |${cmakeHead} plain | @exrp/replay is |
|---|---:|${rule}---:|---:|---:|${rule}---:|---:|
${rows.join("\n")}`;
}

/** Says how many times faster or slower ours is than a replay that takes `ratio` times as long. */
function comparedText(ratio: number): string {
  if (Number.isNaN(ratio)) return "–";
  return ratio >= 1 ? `${factor(ratio)} faster` : `${factor(1 / ratio)} slower`;
}

function grid(
  { cells }: PaperResults,
  title: string,
  figure: (cell: PaperCell) => number | undefined,
): string {
  const ks = [...new Set(cells.map(({ k }) => k))];
  const ss = [...new Set(cells.map(({ s }) => s))];
  const rows = ks.map((k) => {
    const values = ss.map((s) => {
      const cell = cells.find((cell) => cell.k === k && cell.s === s);
      return figureText(cell === undefined ? undefined : figure(cell));
    });
    return `| ${k} | ${values.join(" | ")} |`;
  });
  return `**${title}** (rows k, columns s)

| k \\ s | ${ss.join(" | ")} |
|---|${ss.map(() => "---:|").join("")}
${rows.join("\n")}`;
}

function figureText(value: number | undefined): string {
  if (value === undefined) return "–";
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}
