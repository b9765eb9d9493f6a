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

\`deno task bench:limit --save\` compares each workload with the shortest native loop that moves the same bytes. These loops are in \`bench/limit.cpp\`. They look nothing up,
check nothing, and use huge pages. They are built for ${results.limitCpu}, and the kernel for the baseline. Both take turns within one process.

Times are µs a call: the smallest mean of a turn. *ratio* divides these two. *median* is the median of the ratios turn by turn.
Unless said otherwise, a record has a 15-float state, a 3-float action and a reward, a batch has next states too, and batches are reused.
A ratio can be below 1, because the loops are plain ones. For example, the loop of sequences goes record by record and reads each state twice.
It reads it as a state and as the next state of the record before. The kernel writes both in one pass over the sequence.

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
  } ns, and an empty call of a native function takes ${
    calls.emptyCall.toFixed(0)
  } ns. The difference is ${
    (calls.record - calls.emptyCall).toFixed(0)
  } ns, and it may be 150 at most.
`;
}

function micro(ns: number): string {
  const us = ns / 1e3;
  return us < 10 ? us.toPrecision(3) : us < 1000 ? us.toFixed(1) : us.toFixed(0);
}
