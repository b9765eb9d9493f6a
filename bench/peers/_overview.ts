/**
 * One picture of ours beside its peers: a panel for each call that learners make most often, and one for memory. The README shows it.
 *
 * @module
 */

import { type BarPanel, barPanels } from "../_charts.ts";
import { digits } from "../_section.ts";
import { OURS, power } from "./_names.ts";
import { MEMORY_CALL, type PeersResults } from "./_results.ts";
import { type Comparison, comparisons, typicalComparison } from "./_summary.ts";

/** The picture's name in `docs/images`. */
export const OVERVIEW = "bench_peers_overview.svg";

interface Panel {
  readonly title: string;
  readonly subtitle?: string;
  readonly group: string;
  readonly call: string;
}

const PANELS: readonly Panel[] = [
  { title: "Record one step", group: "uniform", call: "add 1" },
  { title: "Draw 256 steps, uniform", group: "uniform", call: "sample 256" },
  { title: "Draw 256 by priority, update them", group: "prioritized", call: "turn 256" },
  { title: "Draw 5000 sequences of 8 steps", group: "sequences", call: "sample 5000" },
  {
    title: "Draw 256 stacks of 4 images",
    subtitle: "and their next stacks",
    group: "images",
    call: "sample 256",
  },
  { title: "Memory of one record, prioritized", group: "memory, prioritized", call: MEMORY_CALL },
];

/** Draws the picture; undefined where the results have none of its calls. */
export function overview(results: PeersResults): Promise<string> | undefined {
  const all = comparisons(results.rows);
  const panels = PANELS.flatMap((panel): BarPanel[] => {
    const one = typicalComparison(all, panel.group, panel.call);
    return one === undefined ? [] : [panelOf(panel, one)];
  });
  return panels.length === 0 ? undefined : barPanels(panels, NAMES);
}

/** What the picture calls ours. */
const NAMES = ["exrp", "exrp, batch reused"];

function panelOf({ title, subtitle }: Panel, comparison: Comparison): BarPanel {
  const { call, capacity, fresh, into, others } = comparison;
  const isMemory = call === MEMORY_CALL;
  const scale = isMemory ? 1 : 1e6;
  const unit = isMemory ? "bytes" : "µs";
  const [ours = "", reused = ""] = NAMES;
  const values = [
    { system: ours, value: fresh },
    ...(into === undefined ? [] : [{ system: reused, value: into }]),
    ...others.filter(({ system }) => !OURS.includes(system)),
  ];
  return {
    title,
    subtitle: [subtitle ?? [], `in a buffer of ${power(capacity)} records`].flat().join(", "),
    bars: values.map(({ system, value }) => ({
      system,
      value: value * scale,
      label: `${digits(value * scale)} ${unit}`,
    })),
  };
}
