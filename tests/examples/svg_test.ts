/** Pictures of the examples and of the benchmarks follow the reader's colour scheme. */
import { assert } from "../_assert.ts";
import { svgOf } from "../../examples/_svg.ts";
import { inRepository } from "../../tools/_repository.ts";

Deno.test("svgOf() has a colour for a dark screen in place of each that Vega gives to paper, text and lines", async () => {
  const svg = await svgOf({
    title: "A line",
    data: { values: [{ x: 0, y: 0 }, { x: 1, y: 1 }] },
    mark: "line",
    encoding: { x: { field: "x", type: "quantitative" }, y: { field: "y", type: "quantitative" } },
  });
  const [, rules = "", drawn = ""] =
    /^<svg [^>]*><style>@media \(prefers-color-scheme:dark\)\{(.*)\}<\/style>(.*)$/s.exec(svg) ??
      [];
  assert(rules.startsWith("svg>rect{fill:") && drawn.startsWith("<rect "), svg.slice(0, 500));
  const line = "#4c78a8";
  let count = 0;
  for (const [, colour = ""] of drawn.matchAll(/ ((?:fill|stroke)="#\w+")/g)) {
    assert(colour.endsWith(`"${line}"`) || rules.includes(`[${colour}]{`), `${colour} has no rule`);
    count += 1;
  }
  assert(count > 20, `${count} colours`);
});

Deno.test("every picture of the documentation follows the reader's colour scheme, or has a background for itself", async () => {
  for await (const { name } of Deno.readDir(inRepository("docs", "images"))) {
    if (!name.endsWith(".svg")) continue;
    const svg = await Deno.readTextFile(inRepository("docs", "images", name));
    // statsSvg() takes its colours as an option.
    const isAdaptive = /@media \(prefers-color-scheme: ?dark\)/.test(svg);
    assert(isAdaptive || name === "look_inside.svg", name);
  }
});
