/** Bugs of other libraries with sequences: their ends, priorities, burn-in and memory. */

import { assert, assertEquals, assertLess, assertStrictEquals } from "../../_assert.ts";
import {
  ExperienceReplay,
  float32,
  highestPriority,
  type PickOptions,
  type PickView,
  prioritized,
  uint8,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import { sequencePriority } from "@exrp/replay/returns";
import { allPicks, range, recordEpisode, small } from "./_helpers.ts";

Deno.test("pytorch/rl#1969, pytorch/rl#2193, flashbax#51: sequences can be drawn once the store is full, prioritized ones too", async () => {
  // Slices broke at capacity, and again in the prioritized sampler, which had not got the fix; others joined old and new steps.
  const policies: PickOptions[] = [{ length: 4 }, { length: 4, stride: 3, nextState: "overlap" }];
  for (const pick of policies) {
    using replay = await small({ capacity: 40, pick, blockLength: 2 });
    const selectors = [replay.newPickSelector(uniform()), replay.newPickSelector(prioritized())];
    for (const name of range(60)) {
      recordEpisode(replay, name, 4 + (name * 7) % 9, name % 3 === 1 ? "open" : "truncated");
      for (const selector of selectors) {
        const batch = replay.getBatch(20, selector);
        const rows = batch.state.length / 20;
        for (const k of range(20)) {
          const first = batch.state[rows * k] ?? NaN;
          assertEquals(
            [...batch.state.subarray(rows * k, rows * (k + 1))],
            range(rows).map((row) => first + row),
          );
          assertStrictEquals(first % 100, batch.pickPosition[k]);
        }
        replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, batch.pickPosition);
      }
    }
  }
});

Deno.test("pytorch/rl#2208: no prioritized sequence runs from one trajectory into another", async () => {
  // The sampler should leave out starts near a trajectory's end, but left out other steps. So slices crossed the ends.
  using replay = await small({ capacity: 20, pick: { length: 3 } });
  const selector = replay.newPickSelector(prioritized({ alpha: 1 }));
  for (const [name, count] of [2, 1, 3, 3, 4].entries()) recordEpisode(replay, name, count);
  assertEquals(allPicks(replay, selector), [[2, 0], [3, 0], [4, 0], [4, 1]]);
  // The steps that begin no sequence take no priority either.
  assertStrictEquals(replay.setPriority(selector, [0, 1, 2, 3], [0, 0, 1, 2], [9, 9, 9, 9]), 0);
  assertEquals(allPicks(replay, selector), [[2, 0], [3, 0], [4, 0], [4, 1]]);
});

Deno.test("pytorch/rl#1762: the last step of an episode is drawn, alone and in sequences", async () => {
  // One step of NaN at the end of every episode never came out of the sampler: it was never drawn.
  for (const pick of [{}, { length: 3 }, { nStep: 3 }, { stack: 3 }, { length: 3, stride: 2 }]) {
    using replay = await ExperienceReplay.create({ capacity: 80, state: float32(), pick });
    const selector = replay.newPickSelector(uniform());
    let episode = replay.newEpisode();
    for (const step of range(6)) episode = replay.record(episode, step, 0, 0);
    replay.record(episode, 6, 0, NaN, { finalState: 7 });
    const { reward, nStep: [part] } = replay.getBatch(200, selector);
    assert(reward.includes(NaN));
    if (part !== undefined) assert(part.reward.includes(NaN));
  }
});

Deno.test("tianshou#413: stacks begin with their episode", async () => {
  // The thread's own example: steps 0 to 9, of which 2, 4 and 8 are done, and what stacks of three there are.
  using replay = await small({
    capacity: 20,
    pick: { stack: 3, nextState: false, allowOpenEnd: true },
  });
  const selector = replay.newPickSelector(withoutReplacement());
  let episode = replay.newEpisode();
  for (const step of range(10)) {
    const done = [2, 4, 8].includes(step);
    replay.record(episode, step, 0, 0, done ? { finalState: -1 } : {});
    if (done) episode = replay.newEpisode();
  }
  const { state } = replay.getBatch(10, selector);
  const stacks = range(10).map((k) => state.subarray(3 * k, 3 * k + 3).join(" ")).sort();
  assertEquals(stacks, [
    ...["0 0 0", "0 0 1", "0 1 2", "3 3 3", "3 3 4"],
    ...["5 5 5", "5 5 6", "5 6 7", "6 7 8", "9 9 9"],
  ]);
});

