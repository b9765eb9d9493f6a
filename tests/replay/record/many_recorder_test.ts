/** Many steps in one call leave exactly what as many single calls leave, whatever is cut or evicted on the way. */
import { ExperienceReplay, float32, uint8 } from "@exrp/replay";
import type { EvictionPolicy } from "@exrp/replay/eviction";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertThrows,
} from "../../_assert.ts";
import { smallReplay } from "../_helpers.ts";
import { loose, youngestButOne } from "./_record_helpers.ts";
import { draw, listener, numbers, twins } from "./_twins.ts";

Deno.test("recordMany() leaves what as many calls of record() leave", async () => {
  for (let seed = 1; seed <= 90; seed++) {
    const { one, many, random, capacity } = await twins(seed);
    const actors = [one.newEpisode(), one.newEpisode(), one.newEpisode()];
    for (const _ of actors) many.newEpisode();
    for (let turn = 0; turn < 25; turn++) {
      const actor = random(3);
      const count = 1 + random(random(4) === 0 ? 2 * capacity : 9);
      const state = numbers(3 * count, random, 1000);
      const action = numbers(count, random, 1000);
      const reward = numbers(count, random, 1000);
      const mask = numbers(2 * count, random, 2);
      const ends = random(3) === 0;
      const truncated = random(2) === 0;
      const end = ends ? { finalState: [7, 8, turn], truncated } : {};
      let handle = actors[actor] ?? 0;
      for (let step = 0; step < count; step++) {
        handle = one.record(
          handle,
          state.slice(3 * step, 3 * step + 3),
          action[step] ?? 0,
          reward[step] ?? 0,
          {
            extras: { mask: mask.slice(2 * step, 2 * step + 2) },
            ...(step === count - 1 ? end : {}),
          },
        );
      }
      const plain = random(2) === 0;
      const got = many.recordMany(actors[actor] ?? 0, {
        state: plain ? state : Float32Array.from(state),
        action: plain ? action : Int16Array.from(action),
        reward: plain ? reward : Float32Array.from(reward),
        extras: { mask: plain ? mask.map((value) => value === 1) : Uint8Array.from(mask) },
        ...end,
      });
      assertStrictEquals(got, handle, `seed ${seed}, turn ${turn}`);
      actors[actor] = handle;
      if (ends) {
        actors[actor] = one.newEpisode();
        assertStrictEquals(many.newEpisode(), actors[actor]);
      }
      draw(one, many, random);
    }
    // Everything that decides the future, in the order of the pick view and of the eviction policy.
    assertEquals(await many.serialize(), await one.serialize(), `seed ${seed}`);
    one[Symbol.dispose]();
    many[Symbol.dispose]();
  }
});

Deno.test("recordBatch() leaves what recordStep() leaves, one environment after the other", async () => {
  for (let seed = 1; seed <= 90; seed++) {
    const { one, many, random } = await twins(seed);
    const count = 1 + random(9);
    const episodes = Float64Array.from({ length: count }, () => one.newEpisode());
    for (const _ of episodes) many.newEpisode();
    for (let turn = 0; turn < 40; turn++) {
      const state = numbers(3 * count, random, 1000);
      const nextState = numbers(3 * count, random, 1000);
      const action = numbers(count, random, 1000);
      const reward = numbers(count, random, 1000);
      const mask = numbers(2 * count, random, 2);
      const terminated = numbers(count, random, 6).map((roll) => roll === 0);
      const truncated = numbers(count, random, 6).map((roll) => roll === 0);
      const expected = Array.from(episodes, (before, k) =>
        one.recordStep(before, {
          state: state.slice(3 * k, 3 * k + 3),
          action: action[k] ?? 0,
          reward: reward[k] ?? 0,
          extras: { mask: mask.slice(2 * k, 2 * k + 2) },
          nextState: nextState.slice(3 * k, 3 * k + 3),
          terminated: terminated[k] ?? false,
          truncated: truncated[k] ?? false,
        }));
      const plain = random(2) === 0;
      const doneCount = many.recordBatch(episodes, {
        state: plain ? state : Float32Array.from(state),
        action: plain ? action : Int16Array.from(action),
        reward: plain ? reward : Float32Array.from(reward),
        extras: { mask },
        nextState: plain ? nextState : Float32Array.from(nextState),
        terminated: plain ? terminated : Uint8Array.from(terminated, Number),
        truncated,
      });
      assertEquals([...episodes], expected, `seed ${seed}, turn ${turn}`);
      assertStrictEquals(doneCount, terminated.filter((done, k) => done || truncated[k]).length);
      draw(one, many, random);
    }
    assertEquals(await many.serialize(), await one.serialize(), `seed ${seed}`);
    one[Symbol.dispose]();
    many[Symbol.dispose]();
  }
});

Deno.test("recordMany() of more than a journal holds tells a user's selector of everything", async () => {
  const count = 200_000;
  const options = { capacity: 300, state: uint8(), segmentLength: 100 };
  using one = await ExperienceReplay.create(options);
  using many = await ExperienceReplay.create(options);
  const [heardOne, heardMany] = [listener(), listener()];
  const selector = one.newPickSelector(heardOne);
  const twin = many.newPickSelector(heardMany);
  let episode = one.newEpisode();
  for (let step = 0; step < count; step++) episode = one.record(episode, step % 256, 0, 0);
  const state = Uint8Array.from({ length: count }, (_, step) => step % 256);
  const zeros = new Float32Array(count);
  const action = new Int32Array(count);
  assertStrictEquals(
    many.recordMany(many.newEpisode(), { state, action, reward: zeros }),
    episode,
  );
  one.getBatch(1, selector);
  many.getBatch(1, twin);
  assertStrictEquals(heardMany.heard.length, heardOne.heard.length);
  assert(heardMany.heard.every((event, k) => event === heardOne.heard[k]));
});

