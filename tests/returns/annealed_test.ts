import { annealed } from "@exrp/replay/returns";
import { assertAlmostEquals, assertStrictEquals, assertThrows } from "../_assert.ts";

Deno.test("annealed() goes from start to end in a straight line and stays there", () => {
  for (const [start, end, steps] of [[0.4, 1, 10], [1, 0.05, 8000], [2, 2, 3]] as const) {
    const schedule = annealed(start, end, steps);
    for (let step = 0; step <= 2 * steps; step += steps / 10) {
      const share = Math.min(1, step / steps);
      assertAlmostEquals(schedule(step), start + (end - start) * share, 1e-12);
    }
    assertStrictEquals(schedule(0), start);
    assertStrictEquals(schedule(steps), end);
    assertStrictEquals(schedule(Infinity), end);
  }
});

Deno.test("annealed() refuses what is no schedule, and a schedule what is no step", () => {
  assertThrows(() => annealed(NaN, 1, 10), RangeError, "start");
  assertThrows(() => annealed(0, Infinity, 10), RangeError, "end");
  assertThrows(() => annealed(0, 1, 0), RangeError, "steps");
  assertThrows(() => annealed(0, 1, 1.5), RangeError, "steps");
  assertThrows(() => annealed("0" as unknown as number, 1, 1), TypeError, "start");
  const schedule = annealed(0, 1, 10);
  assertThrows(() => schedule(-1), RangeError, "at least 0");
  assertThrows(() => schedule(NaN), RangeError, "at least 0");
  assertThrows(() => schedule("1" as unknown as number), TypeError, "takes a step");
});
