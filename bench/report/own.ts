/**
 * The section of the pages of benchmarks on this library's own figures.
 *
 * @module
 */

import { type Origin, originLine } from "../_results.ts";

/** What `deno bench` says of one bench, in nanoseconds. */
export interface OwnResult {
  readonly name: string;
  readonly group: string;
  /** Whether the others of its group are compared with it. */
  readonly baseline: boolean;
  readonly min: number;
  readonly avg: number;
  readonly p75: number;
}

/** What `bench:own` saves. */
export interface OwnResults extends Origin {
  readonly benches: readonly OwnResult[];
}

/** Markdown of the results, given as the text of their file. */
export function render(text: string): string {
  const results = JSON.parse(text) as OwnResults;
  const groups = [...new Set(results.benches.map(({ group }) => group))].map((group) => {
    const members = results.benches.filter((bench) => bench.group === group);
    const baseline = members.find((bench) => bench.baseline)?.min ?? NaN;
    const rows = members.map(({ name, min, avg, p75, baseline: isBaseline }) =>
      `| ${name} | ${micro(min)} | ${micro(avg)} | ${micro(p75)} | ${
        isBaseline ? "1" : (min / baseline).toFixed(2)
      } |`
    );
    return `### ${group}

| | min | mean | 75 % | min ÷ baseline |
|---|---:|---:|---:|---:|
${rows.join("\n")}
`;
  });
  return `## Our own figures

\`deno task bench:own --save\` saves what \`deno bench bench/own\` says, in µs a call. States have 4 float32, and episodes have 200 records.
In \`plain_bench.ts\` and \`batches_bench.ts\`, states have 15 float32 and actions have 3. Batches are reused unless said otherwise.
*Plain TypeScript* is \`bench/_plain_replay.ts\`: typed arrays in a ring, records side by side, and a binary sum tree. A check saw it give the same batches.

${originLine(results)}

${groups.join("\n")}`;
}

function micro(ns: number): string {
  const us = ns / 1e3;
  return us < 10 ? us.toPrecision(3) : us < 1000 ? us.toFixed(1) : us.toFixed(0);
}
