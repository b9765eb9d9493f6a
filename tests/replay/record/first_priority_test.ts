/** Priorities that come with records: the first ones of the picks that begin at them. */

import { ExperienceReplay, float32, highestPriority, prioritized } from "@exrp/replay";
import type { PickSelector } from "@exrp/replay/selectors";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../../_assert.ts";
import { assertReplayError, type SmallReplay, smallReplay, visibleState } from "../_helpers.ts";

/** Keeps the priority of each pick that it receives. */
function listening(): PickSelector & { priorities: number[] } {
  let priorities: number[] = [];
  return {
    name: "listening",
    get priorities(): number[] {
      return priorities;
    },
    pushed: (): void => void priorities.push(-1),
    moved: (from, to) => void (priorities[to] = priorities[from] ?? NaN),
    popped: () => void priorities.pop(),
    setPriority(indices, values): void {
      for (const [k, index] of indices.entries()) priorities[index] = values[k] ?? NaN;
    },
    select(count, out): void {
      out.index.fill(0);
      out.probability.fill(1);
      assert(count > 0);
    },
    save: () => new Uint8Array(Float64Array.from(priorities).buffer),
    load: (bytes) => void (priorities = [...new Float64Array(bytes.slice().buffer)]),
  };
}

Deno.test("record: a pick begins with the priority that came with its record", async () => {
  using replay = await smallReplay();
  const selector = replay.newPickSelector(prioritized({ alpha: 1 }));
  let episode = replay.newEpisode();
  episode = replay.record(episode, [0], 0, 0, { priority: 1 });
  episode = replay.record(episode, [1], 0, 0, { priority: 7 });
  // Without one: the largest so far.
  replay.record(episode, [2], 0, 0, { finalState: [3] });
  const batch = replay.getBatch(300, selector);
  const chances = new Map([...batch.state].map((state, k) => [state, batch.probability[k] ?? 0]));
  assertAlmostEquals(chances.get(0) ?? NaN, 1 / 15, 1e-6);
  assertAlmostEquals(chances.get(1) ?? NaN, 7 / 15, 1e-6);
  assertAlmostEquals(chances.get(2) ?? NaN, 7 / 15, 1e-6);
});

Deno.test("all four calls take priorities", async () => {
  using replay = await smallReplay();
  const rule = listening();
  const selector = replay.newPickSelector(rule);
  let episode = replay.newEpisode();
  episode = replay.recordStep(episode, {
    state: [0],
    action: 0,
    reward: 0,
    terminated: false,
    truncated: false,
    nextState: [1],
    priority: 0.5,
  });
  episode = replay.recordStep(episode, {
    state: [1],
    action: 0,
    reward: 0,
    terminated: true,
    truncated: false,
    nextState: [2],
    priority: 0,
  });
  const final = { finalState: [4] };
  replay.recordMany(episode, {
    state: [2, 3],
    action: [0, 0],
    reward: [0, 0],
    priority: [3, 4],
    ...final,
  });
  const episodes = Float64Array.from({ length: 2 }, () => replay.newEpisode());
  replay.recordBatch(episodes, {
    state: [5, 6],
    action: [0, 0],
    reward: [0, 0],
    priority: Float32Array.of(5, 6),
    nextState: [7, 8],
    terminated: [true, true],
  });
  replay.getBatch(1, selector);
  assertEquals(rule.priorities, [0.5, 0, 3, 4, 5, 6]);
});

Deno.test("priorities wait for picks that become valid later, and for views and selectors that come later", async () => {
  using replay = await smallReplay({ length: 3 });
  let episode = replay.newEpisode();
  for (let k = 0; k < 4; k++) {
    episode = replay.record(episode, [k], 0, 0, k % 2 === 0 ? { priority: 10 + k } : {});
  }
  assertEquals(replay.pickCount, 1);
  const early = listening();
  const first = replay.newPickSelector(early);
  replay.record(episode, [4], 0, 0, { finalState: [5], priority: 14 });
  const view = replay.newPickView({ length: 1 });
  const late = listening();
  const second = view.newPickSelector(late);
  const native = view.newPickSelector(highestPriority({ initialPriority: 0 }));
  replay.getBatch(1, first);
  replay.getBatch(1, second);
  assertEquals(early.priorities, [10, -1, 12]);
  assertEquals(late.priorities, [10, -1, 12, -1, 14]);
  assertEquals([...replay.getBatch(1, native).state], [4]);
});

Deno.test("priorities of open tails are saved", async () => {
  const make = (): Promise<SmallReplay> => smallReplay({ length: 2 });
  using replay = await make();
  let episode = replay.newEpisode();
  for (let k = 0; k < 3; k++) episode = replay.record(episode, [k], 0, 0, { priority: k + 1 });
  const bytes = await replay.serialize();
  using other = await make();
  await other.unserialize(bytes);
  for (const each of [replay, other]) {
    each.record(episode, [3], 0, 0, { finalState: [4] });
    const rule = listening();
    each.getBatch(1, each.newPickSelector(rule));
    assertEquals(rule.priorities, [1, 2, 3]);
  }
});

Deno.test("a slot that is used again does not keep the priority of before", async () => {
  using replay = await smallReplay({ capacity: 4 });
  const rule = listening();
  const selector = replay.newPickSelector(rule);
  for (let round = 0; round < 6; round++) {
    let episode = replay.newEpisode();
    episode = replay.record(episode, [round], 0, 0, round < 3 ? { priority: round + 1 } : {});
    replay.record(episode, [round], 0, 0, { finalState: [0] });
  }
  replay.getBatch(1, selector);
  assertEquals(rule.priorities, [-1, -1, -1, -1]);
});

Deno.test("bad priorities are refused, and nothing is recorded", async () => {
  using replay = await ExperienceReplay.create({ capacity: 20, state: float32(1) });
  const episode = replay.newEpisode();
  replay.record(episode, [0], 0, 0, { priority: 1 });
  const before = visibleState(replay);
  for (const bad of [NaN, -1, Infinity, -Infinity]) {
    assertReplayError(
      () => replay.record(episode, [1], 0, 0, { priority: bad }),
      "invalid-priority",
    );
    const steps = { state: [1, 2], action: [0, 0], reward: [0, 0] };
    const error = assertReplayError(
      () => replay.recordMany(episode, { ...steps, priority: [1, bad] }),
      "invalid-priority",
    );
    assert(error.message.includes("priority[1]"), error.message);
    assertReplayError(
      () =>
        replay.recordBatch(Float64Array.of(episode), {
          state: [1],
          action: [0],
          reward: [0],
          priority: [bad],
        }),
      "invalid-priority",
    );
  }
  // deno-lint-ignore no-explicit-any
  const loose = replay as any;
  const steps = { state: [1, 2], action: [0, 0], reward: [0, 0] };
  assertThrows(() => loose.record(episode, [1], 0, 0, { priority: "1" }), TypeError, "priority");
  assertThrows(
    () => loose.recordMany(episode, { ...steps, priority: [1] }),
    RangeError,
    "2 values",
  );
  assertThrows(() => loose.recordMany(episode, { ...steps, priority: 1 }), TypeError, "priority");
  assertThrows(() => loose.recordMany(episode, { ...steps, priority: [1, "2"] }), TypeError, "[1]");
  assertEquals(visibleState(replay), before);
});
