/** What figures say of rate limiters, and how rates come of them. */
import { assertEquals } from "../_assert.ts";
import { RateMeter } from "../../server/figures.ts";
import { figuresOf, table } from "./web/_figures.ts";

Deno.test("a rate is that of the last seconds, and of a table that was reset, that since the reset", () => {
  const meter = new RateMeter();
  const at = (inserts: number, ms: number): number =>
    meter.measure(figuresOf({ ...table, inserts }), ms).get("replay")?.inserts ?? -1;
  assertEquals(at(300, 0), 300 / 3725);
  assertEquals(at(500, 2000), 100);
  assertEquals(at(600, 2500), 120);
  // What was there when the server started did not come since.
  const loaded = new RateMeter([{ ...table, inserts: 300 }]);
  const rates = loaded.measure(figuresOf({ ...table, inserts: 300 + 3725 }), 0);
  assertEquals(rates.get("replay")?.inserts, 1);
  // Older figures are forgotten, but for the newest.
  assertEquals(at(10_900, 12_400), 1000);
  // 50 inserts since a reset that was within the last second.
  assertEquals(at(50, 13_400), 50);
});
