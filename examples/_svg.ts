/**
 * Pictures by Vega-Lite as SVG, in the colours of the reader's scheme: those of the examples and of the benchmarks.
 *
 * @module
 */

import * as vega from "npm:vega@6.4.0";
import { compile, type TopLevelSpec } from "npm:vega-lite@6.5.0";

export type { TopLevelSpec };

/** Vega's colours of paper, text, grid lines and axes in a dark scheme. The lines of the data keep theirs. */
const STYLE = "<style>@media (prefers-color-scheme:dark){" +
  'svg>rect{fill:#0d1117}[fill="#000"]{fill:#e6edf3}[stroke="#ddd"]{stroke:#30363d}[stroke="#888"]{stroke:#8b949e}' +
  "}</style>";

/** Draws a picture as an SVG. Its background is white, or nearly black where the reader's system is dark. */
export async function svgOf(spec: TopLevelSpec): Promise<string> {
  const view = new vega.View(vega.parse(compile({ background: "white", ...spec }).spec), {
    renderer: "none",
  });
  try {
    return (await view.toSVG()).replace(">", `>${STYLE}`);
  } finally {
    view.finalize();
  }
}
