/** Hindsight: which picks get which goals, what is written where, and what is left alone. */
import {
  type Column,
  ExperienceReplay,
  float32,
  float64,
  type HindsightOptions,
  type HindsightStrategy,
  int16,
  int32,
  type Relabelled,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { assert, assertEquals, assertGreater, assertStrictEquals, assertThrows } from "@std/assert";
import { ChiSquare } from "../statistics/chi_square.ts";
import { assertReplayError, testRandom } from "./_helpers.ts";

type Goal = Column<"float32", readonly [2]>;
type GoalReplay = ExperienceReplay<
  Column<"float32", readonly [1]>,
  Column<"int32", readonly []>,
  Column<"float32", readonly []>,
  { readonly achieved: Goal; readonly desired: Goal }
>;

type GoalBatch = ReturnType<GoalReplay["getBatch"]>;

const STRATEGIES: readonly HindsightStrategy[] = ["future", "final", "episode", "random"];

/** A replay whose record t of the nth episode achieved the goal [n, t + 1], and desired [-1, -1]. */
function goalReplay(
  options: { length?: number; capacity?: number; seed?: number; allowOpenEnd?: boolean } = {},
): Promise<GoalReplay> {
  const { length = 1, capacity = 1000, seed = 1, allowOpenEnd = false } = options;
  return ExperienceReplay.create({
    capacity,
    segmentLength: capacity,
    state: float32(1),
    extras: { achieved: float32(2), desired: float32(2) },
    pick: { length, allowShort: true, allowOpenEnd, discount: 0.5 },
    seed,
  });
}

function recordGoals(replay: GoalReplay, nth: number, count: number, ends = true): number {
  let episode = replay.newEpisode();
  for (let step = 0; step < count; step++) {
    episode = replay.record(episode, [step], 0, -1, {
      extras: { achieved: [nth, step + 1], desired: [-1, -1] },
      ...(ends && step === count - 1 ? { finalState: [count] } : {}),
    });
  }
  return episode;
}

/** 0 where both goals are one, else -1. */
function sparse(achieved: Float32Array, desired: Float32Array): Float32Array {
  const reached = (_: number, k: number): boolean =>
    achieved[2 * k] === desired[2 * k] && achieved[2 * k + 1] === desired[2 * k + 1];
  return Float32Array.from({ length: achieved.length / 2 }, (_, k) => reached(0, k) ? 0 : -1);
}

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

Deno.test("without terminated, discount stays as it was", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 0, 2);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    share: 1,
    reward: sparse,
  });
  const batch = replay.getBatch(32, replay.newPickSelector(uniform()));
  const before = batch.discount.slice();
  assertStrictEquals(hindsight.relabel(batch).count, 32);
  assertEquals(batch.discount, before);
  assert(before.includes(0) && before.includes(0.5));
});

/** Where the goals of a pick may come from: positions of its own episode, or undefined for any record at all. */
function candidates(
  strategy: HindsightStrategy,
  last: number,
  count: number,
): readonly [number, number] | undefined {
  if (strategy === "random") return undefined;
  if (strategy === "final") return [count - 1, count - 1];
  return strategy === "future" ? [last, count - 1] : [0, count - 1];
}

