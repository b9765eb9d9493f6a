import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ExperienceReplay, float32, minSize, queue, samplesPerInsert } from "@exrp/replay";
import type { PaceRule } from "@exrp/replay/types";

Deno.test("the presets have the numbers of Reverb's limiters", () => {
  const rules: [PaceRule, readonly number[]][] = [
    [minSize(5), [1, 5, -Infinity, Infinity]],
    [samplesPerInsert(8, { minSize: 100, error: 50 }), [8, 100, 750, 850]],
    [samplesPerInsert(0.5, { minSize: 100, error: [10, 20] }), [0.5, 100, 10, 20]],
    [queue(7), [1, 1, 0, 7]],
  ];
  for (const [{ numbers }, expected] of rules) {
    const { ratio, minSize, differenceMin, differenceMax } = numbers;
    assertEquals([ratio, minSize, differenceMin, differenceMax], expected);
  }
  // Reverb only warns here: learners must draw before more records come.
  assertEquals(samplesPerInsert(1, { minSize: 100, error: [0, 50] }).numbers.differenceMax, 50);
});

Deno.test("what would block for ever is refused, as by Reverb", () => {
  const loose = { samplesPerInsert, minSize, queue } as unknown as Record<
    string,
    (...values: unknown[]) => PaceRule
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
      ["samplesPerInsert", [8, { ...options, error: [0, 15] }], RangeError, "at least 16 wide"],
      ["samplesPerInsert", [8, { ...options, error: [81, 200] }], RangeError, "at most ratio"],
      ["samplesPerInsert", [8, { ...options, error: [1] }], TypeError, "[least, largest]"],
      ["samplesPerInsert", [8, { ...options, error: [NaN, 1] }], RangeError, "error[0]"],
      ["minSize", [0], RangeError, "size"],
      ["queue", [0.5], RangeError, "size"],
    ] as const
  ) {
    assertThrows(() => loose[name]?.(...values), kind, text, `${name} ${JSON.stringify(values)}`);
  }
});

Deno.test("a pace that the replay is too small for is refused, when it is created and later", async () => {
  const options = { capacity: 100, state: float32() } as const;
  await assertRejects(
    () => ExperienceReplay.create({ ...options, pace: minSize(101) }),
    RangeError,
    "waits for 101 records, but the replay holds at most 100 (the capacity)",
  );
  await assertRejects(
    () => ExperienceReplay.create({ ...options, maxAge: 50, pace: minSize(51) }),
    RangeError,
    "50 (maxAge)",
  );
  using replay = await ExperienceReplay.create({ ...options, pace: minSize(100) });
  assertThrows(() => replay.setPace(queue(101)), RangeError, "some would be lost");
  const loose = replay as unknown as { setPace(pace: unknown): void };
  assertThrows(() => loose.setPace({ ratio: 8 }), TypeError, "samplesPerInsert(), minSize() or");
  assertThrows(() => loose.setPace(8), TypeError, "setPace(): pace");
  assertEquals(replay.pace?.minSize, 100); // as before
});
