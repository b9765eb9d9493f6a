/** The time that a learner's call may take: one deadline for all parts of the call. */

import { Turns } from "../../learner/_turns.ts";
import { ReplayError } from "../../mod.ts";
import { assertEquals, assertRejects } from "../_assert.ts";

Deno.test("regression: all parts of a call have one deadline, which also counts the wait for its turn", async () => {
  let time = 5000;
  const turns = new Turns(() => time);
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
  const turns = new Turns();
  const { signal } = new AbortController();
  let limits: readonly string[] = [];
  await turns.run("flush()", { signal }, async (given) => {
    await Promise.resolve();
    limits = Object.keys(given);
  });
  assertEquals(limits, ["signal"]);
  await assertRejects(
    () => turns.run("flush()", { timeoutMs: NaN }, () => Promise.resolve()),
    RangeError,
    "flush(): timeoutMs must be a finite number",
  );
});

Deno.test("regression: the error of a call that took too long named another call, and less time than was given", async () => {
  let time = 0;
  const turns = new Turns(() => time);
  const error = await assertRejects(
    () =>
      turns.run("append()", { timeoutMs: 60_000 }, async (limits) => {
        await Promise.resolve();
        time += 24_000;
        const cause = new ReplayError(
          "rate-limiter",
          "recordFlat(): the rate limiter allows no more",
        );
        const words = `whenReady(): the replay was not ready within ${limits.timeoutMs} ms`;
        throw new ReplayError("timeout", `${words}: ${cause.message}`, { cause });
      }),
    ReplayError,
  );
  assertEquals(
    error.message,
    "append(): not done after 60000 ms: recordFlat(): the rate limiter allows no more",
  );
});
