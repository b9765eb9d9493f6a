/** Bugs of other libraries at the ends of episodes. */

import { assert, assertAlmostEquals, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, uniform } from "@exrp/replay";
import { allPicks, range, recordEpisode, small } from "./_helpers.ts";

Deno.test("stable-baselines3#934: at a time limit the next state is the final state", async () => {
  // The memory-saving buffer gave the first observation of the following episode as the next state after a timeout.
  using replay = await small();
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 1, 3, "truncated");
  recordEpisode(replay, 2, 3, "terminated");
  const { state, nextState } = replay.getBatch(200, selector);
  for (const [k, value] of state.entries()) assertStrictEquals(nextState[k], value + 1);
  assert(nextState.includes(103) && nextState.includes(203));
});

Deno.test("cleanrl#460: only the task's own end stops the bootstrap", async () => {
  // DQN for Atari has the bug of stable-baselines3#934 too: at a time limit it bootstraps from another episode's state.
  using replay = await small({ capacity: 100, pick: { discount: 0.9 } });
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 1, 2, "truncated");
  recordEpisode(replay, 2, 2, "terminated");
  const { state, discount } = replay.getBatch(200, selector);
  for (const [k, value] of state.entries()) {
    assertAlmostEquals(discount[k] ?? NaN, value === 201 ? 0 : 0.9, 1e-7);
  }
});

Deno.test("flashbax#50, flashbax#51: no pick crosses the end of an episode", async () => {
  // Trajectory buffers returned steps of two episodes as one sequence.
  using replay = await small({ capacity: 60, pick: { length: 4, allowShort: true } });
  const selector = replay.newPickSelector(uniform());
  for (const name of range(20)) recordEpisode(replay, name, 1 + (name * 5) % 11);
  const { state, seqLen, shape } = replay.getBatch(500, selector);
  assertEquals(shape.state, [500, 4]);
  for (const [k, count] of seqLen.entries()) {
    const first = state[4 * k] ?? NaN;
    const expected = range(4).map((step) => step < count ? first + step : 0);
    assertEquals([...state.subarray(4 * k, 4 * k + 4)], expected);
    assertStrictEquals(Math.floor(first / 100), Math.floor((first + count - 1) / 100));
  }
});

Deno.test("FastTD3#6: windows of a full store never cross the place that is written next", async () => {
  // Once the ring was full, n-step windows joined the newest steps with the oldest ones behind the write head.
  using replay = await small({ capacity: 37, pick: { length: 5 }, blockLength: 4 });
  const selector = replay.newPickSelector(uniform());
  for (const name of range(60)) {
    recordEpisode(replay, name, 3 + (name * 7) % 13, name % 3 === 0 ? "open" : "truncated");
    if (replay.pickCount === 0) continue;
    const { state, nextState } = replay.getBatch(40, selector);
    for (let row = 0; row < state.length; row += 5) {
      const first = state[row] ?? NaN;
      assertEquals([...state.subarray(row, row + 5)], range(5).map((step) => first + step));
      assertEquals([...nextState.subarray(row, row + 5)], range(5).map((step) => first + step + 1));
    }
  }
});

Deno.test("stable-baselines3#1503: a next state that was never written is never drawn", async () => {
  // A user saw a slot that had not been written as next observation, and nobody could tell from the code if it can be.
  using replay = await small();
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  replay.record(episode, 1, 0, 0);
  assertStrictEquals(replay.pickCount, 0);
  replay.record(episode, 2, 0, 0);
  assertStrictEquals(replay.pickCount, 1);
  const { state, nextState, nextSeqLen } = replay.getBatch(50, selector);
  assertEquals(new Set(state), new Set([1]));
  assertEquals(new Set(nextState), new Set([2]));
  assertEquals(new Set(nextSeqLen), new Set([1]));
});

Deno.test("ray#18358: a record does not share memory with the caller's arrays", async () => {
  // Observations were shifted by n steps because the stored arrays were views of the ones the environment wrote to.
  using replay = await ExperienceReplay.create({
    capacity: 10,
    segmentLength: 10,
    state: float32(2),
  });
  const selector = replay.newPickSelector(uniform());
  const state = new Float32Array(2);
  const episode = replay.newEpisode();
  for (const step of range(3)) {
    state.fill(step);
    replay.record(episode, state, 0, 0);
  }
  state.fill(-1);
  const batch = replay.getBatch(50, selector);
  for (const k of range(50)) {
    assertStrictEquals(batch.nextState[2 * k], (batch.state[2 * k] ?? NaN) + 1);
    assert((batch.state[2 * k] ?? NaN) >= 0);
  }
});

