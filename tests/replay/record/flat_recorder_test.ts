/** Flat arrays in one call leave exactly what as many single calls leave. */
import { ExperienceReplay, float32, float64, uint8, uniform } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import {
  assertReplayError,
  assertSameContents,
  smallReplay,
  testRandom,
  visibleState,
} from "../_helpers.ts";
import { loose, youngestButOne } from "./_record_helpers.ts";
import { draw, listener, numbers, twins } from "./_twins.ts";

/** Flags of which about one in `odds` is set. */
function flags(count: number, random: (bound: number) => number, odds: number): boolean[] {
  return numbers(count, random, odds).map((roll) => roll === 0);
}

Deno.test("recordFlat() leaves what recordStep() leaves", async () => {
  for (let seed = 1; seed <= 120; seed++) {
    const { one, many, random, capacity } = await twins(seed);
    let handle = one.newEpisode();
    let got = many.newEpisode();
    for (let turn = 0; turn < 20; turn++) {
      const count = 1 + random(random(4) === 0 ? 2 * capacity : 12);
      const state = numbers(3 * count, random, 1000);
      const nextState = numbers(3 * count, random, 1000);
      const action = numbers(count, random, 1000);
      const reward = numbers(count, random, 1000);
      const mask = numbers(2 * count, random, 2);
      const [terminated, truncated] = [flags(count, random, 9), flags(count, random, 9)];
      const used = new Set<number>();
      for (let k = 0; k < count; k++) {
        const done = terminated[k] || truncated[k];
        const after = one.recordStep(handle, {
          state: state.slice(3 * k, 3 * k + 3),
          action: action[k] ?? 0,
          reward: reward[k] ?? 0,
          extras: { mask: mask.slice(2 * k, 2 * k + 2) },
          terminated: terminated[k] ?? false,
          truncated: truncated[k] ?? false,
          nextState: nextState.slice(3 * k, 3 * k + 3),
        });
        // The step went to the episode of the handle, unless a cut or an eviction began another.
        used.add(done ? after - 1 : after);
        handle = after;
      }
      const plain = random(2) === 0;
      const recorded = many.recordFlat(got, {
        state: plain ? state : Float32Array.from(state),
        action: plain ? action : Int16Array.from(action),
        reward: plain ? reward : Float64Array.from(reward),
        extras: { mask },
        nextState: plain ? nextState : Float32Array.from(nextState),
        terminated: plain ? terminated : Uint8Array.from(terminated, Number),
        truncated,
      });
      got = recorded.episode;
      assertStrictEquals(got, handle, `seed ${seed}, turn ${turn}`);
      assertEquals([...recorded.episodes], [...used], `seed ${seed}, turn ${turn}`);
      assertStrictEquals(recorded.recordCount, count);
      draw(one, many, random);
    }
    assertSameContents(many as never, one as never);
    one[Symbol.dispose]();
    many[Symbol.dispose]();
  }
});

Deno.test("recordFlat() with nextStateUnknown leaves what record() and endEpisode() leave", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = testRandom(seed);
    const options = { capacity: 500, state: float32(2), blockLength: 2 ** (1 + random(4)), seed };
    using one = await ExperienceReplay.create(options);
    using flat = await ExperienceReplay.create(options);
    let handle = one.newEpisode();
    let got = flat.newEpisode();
    for (let turn = 0; turn < 10; turn++) {
      const count = 1 + random(30);
      const state = numbers(2 * count, random, 1000);
      const zeros = new Int32Array(count);
      const [terminated, truncated] = [flags(count, random, 7), flags(count, random, 5)];
      const used = new Set<number>();
      let left = 0;
      for (let k = 0; k < count; k++) {
        const each = state.slice(2 * k, 2 * k + 2);
        if (truncated[k] && !terminated[k]) {
          left++;
          if (one.episode(handle).recordCount === 0) continue;
          one.endEpisode(handle, { finalState: each, truncated: true });
        } else {
          handle = one.record(handle, each, 0, 0, terminated[k] ? { finalState: each } : {});
          used.add(handle);
          if (!terminated[k]) continue;
        }
        handle = one.newEpisode();
      }
      const steps = { state, action: zeros, reward: zeros, terminated, truncated };
      const recorded = flat.recordFlat(got, { ...steps, nextStateUnknown: true });
      got = recorded.episode;
      assertStrictEquals(got, handle, `seed ${seed}, turn ${turn}`);
      assertEquals([...recorded.episodes], [...used], `seed ${seed}, turn ${turn}`);
      assertStrictEquals(recorded.recordCount, count - left);
    }
    assertSameContents(flat as never, one as never);
  }
});

