/**
 * Panels of bars that compare ours with the others.
 *
 * @module
 */

import type { BarPanel, Whose } from "../_bars.ts";
import { digits } from "../_section.ts";
import { MEMORY_CALL } from "./_results.ts";
import type { Comparison } from "./_summary.ts";

/** What a panel says of its bars. */
export interface PanelText {
  readonly title: string;
  /** What the call works on, if the title does not say it. */
  readonly kind?: string;
  /** What readers must know of a system's figure, if it has one. */
  readonly note?: readonly [system: string, text: string];
}

/** Names that are too long for the picture. */
const SHORT: ReadonlyMap<string, string> = new Map([["Stable-Baselines3", "SB3"]]);

/** The lines above such panels, which say how to read them. */
export function headOf(panels: readonly BarPanel[]): string[] {
  const names = new Set(panels.flatMap(({ bars }) => bars.map(({ name }) => name)));
  return [
    "exrp is @exrp/replay; “reused” writes into its last batch.",
    "Shorter is better. → means a bar that is cut.",
    "Below each title: the unit, and how many steps are stored.",
    ...[...SHORT].filter(([, short]) => names.has(short)).map(([long, short]) =>
      `${short} is ${long}.`
    ),
  ];
}

/** The panel of a comparison. */
export function panelOf(comparison: Comparison, { title, kind, note }: PanelText): BarPanel {
  const { call, capacity, fresh, into, others } = comparison;
  const isMemory = call === MEMORY_CALL;
  const scale = isMemory ? 1 : 1e6;
  const values: { name: string; whose: Whose; value: number }[] = [
    { name: "exrp", whose: "ours", value: fresh },
    ...others.map(({ system, value }) => ({
      name: SHORT.get(system) ?? system,
      whose: "other" as const,
      value,
    })),
  ];
  if (into !== undefined) values.push({ name: "exrp reused", whose: "reused", value: into });
  const isNoted = others.some(({ system }) => system === note?.[0]);
  return {
    title,
    subtitle: [isMemory ? "bytes" : "µs", kind ?? [], sizeText(capacity)].flat().join(", "),
    bars: values.toSorted((a, b) => a.value - b.value).map(({ value, ...bar }) => ({
      ...bar,
      value: value * scale,
      label: digits(value * scale),
    })),
    ...(note === undefined || !isNoted ? {} : { note: note[1] }),
  };
}

/** Writes how many steps a buffer holds, such as "2²⁰ steps". */
export function sizeText(capacity: number): string {
  const exponent = [...String(Math.log2(capacity))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
  return `2${exponent.join("")} steps`;
}
