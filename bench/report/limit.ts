/**
 * The section of the pages of benchmarks on the limit of the hardware.
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
  /** What a `record` costs compared with an empty call. */
  readonly calls?: CallCost;
}

/** Markdown of the results, one of each kind of processor: a table with all of them, then one for each. */
export function render(all: readonly LimitResults[]): string {
  return [HEAD, sideBySide(all), ...all.map(ofOne)].join("\n\n");
}

const HEAD = `## Compared with the limit of the hardware

\`deno task bench:limit --save\` compares each workload with the shortest native loop that moves the same bytes. These loops are in
\`bench/limit.cpp\`. They check nothing, and use huge pages. The kernel is built for the baseline, and the loops for the processor's own
vectors. All take turns within one process.

There are two lines for random picks. The *limit* looks nothing up: each random number is a place in memory. The loop *with look-ups* goes from
the number to a slot, to its block and to its episode, as any replay of random picks must.

Times are µs a call: the smallest mean of a turn. *ratio* divides ours by the limit. *median* is the median of the ratios turn by turn.
Unless said otherwise, a record has a 15-float state, a 3-float action and a reward, a batch has next states too, and batches are reused.
A ratio can be below 1, because the loops are plain ones. For example, the loop of sequences goes record by record and reads each state twice.
It reads it as a state and as the next state of the record before. The kernel writes both in one pass over the sequence.

Results are kept by processor, in \`bench/results/limit.*.json\`. Only one machine of each kind was at hand. To add a machine or to renew its
figures, run \`deno task bench:limit --save && deno task bench:report\` on it.`;

/** The processor's name in the heads of columns. */
function nameOf({ machine }: LimitResults): string {
  return machine.cpu.replaceAll(/\(\w+\)/g, "");
}

function sideBySide(all: readonly LimitResults[]): string {
  const names = [...new Set(all.flatMap(({ workloads }) => workloads.map(({ name }) => name)))];
  const rows = names.map((name) => {
    const found = all.map(({ workloads }) => workloads.find((workload) => workload.name === name));
    const held = all.flatMap((results, k) => {
      const one = found[k];
      if (one?.floor === undefined) return [];
      return one.ours.min / one.limit.min <= one.floor ? [nameOf(results)] : [];
    });
    const cells = found.map((one) =>
      one === undefined ? " | " : [
        (one.ours.min / one.limit.min).toFixed(2) +
        (one.floor === undefined ? "" : ` (${one.floor})`),
        one.lookUps === undefined ? "" : (one.ours.min / one.lookUps.min).toFixed(2),
      ].join(" | ")
    );
    const hasFloor = found.some((one) => one?.floor !== undefined);
    return `| ${name} | ${cells.join(" | ")} | ${hasFloor ? held.join(", ") || "nowhere" : ""} |`;
  });
  const heads = all.map((one) => `${nameOf(one)}: ÷ limit | ÷ with look-ups`);
  return `### All processors

A number in brackets is the target: the largest ratio that is allowed there. The last column says where it was met.

| workload | ${heads.join(" | ")} | target met on |
|---|${all.map(() => "---:|---:|").join("")}---|
${rows.join("\n")}`;
}

function ofOne(results: LimitResults): string {
  const rows = results.workloads.map((workload) =>
    `| ${workload.name} | ${micro(workload.ours.min)} | ${micro(workload.limit.min)} | ${
      workload.lookUps === undefined ? "" : micro(workload.lookUps.min)
    } | ${(workload.ours.min / workload.limit.min).toFixed(2)} | ${workload.ratio.toFixed(2)} | ${
      workload.floor ?? "–"
    } | ${workload.note ?? ""} |`
  );
  const busiest = Math.max(...results.workloads.map(({ busyShare = NaN }) => busyShare));
  const busy = Number.isNaN(busiest)
    ? ""
    : `\nAnother thread of the core was busy in at most ${
      (100 * busiest).toFixed(0)
    } % of a workload's turns.\n`;
  return `### ${nameOf(results)}

${originLine(results)}; the loops are built for ${results.limitCpu}
${busy}
| workload | ours | limit | with look-ups | ratio | median | at most | |
|---|---:|---:|---:|---:|---:|---:|---|
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