for (const strategy of STRATEGIES) {
  for (const seed of [1, 2, 3]) {
    Deno.test(`${strategy}: each goal was achieved by a step that it may be of (seed ${seed})`, async () => {
      const random = testRandom(seed);
      const length = 1 + random(4);
      using replay = await goalReplay({
        length,
        capacity: 200,
        seed,
        allowOpenEnd: random(2) === 0,
      });
      const selector = replay.newPickSelector(uniform());
      let calls = 0;
      let asked = 0;
      const hindsight = replay.newHindsight({
        achieved: "achieved",
        desired: "desired",
        strategy,
        share: 0.7,
        reward: (achieved, desired, { count, row, batch }) => {
          calls++;
          asked = count;
          assertStrictEquals(achieved.length, 2 * count);
          assertStrictEquals(desired.length, 2 * count);
          for (const [k, at] of row.entries()) {
            const own = batch.extras.achieved.subarray(2 * at, 2 * at + 2);
            assertEquals(achieved.subarray(2 * k, 2 * k + 2), own);
            assertEquals([...batch.extras.desired.subarray(2 * at, 2 * at + 2)], [-1, -1]);
          }
          return Float64Array.from({ length: count }, (_, k) => 100 * k);
        },
      });
      let nth = 0;
      let [kept, relabelled] = [0, 0];
      for (let round = 0; round < 120; round++) {
        // The nth episode has handle n.
        for (let k = random(3); k >= 0; k--) {
          recordGoals(replay, nth++, 1 + random(30), random(4) > 0);
        }
        const batch = replay.getBatch(1 + random(40), selector);
        if (random(3) === 0) replay.evict(batch.pickEpisode[0] ?? -1);
        if (random(3) === 0) recordGoals(replay, nth++, 60);
        calls = 0;
        asked = 0;
        const result = hindsight.relabel(batch);
        assertStrictEquals(calls, result.count > 0 ? 1 : 0);
        let rows = 0;
        for (let k = 0; k < batch.size; k++) {
          const handle = batch.pickEpisode[k] ?? -1;
          const [goalEpisode, goalPosition] = [
            result.goalEpisode[k] ?? NaN,
            result.goalPosition[k] ?? NaN,
          ];
          if (result.mask[k] === 0) {
            assertEquals([goalEpisode, goalPosition], [-1, -1]);
            continue;
          }
          assert(replay.episode(handle).state !== "evicted");
          const { recordCount } = replay.episode(handle);
          const seqLen = batch.seqLen[k] ?? 0;
          const last = (batch.pickPosition[k] ?? 0) + seqLen - 1;
          const range = candidates(strategy, last, recordCount);
          if (range !== undefined) {
            assertStrictEquals(goalEpisode, handle);
            assert(goalPosition >= range[0] && goalPosition <= range[1]);
          }
          assert(goalPosition < replay.episode(goalEpisode).recordCount);
          for (let step = 0; step < length; step++) {
            const row = k * length + step;
            const goal = [...batch.extras.desired.subarray(2 * row, 2 * row + 2)];
            if (step >= seqLen) assertEquals(goal, [0, 0]);
            else {
              assertEquals(goal, [goalEpisode, goalPosition + 1]);
              assertStrictEquals(batch.reward[row], 100 * rows++);
            }
          }
        }
        assertStrictEquals(rows, asked);
        kept += result.keptCount;
        relabelled += result.count;
      }
      assertGreater(kept, 5);
      assertGreater(relabelled, 1000);
    });
  }
}

/** How often each goal was chosen for a pick at `position` of an episode of 12, and the tail against `weights`. */
async function tailOf(
  strategy: HindsightStrategy,
  weights: (episode: number, position: number, of: number) => number,
): Promise<number> {
  using replay = await goalReplay({ seed: 5 });
  const sizes = [12, 5, 20];
  for (const [nth, size] of sizes.entries()) recordGoals(replay, nth, size);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    strategy,
    share: 1,
    reward: sparse,
  });
  const selector = replay.newPickSelector(uniform());
  const seen = new Map<string, number[]>();
  const all = sizes.flatMap((size, nth) => Array.from({ length: size }, (_, k) => [nth, k]));
  for (let round = 0; round < 100; round++) {
    const batch = replay.getBatch(1000, selector);
    const { goalEpisode, goalPosition } = hindsight.relabel(batch);
    for (let k = 0; k < batch.size; k++) {
      const key = `${batch.pickEpisode[k]} ${batch.pickPosition[k]}`;
      const counts = seen.get(key) ?? new Array<number>(all.length).fill(0);
      seen.set(key, counts);
      const at = all.findIndex(([e, p]) => e === goalEpisode[k] && p === goalPosition[k]);
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  const test = new ChiSquare();
  for (const [key, counts] of seen) {
    const [episode = 0, position = 0] = key.split(" ").map(Number);
    const due = all.map(([e = 0, p = 0]) => {
      const own = strategy === "random" || e === episode;
      return own ? weights(e, p, position) : 0;
    });
    const total = due.reduce((sum, weight) => sum + weight, 0);
    const drawn = counts.reduce((sum, count) => sum + count, 0);
    const possible = due.flatMap((weight, k) => weight > 0 ? [k] : []);
    assertStrictEquals(possible.reduce((sum, k) => sum + (counts[k] ?? 0), 0), drawn, key);
    test.add(
      possible.map((k) => counts[k] ?? 0),
      possible.map((k) => drawn * (due[k] ?? 0) / total),
    );
  }
  return test.tail;
}

const UNIFORM: readonly [
  HindsightStrategy,
  (episode: number, position: number, of: number) => number,
][] = [
  ["future", (_, position, of) => position >= of ? 1 : 0],
  ["episode", () => 1],
  ["random", () => 1],
];
for (const [strategy, weights] of UNIFORM) {
  Deno.test(`${strategy}: every step that may be chosen is as likely as the other (seed 5)`, async () => {
    assertGreater(await tailOf(strategy, weights), 1e-4);
    // The twin: each step 3 % of the first one's chance more likely than the one before.
    const twin = await tailOf(
      strategy,
      (episode, position, of) => weights(episode, position, of) * (1 + 0.03 * position),
    );
    assert(twin < 1e-9, `the twin passes: ${twin}`);
  });
}

Deno.test("share is the probability of being relabelled (seed 1)", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 0, 10);
  const selector = replay.newPickSelector(uniform());
  const count = (share: number | undefined): number => {
    const options = { achieved: "achieved", desired: "desired", reward: sparse } as const;
    const hindsight = replay.newHindsight(share === undefined ? options : { ...options, share });
    return hindsight.relabel(replay.getBatch(100_000, selector)).count;
  };
  assertStrictEquals(count(0), 0);
  assertStrictEquals(count(1), 100_000);
  for (const [share, due] of [[undefined, 80_000], [0.3, 30_000]] as const) {
    const test = new ChiSquare();
    const found = count(share);
    test.add([found, 100_000 - found], [due, 100_000 - due]);
    assertGreater(test.tail, 1e-4);
  }
});