Deno.test("stable-baselines3#934, cleanrl#460: at a time limit the next stack ends with the final state", async () => {
  // Frames were stored once, and the next one after a time limit was the first of the episode that followed.
  using replay = await small({ capacity: 60, pick: { stack: 3 } });
  const tables = [
    replay.newPickView({ stack: 3, stackCompact: true }),
    replay.newPickView({ stack: 3, nextState: "overlap" }),
  ];
  const episode = recordEpisode(replay, 1, 4, "truncated");
  recordEpisode(replay, 2, 4, "truncated");
  const copied = replay.newPickSelector(highestPriority());
  replay.setPriority(copied, [episode], [3], [2]);
  const { state, nextState, discount } = replay.getBatch(1, copied);
  assertEquals([...state, ...nextState], [101, 102, 103, 102, 103, 104]);
  assertEquals([...discount], [1]);
  const states = tables.map((table: PickView) => {
    const selector = table.newPickSelector(highestPriority());
    replay.setPriority(selector, [episode], [3], [2]);
    return [...replay.getBatch(1, selector).state];
  });
  assertEquals(states, [[101, 102, 103, 104], [101, 102, 103, 102, 103, 104]]);
});

Deno.test("tensorflow/agents#939: an n-step return stops at a time limit, whatever follows it", async () => {
  // The sum, the discount and the next observation went on into the next episode, as the last discount was not 0.
  const parts = [1, 3].map(async (episodes) => {
    using replay = await small({ capacity: 80, pick: { nStep: 4, discount: 0.5 } });
    const selector = replay.newPickSelector(highestPriority());
    const handles = range(episodes).map((name) => recordEpisode(replay, name, 3, "truncated"));
    replay.setPriority(selector, [handles[0] ?? 0], [1], [2]);
    const { nStep: [part] } = replay.getBatch(1, selector);
    return [part?.reward[0], part?.nextState[0], part?.discount[0]];
  });
  // Rewards are 0, 1, 2: from the second step on 1 + 0.5 * 2, then the final state, two steps ahead.
  for (const part of await Promise.all(parts)) assertEquals(part, [2, 3, 0.25]);
});

Deno.test("deep_rl_zoo#4, stable-baselines3#37: sequences that overlap and stacks of frames store each frame once", async () => {
  // Each of a million entries held 121 transitions of four frames each: 40 of burn-in, 80 to learn from, and one.
  using replay = await ExperienceReplay.create({ capacity: 1600, state: uint8(84, 84) });
  const frame = new Uint8Array(84 * 84);
  let episode = replay.newEpisode();
  for (const _ of range(1600)) episode = replay.record(episode, frame, 0, 0);
  const before = replay.describe().memory;
  const table = replay.newPickView({ length: 80, stride: 40, burnIn: 40, stack: 4, nStep: 5 });
  const batch = replay.getBatch(2, table.newPickSelector(prioritized()));
  assertEquals(batch.shape.state, [2, 120, 4, 84, 84]);
  const { memory } = replay.describe();
  assertStrictEquals(memory.columns, before.columns);
  assertLess(memory.columns, 1.15 * 1600 * (84 * 84 + 8));
  assertLess(memory.index - before.index, 32 * 1600);
});

