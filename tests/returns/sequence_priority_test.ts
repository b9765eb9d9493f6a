import { ExperienceReplay, float32, highestPriority, prioritized } from "@exrp/replay";
import { sequencePriority, type SequencePriorityOptions } from "@exrp/replay/returns";
import { assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
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

Deno.test("sequencePriority() counts the steps that learnMask names, wherever they are", () => {
  const errors = [9, -4, 2, 9, 1, 3, 9, 9, 5, 9, 9, 9];
  const learnMask = [0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1];
  // 4 and 2; 1 and 3; and a row whose real steps are all burn-in.
  const priority = sequencePriority(errors, [3, 4, 1], { eta: 0.5, learnMask });
  assertEquals([...priority], [0.5 * 4 + 0.5 * 3, 0.5 * 3 + 0.5 * 2, 0]);
  // With burnIn, what either leaves out does not count.
  const both = sequencePriority(errors, [3, 4, 1], { eta: 0, learnMask, burnIn: 2 });
  assertEquals([...both], [2, 0, 0]);
});

Deno.test("sequencePriority() of a batch with burn-in: near the episode's start fewer steps are left out", async () => {
  // Failed before there was learnMask: two steps of each row were left out, at the start of an episode the pick's own.
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(),
    pick: { length: 2, burnIn: 2, allowShort: true },
  });
  const selector = replay.newPickSelector(highestPriority());
  const episode = replay.newEpisode();
  for (let step = 0; step < 5; step++) replay.record(episode, step, 0, 10 ** step);
  const priorities = [0, 1, 2].map((position) => {
    replay.setPriority(selector, [episode], [position], [2 + position]);
    const { reward, seqLen, learnMask } = replay.getBatch(1, selector);
    return sequencePriority(reward, seqLen, { eta: 1, learnMask })[0];
  });
  assertEquals(priorities, [10, 100, 1000]); // the larger reward of the pick's own two
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
    [[1, 2, 3], [1, 1], {}, RangeError, "3 numbers do not make 2 rows"],
    [3, [1, 1], {}, TypeError, "tdError must be"],
    [[1, 2], 1, {}, TypeError, "seqLen must be"],
    [[1, 2], [1, 2], {}, RangeError, "seqLen[1]"],
    [[1, 2], [1, 1], { eta: 1.5 }, RangeError, "eta"],
    [[1, 2], [1, 1], { burnIn: -1 }, RangeError, "burnIn"],
    [[1, 2], [1, 1], { learnMask: [1] }, RangeError, "learnMask must have 2 numbers"],
    [[1, 2], [1, 1], { learnMask: true }, TypeError, "learnMask must be"],
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
