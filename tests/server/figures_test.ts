/** What figures say of rate limiters, and how rates come of them. */
import { assertEquals } from "../_assert.ts";
import { rateLimiterState, RateMeter } from "../../server/figures.ts";
import { figuresOf, table } from "./web/_figures.ts";

Deno.test("a rate limiter's state follows its two rules", () => {
  assertEquals(rateLimiterState(table), { canInsert: true, canSample: true });
  // 300 inserts x 2 - 600 samples = 0, and one sample more would be below 0.
  assertEquals(rateLimiterState({ ...table, samples: 600 }).canSample, false);
  assertEquals(rateLimiterState({ ...table, samples: 599 }).canSample, true);
  const narrow = { ...table, rateLimiter: { ...table.rateLimiter, differenceMax: 102 } };
  // (300 + 1) x 2 - 500 = 102.
  assertEquals(rateLimiterState(narrow).canInsert, true);
  assertEquals(rateLimiterState({ ...narrow, samples: 499 }).canInsert, false);
  // Below minSize, inserts go in whatever the difference is, and nothing comes out.
  const small = { ...narrow, samples: 0, inserts: 90, deletes: 0 };
  assertEquals(rateLimiterState(small), { canInsert: true, canSample: false });
});

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
