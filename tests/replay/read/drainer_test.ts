/** drain(): each record once, in order; what is forgotten, lost, cut and saved. */
import { type DrainOptions, ExperienceReplay, float32, lru, uint8 } from "@exrp/replay";
import { gae } from "@exrp/replay/returns";
import {
  assert,
  assertEquals,
  assertGreater,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { KeepBest } from "../../../examples/custom_eviction.ts";
import { Halving } from "../../../examples/custom_selector.ts";
import {
  assertReplayError,
  recordEpisode,
  type SmallReplay,
  smallReplay,
  testRandom,
  visibleState,
} from "../_helpers.ts";

/** The numbers of a drain, without its arrays. */
function summary(drained: ReturnType<SmallReplay["drain"]>): Record<string, number[]> {
  const { state, nextState, lastNextState, seqLen, offset, episode, position } = drained;
  const { discount, terminated, truncated } = drained;
  const parts = { state, nextState, lastNextState, seqLen, offset, episode, position };
  return Object.fromEntries(
    Object.entries({ ...parts, discount, terminated, truncated }).map(([name, array]) => [
      name,
      [...array],
    ]),
  );
}

Deno.test("drain() hands out all ended episodes in order, once, and forgets them", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(1),
    pick: { discount: 0.5 },
    extras: { mask: uint8(2) },
    seed: 1,
  });
  const step = (state: number) => [[state], state, -state] as const;
  const [first, second, third] = [replay.newEpisode(), replay.newEpisode(), replay.newEpisode()];
  replay.record(second, ...step(10), { extras: { mask: [1, 2] } });
  replay.record(first, ...step(0), { extras: { mask: [3, 4] } });
  replay.record(third, ...step(20), { extras: { mask: [5, 6] } });
  replay.record(first, ...step(1), { extras: { mask: [7, 8] }, finalState: [2] });
  replay.record(second, ...step(11), {
    extras: { mask: [9, 9] },
    finalState: [12],
    truncated: true,
  });

  const drained = replay.drain();
  assertStrictEquals(drained.size, 4);
  assertStrictEquals(drained.segmentCount, 2);
  assertStrictEquals(drained.lost, 0);
  assertEquals(summary(drained), {
    state: [0, 1, 10, 11],
    nextState: [1, 2, 11, 12],
    lastNextState: [2, 12],
    seqLen: [2, 2],
    offset: [0, 2],
    episode: [first, second],
    position: [0, 0],
    discount: [0.5, 0, 0.5, 0.5],
    terminated: [0, 1, 0, 0],
    truncated: [0, 0, 0, 1],
  });
  assertEquals([...drained.action], [0, 1, 10, 11]);
  assertEquals([...drained.reward], [-0, -1, -10, -11]);
  assertEquals([...drained.extras.mask], [3, 4, 7, 8, 1, 2, 9, 9]);
  assertEquals(drained.shape, {
    state: [4, 1],
    action: [4],
    reward: [4],
    extras: { mask: [4, 2] },
  });
  assertEquals([...replay.episodes().handle], [third]);
  assertStrictEquals(replay.drain().size, 0);
  replay.endEpisode(third, { finalState: [21] });
  assertEquals([...replay.drain().state], [20]);
  assertStrictEquals(replay.recordCount, 0);
});

Deno.test("drain({ keep: true }) leaves the episodes in the store, and hands them out once", async () => {
  using replay = await smallReplay();
  const first = recordEpisode(replay, 3);
  assertEquals([...replay.drain({ keep: true }).state], [0, 1, 2]);
  assertStrictEquals(replay.recordCount, 3);
  assertStrictEquals(replay.drain().size, 0);
  const second = recordEpisode(replay, 2, 10);
  assertEquals([...replay.drain().state], [10, 11]);
  assertEquals([...replay.episodes().handle], [first]);
  assertStrictEquals(replay.episode(second).ending, "evicted");
  // A kept one that goes later is not lost: it was handed out.
  replay.evict(first);
  recordEpisode(replay, 1);
  assertStrictEquals(replay.drain().lost, 0);
});

