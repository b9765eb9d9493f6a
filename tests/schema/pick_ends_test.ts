/**
 * The parts of a batch that say how episodes end: `terminated` and `truncated`, and the return to go. Numbers were worked out by hand.
 *
 * @module
 */

import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import {
  type Batch,
  bool,
  type Column,
  type DType,
  ExperienceReplay,
  float16,
  float32,
  float64,
  int16,
  int32,
  int8,
  laber,
  type PickOptions,
  prioritized,
  uint8,
  uniform,
} from "@exrp/replay";
import { type Steps, stepsReplay } from "../replay/_pick_helpers.ts";

// ---- terminated, truncated ----

/** The two parts of the pick at `position`. */
function endsOf(steps: Steps, episode: number, position: number): number[][] {
  const { terminated, truncated } = steps.draw(episode, position);
  return [[...terminated], [...truncated]];
}

Deno.test("ends: the last record of an episode has one of both, and no other row", async () => {
  using steps = await stepsReplay({ length: 2, allowShort: true, allowOpenEnd: true, ends: true });
  steps.record([8, 4, 2], "terminated");
  steps.record([8, 4, 2], "truncated");
  steps.record([8, 4, 2], "open");
  assertEquals(endsOf(steps, 0, 0), [[0, 0], [0, 0]]);
  assertEquals(endsOf(steps, 0, 1), [[0, 1], [0, 0]]);
  assertEquals(endsOf(steps, 0, 2), [[1, 0], [0, 0]]); // then padding
  assertEquals(endsOf(steps, 1, 1), [[0, 0], [0, 1]]);
  assertEquals(endsOf(steps, 1, 2), [[0, 0], [1, 0]]);
  assertEquals(endsOf(steps, 2, 1), [[0, 0], [0, 0]]);
  const { shape, discount } = steps.draw(0, 1);
  assertEquals([shape.terminated, shape.truncated], [[1, 2], [1, 2]]);
  assertEquals([...discount], [1, 0]); // as without the option
});

Deno.test("ends: an episode that was cut into segments was cut off at the end of each", async () => {
  using steps = await stepsReplay({ ends: true }, { segmentLength: 2 });
  steps.record([8, 4, 2], "terminated"); // handles 0 and 1
  assertEquals(endsOf(steps, 0, 1), [[0], [1]]);
  assertEquals(endsOf(steps, 1, 0), [[1], [0]]);
});

Deno.test("ends: rows before a pick, rows backwards, stacks and n-step returns have them too", async () => {
  const cases: [PickOptions, number, number[]][] = [
    [{ burnIn: 2, length: 2 }, 2, [0, 0, 0, 1]],
    [{ burnIn: 3, length: 3 }, 1, [0, 0, 0, 1, 0, 0]], // one row of context, then padding
    [{ before: 2, length: 2, allowShort: true }, 3, [0, 0, 1, 0]],
    [{ before: 3 }, 0, [0, 0, 0, 0]],
    [{ length: 3, reversed: true, allowShort: true }, 1, [1, 0, 0]],
    [{ length: 3, reversed: true, allowShort: true }, 2, [1, 0, 0]],
    [{ length: 2, stack: 3 }, 2, [0, 1]],
    [{ length: 2, stack: 3, stackCompact: true }, 2, [0, 1]],
    [{ length: 2, nStep: 3 }, 1, [0, 0]], // the return reaches the end, the rows don't
    [{ length: 2, nStep: 3 }, 2, [0, 1]],
    [{ length: 6, whole: true }, 0, [0, 0, 0, 1, 0, 0]],
    [{ length: 2, nextState: "overlap" }, 2, [0, 1]],
    [{ length: 2, nextState: false }, 2, [0, 1]],
  ];
  for (const [pick, position, expected] of cases) {
    using steps = await stepsReplay({ ...pick, ends: true });
    steps.record([8, 4, 2, 1], "terminated");
    steps.record([8, 4, 2, 1], "truncated");
    const none = expected.map(() => 0);
    const text = JSON.stringify(pick);
    assertEquals(endsOf(steps, 0, position), [expected, none], text);
    assertEquals(endsOf(steps, 1, position), [none, expected], text);
  }
});

