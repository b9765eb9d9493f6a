/**
 * One picture of ours and its peers: a panel for each call that learners make most often, one for memory, and one for our server compared
 * with Reverb's. The README shows it.
 *
 * @module
 */

import { type BarPanel, barPanels } from "../_bars.ts";
import { type ReverbResults, typicalRows } from "../report/reverb.ts";
import { headOf, panelOf, type PanelText } from "./_panels.ts";
import { MEMORY_CALL, type PeersResults } from "./_results.ts";
import { comparisons, typicalComparison, unlike } from "./_summary.ts";

/** The picture's name in `docs/images`. */
export const OVERVIEW = "bench_peers_overview.svg";

interface Panel extends PanelText {
  readonly group: string;
  readonly call: string;
}

const PANELS: readonly Panel[] = [
  { title: "Record one step", group: "uniform", call: "add 1" },
  { title: "Sample 256 uniformly", group: "uniform", call: "sample 256" },
  { title: "Sample and update 256", kind: "prioritized", group: "prioritized", call: "turn 256" },
  { title: "Sample 5,000 sequences", kind: "of 8 steps", group: "sequences", call: "sample 5000" },
  {
    title: "Sample 256 image stacks",
    kind: "4 frames",
    group: "images",
    call: "sample 256",
  },
  {
    title: "Memory of one step",
    kind: "prioritized",
    group: "memory, prioritized",
    call: MEMORY_CALL,
  },
];

/** Draws the picture; undefined where the results have none of its calls. */
export function overview(results: PeersResults, reverb?: ReverbResults): string | undefined {
  const all = comparisons(results.rows);
  const panels = PANELS.flatMap((panel): BarPanel[] => {
    const one = typicalComparison(all, panel.group, panel.call);
    return one === undefined ? [] : [panelOf(one, { ...panel, note: unlike(results, one) })];
  });
  if (panels.length === 0) return undefined;
  const memory = results.parts?.find(({ groups }) =>
    groups.some((name) => name.startsWith("memory"))
  );
  const later = [
    ...(memory === undefined ? [] : [`memory: ${memory.date}`]),
    ...(reverb === undefined ? [] : [`server: ${reverb.date.slice(0, 10)}`]),
  ];
  return barPanels({
    title:
      "Time of typical calls and memory of a step: @exrp/replay compared with Python libraries",
    head: headOf(panels),
    panels: [...panels, ...(reverb === undefined ? [] : [serverPanel(reverb)])],
    foot: [
      `Measured on ${results.cpu}, ${results.cores} cores, ${results.date}`,
      ...(later.length === 0 ? [] : [later.join("; ")]),
    ],
  });
}

/** Our server compared with Reverb's, each with Reverb's own client. */
function serverPanel(reverb: ReverbResults): BarPanel {
  return {
    title: "Under your Python: our server ÷ Reverb’s server",
    subtitle: "times as good, with Reverb’s own client; the line is Reverb",
    wide: true,
    line: 1,
    bars: typicalRows(reverb).map(({ what, times }) => ({
      name: what,
      whose: "ours",
      value: times,
      label: `${times.toFixed(2)}×`,
    })),
  };
}