Deno.test("drain({ steps }) cuts open and ended episodes, each record comes once", async () => {
  using replay = await smallReplay();
  const [a, b] = [replay.newEpisode(), replay.newEpisode()];
  for (let step = 0; step < 4; step++) {
    replay.record(a, [step], 0, 0);
    replay.record(b, [10 + step], 0, 0);
  }
  assertStrictEquals(replay.drain({ steps: 7 }).size, 0); // both newest ones wait
  assertEquals(summary(replay.drain({ steps: 4 })), {
    state: [0, 1, 2, 10],
    nextState: [1, 2, 3, 11],
    lastNextState: [3, 11],
    seqLen: [3, 1],
    offset: [0, 3],
    episode: [a, b],
    position: [0, 0],
    discount: [1, 1, 1, 1],
    terminated: [0, 0, 0, 0],
    truncated: [0, 0, 0, 0],
  });
  replay.record(a, [4], 0, 0, { finalState: [5] });
  assertEquals(summary(replay.drain({ steps: 1 })), {
    state: [3],
    nextState: [4],
    lastNextState: [4],
    seqLen: [1],
    offset: [0],
    episode: [a],
    position: [3],
    discount: [1],
    terminated: [0],
    truncated: [0],
  });
  assertStrictEquals(replay.episode(a).ending, "terminated"); // not whole yet
  const rest = replay.drain({ minSteps: 2 });
  assertEquals([...rest.state], [4, 11, 12]);
  assertEquals([...rest.terminated], [1, 0, 0]);
  assertEquals([...rest.nextState], [5, 12, 13]);
  assertStrictEquals(replay.episode(a).ending, "evicted");
  assertStrictEquals(replay.drain().size, 0);
  replay.endEpisode(b, { finalState: [14], truncated: true });
  assertEquals([...replay.drain().state], [13]);
});

Deno.test("drain() of an episode that was cut at segmentLength: both parts come, the first is truncated", async () => {
  using replay = await smallReplay({ segmentLength: 3 });
  let episode = replay.newEpisode();
  for (let step = 0; step < 5; step++) episode = replay.record(episode, [step], 0, 0);
  const drained = replay.drain({ minSteps: 1 });
  assertEquals([...drained.state], [0, 1, 2, 3]);
  assertEquals([...drained.truncated], [0, 0, 1, 0]);
  assertEquals([...drained.lastNextState], [3, 4]);
  assertEquals([...drained.episode], [0, episode]);
});

Deno.test("drain() counts what was evicted before it was handed out", async () => {
  using replay = await smallReplay({ capacity: 10, segmentLength: 10 });
  recordEpisode(replay, 4);
  recordEpisode(replay, 4);
  recordEpisode(replay, 4); // the first one goes
  const drained = replay.drain();
  assertStrictEquals(drained.size, 8);
  assertStrictEquals(drained.lost, 4);
  const gone = recordEpisode(replay, 3);
  replay.evict(gone);
  recordEpisode(replay, 2);
  const next = replay.drain();
  assertEquals([next.size, next.lost], [2, 3]);

  // Of an episode that was handed out in part, the rest is lost.
  const open = replay.newEpisode();
  for (let step = 0; step < 5; step++) replay.record(open, [step], 0, 0);
  assertStrictEquals(replay.drain({ steps: 3 }).size, 3);
  replay.evict(open);
  recordEpisode(replay, 1);
  assertStrictEquals(replay.drain().lost, 2);
});