Deno.test("ray#26833, ray#44383: a sequence at the start of its episode has a stored state like any other", async () => {
  // Sequences without burn-in, or at the very start, came with a recurrent state of no rows at all.
  for (const burnIn of [0, 2]) {
    using replay = await ExperienceReplay.create({
      capacity: 80,
      state: float32(),
      extras: { hidden: float32(2) },
    });
    const table = replay.newPickView({ length: 3, burnIn, allowShort: true });
    const selector = table.newPickSelector(withoutReplacement());
    let episode = replay.newEpisode();
    for (const step of range(7)) {
      const extras = { hidden: [10 * step + 1, 10 * step + 2] };
      episode = replay.record(
        episode,
        step,
        0,
        0,
        step < 6 ? { extras } : { extras, finalState: 7 },
      );
    }
    const { extras, shape, pickPosition } = replay.getBatch(7, selector);
    const rows = burnIn + 3;
    assertEquals(shape.extras.hidden, [7, rows, 2]);
    for (const k of range(7)) {
      const first = Math.max(0, (pickPosition[k] ?? 0) - burnIn);
      const at = 2 * rows * k;
      assertEquals([...extras.hidden.subarray(at, at + 2)], [10 * first + 1, 10 * first + 2]);
    }
  }
});

Deno.test("ray#8551, CORL#21: rows of padding are told from real ones, and nothing counts them", async () => {
  // Padded records took part in the loss; elsewhere a mask was made after the padding, and was 1 everywhere.
  using replay = await small({
    capacity: 40,
    pick: { length: 3, burnIn: 2, allowShort: true, discount: 0.5 },
  });
  const selector = replay.newPickSelector(withoutReplacement());
  recordEpisode(replay, 1, 4, "truncated");
  const batch = replay.getBatch(4, selector);
  for (const k of range(4)) {
    const [position = 0, seqLen = 0] = [batch.pickPosition[k], batch.seqLen[k]];
    const context = Math.min(2, position);
    const own = Math.min(3, 4 - position);
    assertStrictEquals(seqLen, context + own);
    const row = <T>(part: ArrayLike<T>): T[] => Array.from(part).slice(5 * k, 5 * k + 5);
    assertEquals(row(batch.learnMask), range(5).map((r) => r >= context && r < seqLen ? 1 : 0));
    assertEquals(row(batch.contextMask), range(5).map((r) => r < context ? 1 : 0));
    assertEquals(row(batch.discount), range(5).map((r) => r < seqLen ? 0.5 : 0));
  }
  // Errors that a network made up for padding and for burn-in are not read.
  const errors = Float32Array.from(batch.learnMask, (learns) => learns === 1 ? 2 : NaN);
  const priority = sequencePriority(errors, batch.seqLen, { learnMask: batch.learnMask });
  assertEquals([...priority], [2, 2, 2, 2]);
});

Deno.test("ray#3148, ray#18397, ray#39238: sequences, priorities, burn-in and n-step returns go together", async () => {
  // Each was refused beside the others, for years.
  using replay = await small({
    capacity: 60,
    pick: { length: 4, stride: 2, burnIn: 2, nStep: 3, discount: 0.5, allowShort: true },
  });
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const episode = recordEpisode(replay, 0, 7, "truncated"); // rewards 0 to 6, states 0 to 6, then 7
  assertEquals(allPicks(replay, selector), [0, 2, 4, 6].map((position) => [episode, position]));
  const handles = [episode, episode, episode];
  assertStrictEquals(replay.setPriority(selector, handles, [0, 2, 6], [0, 0, 0]), 3);
  const batch = replay.getBatch(2, selector);
  assertEquals([...batch.pickPosition], [4, 4]);
  assertEquals([...batch.state.subarray(0, 6)], [2, 3, 4, 5, 6, 0]);
  assertEquals([...batch.learnMask.subarray(0, 6)], [0, 0, 1, 1, 1, 0]);
  const [part] = batch.nStep;
  // 2 + 3/2 + 4/4, 3 + 4/2 + 5/4, 4 + 5/2 + 6/4, then 5 + 6/2 and 6 of what is left.
  assertEquals([...part?.reward.subarray(0, 6) ?? []], [4.5, 6.25, 8, 8, 6, 0]);
  assertEquals([...part?.nextState.subarray(0, 6) ?? []], [5, 6, 7, 7, 7, 0]);
  assertEquals([...part?.discount.subarray(0, 6) ?? []], [0.125, 0.125, 0.125, 0.25, 0.5, 0]);
});
