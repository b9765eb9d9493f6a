/** Hindsight: what is written where, and what is left alone; its random numbers, and snapshots of them. */
import {
  type Column,
  ExperienceReplay,
  float32,
  float64,
  int16,
  int32,
  oldest,
  type Relabelled,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import {
  type GoalBatch,
  type GoalReplay,
  goalReplay,
  type GoalSchema,
  recordGoals,
  sparse,
} from "./_hindsight_helpers.ts";

Deno.test("relabel() writes goal, reward and discount of the chosen picks, and nothing else", async () => {
  using replay = await goalReplay({ length: 3 });
  recordGoals(replay, 7, 4);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    strategy: "final",
    share: 0.5,
    reward: (achieved, desired) => {
      const reward = sparse(achieved, desired);
      return { reward, terminated: reward.map((value) => value + 1) };
    },
  });
  assertStrictEquals(hindsight.strategy, "final");
  assertStrictEquals(hindsight.share, 0.5);
  const batch = replay.getBatch(64, replay.newPickSelector(uniform()));
  const before = copyOf(batch);
  const result = hindsight.relabel(batch);
  assert(result.count > 10 && result.count < 54);
  assertStrictEquals(result.keptCount, 0);
  assertStrictEquals(result.mask.reduce((sum, one) => sum + one, 0), result.count);
  for (let k = 0; k < 64; k++) {
    const relabelled = result.mask[k] === 1;
    assertStrictEquals(result.goalEpisode[k], relabelled ? 0 : -1);
    assertStrictEquals(result.goalPosition[k], relabelled ? 3 : -1);
    for (let step = 0; step < 3; step++) {
      const row = 3 * k + step;
      const real = step < (batch.seqLen[k] ?? 0);
      const isLast = (batch.pickPosition[k] ?? 0) + step === 3;
      const goal = [...batch.extras.desired.subarray(2 * row, 2 * row + 2)];
      if (!relabelled || !real) {
        assertEquals(goal, [...before.desired.subarray(2 * row, 2 * row + 2)]);
        assertStrictEquals(batch.reward[row], before.reward[row]);
        assertStrictEquals(batch.discount[row], before.discount[row]);
        continue;
      }
      assertEquals(goal, [7, 4]);
      assertStrictEquals(batch.reward[row], isLast ? 0 : -1);
      assertStrictEquals(batch.discount[row], isLast ? 0 : 0.5);
    }
  }
  assertEquals(batch.extras.achieved, before.achieved);
  assertEquals(batch.state, before.state);
  assertEquals(batch.nextState, before.nextState);
  assertEquals(batch.probability, before.probability);
});

function copyOf(batch: GoalBatch): Record<
  "state" | "nextState" | "reward" | "discount" | "achieved" | "desired" | "probability",
  Float32Array
> {
  const { state, nextState, reward, discount, probability, extras } = batch;
  const parts = { state, nextState, reward, discount, probability, ...extras };
  return Object.fromEntries(
    Object.entries(parts).map(([name, array]) => [name, array.slice()]),
  ) as ReturnType<typeof copyOf>;
}

Deno.test("relabel() writes terminated of a batch with ends, as often as it is called; truncated stays", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(),
    extras: { achieved: int32(), desired: int32() },
    pick: { ends: true, discount: 0.5, whole: true, length: 4 },
  });
  for (const truncated of [true, false]) {
    replay.recordMany(replay.newEpisode(), {
      state: [0, 1, 2],
      action: [0, 0, 0],
      reward: [0, 0, 0],
      extras: { achieved: [1, 2, 3], desired: [9, 9, 9] },
      finalState: 3,
      truncated,
    });
  }
  const batch = replay.getBatch(2, replay.newPickSelector(oldest({ distinct: true })));
  assertEquals([...batch.terminated], [0, 0, 0, 0, 0, 0, 1, 0]);
  let ends = [true, false, true, false, true, false];
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    share: 1,
    reward: (_, __, { count }) => ({ reward: new Float32Array(count), terminated: ends }),
  });
  assertStrictEquals(hindsight.relabel(batch).count, 2);
  assertEquals([...batch.terminated], [1, 0, 1, 0, 0, 1, 0, 0]);
  assertEquals([...batch.discount], [0, 0.5, 0, 0, 0.5, 0, 0.5, 0]); // the last row of each is padding
  ends = [false, true, false, false, false, true];
  hindsight.relabel(batch);
  assertEquals([...batch.terminated], [0, 1, 0, 0, 0, 0, 1, 0]);
  assertEquals([...batch.truncated], [0, 0, 1, 0, 0, 0, 0, 0]);
});