Deno.test("chainerrl#442: environments that take turns keep their sequences apart", async () => {
  // Without an environment's id, n-step windows mixed the steps of environments that were stepped side by side.
  using replay = await small({ capacity: 100, pick: { length: 3 }, blockLength: 2 });
  const selector = replay.newPickSelector(uniform());
  const episodes = range(4).map(() => replay.newEpisode());
  for (const step of range(8)) {
    for (const [k, episode] of episodes.entries()) {
      replay.record(episode, 100 * k + step, 0, 0, step === 7 ? { finalState: 100 * k + 8 } : {});
    }
  }
  const { state } = replay.getBatch(300, selector);
  for (let row = 0; row < state.length; row += 3) {
    const first = state[row] ?? NaN;
    assertEquals([...state.subarray(row, row + 3)], [first, first + 1, first + 2]);
  }
  assertStrictEquals(replay.pickCount, 4 * 6);
});

Deno.test("cpprb 1.5.3: past an episode's end everything is zero, not the initial fill", async () => {
  // The last rows of a truncated n-step episode had next states of all ones, and a learner bootstrapped from them.
  using replay = await small({
    capacity: 20,
    pick: { length: 4, allowShort: true, discount: 0.5 },
  });
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 1, 2, "truncated");
  const { state, nextState, discount, reward, seqLen, pickPosition } = replay.getBatch(1, selector);
  const [count = 0] = seqLen;
  assertStrictEquals(count, 2 - (pickPosition[0] ?? 0));
  for (let step = count; step < 4; step++) {
    assertEquals([state[step], nextState[step], discount[step], reward[step]], [0, 0, 0, 0]);
  }
  assertStrictEquals(nextState[count - 1], 102);
  assertStrictEquals(discount[count - 1], 0.5);
});

Deno.test("cpprb 1.5.4: a discount is gamma or 0, whatever the window", async () => {
  // Rows at an episode's end had done = 2, so that 1 - done turned the sign of the target.
  using replay = await small({
    capacity: 50,
    pick: { length: 6, allowShort: true, discount: 0.9 },
  });
  const selector = replay.newPickSelector(uniform());
  recordEpisode(replay, 0, 8, "terminated");
  const { discount } = replay.getBatch(100, selector);
  const gamma = Math.fround(0.9);
  assertEquals([...new Set(discount)].toSorted(), [0, gamma]);
});

Deno.test("cpprb 1.5.5: after the store was lapped no next state is mixed from two episodes", async () => {
  // A row beside the write head got a next state made of two episodes' frames, one wrong row for a whole lap.
  using replay = await small({ capacity: 12, pick: { allowOpenEnd: true }, blockLength: 2 });
  const selector = replay.newPickSelector(uniform());
  for (const name of range(200)) {
    recordEpisode(replay, name, 1 + (name * 3) % 5, name % 4 === 0 ? "open" : "truncated");
    const { state, nextState, nextSeqLen } = replay.getBatch(20, selector);
    for (const [k, value] of state.entries()) {
      assertStrictEquals(nextState[k], nextSeqLen[k] === 1 ? value + 1 : 0);
    }
  }
});

Deno.test("cpprb 1.5.6: an episode that was never ended does not run into the next one", async () => {
  // If a program did not call on_episode_end(), the next episode's first observation became the last one's next state.
  using replay = await small();
  const selector = replay.newPickSelector(uniform());
  const abandoned = recordEpisode(replay, 1, 3, "open");
  recordEpisode(replay, 2, 3, "truncated");
  assertEquals(allPicks(replay, selector).filter(([episode]) => episode === abandoned), [
    [abandoned, 0],
    [abandoned, 1],
  ]);
  const { state, nextState } = replay.getBatch(100, selector);
  for (const [k, value] of state.entries()) assertStrictEquals(nextState[k], value + 1);
});

Deno.test("cpprb HER: an episode longer than expected is cut, and nothing of it is lost", async () => {
  // An episode longer than max_episode_len raised, and a task that never ends could not be stored.
  using replay = await small({
    capacity: 40,
    segmentLength: 5,
    pick: { length: 2, discount: 0.5 },
  });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  const handles = range(17).map((step) => episode = replay.record(episode, step, step, step));
  assertEquals(handles, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]);
  assertStrictEquals(replay.episode(0).ending, "truncated");
  const { state, nextState, discount } = replay.getBatch(300, selector);
  for (let row = 0; row < state.length; row++) {
    assertStrictEquals(nextState[row], (state[row] ?? NaN) + 1);
    assertStrictEquals(discount[row], 0.5);
  }
});
