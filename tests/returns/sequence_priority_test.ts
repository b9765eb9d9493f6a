import {
  ExperienceReplay,
  float32,
  prioritized,
  sequencePriority,
  type SequencePriorityOptions,
} from "@exrp/replay";
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { assertResults, forRandomRows, listRows } from "./_helpers.ts";

Deno.test("sequencePriority() is eta max + (1 - eta) mean of the errors' sizes over real steps", () => {
  forRandomRows((rows, random) => {
    const eta = random(11) / 10;
    const burnIn = random(4);
    const expected = listRows(rows).map(({ first, end }) => {
      const sizes = [...rows.value.subarray(first, end)].slice(burnIn).map(Math.abs);
      if (sizes.length === 0) return 0;
      const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
      return eta * Math.max(...sizes) + (1 - eta) * mean;
    });
    assertResults(sequencePriority(rows.value, rows.seqLen, { eta, burnIn }), expected);
  });
});

Deno.test("sequencePriority() has eta 0.9 and no burn-in by default", () => {
  const errors = [1, -4, 1, 2, 9, 9];
  assertResults(sequencePriority(errors, [3, 1]), [0.9 * 4 + 0.1 * 2, 2]);
});

Deno.test("sequencePriority() passes NaN on, for setPriority to refuse", () => {
  assertEquals([...sequencePriority([NaN, 5, 5, NaN], [2, 1])], [NaN, 5]);
  assertEquals([...sequencePriority([5, NaN, 5, NaN], [2, 1])], [NaN, 5]);
});

Deno.test("sequencePriority() writes into an array of the caller", () => {
  const into = new Float32Array(2);
  assertStrictEquals(sequencePriority([1, 2, 3, 4], [2, 2], { into, eta: 1 }), into);
  assertEquals([...into], [2, 4]);
});

Deno.test("sequencePriority() refuses what it can't use, and has written nothing then", () => {
  const into = new Float32Array(2);
  const cases: [unknown, unknown, object, typeof TypeError | typeof RangeError, string][] = [
    [[1, 2], [1, 1], { unknown: 1 }, TypeError, "sequencePriority() has no option"],
    [[1, 2, 3], [1, 1], {}, RangeError, "3 numbers are not 2 rows"],
    [3, [1, 1], {}, TypeError, "tdError must be"],
    [[1, 2], 1, {}, TypeError, "seqLen must be"],
    [[1, 2], [1, 2], {}, RangeError, "seqLen[1]"],
    [[1, 2], [1, 1], { eta: 1.5 }, RangeError, "eta"],
    [[1, 2], [1, 1], { burnIn: -1 }, RangeError, "burnIn"],
    [[1, 2], [1, 1], { into: new Float32Array(3) }, RangeError, "into must have 2 elements"],
  ];
  for (const [errors, seqLen, options, kind, text] of cases) {
    const call = (): unknown =>
      sequencePriority(
        errors as number[],
        seqLen as number[],
        { into, ...options } as SequencePriorityOptions,
      );
    assertThrows(call, kind, text);
  }
  assertEquals([...into], [0, 0]);
});

Deno.test("sequencePriority() gives what setPriority takes", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(1),
    pick: { length: 4, allowShort: true },
  });
  const selector = replay.newPickSelector(prioritized());
  const episode = replay.newEpisode();
  for (let step = 0; step < 9; step++) replay.record(episode, [step], 0, step);
  const batch = replay.getBatch(8, selector);
  const priority = sequencePriority(batch.reward, batch.seqLen);
  assertStrictEquals(
    replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priority),
    8,
  );
});