Deno.test("without ends and returnToGo, a batch has nothing of them", async () => {
  using steps = await stepsReplay({ length: 3 });
  steps.record([8, 4, 2], "terminated");
  const { terminated, truncated, returnToGo, shape } = steps.draw(0, 0);
  assertEquals([terminated.length, truncated.length, returnToGo.length], [0, 0, 0]);
  assertEquals([shape.terminated, shape.truncated, shape.returnToGo], [[1, 0], [1, 0], [1, 0]]);
});

// ---- returnToGo ----

/** The returns to go of the pick at `position`. */
function toGo(steps: Steps, position: number): number[] {
  return [...steps.draw(0, position).returnToGo];
}

Deno.test("returnToGo: the rewards from each row to the end of its episode, however far that is", async () => {
  using steps = await stepsReplay({
    length: 2,
    allowShort: true,
    returnToGo: true,
    discount: 0.5, // of other parts
  });
  steps.record([8, 4, 2, 1], "terminated");
  steps.record([1000], "terminated"); // another's rewards don't count
  assertEquals(toGo(steps, 0), [15, 7]);
  assertEquals(toGo(steps, 2), [3, 1]);
  assertEquals(toGo(steps, 3), [1, 0]); // then padding
  assertEquals(steps.draw(0, 0).shape.returnToGo, [1, 2]);
});

Deno.test("returnToGo: of an open episode, and of a segment of a cut one, it has what is stored of it", async () => {
  using steps = await stepsReplay({ returnToGo: true, allowOpenEnd: true });
  const episode = steps.record([8, 4], "open");
  assertEquals([toGo(steps, 0), toGo(steps, 1)], [[12], [4]]);
  steps.replay.record(episode, 12, 0, 2);
  assertEquals([toGo(steps, 0), toGo(steps, 1), toGo(steps, 2)], [[14], [6], [2]]);
  using cut = await stepsReplay({ returnToGo: true }, { segmentLength: 2 });
  cut.record([8, 4, 2], "truncated");
  assertEquals([toGo(cut, 0), toGo(cut, 1)], [[12], [4]]);
});

Deno.test("returnToGo: rewards that update() changes count in all rows before", async () => {
  using steps = await stepsReplay({ returnToGo: true });
  steps.record([8, 4, 2], "terminated");
  assertStrictEquals(steps.replay.update([0], [1], { reward: [100] }), 1);
  assertEquals([toGo(steps, 0), toGo(steps, 1), toGo(steps, 2)], [[110], [102], [2]]);
});

Deno.test("returnToGo: rows before a pick, rows backwards and stacks have it too", async () => {
  const cases: [PickOptions, number, number[]][] = [
    [{ burnIn: 2, length: 2 }, 2, [15, 7, 3, 1]],
    [{ burnIn: 3, length: 3 }, 1, [15, 7, 3, 1, 0, 0]],
    [{ before: 2, length: 2, allowShort: true }, 1, [0, 15, 7, 3]],
    [{ before: 2, length: 2, allowShort: true }, 3, [7, 3, 1, 0]],
    [{ length: 3, reversed: true }, 0, [3, 7, 15]],
    [{ length: 3, reversed: true, allowShort: true }, 2, [1, 3, 0]],
    [{ length: 2, stack: 3, stackCompact: true }, 1, [7, 3]],
    [{ length: 2, nStep: 2, ends: true, masks: true }, 1, [7, 3]],
    [{ length: 6, whole: true }, 0, [15, 7, 3, 1, 0, 0]],
  ];
  for (const [pick, position, expected] of cases) {
    using steps = await stepsReplay({ ...pick, returnToGo: true });
    steps.record([8, 4, 2, 1], "truncated");
    assertEquals(toGo(steps, position), expected, JSON.stringify(pick));
  }
});