Deno.test("recordFlat() of more than a journal holds tells a user's selector of everything", async () => {
  const count = 200_000;
  const options = { capacity: 300, state: uint8(), segmentLength: 100 };
  using one = await ExperienceReplay.create(options);
  using flat = await ExperienceReplay.create(options);
  const [heardOne, heardFlat] = [listener(), listener()];
  const selector = one.newPickSelector(heardOne);
  const twin = flat.newPickSelector(heardFlat);
  const state = Uint8Array.from({ length: count }, (_, step) => step % 256);
  const terminated = Uint8Array.from({ length: count }, (_, step) => step % 37 === 36 ? 1 : 0);
  let episode = one.newEpisode();
  const used = new Set<number>();
  for (let step = 0; step < count; step++) {
    const ends = terminated[step] === 1;
    episode = one.record(episode, step % 256, 0, 0, ends ? { finalState: 7 } : {});
    used.add(episode);
    if (ends) episode = one.newEpisode();
  }
  const recorded = flat.recordFlat(flat.newEpisode(), {
    state,
    action: new Int32Array(count),
    reward: new Float32Array(count),
    nextState: new Uint8Array(count).fill(7),
    terminated,
  });
  assertStrictEquals(recorded.episode, episode);
  assertEquals(recorded.episodes, Float64Array.from(used));
  one.getBatch(1, selector);
  flat.getBatch(1, twin);
  assertStrictEquals(heardFlat.heard.length, heardOne.heard.length);
  assert(heardFlat.heard.every((event, k) => event === heardOne.heard[k]));
});

Deno.test("recordFlat() goes on with the open episode of the chunk before", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(), seed: 1 });
  const chunk = (from: number, ends: number): Parameters<typeof replay.recordFlat>[1] => {
    const state = Float32Array.from({ length: 4 }, (_, k) => from + k);
    const done = Uint8Array.from(state, (value) => value === ends ? 1 : 0);
    const nextState = state.map((value) => value + 0.5);
    return { state, action: new Int32Array(4), reward: state, nextState, terminated: done };
  };
  const first = replay.recordFlat(replay.newEpisode(), chunk(0, 1));
  assertEquals([...first.episodes], [0, 1]);
  const second = replay.recordFlat(first.episode, chunk(4, 7));
  assertEquals([...second.episodes], [1]);
  assertStrictEquals(second.episode, 2); // it has no record yet
  const third = replay.recordFlat(second.episode, chunk(8, -1));
  assertEquals([...third.episodes], [2]);
  assertEquals([...replay.episodeRecords(0).state], [0, 1]);
  assertEquals([...replay.episodeRecords(1).state], [2, 3, 4, 5, 6, 7]);
  assertEquals(replay.episodeRecords(1).finalState, Float32Array.of(7.5));
  assertStrictEquals(replay.episode(2).ending, "open");
});

Deno.test("recordFlat() keeps the state after the last step, so that drain() gives all steps at once", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(), seed: 1 });
  let episode = replay.newEpisode();
  for (let t = 0; t < 12; t += 4) {
    const state = Float32Array.of(t, t + 1, t + 2, t + 3);
    const steps = { state, action: [0, 0, 0, 0], reward: state };
    const terminated = [t === 4, false, false, false];
    ({ episode } = replay.recordFlat(episode, {
      ...steps,
      terminated,
      nextState: state.map((value) => value + 0.5),
    }));
    const drained = replay.drain({ steps: 4 });
    assertStrictEquals(drained.size, 4);
    assertEquals([...drained.state], [...state]);
    assertStrictEquals(drained.lost, 0);
  }
});

Deno.test("recordFlat() without next states: a truncated step ends its episode, and terminated ones do not bootstrap", async () => {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(), seed: 1 });
  const { episode, episodes, recordCount } = replay.recordFlat(replay.newEpisode(), {
    state: [0, 1, 2, 10, 11, 20, 30],
    action: [0, 0, 0, 0, 0, 0, 0],
    reward: [0, 0, 5, 1, 2, 3, 4],
    terminated: [0, 0, 1, 0, 0, 0, 0],
    truncated: [0, 0, 0, 0, 1, 1, 0],
    nextStateUnknown: true,
  });
  // Steps 4 and 5 are not recorded; step 5 was the whole of its episode.
  assertEquals([...episodes], [0, 1, 2]);
  assertStrictEquals(recordCount, 5);
  assertStrictEquals(replay.recordCount, 5);
  assertEquals(replay.episode(0).ending, "terminated");
  assertEquals(replay.episode(1).ending, "truncated");
  assertEquals([...replay.episodeRecords(1).state], [10]);
  assertEquals(replay.episodeRecords(1).finalState, Float32Array.of(11));
  assertEquals([...replay.episodeRecords(episode).state], [30]);
  const batch = replay.getBatch(200, replay.newPickSelector(uniform()));
  for (const [k, state] of batch.state.entries()) {
    assertStrictEquals(batch.discount[k], state === 2 ? 0 : 1);
    if (state !== 2) assertStrictEquals(batch.nextState[k], state + 1);
  }
});

