/** Drained.timeMajor(): [T, N] of what N environments did, whatever episodes end on the way. */
import { ExperienceReplay, float32, int32 } from "@exrp/replay";
import { gae } from "@exrp/replay/returns";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../../_assert.ts";
import { smallReplay, testRandom } from "../_helpers.ts";

for (const seed of [1, 2, 3]) {
  Deno.test(`timeMajor() puts step t of environment n at [t, n], rollout after rollout (seed ${seed})`, async () => {
    const random = testRandom(seed);
    const [length, actors] = [4 + random(9), 1 + random(6)];
    using replay = await ExperienceReplay.create({
      capacity: length * actors,
      state: float32(2),
      action: int32(3),
      extras: { value: float32() },
      pick: { discount: 0.5 },
    });
    const episodes = Float64Array.from({ length: actors }, () => replay.newEpisode());
    const fresh = new Array<boolean>(actors).fill(true);
    for (let rollout = 0; rollout < 6; rollout++) {
      const expected: Record<string, number[]> = {};
      const push = (name: string, ...values: number[]): void => {
        (expected[name] ??= []).push(...values);
      };
      for (let t = 0; t < length; t++) {
        const rows = Array.from({ length: actors }, (_, k) => k);
        const state = rows.flatMap((k) => [100 * rollout + t, k]);
        const action = rows.flatMap((k) => [t, k, rollout]);
        const value = rows.map(() => random(1000));
        const terminated = rows.map(() => random(6) === 0);
        const truncated = rows.map(() => random(6) === 0);
        push("state", ...state);
        push("action", ...action);
        push("value", ...value);
        push("first", ...fresh.map(Number));
        push("terminated", ...terminated.map(Number));
        push("truncated", ...rows.map((k) => truncated[k] && !terminated[k] ? 1 : 0));
        push("discount", ...terminated.map((ends) => ends ? 0 : 0.5));
        replay.recordBatch(episodes, {
          ...{ state, action, terminated, truncated },
          reward: rows.map(() => 1),
          extras: { value },
          nextState: rows.flatMap((k) => [100 * rollout + t + 1, k]),
        });
        for (const k of rows) fresh[k] = (terminated[k] || truncated[k]) ?? false;
      }
      const steps = replay.drain({ steps: length * actors });
      const twice = steps.extras.value.map((value) => 2 * value);
      const wide = Float64Array.from(steps.action, Number);
      const rollouts = steps.timeMajor({ twice, wide });
      assertEquals([rollouts.length, rollouts.actorCount], [length, actors]);
      assertEquals([...rollouts.state], expected.state);
      assertEquals([...rollouts.action], expected.action);
      assertEquals([...rollouts.own.wide], expected.action);
      assertEquals([...rollouts.extras.value], expected.value);
      assertEquals([...rollouts.own.twice], expected.value?.map((value) => 2 * value));
      for (const name of ["first", "terminated", "truncated", "discount"] as const) {
        assertEquals([...rollouts[name]], expected[name], name);
      }
      const last = 100 * rollout + length;
      assertEquals(
        [...rollouts.lastNextState],
        Array.from({ length: actors }, (_, k) => [last, k]).flat(),
      );
      assertEquals(rollouts.shape, {
        state: [length, actors, 2],
        action: [length, actors, 3],
        reward: [length, actors],
        extras: { value: [length, actors] },
      });
      for (const [at, row] of rollouts.index.entries()) {
        assertStrictEquals(steps.extras.value[row], rollouts.extras.value[at]);
      }
    }
  });
}

