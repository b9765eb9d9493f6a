/**
 * Regression: `timeoutMs` of a learner's call counted anew for each part of the call, so the call could take several times as long.
 *
 * @module
 */

import { Turns } from "../../learner/_turns.ts";
import { Waits } from "../../learner/_waits.ts";
import { assertEquals, assertRejects } from "../_assert.ts";

Deno.test("regression: all parts of a call have one deadline, which also counts the wait for its turn", async () => {
  let time = 5000;
  const turns = new Turns(new Waits("writer"), () => time);
  const left: (number | undefined)[] = [];
  const first = turns.run("append()", { timeoutMs: 60_000 }, async (limits) => {
    left.push(limits.timeoutMs);
    time += 24_000;
    await Promise.resolve();
    left.push(limits.timeoutMs);
    time += 42_000;
    left.push(limits.timeoutMs);
  });
  const second = turns.run("flush()", { timeoutMs: 100_000 }, async (limits) => {
    await Promise.resolve();
    left.push(limits.timeoutMs);
  });
  await Promise.all([first, second]);
  // The second call came when 24 s had passed, and had its turn 42 s later.
  assertEquals(left, [60_000, 36_000, 0, 58_000]);
});

Deno.test("a call without timeoutMs has no deadline, and one that is no number is refused", async () => {
  const turns = new Turns(new Waits("writer"));
  const { signal } = new AbortController();
  let limits: unknown;
  await turns.run("flush()", { signal }, async (given) => {
    await Promise.resolve();
    limits = given;
  });
  assertEquals(limits, { signal });
  await assertRejects(
    () => turns.run("flush()", { timeoutMs: NaN }, () => Promise.resolve()),
    RangeError,
    "flush(): timeoutMs must be a finite number",
  );
});