Deno.test("the episodes of recordFlat() have the tag of the first one, whatever ends them", async () => {
  for (const nextStateUnknown of [false, true]) {
    using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
    const { episodes } = replay.recordFlat(replay.newEpisode({ tag: 5 }), {
      state: [0, 1, 2, 3, 4, 5],
      action: [0, 0, 0, 0, 0, 0],
      reward: [0, 0, 0, 0, 0, 0],
      terminated: [0, 1, 0, 0, 0, 0],
      truncated: [0, 0, 0, 1, 0, 0],
      ...(nextStateUnknown ? { nextStateUnknown } : { nextState: [1, 2, 3, 4, 5, 6] }),
    });
    assertEquals([...episodes], [0, 1, 2]);
    for (const handle of episodes) assertStrictEquals(replay.episode(handle).tag, 5);
  }
});

Deno.test("recordFlat() with a user's policy leaves what single calls leave, and a policy that throws stops it there", async () => {
  for (const fails of [false, true]) {
    let victims = 0;
    const policy = (): EvictionPolicy => {
      const plain = youngestButOne();
      return {
        ...plain,
        victim: () => {
          if (fails && ++victims === 5) throw new Error("no");
          return plain.victim();
        },
      };
    };
    const count = 60;
    const terminated = Array.from({ length: count }, (_, k) => k % 7 === 6);
    const rows = Array.from({ length: count }, (_, k) => k);
    using one = await smallReplay({ capacity: 20, eviction: policy() });
    using flat = await smallReplay({ capacity: 20, eviction: policy() });
    let episode = one.newEpisode();
    const each = (): void => {
      for (const k of rows) {
        const end = terminated[k] ? { finalState: [k] } : {};
        episode = one.record(episode, [k], k, k, end);
        if (terminated[k]) episode = one.newEpisode();
      }
    };
    const all = (): unknown =>
      flat.recordFlat(flat.newEpisode(), {
        state: rows,
        action: rows,
        reward: rows,
        nextState: rows,
        terminated,
      });
    if (fails) {
      assertThrows(each, Error, "no");
      victims = 0;
      assertThrows(all, Error, "no");
    } else {
      each();
      all();
    }
    const records = (replay: typeof one): unknown =>
      [...replay.episodes().handle].map((handle) =>
        replay.episode(handle).recordCount > 0 ? replay.episodeRecords(handle) : handle
      );
    assertEquals(records(flat), records(one));
  }
});

const good = { state: [1, 2, 3, 4], action: [0, 1], reward: [1, 1], extras: { steps: [5, 6] } };
const next = { nextState: [3, 4, 5, 6] };

const REFUSALS: [string, unknown[], RegExp][] = [
  ["no handle", ["0", good], /recordFlat\(\): episode must be the number .* got "0"/],
  ["no options", [0], /recordFlat\(\) takes an object of options, got undefined/],
  ["the names of D4RL", [0, { ...good, timeouts: [0, 1] }], /"timeouts": use truncated/],
  ["no state", [0, { ...good, state: undefined }], /state is float32\(2\) .* got undefined/],
  ["no steps", [0, { state: [], action: [], reward: [] }], /one or more steps, got 0/],
  ["an action too few", [0, { ...good, action: [1] }], /action .* 2 values for 2 steps, got 1/],
  ["a flag too few", [0, { ...good, terminated: [0] }], /terminated takes 2 values .* got 1/],
  [
    "a flag that is none",
    [0, { ...good, truncated: [0, 2] }],
    /truncated\[1\] must be true, false/,
  ],
  [
    "no next state",
    [0, { ...good, truncated: [0, 1] }],
    /nextState is missing: step 1 is truncated/,
  ],
  [
    "no next state of a terminated step",
    [0, { ...good, terminated: [1, 0] }],
    /nextState is missing: step 0 is terminated, .* add nextStateUnknown: true/,
  ],
  [
    "a next state too few",
    [0, { ...good, nextState: [1, 2], terminated: [1, 0] }],
    /nextState is float32\(2\) and takes 4 values for 2 steps, got 2/,
  ],
  [
    "a next state too many",
    [0, { ...good, nextState: [1, 2, 3, 4, 5, 6] }],
    /nextState is float32\(2\) and takes 4 values for 2 steps, got 6/,
  ],
  [
    "a next state of text",
    [0, { ...good, nextState: [1, 2, "x", 4], terminated: [0, 1] }],
    /recordFlat\(\): nextState\[2\] \(step 1\) must be a number .* got "x"/,
  ],
  ["a state of text", [0, { ...good, state: [1, 2, 3, "x"] }], /state\[3\] \(step 1\) must be/],
  [
    "both",
    [0, { ...good, ...next, nextStateUnknown: true }],
    /takes nextState or nextStateUnknown: true, got both/,
  ],
  ["a word", [0, { ...good, nextStateUnknown: "yes" }], /nextStateUnknown must be true or false/],
  ["a bad priority", [0, { ...good, priority: [1, NaN] }], /priority\[1\] must be finite/],
  ["an extra too few", [0, { ...good, extras: {} }], /extras\.steps is missing/],
  ["an unknown handle", [9, good], /no episode has handle 9/],
  ["an ended episode", [1, good], /episode 1 has ended/],
  ["NaN with checkFinite", [0, { ...good, state: [1, 2, 3, NaN] }], /state of step 1 is NaN/],
  [
    "a next state of NaN with checkFinite",
    [0, { ...good, terminated: [0, 1], nextState: [NaN, 1, 2, NaN] }],
    /element 1 of nextState of step 1 is NaN as float32/,
  ],
];