Deno.test("advantages of the packed steps are those of a loop over [T, N] that knows of ends", async () => {
  const random = testRandom(3);
  const [length, actors, gamma, lambda] = [16, 5, 0.9, 0.8];
  using replay = await ExperienceReplay.create({
    capacity: length * actors,
    state: float32(),
    pick: { discount: gamma },
  });
  const V = (state: number): number => Math.fround(Math.sin(state));
  const episodes = Float64Array.from({ length: actors }, () => replay.newEpisode());
  const rows: { reward: number; value: number; next: number; end: number }[][] = [];
  for (let t = 0; t < length; t++) {
    const state = Array.from({ length: actors }, () => random(1000));
    const nextState = state.map(() => random(1000));
    const reward = state.map(() => random(10));
    const end = state.map(() => [0, 0, 0, 1, 2][random(5)] ?? 0);
    rows.push(state.map((from, k) => ({
      reward: reward[k] ?? NaN,
      value: V(from),
      next: V(nextState[k] ?? NaN),
      end: end[k] ?? 0,
    })));
    replay.recordBatch(episodes, {
      ...{ state, nextState, reward, action: state.map(() => 0) },
      terminated: end.map((kind) => kind === 1),
      truncated: end.map((kind) => kind === 2),
    });
  }
  const steps = replay.drain({ steps: length * actors });
  const { advantage } = gae({
    reward: steps.reward,
    value: steps.state.map(V),
    nextValue: steps.nextState.map(V),
    discount: steps.discount,
    seqLen: steps.seqLen,
    packed: true,
    lambda,
  });
  const { own } = steps.timeMajor({ advantage });
  for (let k = 0; k < actors; k++) {
    let later = 0;
    for (let t = length - 1; t >= 0; t--) {
      const row = rows[t]?.[k];
      assert(row !== undefined);
      // A step that is not an episode's last leads to the state of the next step.
      const next = row.end === 0 && t < length - 1 ? rows[t + 1]?.[k]?.value ?? NaN : row.next;
      const error = row.reward + (row.end === 1 ? 0 : gamma * next) - row.value;
      later = error + (row.end === 0 ? gamma * lambda * later : 0);
      const got = own.advantage[t * actors + k] ?? NaN;
      assert(Math.abs(got - later) < 1e-5, `step ${t} of ${k}: ${got}, not ${later}`);
    }
  }
});

Deno.test("timeMajor() refuses actors of different lengths, and arrays that do not fit", async () => {
  using replay = await smallReplay();
  const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode());
  const rows = { state: [0, 1], action: [0, 0], reward: [0, 0], nextState: [1, 2] };
  replay.recordBatch(episodes, rows);
  replay.recordBatch(episodes, rows);
  const fitting = replay.drain({ steps: 4, keep: true });
  const own = (value: unknown): () => unknown => () => fitting.timeMajor(value as never);
  assertThrows(own({ value: [1, 2, 3, 4] }), TypeError, "own.value must be a numeric typed array");
  assertThrows(own({ value: new Float32Array(6) }), RangeError, "for each of the 4 steps, got 6");
  assertThrows(own([]), TypeError, "own must be an object");
  assertThrows(own({ value: new Float32Array(0) }), RangeError, "got 0");
  assertEquals(fitting.timeMajor({ pair: new Float32Array(8) }).own.pair.length, 8);

  replay.recordBatch(episodes, rows);
  replay.recordBatch(episodes.subarray(1), {
    state: [1],
    action: [0],
    reward: [0],
    nextState: [2],
  });
  const uneven = replay.drain({ steps: 3 });
  assertEquals([uneven.actorCount, ...uneven.actor], [2, 0, 1]);
  assertThrows(
    () => uneven.timeMajor(),
    RangeError,
    "actor 0 has 1 and actor 1 has 2, of 2 actors",
  );
  const none = replay.drain().timeMajor();
  assertEquals([none.length, none.actorCount, none.state.length], [0, 0, 0]);
});

Deno.test("an actor goes on over ends, cuts and snapshots; newEpisode() begins another", async () => {
  using replay = await smallReplay({ segmentLength: 3, capacity: 40 });
  let one = replay.newEpisode();
  let two = replay.newEpisode();
  const step = (episode: number, terminated: boolean): number =>
    replay.recordStep(episode, {
      state: [0],
      action: 0,
      reward: 0,
      terminated,
      truncated: false,
      nextState: [0],
    });
  for (let t = 0; t < 8; t++) {
    one = step(one, t === 1);
    two = step(two, false); // cut at 3 and 6
  }
  step(replay.newEpisode(), true);
  const drained = replay.drain({ minSteps: 1 });
  assertStrictEquals(drained.actorCount, 3);
  const counts = [0, 0, 0];
  for (const [k, actor] of drained.actor.entries()) {
    counts[actor] = (counts[actor] ?? 0) + (drained.seqLen[k] ?? 0);
  }
  assertEquals(counts, [8, 8, 1]);
});