Deno.test("a policy that throws in the middle leaves what single calls would leave", async () => {
  let fails = false;
  const policy: EvictionPolicy = {
    ...youngestButOne(),
    victim: () => {
      if (fails) throw new Error("no");
      return 0;
    },
  };
  using replay = await smallReplay({ capacity: 10, eviction: policy });
  // Only an ended episode makes the replay ask.
  replay.newEpisode();
  for (let k = 0; k < 4; k++) replay.record(0, [k], 0, 0, k < 3 ? {} : { finalState: [4] });
  const episode = replay.newEpisode();
  fails = true;
  const ten = Array.from({ length: 12 }, (_, k) => k);
  assertThrows(
    () => replay.recordMany(episode, { state: ten, action: ten, reward: ten }),
    Error,
    "no",
  );
  assertEquals(replay.episode(episode), {
    handle: episode,
    ending: "open",
    recordCount: 6,
    firstPosition: 0,
    tag: 0,
  });
});

Deno.test("recordBatch() of those environments that stepped leaves what single steps leave", async () => {
  using replay = await smallReplay();
  using twin = await smallReplay();
  const episodes = Float64Array.from({ length: 3 }, () => replay.newEpisode());
  for (let k = 0; k < 3; k++) twin.newEpisode();
  const rows = (stepped: readonly number[], t: number): number[] => stepped.map((k) => 10 * k + t);
  // In step 1 environment 1 ends, in step 2 it only resets.
  for (const [t, stepped] of [[0, 1, 2], [0, 1, 2], [0, 2], [0, 1, 2]].entries()) {
    const handles = Float64Array.from(stepped, (k) => episodes[k] ?? NaN);
    replay.recordBatch(handles, {
      state: rows(stepped, t),
      action: stepped.map(() => 0),
      reward: stepped.map(() => 0),
      nextState: rows(stepped, t + 1),
      terminated: stepped.map((k) => k === 1 && t === 1),
    });
    stepped.forEach((k, at) => episodes[k] = handles[at] ?? NaN);
  }
  assertEquals([...episodes], [0, 3, 2]);
  for (const [t, stepped] of [[0, 1, 2], [0, 1, 2], [0, 2], [0, 3, 2]].entries()) {
    for (const episode of stepped) {
      const state = 10 * (episode === 3 ? 1 : episode) + t;
      twin.recordStep(episode, {
        state: [state],
        action: 0,
        reward: 0,
        nextState: [state + 1],
        terminated: t === 1 && episode === 1,
        truncated: false,
      });
    }
  }
  assertEquals(await replay.serialize(), await twin.serialize());
});

Deno.test("errors count one value, one step and one record", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  const many = loose(replay, "recordMany");
  const message = (call: () => unknown): string => (assertThrows(call) as Error).message;
  const one = { state: [1], action: [0], reward: [0] };
  assertMatch(
    message(() => many(episode, { ...one, action: [0, 0] })),
    /takes 1 value for 1 step,/,
  );
  assertMatch(
    message(() => many(episode, { ...one, priority: [1, 2] })),
    /priority takes 1 value for 1 step,/,
  );
  many(episode, { ...one, finalState: [2] });
  assertMatch(message(() => many(episode, one)), /has ended with 1 record,/);
});

Deno.test("recordMany() and recordBatch() say that values come flat", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  const many = loose(replay, "recordMany");
  const message = (steps: unknown): string =>
    (assertThrows(() => many(episode, steps)) as Error).message;
  const flat = /; an array is flat, in row-major order$/;
  const one = { action: [0], reward: [0] };
  assertMatch(message({ state: [[1]], ...one }), flat);
  assertMatch(message({ state: [1], ...one, reward: [new Float32Array(1)] }), flat);
  using wide = await ExperienceReplay.create({ capacity: 10, state: float32(4) });
  const batch = loose(wide, "recordBatch");
  const handles = Float64Array.of(wide.newEpisode());
  // As many rows as a step has numbers: not one step, whose other columns are too long.
  const rows = [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]];
  const four = { action: [0, 0, 0, 0], reward: [0, 0, 0, 0] };
  const nested =
    /state\[0\] must be a number .*got Array\(4\); an array is flat, in row-major order$/;
  for (const name of ["recordMany", "recordFlat"] as const) {
    const call = loose(wide, name);
    const error = assertThrows(() => call(handles[0], { state: rows, ...four })) as Error;
    assertMatch(error.message, nested);
  }
  assertMatch(
    (assertThrows(() => batch(handles, { state: [[1, 2, 3, 4]], ...one })) as Error).message,
    flat,
  );
});

Deno.test("recordMany() and recordFlat() take arrays of a column's own kind by their memory, whatever they say their length is", async () => {
  const lying = <T extends object>(array: T): T =>
    Object.defineProperty(array, "length", { value: 1000 });
  using replay = await ExperienceReplay.create({ capacity: 10, state: float32(2) });
  const steps = () => ({
    state: lying(Float32Array.of(1, 2, 3, 4)),
    action: lying(Int32Array.of(5, 6)),
    reward: lying(Float32Array.of(7, 8)),
  });
  const episode = replay.recordMany(replay.newEpisode(), steps());
  assertEquals(replay.recordFlat(episode, steps()).recordCount, 2);
  const { state, reward } = replay.episodeRecords(episode);
  assertEquals([...state], [1, 2, 3, 4, 1, 2, 3, 4]);
  assertEquals([...reward], [7, 8, 7, 8]);
});