Deno.test("returnToGo: long episodes that lie torn in memory, with every kind of reward", async () => {
  const count = 300;
  const columns = [float32(2), float64(), float16(), uint8(), bool(), int8(3), int16(), int32()];
  for (const reward of columns) {
    const whole: Partial<Record<DType, number>> = { uint8: 200, bool: 1, int8: 100 };
    const valueOf = (at: number, item: number): number => {
      const value = (7 * at + 3 * item) % 11;
      return Math.min(value, whole[reward.dtype] ?? 1000);
    };
    using replay = await ExperienceReplay.create({
      capacity: 2 * count,
      blockLength: 4,
      state: float32(1),
      reward: reward as Column,
      pick: { length: 3, allowShort: true, returnToGo: true },
    });
    const handles = [replay.newEpisode(), replay.newEpisode()];
    const width = reward.elementCount;
    const rewardAt = (at: number): number[] =>
      Array.from({ length: width }, (_, item) => valueOf(at, item));
    for (let at = 0; at < count; at++) {
      for (const handle of handles) {
        const given = rewardAt(at);
        const value = reward.shape.length === 0 ? given[0] ?? 0 : given;
        const ends = at === count - 1 ? { finalState: [0] } : {};
        replay.record(handle, [at], 0, value as number[], ends);
      }
    }
    const batch: Batch = replay.getBatch(100, replay.newPickSelector(uniform()));
    assertEquals(batch.shape.returnToGo, [100, 3, ...reward.shape]);
    for (let row = 0; row < 300; row++) {
      const from = (batch.pickPosition[Math.floor(row / 3)] ?? 0) + row % 3;
      for (let item = 0; item < width; item++) {
        let sum = 0;
        for (let at = count - 1; at >= from; at--) sum += valueOf(at, item);
        assertStrictEquals(batch.returnToGo[row * width + item], sum, `${reward} row ${row}`);
      }
    }
  }
});

Deno.test("returnToGo: an episode that lost its oldest records still has those that follow", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 20,
    blockLength: 2,
    state: float32(),
    pick: { returnToGo: true, ends: true },
  });
  const episode = replay.newEpisode();
  for (let at = 0; at < 50; at++) replay.record(episode, at, 0, 1);
  replay.endEpisode(episode, { finalState: 50, truncated: true });
  const { pickPosition, returnToGo, terminated, truncated } = replay.getBatch(
    100,
    replay.newPickSelector(uniform()),
  );
  assert(pickPosition.every((position) => position >= 29));
  assertEquals([...returnToGo], [...pickPosition].map((position) => 50 - position));
  assertEquals([...truncated], [...pickPosition].map((position) => position === 49 ? 1 : 0));
  assert(terminated.every((flag) => flag === 0));
});

// ---- other ways to a batch ----

Deno.test("minibatches, batches with reuse and candidates that laber keeps have the parts too", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(),
    pick: { ends: true, returnToGo: true },
  });
  for (let episode = 0; episode < 4; episode++) {
    const truncated = episode % 2 === 1;
    replay.recordMany(replay.newEpisode(), {
      state: [0, 1, 2],
      action: [0, 0, 0],
      reward: [4, 2, 1],
      finalState: 3,
      truncated,
    });
  }
  const check = (batch: Batch): void => {
    assert(batch.size > 0);
    for (let k = 0; k < batch.size; k++) {
      const isLast = batch.pickPosition[k] === 2;
      const wasCut = (batch.pickEpisode[k] ?? 0) % 2 === 1;
      assertStrictEquals(batch.terminated[k], isLast && !wasCut ? 1 : 0);
      assertStrictEquals(batch.truncated[k], isLast && wasCut ? 1 : 0);
      assertStrictEquals(batch.returnToGo[k], [7, 3, 1][batch.pickPosition[k] ?? -1]);
    }
  };
  for (const batch of replay.minibatches(5)) check(batch);
  check(replay.getBatch(
    20,
    replay.newPickSelector(laber({ score: (candidates: Batch) => candidates.returnToGo })),
  ));
  const selector = replay.newPickSelector(prioritized());
  let turns = 0;
  for await (const batch of replay.batches(8, selector, { reuse: true })) {
    check(batch);
    if (++turns === 3) break;
  }
});

Deno.test("a batch without the parts is no memory for one with them, and the error says what differs", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
  replay.record(replay.newEpisode(), 0, 0, 1, { finalState: 1 });
  const view = replay.newPickView({ ends: true, returnToGo: true });
  const plain = replay.getBatch(1, replay.newPickSelector(uniform()));
  const selector = view.newPickSelector(uniform());
  assertThrows(
    () => replay.getBatch(1, selector, { into: plain }),
    TypeError,
    "x 1, ends, return to go",
  );
  assert(replay.describe().toString().includes("ends, return to go"));
});