Deno.test("a pick whose episode was evicted since keeps its goal and is counted", async () => {
  for (const strategy of STRATEGIES) {
    using replay = await goalReplay();
    const [gone, stays] = [recordGoals(replay, 0, 10), recordGoals(replay, 1, 10)];
    const hindsight = replay.newHindsight({
      achieved: "achieved",
      desired: "desired",
      strategy,
      share: 1,
      reward: sparse,
    });
    const batch = replay.getBatch(100, replay.newPickSelector(uniform()));
    replay.evict(gone);
    const result = hindsight.relabel(batch);
    const goneCount = batch.pickEpisode.filter((handle) => handle === gone).length;
    assertStrictEquals(result.keptCount, goneCount);
    assertStrictEquals(result.count, 100 - goneCount);
    for (let k = 0; k < 100; k++) {
      const isKept = batch.pickEpisode[k] === gone;
      assertStrictEquals(result.mask[k], isKept ? 0 : 1);
      assertStrictEquals(batch.extras.desired[2 * k], isKept ? -1 : 1);
      if (!isKept) assertStrictEquals(result.goalEpisode[k], stays);
    }
  }
});

Deno.test("what the callback throws or returns wrongly leaves batch and random numbers as they were", async () => {
  using replay = await goalReplay({ length: 2 });
  recordGoals(replay, 0, 10);
  let answer: () => unknown = () => undefined;
  const make = (): ReturnType<GoalReplay["newHindsight"]> =>
    replay.newHindsight({
      achieved: "achieved",
      desired: "desired",
      reward: () => answer() as number[],
    });
  const hindsight = make();
  const batch = replay.getBatch(20, replay.newPickSelector(uniform()));
  const before = batch.bytes.slice();
  let rowCount = 0;
  const good = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    share: 1,
    reward: (_achieved, _desired, { count }) => {
      rowCount = count;
      throw new Error("count only");
    },
  });
  assertThrows(() => good.relabel(batch), Error, "count only");
  assert(rowCount > 20);
  const wrong: [() => unknown, ErrorConstructor | typeof TypeError | typeof RangeError, string][] =
    [
      [
        () => {
          throw new Error("the reward is unknown");
        },
        Error,
        "the reward is unknown",
      ],
      [() => undefined, TypeError, "reward() must return rewards as a plain or typed array"],
      [() => 0, TypeError, "got 0"],
      [() => [0], RangeError, "rewards, got 1"],
      [() => new DataView(new ArrayBuffer(8)), TypeError, "must return rewards"],
      [() => ({ terminated: [] }), TypeError, "must return rewards"],
      [() => ({}), TypeError, "array, or { reward, terminated }, got undefined"],
      [() => ({ rewards: [0] }), TypeError, 'no option "rewards"; it has reward, terminated'],
    ];
  for (const [returned, kind, text] of wrong) {
    answer = returned;
    assertThrows(() => hindsight.relabel(batch), kind, text);
    assertEquals(batch.bytes, before);
  }
  // Those that hang on how many there are.
  const counting = (make: (count: number) => unknown): ReturnType<GoalReplay["newHindsight"]> =>
    replay.newHindsight({
      achieved: "achieved",
      desired: "desired",
      reward: (_achieved, _desired, { count }) => make(count) as number[],
    });
  const zeros = (count: number): number[] => new Array<number>(count).fill(0);
  const late: [(count: number) => unknown, typeof TypeError | typeof RangeError, string][] = [
    [(count) => [...zeros(count - 1), "1"], TypeError, 'got "1" at'],
    [(count) => zeros(count + 1), RangeError, "rewards, got"],
    [(count) => ({ reward: zeros(count), terminated: [0] }), RangeError, "terminated, got 1"],
    [
      (count) => ({ reward: zeros(count), done: zeros(count) }),
      TypeError,
      'what reward() returned has no option "done"; it has reward, terminated',
    ],
    [
      (count) => ({ reward: zeros(count), terminated: [...zeros(count - 1), 2] }),
      TypeError,
      "must be true, false, 1 or 0, got 2",
    ],
  ];
  for (const [returned, kind, text] of late) {
    assertThrows(() => counting(returned).relabel(batch), kind, text);
    assertEquals(batch.bytes, before);
  }
  // The first hindsight has drawn nothing yet: it gives what one whose calls went well at once gives.
  using other = await goalReplay({ length: 2 });
  recordGoals(other, 0, 10);
  const undisturbed = other.newHindsight({
    achieved: "achieved",
    desired: "desired",
    reward: (_achieved, _desired, { count }) => zeros(count),
  });
  const twin = other.getBatch(20, other.newPickSelector(uniform()));
  assertEquals(twin.bytes, batch.bytes);
  const { count } = undisturbed.relabel(twin);
  const rows = [...twin.seqLen.keys()].filter((k) => twin.reward[2 * k] === 0);
  answer = () => zeros(rows.reduce((sum, k) => sum + (twin.seqLen[k] ?? 0), 0));
  assertStrictEquals(hindsight.relabel(batch).count, count);
  assertEquals(batch.bytes, twin.bytes);
});

