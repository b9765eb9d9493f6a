/**
 * The section of `docs/benchmarks.md` on the limit of the hardware.
 *
 * @module
 */

import type { CallCost, LimitResult } from "../_limit_measure.ts";
import { type Origin, originLine } from "../_results.ts";

/** What `bench:limit` saves. */
export interface LimitResults extends Origin {
  /** The instructions that the limit may use. */
  readonly limitCpu: string;
  /** A result a workload. */
  readonly workloads: readonly LimitResult[];
  /** What a `record` costs beside an empty call. */
  readonly calls?: CallCost;
}

/** Markdown of the results, given as the text of their file. */
export function render(text: string): string {
  const results = JSON.parse(text) as LimitResults;
  const rows = results.workloads.map((workload) =>
    `| ${workload.name} | ${micro(workload.ours.min)} | ${micro(workload.limit.min)} | ${
      (workload.ours.min / workload.limit.min).toFixed(2)
    } | ${workload.ratio.toFixed(2)} | ${workload.floor ?? "–"} | ${workload.note ?? ""} |`
  );
  return `## Beside the limit of the hardware

\`deno task bench:limit --save\`: each workload beside the shortest native loop that moves the same bytes (\`bench/limit.cpp\`: no lookup, no checks, huge pages,
built for ${results.limitCpu}; the kernel is built for the baseline), in turns within one process. µs a call, the smallest mean of a turn; the ratio of these, and the median of the ratios turn by turn.
15-float states, 3-float actions, rewards and next states unless said; batches reused unless said. A ratio can be below 1, as the loops are plain rather than the best there could be: that of sequences
goes record by record and reads each state twice, as a state and as the next state of the record before, where the kernel writes both from one pass over a sequence.

${originLine(results)}

| workload | ours | limit | ratio | median | at most | |
|---|---:|---:|---:|---:|---:|---|
${rows.join("\n")}
${callLine(results)}`;
}

function callLine({ calls }: LimitResults): string {
  if (calls === undefined) return "";
  return `
\`record\` of a 4-float state takes ${
    calls.record.toFixed(0)
  } ns, an empty call of a native function ${calls.emptyCall.toFixed(0)} ns: ${
    (calls.record - calls.emptyCall).toFixed(0)
  } ns over it (at most 150).
`;
}

function micro(ns: number): string {
  const us = ns / 1e3;
  return us < 10 ? us.toPrecision(3) : us < 1000 ? us.toFixed(1) : us.toFixed(0);
}
