/**
 * The part of `docs/benchmarks.md` on other libraries. It says what typical calls take, and where another system takes less than ours. All
 * of it follows from the results.
 *
 * @module
 */

import { digits, factor, table } from "../_section.ts";
import { OURS, power, sizeText } from "./_names.ts";
import { MEMORY_CALL, originOf, type PeersResults, type Row } from "./_results.ts";

/** A call that many learners make. */
interface Typical {
  readonly what: string;
  readonly group: string;
  readonly call: string;
}

const TYPICAL: readonly Typical[] = [
  { what: "record one step", group: "uniform", call: "add 1" },
  { what: "sample 256 steps uniformly", group: "uniform", call: "sample 256" },
  {
    what: "sample 256 steps by priority, then update their priorities",
    group: "prioritized",
    call: "turn 256",
  },
  { what: "sample 5,000 sequences of 8 steps", group: "sequences", call: "sample 5000" },
  {
    what: "sample 256 stacks of 4 images and the next stacks",
    group: "images",
    call: "sample 256",
  },
  { what: "memory of one step, prioritized", group: "memory, prioritized", call: MEMORY_CALL },
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

/** Says what is unlike in a system's figure: it copies or holds less than the others. Undefined where nothing is. */
export function unlike(
  { notes }: PeersResults,
  { group, others }: Comparison,
): string | undefined {
  for (const { system, text, group: of } of notes) {
    if (of !== group || !others.some((other) => other.system === system)) continue;
    const share = /\d+ % of the bytes/.exec(text)?.[0];
    if (share !== undefined) return `${system}: ${share}`;
    const held = /^Held 2\^(\d+) records only/.exec(text)?.[1];
    if (held !== undefined) return `${system}: ${sizeText(2 ** Number(held))}`;
  }
  return undefined;
}

/** The table of typical calls: what ours takes, and how many times as much the others take. */
function typicalTable(all: readonly Comparison[], results: PeersResults): string {
  const systems = results.systems.map(({ name }) => name);
  const found = TYPICAL.flatMap(({ what, group, call }) => {
    const one = typicalComparison(all, group, call);
    return one === undefined ? [] : [{ what, one }];
  });
  const shown = systems.filter((system) =>
    found.some(({ one }) => one.others.some((other) => other.system === system))
  );
  const rows = found.map(({ what, one }) => {
    const { call, capacity, fresh, into, others } = one;
    const remark = unlike(results, one);
    const times = (value: number | undefined): string => {
      if (value === undefined) return "";
      return value < fresh ? `**${(value / fresh).toFixed(2)}×**` : factor(value / fresh);
    };
    return [
      `${what}, N = ${power(capacity)}${remark === undefined ? "" : ` (${remark})`}`,
      call === MEMORY_CALL ? `${digits(fresh)} bytes` : `${digits(fresh * 1e6)} µs`,
      times(into),
      ...shown.map((system) => times(others.find((other) => other.system === system)?.value)),
    ];
  });
  return table(["", "exrp", "exrp, reused", ...shown], rows);
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
 * Makes the section of the short page. `titles` has the report's name of each group, and `picture` the file in `docs/images` to show.
 */
export function summarize(
  results: PeersResults,
  titles: ReadonlyMap<string, string>,
  picture?: string,
): string {
  const all = comparisons(results.rows);
  const lines = slower(all, titles);
  const parts = (results.parts ?? []).map((part) => {
    const names = part.groups.map((group) => `*${titles.get(group) ?? group}*`);
    return ` ${new Intl.ListFormat("en").format(names)} was measured again: ${originOf(part)}.`;
  });
  return [
    "## Compared with Python libraries",
    ...(results.quick ? ["**These are figures of a quick run. Do not quote them.**"] : []),
    `Each system holds the same steps and makes the same calls, in turns. A step has 15 float32 of state, 3 of action, a reward, a next state and
whether it ended the episode. N steps are stored. The smallest time of ${results.repeats} repeats counts. Memory is what a process of its own grew by.`,
    `${originOf(results)}.${parts.join("")}`,
    ...(picture === undefined ? [] : [
      `![Time of typical calls and memory of a step: exrp compared with other libraries, and our server compared with Reverb's](images/${picture})`,
    ]),
    `The columns of the others say how many times as much as *exrp* they take. Where a number is bold, they take less. *exrp* gives a new batch in each
call, and *exrp, reused* writes into the batch before, by \`{ into: batch }\` or \`using batch = …\` ([picks.md](picks.md)). A new batch costs more,
because the engine clears its memory first and collects it later. A Python call alone takes some µs, so a call that moves few steps costs little more.`,
    typicalTable(all, results),
    lines.length === 0
      ? `Ours has the smallest figure in all ${all.length} rows that are compared.`
      : `Of all ${all.length} rows, these are the ones where another system takes less than ours with a new batch. In bold ones, it also takes less than
ours with a reused batch. The unit is µs, or bytes. The page with all figures says below each table what such a system leaves out.`,
    ...(lines.length === 0 ? [] : [lines.join("\n")]),
  ].join("\n\n");
}
