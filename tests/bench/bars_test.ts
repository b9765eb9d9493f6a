/** The picture of the README can be read on a phone, by day and by night. */
import { assert, assertEquals } from "../_assert.ts";
import { type BarPanel, barPanels } from "../../bench/_bars.ts";

const overview = await Deno.readTextFile(
  new URL("../../docs/images/bench_peers_overview.svg", import.meta.url),
);

/** How wide GitHub shows a picture on a screen of 390 pixels. */
const PHONE = 358;

Deno.test("barPanels() has letters of 10 pixels on a phone, and none leaves the picture or runs into the other column", () => {
  const width = Number(/<svg [^>]*width="(\d+)"/.exec(overview)?.[1]);
  const font = Number(/font:(\d+)px/.exec(overview)?.[1]);
  assert(font * PHONE / width >= 10, `${font} of ${width}`);
  const wideFrom = overview.lastIndexOf("<text", overview.indexOf("Under your Python"));
  assert(wideFrom > 0);
  let count = 0;
  for (const found of overview.matchAll(/<text x="([\d.]+)" y="[\d.]+"([^>]*)>([^<]*)</g)) {
    const [, left = "", options = "", text = ""] = found;
    // Letters of Helvetica and Arial are at most about so wide, on average; bold ones are wider.
    const long = text.length * font * (options.includes("bold") ? 0.6 : 0.53);
    const [from, to] = options.includes("end")
      ? [Number(left) - long, Number(left)]
      : [Number(left), Number(left) + long];
    const isWide = found.index >= wideFrom || text.endsWith(".");
    const end = !isWide && from < width / 2 ? width / 2 : width;
    assert(from >= 0 && to <= end, `${text} is from ${from} to ${to} of ${end}`);
    count += 1;
  }
  assert(count > 100, `${count} texts`);
});

Deno.test("barPanels() has colours for a light and for a dark screen, and a background of either", () => {
  const [light = "", dark = ""] = overview.split("@media (prefers-color-scheme:dark)");
  const colours = (rules: string): Record<string, string> =>
    Object.fromEntries(
      [...rules.matchAll(/(\.paper|text|\.faint|rect\.\w+)\{fill:(#\w{6})\}/g)].map((
        [, name, colour],
      ) => [name, colour ?? ""]),
    );
  const [day, night] = [colours(light), colours(dark)];
  assertEquals(Object.keys(day), [
    ...[".paper", "text", ".faint"],
    "rect.ours",
    "rect.reused",
    "rect.other",
  ]);
  for (const scheme of [day, night]) {
    const { ".paper": paper = "", text = "", ".faint": faint = "", ...bars } = scheme;
    // 4.5 is what WCAG asks of text. A bar has its number beside it.
    for (const colour of [text, faint]) {
      assert(contrast(colour, paper) >= 4.5, `${colour} on ${paper}`);
    }
    for (const colour of Object.values(bars)) {
      assert(contrast(colour, paper) >= 1.8, `${colour} on ${paper}`);
    }
  }
});

/** The contrast of two colours by WCAG, from 1 to 21. */
function contrast(one: string, other: string): number {
  const light = (colour: string) =>
    [[1, 0.2126], [3, 0.7152], [5, 0.0722]].reduce((sum, [at = 0, weight = 0]) => {
      const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return sum + weight * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    }, 0.05);
  const [a, b] = [light(one), light(other)];
  return Math.max(a, b) / Math.min(a, b);
}

Deno.test("barPanels() cuts the longest bar only where it would hide the others", () => {
  const panel = (longest: number): BarPanel => ({
    title: "Panel",
    subtitle: "µs",
    bars: [1, 10, longest].map((value) => ({
      name: "x",
      whose: "other",
      value,
      label: `${value}`,
    })),
  });
  const widths = (longest: number) =>
    [
      ...barPanels({ title: "", head: [], panels: [panel(longest)], foot: [] }).matchAll(
        /<rect class="other"[^>]* width="([\d.]+)"/g,
      ),
    ].map(([, width]) => Number(width));
  const [, second = 0, whole = 0] = widths(14);
  assert(Math.abs(whole / second - 1.4) < 0.01, `${whole} beside ${second}`);
  const [, next = 0, cut = 0] = widths(1000);
  assert(Math.abs(cut / next - 1.15) < 0.01, `${cut} beside ${next}`);
});