for (const [name, args, text] of REFUSALS) {
  Deno.test(`recordFlat() refuses ${name}, and nothing has changed`, async () => {
    using replay = await ExperienceReplay.create({
      capacity: 100,
      state: float32(2),
      reward: float64(),
      extras: { steps: float32() },
      checkFinite: true,
    });
    replay.newEpisode();
    const extras = { steps: 0 };
    replay.record(replay.newEpisode(), [0, 0], 0, 0, { extras, finalState: [1, 1] });
    const before = visibleState(replay as unknown as ExperienceReplay);
    const error = assertThrows(() => loose(replay, "recordFlat")(...args)) as Error;
    assertMatch(error.message, text);
    assertEquals(visibleState(replay as unknown as ExperienceReplay), before);
    // The next call finds nothing of the refused one.
    const { episodes } = replay.recordFlat(0, { ...good, ...next, terminated: [0, 1] });
    assertEquals([...episodes], [0]);
    assertEquals([...replay.episodeRecords(0).state], good.state);
  });
}

Deno.test("recordFlat() on a replay that was freed is refused", async () => {
  const replay = await smallReplay();
  const episode = replay.newEpisode();
  replay[Symbol.dispose]();
  const steps = { state: [1], action: [0], reward: [0] };
  assertReplayError(() => replay.recordFlat(episode, steps), "disposed");
});

Deno.test("an episode that was trimmed to nothing ends where a truncated step leaves no record", async () => {
  // It stayed open, so the steps of the next episode went on at its positions.
  using replay = await ExperienceReplay.create({ capacity: 20, state: float32(), seed: 1 });
  const first = replay.newEpisode({ tag: 5 });
  let handle = first;
  for (let t = 0; t < 3; t++) {
    handle = replay.recordStep(handle, {
      state: t,
      action: 0,
      reward: 0,
      nextState: t + 1,
      terminated: false,
      truncated: false,
    });
  }
  assertStrictEquals(replay.drain({ steps: 3 }).size, 3);
  assertEquals({ ...replay.episode(first) }, {
    handle: first,
    ending: "open",
    recordCount: 0,
    firstPosition: 3,
    tag: 5,
  });
  const steps = { state: [3, 10, 11], action: [0, 0, 0], reward: [0, 0, 0] };
  const recorded = replay.recordFlat(handle, {
    ...steps,
    truncated: [1, 0, 0],
    nextStateUnknown: true,
  });
  assertStrictEquals(replay.episode(first).ending, "evicted");
  assertStrictEquals(recorded.episode, first + 1);
  assertEquals([...recorded.episodes], [first + 1]);
  assertStrictEquals(recorded.recordCount, 2);
  assertEquals({ ...replay.episode(recorded.episode) }, {
    handle: first + 1,
    ending: "open",
    recordCount: 2,
    firstPosition: 0,
    tag: 5,
  });
  assertStrictEquals(replay.episodeCount, 1);
  // The handle has ended, as after endEpisode().
  assertReplayError(() => replay.record(first, 0, 0, 0), "episode-ended");
});

Deno.test("an episode that never had a record does not end where a truncated step leaves none", async () => {
  using replay = await ExperienceReplay.create({ capacity: 20, state: float32(), seed: 1 });
  const episode = replay.newEpisode();
  const steps = { state: [3, 4], action: [0, 0], reward: [0, 0], truncated: [1, 1] };
  const recorded = replay.recordFlat(episode, { ...steps, nextStateUnknown: true });
  assertStrictEquals(recorded.episode, episode);
  assertEquals([recorded.recordCount, recorded.episodes.length, replay.episodeCount], [0, 0, 1]);
  assertStrictEquals(replay.episode(episode).ending, "open");
});