Deno.test("the callback may do with its arrays what it likes", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 3, 5);
  const hindsight = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    strategy: "final",
    share: 1,
    reward: (achieved, desired, { count, row }) => {
      achieved.fill(77);
      desired.fill(77);
      row.fill(0);
      return new Array<number>(count).fill(2);
    },
  });
  const batch = replay.getBatch(8, replay.newPickSelector(uniform()));
  hindsight.relabel(batch);
  assertEquals([...batch.extras.desired], new Array(8).fill([3, 5]).flat());
  assertEquals([...batch.reward], new Array(8).fill(2));
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

/** States [x, achieved, desired], as an environment with a flattened observation gives them. */
async function flatReplay(allowOpenEnd = false): Promise<
  ExperienceReplay<Column<"float64", readonly [3]>>
> {
  return await ExperienceReplay.create({
    capacity: 100,
    state: float64(3),
    pick: { length: 2, allowShort: true, allowOpenEnd, discount: 0.5 },
    seed: 3,
  });
}

Deno.test("goals in the state: the goal of a step is that of its next state, the final one too", async () => {
  using replay = await flatReplay();
  const episode = replay.newEpisode();
  for (let step = 0; step < 4; step++) {
    replay.record(
      episode,
      [step, 10 + step, 99],
      0,
      -1,
      step === 3 ? { finalState: [4, 14, 99] } : {},
    );
  }
  const asked: number[] = [];
  const hindsight = replay.newHindsight({
    achieved: { state: [1, 2] },
    desired: { state: [2, 3] },
    strategy: "final",
    share: 1,
    reward: (achieved, desired) => {
      asked.push(...achieved);
      const reached = achieved.map((goal, k) => goal === desired[k] ? 1 : 0);
      return { reward: reached, terminated: reached };
    },
  });
  const batch = replay.getBatch(12, replay.newPickSelector(uniform()));
  const result = hindsight.relabel(batch);
  assertStrictEquals(result.count, 12);
  const due: number[] = [];
  for (let k = 0; k < 12; k++) {
    assertStrictEquals(result.goalPosition[k], 3);
    for (let step = 0; step < 2; step++) {
      const row = 2 * k + step;
      const position = (batch.pickPosition[k] ?? 0) + step;
      const [state, next] = [batch.state, batch.nextState].map((array) => [
        ...array.subarray(3 * row, 3 * row + 3),
      ]);
      if (position > 3) {
        assertEquals([state, next], [[0, 0, 0], [0, 0, 0]]);
        continue;
      }
      due.push(11 + position);
      assertEquals(state, [position, 10 + position, 14]);
      assertEquals(next, [position + 1, 11 + position, 14]);
      assertStrictEquals(batch.reward[row], position === 3 ? 1 : 0);
      assertStrictEquals(batch.discount[row], position === 3 ? 0 : 0.5);
    }
  }
  assertEquals(asked, due);
});

