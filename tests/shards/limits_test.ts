/** A rate limiter over shards of which some record nothing. */
import { assert } from "../_assert.ts";
import { samplesPerInsert } from "@exrp/replay";
import { SharedRateLimiter } from "../../shards/_shared_rate_limiter.ts";

Deno.test("shards that came one by one, and record nothing, hold up none that does", () => {
  for (const count of [2, 4, 9]) {
    const limits = new SharedRateLimiter(samplesPerInsert(2, { minSize: 20, error: 40 }));
    const shards = Array.from(
      { length: count },
      (_, k) => ({ name: `${k}`, incarnation: "", recorded: 0, records: 0 }),
    );
    // A learner hears of one after the other, and tells all.
    for (let k = 1; k <= count; k++) limits.credits(shards.slice(0, k), shards.slice(0, k), true);
    const last = shards[count - 1] as (typeof shards)[number];
    let drawn = 0;
    for (let turn = 0; turn < 1000; turn++) {
      const most = new Map(limits.credits(shards, shards, turn % 10 === 0)).get(last);
      last.recorded = last.records = Math.max(last.recorded, most ?? 0);
      while (limits.mayDraw(16, shards, shards)) {
        limits.drew(16);
        drawn += 16;
      }
      const difference = 2 * last.recorded - drawn;
      assert(difference >= 0 && difference <= 80, `${last.recorded} records and ${drawn} picks`);
    }
    assert(drawn > 1000, `of ${count} shards, one records, and ${drawn} picks were drawn`);
  }
});
