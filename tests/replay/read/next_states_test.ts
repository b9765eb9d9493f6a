/** The next state that came with the newest step: drain() hands out that step at once, whatever comes between. */
import { ExperienceReplay, float32, int32, uint8 } from "@exrp/replay";
import { assert, assertEquals, assertRejects, assertStrictEquals } from "../../_assert.ts";
import { smallReplay, testRandom } from "../_helpers.ts";

Deno.test("drain({ steps }) has T × M steps after T batches of M environments, and leaves none", async () => {
  const [length, actors] = [5, 3];
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(2),
  });
  const episodes = Float64Array.from({ length: actors }, () => replay.newEpisode());
  // Arrays that are used again: what came is copied.
  const state = new Float32Array(2 * actors);
  const nextState = new Float32Array(2 * actors);
  for (let rollout = 0; rollout < 4; rollout++) {
    const from = rollout * length;
    for (let t = from; t < from + length; t++) {
      for (let k = 0; k < actors; k++) {
        state.set([t, k], 2 * k);
        nextState.set([t + 0.5, k], 2 * k);
      }
      const action = Int32Array.from({ length: actors }, () => t);
      replay.recordBatch(episodes, { state, nextState, action, reward: new Float32Array(actors) });
    }
    state.fill(-1);
    nextState.fill(-1);
    assertStrictEquals(replay.drain({ steps: length * actors + 1 }).size, 0);
    const steps = replay.drain({ steps: length * actors });
    assertStrictEquals(steps.size, length * actors);
    assertEquals(new Set(steps.action), new Set([0, 1, 2, 3, 4].map((t) => from + t)));
    const last = from + length - 0.5;
    assertEquals([...steps.lastNextState], [last, 0, last, 1, last, 2]);
    assertStrictEquals(replay.drain({ minSteps: 1 }).size, 0);
  }
});

Deno.test("the newest step waits where its next state did not come with it, and a later one forgets the kept state", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  const step = (state: number): number =>
    replay.recordStep(episode, {
      state: [state],
      action: 0,
      reward: 0,
      terminated: false,
      truncated: false,
      nextState: [state + 0.5],
    });
  step(0);
  assertEquals([...replay.drain({ minSteps: 1, keep: true }).nextState], [0.5]);
  // The state of the next step is what came after the one before, even if it is another.
  step(1);
  step(2);
  assertEquals([...replay.drain({ minSteps: 1, keep: true }).nextState], [2, 2.5]);
  step(3);
  replay.record(episode, [4], 0, 0);
  assertEquals([...replay.drain({ minSteps: 1, keep: true }).nextState], [4]);
  replay.recordMany(episode, { state: [5, 6], action: [0, 0], reward: [0, 0] });
  assertEquals([...replay.drain({ minSteps: 1, keep: true }).nextState], [5, 6]);
  replay.recordBatch(Float64Array.of(episode), { state: [7], action: [0], reward: [0] });
  assertEquals([...replay.drain({ minSteps: 1, keep: true }).nextState], [7]);
  step(8);
  replay.endEpisode(episode, { finalState: [100], truncated: true });
  const ended = replay.drain({ minSteps: 1, keep: true });
  assertEquals([...ended.nextState], [8, 100]);
  assertEquals([...ended.truncated], [0, 1]);
});

Deno.test("drain() without a number takes ended episodes only, also where next states are known", async () => {
  using replay = await smallReplay();
  const episodes = Float64Array.of(replay.newEpisode());
  replay.recordBatch(episodes, { state: [1], action: [0], reward: [0], nextState: [2] });
  assertStrictEquals(replay.drain().size, 0);
  assertStrictEquals(replay.drain({ steps: 1 }).size, 1);
});

Deno.test("picks of views do not change by a next state that is kept", async () => {
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32() });
  const episodes = Float64Array.of(replay.newEpisode());
  replay.recordBatch(episodes, { state: [1], action: [0], reward: [0], nextState: [2] });
  assertStrictEquals(replay.pickCount, 0);
  replay.recordBatch(episodes, { state: [2], action: [0], reward: [0], nextState: [3] });
  assertStrictEquals(replay.pickCount, 1);
});

Deno.test("keepNextState: large states wait by default, and come at once where it is true", async () => {
  const drained = async (options: object, bytes: number): Promise<number> => {
    using replay = await ExperienceReplay.create({ capacity: 20, state: uint8(bytes), ...options });
    const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode());
    const state = new Uint8Array(2 * bytes);
    const steps = { state, nextState: state, action: [0, 0], reward: [0, 0] };
    for (let t = 0; t < 3; t++) replay.recordBatch(episodes, steps);
    return replay.drain({ minSteps: 1 }).size;
  };
  assertStrictEquals(await drained({}, 1024), 6);
  assertStrictEquals(await drained({}, 1025), 4);
  assertStrictEquals(await drained({ keepNextState: true }, 7056), 6);
  assertStrictEquals(await drained({ keepNextState: false }, 4), 4);
  await assertRejects(() => drained({ keepNextState: 1 }, 4), TypeError, "keepNextState must be");
});

Deno.test("a snapshot has the next states and the actors", async () => {
  const seed = 5;
  const random = testRandom(seed);
  const make = (): ReturnType<typeof smallReplay> => smallReplay({ capacity: 64, seed });
  using replay = await make();
  const episodes = Float64Array.from({ length: 4 }, () => replay.newEpisode());
  for (let t = 0; t < 9; t++) {
    replay.recordBatch(episodes, {
      state: [0, 1, 2, 3].map((k) => 10 * t + k),
      action: [0, 0, 0, 0],
      reward: [0, 0, 0, 0],
      nextState: [0, 1, 2, 3].map((k) => 10 * t + k + 0.5),
      terminated: [0, 1, 2, 3].map(() => random(4) === 0),
    });
  }
  replay.record(episodes[2] ?? 0, [77], 0, 0); // its next state is not known
  replay.drain({ steps: 7, keep: true });
  const bytes = await replay.serialize();
  using other = await make();
  await other.unserialize(bytes);
  assertEquals(await other.serialize(), bytes);
  const [one, two] = [replay, other].map((each) => each.drain({ minSteps: 1 }));
  assert(one !== undefined && two !== undefined);
  assertEquals([...two.nextState], [...one.nextState]);
  assertEquals([...two.actor], [...one.actor]);
  assertStrictEquals(two.actorCount, 4);
  assertStrictEquals(one.size, 37 - 7 - 1);
});

Deno.test("lost counts each step once: the sum over all drains is what was lost", async () => {
  using replay = await ExperienceReplay.create({ capacity: 20, state: int32() });
  let [lost, handedOut] = [0, 0];
  let episode = replay.newEpisode();
  for (let step = 0; step < 500; step++) {
    const ends = step % 3 === 2;
    episode = replay.record(episode, step, 0, 0, ends ? { finalState: -1 } : {});
    if (ends) episode = replay.newEpisode();
    if (step % 5 !== 0) continue;
    // Often there are too few, while episodes are lost.
    const drained = replay.drain({ steps: step % 100 === 0 ? 10 : 20 });
    lost += drained.lost;
    handedOut += drained.size;
  }
  const rest = replay.drain();
  lost += rest.lost;
  handedOut += rest.size;
  const waiting = replay.recordCount;
  assertStrictEquals(lost + handedOut + waiting, 500);
  assert(lost > 200, `${lost}`);
});
