/** Bugs of other libraries with several environments side by side, and with next states. */

import { assert, assertAlmostEquals, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { ExperienceReplay, float32, int32, prioritized, uniform } from "@exrp/replay";
import { manyEnvironments, range, recordEpisode, small, stepAll } from "./_helpers.ts";

Deno.test("tianshou#812: of agents that take turns, each has a next state of its own", async () => {
  // Observations of several agents stood one after the other: the next one was another agent's, or another episode's.
  const [replay, selector] = await manyEnvironments(4, 60, 90, {});
  using _replay = replay;
  const { state, nextState, action } = replay.getBatch(1000, selector);
  for (const [k, value] of state.entries()) {
    assertStrictEquals(nextState[k], value + 1);
    assertStrictEquals(action[k], Math.floor(value / 100) % 10);
  }
  assertEquals(new Set(action), new Set([0, 1, 2, 3]));
});

Deno.test("tianshou#82: the next state of a row changes nothing of the row's other columns", async () => {
  // Reading the next observation added 1 to the indices in place. Columns read later came from the following record.
  using replay = await ExperienceReplay.create({
    capacity: 50,
    state: float32(),
    action: int32(),
    extras: { step: int32() },
    seed: 3,
  });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  for (const step of range(6)) {
    const end = step === 5 ? { finalState: 6 } : {};
    episode = replay.record(episode, step, step, step, { ...end, extras: { step } });
  }
  const batch = replay.getBatch(100, selector);
  for (const k of range(100)) {
    const next = batch.nextState[k] ?? NaN; // read first
    const row = [batch.state[k], batch.action[k], batch.reward[k], batch.extras.step[k]];
    assertEquals(row, [next - 1, next - 1, next - 1, next - 1]);
    assertStrictEquals(batch.pickPosition[k], next - 1);
  }
});

Deno.test("tensorforce#138: the newest record of a full store waits for its next state", async () => {
  // When the last observation was drawn, its next state was whatever stood behind it.
  using replay = await small({ capacity: 8, segmentLength: 4 });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  for (const step of range(60)) {
    episode = replay.record(episode, step, 0, 0);
    if (step === 0) continue;
    const { state, nextState } = replay.getBatch(50, selector);
    assert(!state.includes(step), `record ${step} was drawn`);
    for (const [k, value] of state.entries()) assertStrictEquals(nextState[k], value + 1);
  }
});

Deno.test("rl-baselines3-zoo#270, #279: states stored once and time limits go together", async () => {
  // The option that saves memory was refused together with the option for time limits. Programs with both broke.
  using replay = await ExperienceReplay.create({
    capacity: 4096,
    state: float32(256),
    pick: { discount: 0.9 },
    seed: 1,
  });
  const selector = replay.newPickSelector(uniform());
  for (const name of range(8)) {
    let episode = replay.newEpisode();
    for (const step of range(500)) {
      const state = new Float32Array(256).fill(1000 * name + step);
      const finalState = new Float32Array(256).fill(1000 * name + 500);
      const end = step === 499 ? { finalState, truncated: name % 2 === 0 } : {};
      episode = replay.record(episode, state, 0, 0, end);
    }
  }
  // A state has 1024 bytes; twice that would be stored if next states were.
  assert(replay.describe().memory.columns < 1.2 * 4000 * 1024);
  const { state, nextState, discount } = replay.getBatch(2000, selector);
  for (const k of range(2000)) {
    const value = state[256 * k] ?? NaN;
    assertStrictEquals(nextState[256 * k + 255], value + 1);
    const terminates = value % 1000 === 499 && Math.floor(value / 1000) % 2 === 1;
    assertStrictEquals(discount[k], terminates ? 0 : Math.fround(0.9));
  }
});

Deno.test("ElegantRL#268: with several environments a priority goes to the record that was drawn", async () => {
  // Index arithmetic mixed up environment and step.
  using replay = await small({ capacity: 400, pick: { length: 2, allowShort: true } });
  const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
  const episodes = Float64Array.from({ length: 6 }, () => replay.newEpisode());
  const [clocks, names] = [range(6).map(() => 0), range(6).map(() => 0)];
  for (const _ of range(50)) stepAll(replay, episodes, clocks, names);
  const priority = (state: number): number => 1 + state % 7;
  const seen = new Map<string, number>();
  for (const _ of range(40)) {
    const { state, pickEpisode, pickPosition } = replay.getBatch(200, selector);
    for (const k of range(200)) {
      seen.set(`${pickEpisode[k]} ${pickPosition[k]}`, state[2 * k] ?? NaN);
    }
  }
  assertStrictEquals(seen.size, replay.pickCount);
  const picks = [...seen.keys()].map((pick) => pick.split(" ").map(Number));
  replay.setPriority(
    selector,
    picks.map(([episode = NaN]) => episode),
    picks.map(([, position = NaN]) => position),
    [...seen.values()].map(priority),
  );
  const total = [...seen.values()].reduce((sum, state) => sum + priority(state), 0);
  const { state, probability } = replay.getBatch(500, selector);
  for (const k of range(500)) {
    assertAlmostEquals(probability[k] ?? NaN, priority(state[2 * k] ?? NaN) / total, 1e-7);
  }
});

Deno.test("pytorch/rl#2193, #2208: prioritized sequences of a full store stay within their episode", async () => {
  // The sampler of prioritized slices failed at capacity, and the starts that it was to leave out were computed wrongly: slices
  // joined two trajectories.
  using replay = await small({ capacity: 20, segmentLength: 20, pick: { length: 3 } });
  const selector = replay.newPickSelector(prioritized());
  for (const name of range(120)) {
    recordEpisode(replay, name, 1 + (name * 7) % 9, name % 3 === 0 ? "truncated" : "terminated");
    if (replay.pickCount === 0) continue;
    const { state, nextState, seqLen, pickEpisode, pickPosition } = replay.getBatch(30, selector);
    assertEquals(new Set(seqLen), new Set([3]));
    for (const k of range(30)) {
      const first = state[3 * k] ?? NaN;
      assertEquals([...state.subarray(3 * k, 3 * k + 3)], [first, first + 1, first + 2]);
      assertStrictEquals(nextState[3 * k + 2], first + 3);
      assertStrictEquals(pickPosition[k], first % 100);
    }
    replay.setPriority(selector, pickEpisode, pickPosition, pickPosition.map((at) => 5 * at));
  }
});
