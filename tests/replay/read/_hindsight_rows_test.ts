/** The rows that hindsight asks about and writes, and the callback's answer. */
import { uniform } from "@exrp/replay";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import {
  flatReplay,
  type GoalReplay,
  goalReplay,
  recordGoals,
  sparse,
} from "./_hindsight_helpers.ts";

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
      [
        () => ({ rewards: [0] }),
        TypeError,
        'no option "rewards"; did you mean reward? It has reward, terminated',
      ],
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

Deno.test("rows before a pick get its goal too, and future looks ahead from the pick's last record", async () => {
  for (const policy of [{ burnIn: 2 }, { before: 2 }, { reversed: true }, { whole: true }]) {
    using replay = await goalReplay();
    recordGoals(replay, 0, 9);
    const view = replay.newPickView({
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
    const batch = replay.getBatch(100, view.newPickSelector(uniform()));
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
  const nStep = replay.getBatch(4, replay.newPickView({ nStep: 3 }).newPickSelector(uniform()));
  assertThrows(() => inExtras.relabel(nStep), TypeError, "with n-step returns can't be relabelled");
  const toGo = replay.newPickView({ returnToGo: true }).newPickSelector(uniform());
  const withReturns = replay.getBatch(4, toGo);
  assertThrows(
    () => inExtras.relabel(withReturns),
    TypeError,
    "a batch with returnToGo can't be relabelled",
  );

  using flat = await flatReplay();
  flat.record(flat.newEpisode(), [0, 1, 2], 0, 0, { finalState: [3, 4, 5] });
  const inState = flat.newHindsight({
    achieved: { state: [1, 2] },
    desired: { state: [2, 3] },
    reward: (achieved) => achieved,
  });
  for (const policy of [{ stack: 2 }, { nextState: "overlap" }, { nextState: false }] as const) {
    const view = flat.newPickView(policy);
    const batch = flat.getBatch(4, view.newPickSelector(uniform()));
    const before = batch.bytes.slice();
    assertThrows(() => inState.relabel(batch), TypeError, "goals in the state need single states");
    assertEquals(batch.bytes, before);
  }
});