Deno.test("drain() refuses what it can't use, and nothing has changed", async () => {
  using replay = await smallReplay({ capacity: 20 });
  recordEpisode(replay, 3);
  const before = visibleState(replay);
  const wrong: [unknown, typeof TypeError | typeof RangeError, string][] = [
    [
      { steps: 0 },
      RangeError,
      "drain(): steps (at most the capacity) must be an integer from 1 to 20",
    ],
    [
      { steps: 21 },
      RangeError,
      "drain(): steps (at most the capacity) must be an integer from 1 to 20",
    ],
    [{ minSteps: 1.5 }, RangeError, "drain(): minSteps"],
    [{ minSteps: "3" }, TypeError, "drain(): minSteps"],
    [{ steps: 1, minSteps: 1 }, TypeError, "not both"],
    [{ keep: "yes" }, TypeError, "drain(): keep"],
    [{ step: 1 }, TypeError, "has no option"],
    [7, TypeError, "takes an object"],
  ];
  for (const [options, kind, text] of wrong) {
    assertThrows(() => replay.drain(options as DrainOptions), kind, text);
  }
  assertEquals(visibleState(replay), before);
  assertStrictEquals(replay.drain({ steps: 3 }).size, 3);
  replay[Symbol.dispose]();
  assertReplayError(() => replay.drain(), "disposed");
});

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  Deno.test(`drain() hands out each record once, in order, whatever is evicted (seed ${seed})`, async () => {
    const random = testRandom(seed);
    const capacity = 30 + random(100);
    const options = {
      capacity,
      segmentLength: 1 + random(capacity),
      seed,
      eviction: seed % 3 === 0 ? new KeepBest() : lru(),
    };
    let replay = await smallReplay(options);
    if (seed % 2 === 0) replay.newPickSelector(new Halving());
    let saved: { bytes: Uint8Array; handedOut: number[]; next: number; lost: number } | undefined;
    let next = 0; // each record's state is its number
    let handedOut: number[] = [];
    let lost = 0;
    let total = 0; // loads take nothing from it
    const episodes = Array.from({ length: 3 }, () => replay.newEpisode());
    for (let round = 0; round < 400; round++) {
      const actor = random(episodes.length);
      for (let step = random(7); step > 0; step--) {
        const ends = random(9) === 0;
        const end = ends ? { finalState: [-1], truncated: random(2) === 0 } : undefined;
        const handle = replay.record(episodes[actor] ?? 0, [next++], 0, 0, end);
        episodes[actor] = ends ? replay.newEpisode() : handle;
      }
      const choice = random(6);
      if (choice === 0) continue;
      const steps = 1 + random(20);
      const keep = random(3) === 0;
      const drained = replay.drain({
        ...(choice < 3 ? { steps } : choice < 5 ? { minSteps: steps } : {}),
        keep,
      });
      if (choice < 3) assert(drained.size === 0 || drained.size === steps);
      if (choice > 2 && choice < 5) assert(drained.size === 0 || drained.size >= steps);
      for (let k = 0; k < drained.segmentCount; k++) {
        const from = drained.offset[k] ?? 0;
        const own = drained.state.subarray(from, from + (drained.seqLen[k] ?? 0));
        assert(own.every((state, at) => at === 0 || state > (own[at - 1] ?? 0)));
      }
      assert(
        drained.episode.every((handle, k) => k === 0 || handle > (drained.episode[k - 1] ?? 0)),
      );
      handedOut.push(...drained.state);
      total += drained.size;
      lost += drained.lost;
      if (random(40) === 0) {
        saved = { bytes: await replay.serialize(), handedOut: [...handedOut], next, lost };
      }
      if (random(60) === 0 && saved !== undefined && seed % 2 === 1) {
        replay[Symbol.dispose]();
        replay = await smallReplay({
          ...options,
          eviction: seed % 3 === 0 ? new KeepBest() : lru(),
          seed: 99,
        });
        await replay.unserialize(saved.bytes);
        ({ next, lost } = saved);
        handedOut = [...saved.handedOut];
        for (const k of episodes.keys()) episodes[k] = replay.newEpisode();
      }
    }
    using _replay = replay;
    assertStrictEquals(new Set(handedOut).size, handedOut.length, `seed ${seed}: one came twice`);
    // What was neither handed out nor lost waits.
    for (const handle of replay.episodes().handle) {
      if (replay.episode(handle).ending === "open") {
        replay.endEpisode(handle, { finalState: [-1] });
      }
    }
    const rest = replay.drain();
    handedOut.push(...rest.state);
    lost += rest.lost;
    assertStrictEquals(new Set(handedOut).size, handedOut.length, `seed ${seed}: one came twice`);
    assertStrictEquals(handedOut.length + lost, next, `seed ${seed}: one is unaccounted for`);
    assertGreater(total, 300);
  });
}