Deno.test("goals in the state: what has no next state yet is no goal, and a pick that needs it keeps its own", async () => {
  for (const strategy of STRATEGIES) {
    using replay = await flatReplay(true);
    const episode = replay.newEpisode();
    for (let step = 0; step < 4; step++) replay.record(episode, [step, 10 + step, 99], 0, -1);
    const hindsight = replay.newHindsight({
      achieved: { state: [1, 2] },
      desired: { state: [2, 3] },
      strategy,
      share: 1,
      reward: (achieved) => achieved,
    });
    const batch = replay.getBatch(200, replay.newPickSelector(uniform()));
    const result = hindsight.relabel(batch);
    let kept = 0;
    for (let k = 0; k < 200; k++) {
      const isKnown = batch.nextSeqLen[k] === batch.seqLen[k];
      if (!isKnown) kept++;
      assertStrictEquals(result.mask[k], isKnown ? 1 : 0);
      assert((result.goalPosition[k] ?? 9) <= 2);
      const first = batch.state.subarray(6 * k, 6 * k + 3);
      const goal = isKnown ? 11 + (result.goalPosition[k] ?? 0) : 99;
      assertStrictEquals(first[2], goal);
    }
    assertStrictEquals(result.keptCount, kept);
    assert(kept > 20 && kept < 180);
  }
});

Deno.test("rows before a pick get its goal too, and future looks ahead from the pick's last record", async () => {
  for (const policy of [{ burnIn: 2 }, { before: 2 }, { reversed: true }, { whole: true }]) {
    using replay = await goalReplay();
    recordGoals(replay, 0, 9);
    const table = replay.newPickTable({
      length: 3,
      ...policy,
      ...("whole" in policy ? { length: 9 } : {}),
    });
    const hindsight = replay.newHindsight({
      achieved: "achieved",
      desired: "desired",
      share: 1,
      reward: sparse,
    });
    const batch = replay.getBatch(100, table.newPickSelector(uniform()));
    const { goalPosition, count } = hindsight.relabel(batch);
    assertStrictEquals(count, 100);
    for (let k = 0; k < 100; k++) {
      const begin = batch.pickPosition[k] ?? 0;
      const last = begin + ("whole" in policy ? 8 : 2);
      const goal = goalPosition[k] ?? -1;
      assert(goal >= last && goal <= 8, `${JSON.stringify(policy)}: ${goal} for ${last}`);
      const before = Math.min(begin, 2);
      for (let row = 0; row < batch.length; row++) {
        const at = k * batch.length + row;
        const position = "burnIn" in policy
          ? begin - before + row
          : "before" in policy
          ? begin - 2 + row
          : "reversed" in policy
          ? last - row
          : row;
        const isReal = position >= 0 && row < (batch.seqLen[k] ?? 0);
        const wanted = [...batch.extras.desired.subarray(2 * at, 2 * at + 2)];
        assertEquals(wanted, isReal ? [0, goal + 1] : [0, 0]);
        assertStrictEquals(batch.reward[at], isReal && position !== goal ? -1 : 0);
      }
    }
  }
});

