/** bench:floors: which figures it measures again, which result counts, and its last lines. */
import { assertEquals } from "../_assert.ts";
import { floorReport, holdToFloors, type Measurement } from "../../bench/_floors.ts";

/** Two figures measured together; each measurement takes the next ones of those given. */
function pair(figures: [number, number][], isExact?: boolean): Measurement {
  return {
    floors: [{ what: "draws", limit: 2, unit: "µs" }, { what: "records", limit: 1, unit: "×" }],
    measure: () => {
      const [draws, records] = figures.shift() ?? [NaN, NaN];
      return Promise.resolve([{ value: draws }, { value: records, note: "p90 3" }]);
    },
    ...(isExact === undefined ? {} : { isExact }),
  };
}
const all = () => true;

Deno.test("holdToFloors() measures what breaks again, and then the second figure counts", async () => {
  const log: string[] = [];
  const left: [number, number][] = [[2, 1.5], [9, 0.9], [0, 0]];
  const held = await holdToFloors([pair(left)], all, (line) => log.push(line));
  assertEquals(held.map(({ value, kept }) => [value, kept]), [[2, true], [0.9, true]]);
  assertEquals(held[1]?.note, "p90 3, 1.500 the first time");
  assertEquals(log, ["broken, and measured again: records"]);
  assertEquals(left.length, 1, "it was measured twice");
  const still = await holdToFloors([pair([[2.1, 1], [2.2, 1]])], all, () => {});
  assertEquals(still.map(({ value, kept }) => [value, kept]), [[2.2, false], [1, true]]);
});

Deno.test("holdToFloors() measures only what is wanted, once where that is exact, and takes NaN as broken", async () => {
  const unwanted: [number, number][] = [[1, 1]];
  const other = { ...pair(unwanted), floors: [{ what: "memory", limit: 1, unit: "B" }] };
  const exact: [number, number][] = [[NaN, 5], [1, 1]];
  const wanted = (what: string): boolean => what.startsWith("dr");
  const held = await holdToFloors([other, pair(exact, true)], wanted);
  assertEquals(held.map(({ what, kept }) => [what, kept]), [["draws", false]]);
  assertEquals([unwanted.length, exact.length], [1, 1]);
});

Deno.test("floorReport() names at the end what is broken, and says what to do", async () => {
  const held = await holdToFloors([pair([[1, 0.5]])], all);
  assertEquals(floorReport(held), [
    "kept    draws        1.000 µs  (at most 2)",
    "kept    records      0.500 ×  (at most 1)  p90 3",
    "all of 2 floors are kept",
  ]);
  const broken = await holdToFloors([pair([[1, 1.5]], true)], all);
  assertEquals(floorReport(broken).slice(1), [
    "BROKEN  records      1.500 ×  (at most 1)  p90 3",
    "1 of 2 floors are broken:",
    "  records: 1.500 ×, at most 1",
    "Other work on the machine breaks floors too. Run this again on a quiet machine before you look for a cause.",
  ]);
});
