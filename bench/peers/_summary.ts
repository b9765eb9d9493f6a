/**
 * The first lines of `docs/benchmarks.md`. They say what typical calls take, and where another system is faster than ours. All of it
 * follows from the results.
 *
 * @module
 */

import { digits, factor, table } from "../_section.ts";
import { BY_HAND, OURS, power } from "./_names.ts";
import { MEMORY_CALL, type PeersResults, type Row } from "./_results.ts";

/** A call that many learners make. */
interface Typical {
  readonly what: string;
  readonly group: string;
  readonly call: string;
}

const TYPICAL: readonly Typical[] = [
  { what: "a record of one step", group: "uniform", call: "add 1" },
  { what: "a uniform batch of 256", group: "uniform", call: "sample 256" },
  {
    what: "a learner's turn: a prioritized batch of 256, and its priorities set",
    group: "prioritized",
    call: "turn 256",
  },
  { what: "5000 sequences of 8 records", group: "sequences", call: "sample 5000" },
  { what: "256 stacks and next stacks of images", group: "images", call: "sample 256" },
];

/** The typical figures are of this size, or of the largest smaller size that was measured. */
const TYPICAL_CAPACITY = 2 ** 20;

/** One row of the comparison: ours, and the others that have a figure. The fastest comes first. */
export interface Comparison {
  readonly group: string;
  readonly call: string;
  readonly capacity: number;
  readonly fresh: number;
  readonly into: number | undefined;
  readonly others: readonly { readonly system: string; readonly value: number }[];
}

/** Compares ours with the others in each row in which ours has a figure. */
export function comparisons(rows: readonly Row[]): Comparison[] {
  const found = new Map<string, Map<string, number>>();
  const keys = new Map<string, Row>();
  for (const row of rows) {
    if (row.value === undefined) continue;
    const key = JSON.stringify([row.group, row.call, row.capacity]);
    keys.set(key, keys.get(key) ?? row);
    found.set(key, (found.get(key) ?? new Map()).set(row.system, row.value));
  }
  return [...keys].flatMap(([key, { group, call, capacity }]) => {
    const values = found.get(key) ?? new Map<string, number>();
    const [fresh, into] = OURS.map((system) => values.get(system));
    if (fresh === undefined) return [];
    const others = [...values].filter(([system]) => !OURS.includes(system))
      .map(([system, value]) => ({ system, value })).sort((a, b) => a.value - b.value);
    return [{ group, call, capacity, fresh, into, others }];
  });
}

/** The comparison of a call at the size that typical figures are of. */
export function typicalComparison(
  all: readonly Comparison[],
  group: string,
  call: string,
): Comparison | undefined {
  const sizes = all.filter((one) => one.group === group && one.call === call)
    .sort((a, b) => a.capacity - b.capacity);
  return sizes.findLast(({ capacity }) => capacity <= TYPICAL_CAPACITY) ?? sizes[0];
}

function typicalTable(all: readonly Comparison[]): string {
  const rows = TYPICAL.flatMap(({ what, group, call }) => {
    const one = typicalComparison(all, group, call);
    if (one === undefined) return [];
    const { capacity, fresh, into, others } = one;
    const library = others.find(({ system }) => !BY_HAND.includes(system));
    const ratio = (own: number | undefined) =>
      own === undefined || library === undefined ? "" : factor(library.value / own);
    return [[
      `${what}, N = ${power(capacity)}`,
      digits(fresh * 1e6),
      into === undefined ? "" : digits(into * 1e6),
      library === undefined ? "" : `${digits(library.value * 1e6)} ${library.system}`,
      ratio(fresh),
      ratio(into),
    ]];
  });
  const head = ["µs a call", "exrp", "exrp, into", "the fastest library", "÷ exrp", "÷ exrp, into"];
  return table(head, rows);
}

/** Lists every row in which another system's figure is smaller than one of ours, with a line for each group. */
function slower(all: readonly Comparison[], titles: ReadonlyMap<string, string>): string[] {
  const lines = new Map<string, string[]>();
  for (const { group, call, capacity, fresh, into, others } of all) {
    const faster = others.filter(({ value }) => value < fresh);
    if (faster.length === 0) continue;
    const isMemory = call === MEMORY_CALL;
    const text = (value: number) => digits(value * (isMemory ? 1 : 1e6));
    const theirs = faster.map(({ system, value }) => `${system} ${text(value)}`).join(", ");
    const own = into === undefined ? "" : `, reused ${text(into)}`;
    const beaten = faster.some(({ value }) => value < Math.min(fresh, into ?? fresh)) ? "**" : "";
    const line = `${beaten}${call} at ${power(capacity)}: ${theirs}; ours ${
      text(fresh)
    }${own}${beaten}`;
    lines.set(group, [...lines.get(group) ?? [], line]);
  }
  return [...lines].map(([group, found]) => `- ${titles.get(group) ?? group}: ${found.join("; ")}`);
}

/**
 * Makes the section of these lines. `titles` has the report's name of each group, and `picture` the file in `docs/images` to show.
 */
export function summarize(
  results: PeersResults,
  titles: ReadonlyMap<string, string>,
  picture?: string,
): string {
  const all = comparisons(results.rows);
  const lines = slower(all, titles);
  return [
    "## In short",
    ...(results.quick ? ["**These are figures of a quick run. Do not quote them.**"] : []),
    typicalTable(all),
    ...(picture === undefined ? [] : [
      `![Ours beside the other libraries: time of a call, and memory of a record](images/${picture})`,
      "Each panel has a scale of its own, and the shortest bar comes first. An arrow marks a bar that is cut.",
    ]),
    `*exrp* gives a fresh batch in each call, and *exrp, into* writes into the batch before. A fresh batch costs more, because the engine clears its
memory first and collects it later. \`{ into: batch }\` or \`using batch = …\` spares that ([picks.md](picks.md)). A call that moves few records
costs little more than the call itself, and a call takes some µs in Python.`,
    lines.length === 0
      ? `Ours has the smallest figure in all ${all.length} rows that are compared.`
      : `In these rows, another system takes less than ours with a fresh batch. In bold rows, it takes less than ours with a reused batch too. The
results have ${all.length} rows in all. The unit is µs a call, or bytes a record. The lists below each table say what such a system leaves out:`,
    ...(lines.length === 0 ? [] : [lines.join("\n")]),
  ].join("\n\n");
}