Deno.test("what was drained is saved: after loading, drains go on where they were", async () => {
  using replay = await smallReplay({ capacity: 40 });
  const open = replay.newEpisode();
  for (let step = 0; step < 6; step++) replay.record(open, [step], 0, 0);
  recordEpisode(replay, 3, 10);
  const lostOne = recordEpisode(replay, 2, 20);
  replay.evict(lostOne);
  assertStrictEquals(replay.drain({ steps: 4, keep: true }).lost, 2);
  const bytes = await replay.serialize();

  using other = await smallReplay({ capacity: 40 });
  recordEpisode(other, 5);
  other.drain();
  await other.unserialize(bytes);
  assertEquals(await other.serialize(), bytes);
  for (const one of [replay, other]) {
    const drained = one.drain({ minSteps: 1 });
    assertEquals([...drained.state], [4, 10, 11, 12]);
    assertStrictEquals(drained.lost, 0);
  }
  // A snapshot from before any drain takes the counts back.
  using fresh = await smallReplay({ capacity: 40 });
  recordEpisode(fresh, 2);
  const early = await fresh.serialize();
  fresh.drain({ keep: true });
  await fresh.unserialize(early);
  assertEquals([...fresh.drain().state], [0, 1]);
});

Deno.test("drain() tells a policy in TypeScript which episodes it removes", async () => {
  const removed: number[] = [];
  const policy = new KeepBest();
  const own = policy.removed.bind(policy);
  policy.removed = (handle) => {
    removed.push(handle);
    own(handle);
  };
  using replay = await smallReplay({ eviction: policy });
  const [first, second] = [recordEpisode(replay, 2), recordEpisode(replay, 2)];
  replay.drain();
  assertEquals(removed, [first, second]);
});

Deno.test("drain() with a policy that throws as it hears of an episode: its steps are lost, the others come again", async () => {
  const policy = new KeepBest();
  const own = policy.removed.bind(policy);
  let broken = true;
  policy.removed = (handle) => {
    own(handle);
    if (broken) throw new Error("the policy is broken");
  };
  using replay = await smallReplay({ eviction: policy });
  recordEpisode(replay, 2);
  recordEpisode(replay, 3, 10);
  assertThrows(() => replay.drain(), Error, "the policy is broken");
  broken = false;
  const drained = replay.drain();
  assertEquals([...drained.state], [10, 11, 12]);
  assertStrictEquals(drained.lost, 2);
});

Deno.test("GAE over drained steps is what a slow loop over each episode gives", async () => {
  const seed = 11;
  const random = testRandom(seed);
  using replay = await ExperienceReplay.create({
    capacity: 500,
    state: float32(),
    pick: { discount: 0.9 },
    seed,
  });
  const V = (state: number): number => Math.sin(state);
  const episodes = Float64Array.from({ length: 4 }, () => replay.newEpisode());
  const lambda = 0.8;
  let compared = 0;
  for (let round = 0; round < 200; round++) {
    replay.recordBatch(episodes, {
      state: Float32Array.from({ length: 4 }, (_, k) => round + k / 4),
      action: [0, 0, 0, 0],
      reward: Float32Array.from({ length: 4 }, () => random(100) / 10),
      nextState: Float32Array.from({ length: 4 }, (_, k) => 1000 + k),
      terminated: Array.from({ length: 4 }, () => random(12) === 0),
      truncated: Array.from({ length: 4 }, () => random(12) === 0),
    });
    const drained = replay.drain({ steps: 64 });
    if (drained.size === 0) continue;
    assertStrictEquals(drained.lost, 0);
    const common = {
      reward: drained.reward,
      value: drained.state.map(V),
      discount: drained.discount,
      seqLen: drained.seqLen,
      packed: true,
      lambda,
    };
    const last = gae({ ...common, nextValue: drained.lastNextState.map(V) });
    assertEquals(gae({ ...common, nextValue: drained.nextState.map(V) }), last);
    for (let k = 0; k < drained.segmentCount; k++) {
      const from = drained.offset[k] ?? 0;
      const end = from + (drained.seqLen[k] ?? 0);
      for (let t = from; t < end; t++) {
        let [sum, weight] = [0, 1];
        for (let step = t; step < end; step++) {
          const gamma = drained.terminated[step] === 1 ? 0 : 0.9;
          const next = Math.fround(V(drained.nextState[step] ?? NaN));
          const value = Math.fround(V(drained.state[step] ?? NaN));
          sum += weight * ((drained.reward[step] ?? NaN) + gamma * next - value);
          weight *= gamma * lambda;
        }
        assert(Math.abs(sum - (last.advantage[t] ?? NaN)) < 1e-5, `step ${t} of seed ${seed}`);
        compared++;
      }
    }
  }
  assertGreater(compared, 700);
});
