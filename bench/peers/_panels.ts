/**
 * Panels of bars that compare ours with the others.
 *
 * @module
 */

import type { BarPanel, Whose } from "../_bars.ts";
import { digits } from "../_section.ts";
import { sizeText } from "./_names.ts";
import { MEMORY_CALL } from "./_results.ts";
import type { Comparison } from "./_summary.ts";

/** What a panel says of its bars. */
export interface PanelText {
  readonly title: string;
  /** What the call works on, if the title does not say it. */
  readonly kind?: string;
  /** What is unlike in a system's figure. */
  readonly note?: string | undefined;
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
  return {
    title,
    subtitle: [isMemory ? "bytes" : "µs", kind ?? [], sizeText(capacity)].flat().join(", "),
    bars: values.toSorted((a, b) => a.value - b.value).map(({ value, ...bar }) => ({
      ...bar,
      value: value * scale,
      label: digits(value * scale),
    })),
    ...(note === undefined ? {} : { note }),
  };
}
