/** Groups that were measured again replace those of the whole run, and say when and where they were measured. */
import { assertEquals, assertStringIncludes, assertThrows } from "../_assert.ts";
import { withPart } from "../../bench/peers/_part.ts";
import { peersSection } from "../../bench/peers/_report.ts";
import { checkPeersResults, type PeersResults, type Row } from "../../bench/peers/_results.ts";

const sample = checkPeersResults(
  JSON.parse(await Deno.readTextFile(new URL("results/peers.json", import.meta.url))),
);

const MEMORY = "memory, prioritized";

function row(system: string, value: number, group = MEMORY): Row {
  return { group, capacity: 2 ** 20, call: "bytes a record", system, value };
}

/** The whole run of 2026-11-21, with these figures. */
function wholeOf(rows: readonly Row[]): PeersResults {
  const notes = rows.map(({ group, system }) => ({ group, system, text: "then" }));
  return { ...sample, quick: false, date: "2026-11-21", notes, rows };
}

/** A later run of some systems. */
function partOf(rows: readonly Row[]): PeersResults {
  const names = new Set(rows.map(({ system }) => system));
  const systems = sample.systems.filter(({ name }) => names.has(name));
  const notes = rows.map(({ group, system }) => ({ group, system, text: "now" }));
  return { ...sample, quick: false, date: "2026-11-23", commit: "abc", systems, notes, rows };
}

const whole = wholeOf([
  row("exrp", 110),
  row("cpprb", 156),
  row("numpy", 150),
  row("exrp", 1, "uniform"),
]);

Deno.test("withPart() replaces the figures and notes of the systems that were measured again, and no others", () => {
  const { rows, notes, parts, date } = withPart(
    whole,
    partOf([row("exrp", 95), row("cpprb", 155)]),
  );
  assertEquals(rows, [
    ...[row("numpy", 150), row("exrp", 1, "uniform"), row("exrp", 95), row("cpprb", 155)],
  ]);
  assertEquals(notes.map(({ system, text }) => `${system} ${text}`), [
    ...["numpy then", "exrp then", "exrp now", "cpprb now"],
  ]);
  assertEquals(date, "2026-11-21");
  assertEquals(
    parts?.map(({ groups, measured, date, commit }) => ({ groups, measured, date, commit })),
    [{ groups: [MEMORY], measured: ["exrp", "cpprb"], date: "2026-11-23", commit: "abc" }],
  );
});

Deno.test("withPart() forgets an earlier part whose groups are measured again", () => {
  const once = withPart(whole, partOf([row("exrp", 95), row("exrp", 2, "uniform")]));
  const twice = withPart(once, partOf([row("exrp", 94)]));
  assertEquals(twice.parts?.map(({ groups }) => groups), [["uniform"], [MEMORY]]);
  assertEquals(twice.rows.filter(({ system }) => system === "exrp").map(({ value }) => value), [
    2,
    94,
  ]);
});

Deno.test("withPart() refuses a quick run, a run without figures, and another version", () => {
  const part = partOf([row("cpprb", 155)]);
  const newer = part.systems.map((system) => ({ ...system, version: "12.0.0" }));
  assertThrows(() => withPart(whole, { ...part, quick: true }), Error, "a quick run");
  assertThrows(() => withPart(whole, partOf([])), Error, "no figures");
  assertThrows(() => withPart(whole, { ...part, systems: newer }), Error, 'cpprb is ["12.0.0"');
});

Deno.test("the page says when a part was measured, and whose figures are older", async () => {
  const { markdown } = await peersSection.render(
    withPart(whole, partOf([row("exrp", 95), row("cpprb", 155)])),
  );
  const section = markdown.slice(markdown.indexOf("### Memory, prioritized"));
  assertStringIncludes(section, "Measured again on 2026-11-23");
  assertStringIncludes(section, "commit abc");
  assertStringIncludes(section, "The figures of numpy are of 2026-11-21.");
});