Deno.test("relabel() refuses batches in which something of the old goals would stay", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 0, 9);
  const inExtras = replay.newHindsight({
    achieved: "achieved",
    desired: "desired",
    reward: sparse,
  });
  const nStep = replay.getBatch(4, replay.newPickTable({ nStep: 3 }).newPickSelector(uniform()));
  assertThrows(() => inExtras.relabel(nStep), TypeError, "with n-step returns can't be relabelled");

  using flat = await flatReplay();
  flat.record(flat.newEpisode(), [0, 1, 2], 0, 0, { finalState: [3, 4, 5] });
  const inState = flat.newHindsight({
    achieved: { state: [1, 2] },
    desired: { state: [2, 3] },
    reward: (achieved) => achieved,
  });
  for (const policy of [{ stack: 2 }, { nextState: "overlap" }, { nextState: false }] as const) {
    const table = flat.newPickTable(policy);
    const batch = flat.getBatch(4, table.newPickSelector(uniform()));
    const before = batch.bytes.slice();
    assertThrows(() => inState.relabel(batch), TypeError, "goals in the state need single states");
    assertEquals(batch.bytes, before);
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
  const run = (replay: GoalReplay, selector: Selector, pair: HindsightPair): Relabelled[] =>
    pair.map((hindsight) => hindsight.relabel(replay.getBatch(30, selector)));

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

Deno.test("newHindsight() and relabel() refuse what they can't use", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(4),
    extras: { achieved: float32(2), desired: float32(2), half: float32(1), whole: int32(2) },
  });
  const good = { achieved: "achieved", desired: "desired", reward: () => [] };
  const wrong: [object, typeof TypeError | typeof RangeError, string][] = [
    [{ achieved: "goal" }, TypeError, 'has no extra "goal"; it has achieved, desired, half, whole'],
    [{ desired: undefined }, TypeError, "must be an extra's name or { state: [first, end] }"],
    [{ desired: "half" }, TypeError, "float32 [2] and float32 [1]"],
    [{ desired: "whole" }, TypeError, "float32 [2] and int32 [2]"],
    [{ desired: "achieved" }, RangeError, "different places"],
    [{ desired: { state: [0, 5] } }, RangeError, "from 1 to 4, got 5"],
    [{ desired: { state: [2, 2] } }, RangeError, "from 3 to 4"],
    [{ desired: { state: 2 } }, TypeError, "state must be [first, end]"],
    [{ desired: { states: [0, 2] } }, TypeError, "has no option"],
    [{ achieved: { state: [0, 2] }, desired: { state: [1, 3] } }, RangeError, "different places"],
    [{ strategy: "past" }, TypeError, '"future" or "final"'],
    [{ share: 1.1 }, RangeError, "share"],
    [{ share: "all" }, TypeError, "share"],
    [{ reward: 0 }, TypeError, "reward must be a function"],
    [{ ratio: 4 }, TypeError, "has no option"],
  ];
  type Loose = (options: unknown) => unknown;
  const make = replay.newHindsight.bind(replay) as unknown as Loose;
  for (const [change, kind, text] of wrong) {
    assertThrows(() => make({ ...good, ...change }), kind, text);
  }
  assertThrows(() => make(undefined), TypeError, "takes an object of options");

  using goals = await goalReplay();
  recordGoals(goals, 0, 3);
  const hindsight = goals.newHindsight({
    achieved: "achieved",
    desired: "desired",
    reward: sparse,
  });
  const relabel = (batch: unknown): Relabelled => hindsight.relabel(batch as GoalBatch);
  assertThrows(() => relabel({}), TypeError, "takes a batch that getBatch() returned");
  const episode = replay.newEpisode();
  replay.record(episode, [0, 0, 0, 0], 0, 0, {
    extras: { achieved: [0, 0], desired: [0, 0], half: [0], whole: [0, 0] },
    finalState: [0, 0, 0, 0],
  });
  using plain = await ExperienceReplay.create({ capacity: 10, state: float32(1) });
  plain.record(plain.newEpisode(), [0], 0, 0, { finalState: [1] });
  const foreign = plain.getBatch(1, plain.newPickSelector(uniform()));
  assertThrows(() => relabel(foreign), TypeError, "the batch has no extras.achieved");
  const selector = goals.newPickSelector(uniform());
  const gone = goals.getBatch(4, selector);
  structuredClone(gone.bytes.buffer, { transfer: [gone.bytes.buffer] });
  assertThrows(() => relabel(gone), TypeError, "its buffer was transferred");
  const batch = goals.getBatch(4, selector);
  goals[Symbol.dispose]();
  assertReplayError(() => relabel(batch), "disposed");
  assertReplayError(
    () => goals.newHindsight({ achieved: "achieved", desired: "desired", reward: sparse }),
    "disposed",
  );
});

Deno.test("the types of goals follow the schema", async () => {
  using replay = await goalReplay();
  recordGoals(replay, 0, 2);
  type Options = HindsightOptions<
    Column<"float32", readonly [1]>,
    Column<"int32", readonly []>,
    Column<"float32", readonly []>,
    { readonly achieved: Goal; readonly desired: Goal }
  >;
  const achieved: Options["achieved"] = "achieved";
  assertThrows(
    () =>
      replay.newHindsight({
        // @ts-expect-error: there is no such extra
        achieved: "none",
        desired: "desired",
        reward: () => [],
      }),
    TypeError,
  );
  replay.newHindsight({
    achieved,
    desired: "desired",
    reward: (goals) => {
      const typed: Float32Array = goals;
      return typed;
    },
  });
});
