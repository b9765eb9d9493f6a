import { assertEquals, assertRejects, assertThrows } from "../_assert.ts";
import {
  ExperienceReplay,
  float32,
  minSize,
  queue,
  ReplayError,
  samplesPerInsert,
  uniform,
} from "@exrp/replay";
import type { RateLimiter } from "@exrp/replay/types";

Deno.test("the presets have the numbers of Reverb's rate limiters", () => {
  const rules: [RateLimiter, readonly number[]][] = [
    [minSize(5), [1, 5, -Infinity, Infinity]],
    [samplesPerInsert(8, { minSize: 100, error: 50 }), [8, 100, 750, 850]],
    [samplesPerInsert(0.5, { minSize: 100, error: [10, 20] }), [0.5, 100, 10, 20]],
    [queue(7), [1, 1, 0, 7]],
  ];
  for (const [{ numbers }, expected] of rules) {
    const { ratio, minSize, differenceMin, differenceMax } = numbers;
    assertEquals([ratio, minSize, differenceMin, differenceMax], expected);
  }
  const open = { minSize: 5, error: [-3, Infinity] } as const;
  assertEquals(samplesPerInsert(1, open).numbers.differenceMax, Infinity);
  const numbers = samplesPerInsert(2, { minSize: 5, error: Infinity }).numbers;
  assertEquals([numbers.differenceMin, numbers.differenceMax], [-Infinity, Infinity]);
  const far = samplesPerInsert(1, { minSize: 5, error: [-1e308, 1e308] }).numbers;
  assertEquals([far.differenceMin, far.differenceMax], [-1e308, 1e308]);
  // Reverb only warns here: learners must draw before more records come.
  assertEquals(samplesPerInsert(1, { minSize: 100, error: [0, 50] }).numbers.differenceMax, 50);
});

Deno.test("what would block for ever is refused, as by Reverb", () => {
  const loose = { samplesPerInsert, minSize, queue } as unknown as Record<
    string,
    (...values: unknown[]) => RateLimiter
  >;
  const options = { minSize: 10, error: 100 };
  for (
    const [name, values, kind, text] of [
      ["samplesPerInsert", [0, options], RangeError, "ratio must be above 0"],
      ["samplesPerInsert", [-1, options], RangeError, "ratio"],
      ["samplesPerInsert", [Infinity, options], RangeError, "ratio"],
      ["samplesPerInsert", ["8", options], TypeError, "ratio"],
      ["samplesPerInsert", [8], TypeError, "options"],
      ["samplesPerInsert", [8, { ...options, minSize: 0 }], RangeError, "minSize"],
      ["samplesPerInsert", [8, { ...options, minSize: 1.5 }], RangeError, "minSize"],
      ["samplesPerInsert", [8, { ...options, errors: 9 }], TypeError, "did you mean error?"],
      ["samplesPerInsert", [8, { minSize: 10 }], TypeError, "error"],
      ["samplesPerInsert", [8, { ...options, error: 7.9 }], RangeError, "at least 8"],
      ["samplesPerInsert", [0.1, { ...options, error: 0.9 }], RangeError, "at least 1"],
      ["samplesPerInsert", [8, { ...options, error: NaN }], RangeError, "error must be a number"],
      ["samplesPerInsert", [8, { ...options, error: [9, 8] }], RangeError, "least number first"],
      ["samplesPerInsert", [8, { ...options, error: [Infinity, 1] }], RangeError, "error[0]"],
      ["samplesPerInsert", [8, { ...options, error: [0, -Infinity] }], RangeError, "error[1]"],
      ["samplesPerInsert", [8, { ...options, error: [null, 1] }], TypeError, "error[0]"],
      ["samplesPerInsert", [2 ** 60, options], RangeError, "ratio"],
      ["samplesPerInsert", [8, { ...options, error: [1] }], TypeError, "[least, largest]"],
      ["samplesPerInsert", [8, { ...options, error: [NaN, 1] }], RangeError, "error[0]"],
      ["minSize", [0], RangeError, "size"],
      ["queue", [0.5], RangeError, "size"],
    ] as const
  ) {
    assertThrows(() => loose[name]?.(...values), kind, text, `${name} ${JSON.stringify(values)}`);
  }
});

Deno.test("a rate limiter that the replay is too small for is refused, when it is created and later", async () => {
  const options = { capacity: 100, state: float32() } as const;
  await assertRejects(
    () => ExperienceReplay.create({ ...options, rateLimiter: minSize(101) }),
    RangeError,
    "waits for 101 records, but the replay holds at most 100 (the capacity)",
  );
  await assertRejects(
    () => ExperienceReplay.create({ ...options, maxAge: 50, rateLimiter: minSize(51) }),
    RangeError,
    "50 (maxAge)",
  );
  using replay = await ExperienceReplay.create({ ...options, rateLimiter: minSize(100) });
  assertThrows(
    () => replay.setRateLimiter(queue(101)),
    RangeError,
    "records would be removed that were never sampled",
  );
  const loose = replay as unknown as { setRateLimiter(rateLimiter: unknown): void };
  assertThrows(
    () => loose.setRateLimiter({ ratio: 8 }),
    TypeError,
    "minSize(), samplesPerInsert() or",
  );
  assertThrows(() => loose.setRateLimiter(8), TypeError, "setRateLimiter(): rateLimiter");
  assertEquals(replay.rateLimiter?.minSize, 100); // as before
});

Deno.test("a replay refuses bands that are for items one by one, and takes those that are open to a side", async () => {
  const options = { capacity: 100, state: float32() } as const;
  for (
    const [ratio, minSize, error, words] of [
      [8, 10, [0, 15], "an error that is at least 16 wide"],
      [1, 1, [0, 1], "an error that is at least 2 wide"],
      [8, 10, [81, 200], "at most ratio × minSize, which is 80"],
      [2 ** 33, 1, Infinity, "a ratio of at most 2^32"],
    ] as const
  ) {
    const rateLimiter = samplesPerInsert(ratio, { minSize, error });
    await assertRejects(
      () => ExperienceReplay.create({ ...options, rateLimiter }),
      RangeError,
      words,
    );
  }
  using replay = await ExperienceReplay.create({
    ...options,
    rateLimiter: samplesPerInsert(2, { minSize: 1, error: [-Infinity, 4] }),
  });
  assertThrows(
    () => replay.setRateLimiter(samplesPerInsert(1, { minSize: 1, error: [0, 1] })),
    RangeError,
    "setRateLimiter(): rateLimiter",
  );
  const selector = replay.newPickSelector(uniform());
  const record = (): unknown => replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
  record();
  record();
  assertThrows(record, ReplayError); // no more than 4 picks ahead
  assertEquals(replay.getBatch(50, selector).size, 50);
  for (let k = 0; k < 25; k++) record();
  replay.setRateLimiter(samplesPerInsert(2, { minSize: 1, error: [0, Infinity] }));
  for (let k = 0; k < 25; k++) record();
  assertThrows(() => replay.getBatch(2000, selector), ReplayError);
});