Deno.test("without terminated, discount and terminated stay as they were", async () => {
  using replay = await goalReplay({ ends: true });
  recordGoals(replay, 0, 2);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    share: 1,
    reward: sparse,
  });
  const batch = replay.getBatch(32, replay.newPickSelector(uniform()));
  const before = batch.discount.slice();
  const ends = batch.terminated.slice();
  assertStrictEquals(hindsight.relabel(batch).count, 32);
  assertEquals(batch.discount, before);
  assertEquals(batch.terminated, ends);
  assert(ends.includes(1));
  assert(before.includes(0) && before.includes(0.5));
});

Deno.test("goals of every dtype, rewards of any", async () => {
  for (const make of [float32, float64, int32, int16, uint8] as const) {
    using replay = await ExperienceReplay.create({
      capacity: 100,
      state: float32(1),
      reward: int16(),
      extras: { goal: make(3) as Column, reached: make(3) as Column },
      seed: 1,
    });
    const episode = replay.newEpisode();
    for (let step = 0; step < 4; step++) {
      replay.record(episode, [step], 0, -1, {
        extras: { goal: [9, 9, 9], reached: [step, 1, 2] },
        ...(step === 3 ? { finalState: [4], truncated: true } : {}),
      });
    }
    const batch = replay.getBatch(16, replay.newPickSelector(uniform()));
    const hindsight = replay.newHindsight({
      achieved: "reached",
      desired: "goal",
      strategy: "final",
      share: 1,
      reward: (achieved, desired, { count }) =>
        Array.from(
          { length: count },
          (_, k) => (achieved[3 * k] ?? 0) + 10 * (desired[3 * k] ?? 0),
        ),
    });
    hindsight.relabel(batch);
    assertEquals([...batch.extras.goal ?? []], new Array(16).fill([3, 1, 2]).flat());
    assertEquals([...batch.reward], [...batch.pickPosition].map((position) => position + 30));
    const bad = replay.newHindsight({
      achieved: "reached",
      desired: "goal",
      reward: (_achieved, _desired, { count }) => new Array<number>(count).fill(0.5),
    });
    assertThrows(() => bad.relabel(batch), RangeError, "returned 0.5 at 0, which is no int16");
  }
});

Deno.test("the same seed and the same calls give the same goals; two hindsights differ", async () => {
  const goals = async (seed: number): Promise<number[][]> => {
    using replay = await goalReplay({ seed });
    recordGoals(replay, 0, 40);
    const selector = replay.newPickSelector(uniform());
    const options = { achieved: "achieved", desired: "desired", reward: sparse } as const;
    const both = [replay.newHindsight(options), replay.newHindsight(options)];
    return both.map((hindsight) => {
      const batch = replay.getBatch(50, selector);
      batch.pickPosition.fill(0); // so that all may have the same
      return [...hindsight.relabel(batch).goalPosition];
    });
  };
  const [first = [], second = []] = await goals(1);
  assertEquals(await goals(1), [first, second]);
  assert(first.join() !== second.join());
  assert((await goals(2))[0]?.join() !== first.join());
});

Deno.test("a snapshot has the random numbers of hindsights, made before it is loaded or after", async () => {
  const options = { achieved: "achieved", desired: "desired", reward: sparse } as const;
  const twice = (replay: GoalReplay): HindsightPair => [
    replay.newHindsight(options),
    replay.newHindsight({ ...options, strategy: "random" }),
  ];
  type HindsightPair = readonly ReturnType<GoalReplay["newHindsight"]>[];
  const run = (
    replay: GoalReplay,
    selector: Selector<GoalSchema>,
    pair: HindsightPair,
  ): Relabelled[] => pair.map((hindsight) => hindsight.relabel(replay.getBatch(30, selector)));

  using replay = await goalReplay({ seed: 1 });
  for (let nth = 0; nth < 5; nth++) recordGoals(replay, nth, 20);
  const selector = replay.newPickSelector(uniform());
  const pair = twice(replay);
  run(replay, selector, pair);
  const bytes = await replay.serialize();
  const due = run(replay, selector, pair);

  using before = await goalReplay({ seed: 2 });
  const beforeSelector = before.newPickSelector(uniform());
  const beforePair = twice(before);
  await before.unserialize(bytes);
  assertEquals(await before.serialize(), bytes);
  assertEquals(run(before, beforeSelector, beforePair), due);

  using after = await goalReplay({ seed: 3 });
  await after.unserialize(bytes);
  assertEquals(await after.serialize(), bytes); // those that are not made yet wait
  const [afterSelector] = after.selectors;
  assert(afterSelector !== undefined);
  assertEquals(run(after, afterSelector, twice(after)), due);

  // Back to the same place in the same replay.
  await replay.unserialize(bytes);
  assertEquals(run(replay, selector, pair), due);
});
