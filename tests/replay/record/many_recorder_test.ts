/** Many steps in one call leave exactly what as many single calls leave, whatever is cut or evicted on the way. */
import {
  afterDraws,
  bool,
  type Column,
  ExperienceReplay,
  fifo,
  float32,
  int16,
  lfu,
  lowestPriorityFirst,
  lru,
  prioritized,
  reservoir,
  secondChance,
  ucb,
  uint8,
} from "@exrp/replay";
import type { EvictionPolicy, EvictionRule } from "@exrp/replay/eviction";
import type { PickSelector } from "@exrp/replay/selectors";
import { assert, assertEquals, assertMatch, assertStrictEquals, assertThrows } from "@std/assert";
import { assertReplayError, smallReplay, testRandom, visibleState } from "../_helpers.ts";

/** A user's policy: the youngest but one goes. */
function youngestButOne(): EvictionPolicy {
  let handles: number[] = [];
  return {
    name: "youngestButOne",
    created: (handle) => void handles.push(handle),
    removed: (handle) => void (handles = handles.filter((other) => other !== handle)),
    victim: () => handles.at(-2) ?? handles.at(-1) ?? -1,
    save: () => Uint8Array.from(handles.map((handle) => handle % 251)),
    load: () => {},
  };
}

/** A user's selector that says all it was told. */
function listener(): PickSelector & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    name: "listener",
    pushed: (index) => void heard.push(`+${index}`),
    moved: (from, to) => void heard.push(`${from}>${to}`),
    popped: (index) => void heard.push(`-${index}`),
    setPriority: () => {},
    select: (count, out) => {
      for (let k = 0; k < count; k++) [out.index[k], out.probability[k]] = [0, 1];
    },
    save: () => new TextEncoder().encode(heard.join()),
    load: () => {},
  };
}

const EVICTIONS: readonly (() => EvictionRule)[] = [
  fifo,
  secondChance,
  lru,
  lfu,
  youngestButOne,
  lowestPriorityFirst,
  () => afterDraws(2),
  reservoir,
];

type Twin = ExperienceReplay<
  Column<"float32", readonly [3]>,
  Column<"int16", readonly []>,
  Column<"float32", readonly []>,
  { mask: Column<"bool", readonly [2]> }
>;

interface Twins {
  readonly one: Twin;
  readonly many: Twin;
  readonly random: (bound: number) => number;
  readonly capacity: number;
}

/** Two replays with equal fates so far, of a configuration made from the seed. */
async function twins(seed: number): Promise<Twins> {
  const random = testRandom(seed);
  const length = 1 + random(5);
  const capacity = length + 5 + random(60);
  const eviction = EVICTIONS[seed % EVICTIONS.length] ?? fifo;
  const segmentLength = length + random(capacity - length + 1);
  const pick = { length, allowShort: random(2) === 0, allowOpenEnd: random(2) === 0 };
  const blockLength = 2 ** (1 + random(4));
  const make = async (): Promise<Twin> => {
    const replay = await ExperienceReplay.create({
      capacity,
      segmentLength,
      blockLength,
      pick,
      state: float32(3),
      action: int16(),
      extras: { mask: bool(2) },
      eviction: eviction(),
      seed,
    });
    replay.newPickSelector(prioritized());
    replay.newPickSelector(ucb());
    if (seed % 3 === 0) replay.newPickSelector(listener());
    return replay;
  };
  return { one: await make(), many: await make(), random, capacity };
}

/** Draws and sets priorities on both alike, so that clocks and priorities move; draws must be equal. */
function draw(one: Twin, many: Twin, random: (bound: number) => number): void {
  if (one.pickCount === 0) return;
  for (const [k, selector] of one.selectors.entries()) {
    const [twin] = many.selectors.slice(k, k + 1);
    assert(twin);
    const [a, b] = [one.getBatch(5, selector), many.getBatch(5, twin)];
    assertEquals(a.bytes, b.bytes);
    const priorities = Float64Array.from({ length: 5 }, () => random(100) / 10);
    one.setPriority(selector, a.pickEpisode, a.pickPosition, priorities);
    many.setPriority(twin, b.pickEpisode, b.pickPosition, priorities);
  }
}

const numbers = (count: number, random: (bound: number) => number, bound: number): number[] =>
  Array.from({ length: count }, () => random(bound));

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
    // Everything that decides the future, in the order of the pick table and of the eviction policy.
    assertEquals(await many.serialize(), await one.serialize(), `seed ${seed}`);
    one[Symbol.dispose]();
    many[Symbol.dispose]();
  }
});

Deno.test("recordBatch() leaves what record() and newEpisode() leave, one environment after the other", async () => {
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
      const expected = Array.from(episodes, (before, k) => {
        const done = terminated[k] || truncated[k];
        const handle = one.record(
          before,
          state.slice(3 * k, 3 * k + 3),
          action[k] ?? 0,
          reward[k] ?? 0,
          {
            extras: { mask: mask.slice(2 * k, 2 * k + 2) },
            ...(done
              ? { finalState: nextState.slice(3 * k, 3 * k + 3), truncated: !terminated[k] }
              : {}),
          },
        );
        return done ? one.newEpisode() : handle;
      });
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
  const episode = replay.newEpisode();
  fails = true;
  const ten = Array.from({ length: 12 }, (_, k) => k);
  assertThrows(
    () => replay.recordMany(episode, { state: ten, action: ten, reward: ten }),
    Error,
    "no",
  );
  assertEquals(replay.episode(episode), { handle: episode, state: "open", recordCount: 10 });
});

Deno.test("recordStep() ends an episode as the environment says, and begins the next", async () => {
  using replay = await smallReplay();
  let episode = replay.newEpisode();
  episode = replay.recordStep(episode, [0], 0, 0, false, false, [1]);
  assertStrictEquals(episode, 0);
  episode = replay.recordStep(episode, [1], 0, 0, true, true, [2]);
  assertStrictEquals(episode, 1);
  episode = replay.recordStep(episode, [3], 0, 0, false, true, [4]);
  assertStrictEquals(episode, 2);
  assertEquals([0, 1, 2].map((handle) => replay.episode(handle).state), [
    "terminated",
    "truncated",
    "open",
  ]);
  // What it stores is what record() stores.
  using twin = await smallReplay();
  twin.record(twin.newEpisode(), [0], 0, 0);
  twin.record(0, [1], 0, 0, { finalState: [2] });
  twin.record(twin.newEpisode(), [3], 0, 0, { finalState: [4], truncated: true });
  twin.newEpisode();
  assertEquals(await replay.serialize(), await twin.serialize());
});

Deno.test("recordStep() takes 1 and 0 for true and false, as recordBatch() does", async () => {
  using replay = await smallReplay();
  using twin = await smallReplay();
  let [episode, other] = [replay.newEpisode(), twin.newEpisode()];
  for (const [terminated, truncated] of [[0, 0], [1, 0], [0, 1], [1, 1]] as const) {
    episode = replay.recordStep(episode, [0], 0, 0, terminated, truncated, [1]);
    other = twin.recordStep(other, [0], 0, 0, terminated === 1, truncated === 1, [1]);
  }
  assertEquals([...replay.episodes()].map((handle) => replay.episode(handle).state), [
    "terminated",
    "truncated",
    "terminated",
    "open",
  ]);
  assertEquals(await replay.serialize(), await twin.serialize());
});

Deno.test("recordBatch() of those environments that stepped leaves what single records leave", async () => {
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
      const ends = t === 1 && episode === 1;
      twin.record(episode, [state], 0, 0, ends ? { finalState: [state + 1] } : {});
      if (ends) twin.newEpisode();
    }
  }
  assertEquals(await replay.serialize(), await twin.serialize());
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
  assertMatch(
    (assertThrows(() => batch(handles, { state: [[1, 2, 3, 4]], ...one })) as Error).message,
    flat,
  );
});

Deno.test("endEpisode() leaves what a final state with the last record leaves", async () => {
  // 1 to 20 records: the final state lies in the last block, or takes another.
  for (let count = 1; count <= 20; count++) {
    using replay = await smallReplay({ length: 3, allowShort: true });
    using twin = await smallReplay({ length: 3, allowShort: true });
    const [episode, other] = [replay.newEpisode(), twin.newEpisode()];
    for (let step = 0; step < count; step++) {
      replay.record(episode, [step], 0, 0);
      twin.record(other, [step], 0, 0, step < count - 1 ? {} : { finalState: [count] });
    }
    assertStrictEquals(replay.endEpisode(episode, { finalState: [count] }), true);
    assertEquals(await replay.serialize(), await twin.serialize());
    assertReplayError(() => replay.endEpisode(episode, { finalState: [1] }), "episode-ended");
  }
});

Deno.test("endEpisode() of an evicted or empty episode is false, and an empty one is forgotten", async () => {
  for (const eviction of [fifo(), youngestButOne()]) {
    using replay = await smallReplay({ capacity: 5, eviction });
    const [empty, evicted] = [replay.newEpisode(), replay.newEpisode()];
    replay.record(evicted, [1], 0, 0);
    replay.evict(evicted);
    assertStrictEquals(replay.endEpisode(evicted, { finalState: [1] }), false);
    assertStrictEquals(replay.endEpisode(empty, { finalState: [1] }), false);
    assertStrictEquals(replay.episode(empty).state, "evicted");
    assertStrictEquals(replay.endEpisode(empty, { finalState: [1] }), false);
    // A policy of the user's has heard of it: it never names the one that is gone.
    let episode = replay.newEpisode();
    for (let step = 0; step < 30; step++) {
      episode = replay.record(episode, [step], 0, 0);
      if (step % 3 === 2) episode = replay.newEpisode();
    }
    assert(replay.recordCount <= 5);
  }
});

type Loose = (...args: unknown[]) => unknown;

function loose(replay: object, method: string): Loose {
  const target = replay as Record<string, Loose>;
  return (...args) => (target[method] as Loose).apply(replay, args);
}

const good = { state: [1, 2, 3, 4], action: [0, 1], reward: [1, 1], extras: { steps: [5, 6] } };

const MANY: [string, unknown[], RegExp][] = [
  ["no handle", ["0", good], /recordMany\(\): episode must be the number .* got "0"/],
  ["no options", [0], /recordMany\(\) takes an object of options, got undefined/],
  ["an unknown option", [0, { ...good, done: [1] }], /recordMany\(\) has no option "done"/],
  ["no state", [0, { ...good, state: undefined }], /state is float32\(2\) .* got undefined/],
  [
    "half a state",
    [0, { ...good, state: [1, 2, 3] }],
    /takes 2 values for each of one or more.* got 3/,
  ],
  ["no steps", [0, { state: [], action: [], reward: [] }], /each of one or more steps, got 0/],
  [
    "too few actions",
    [0, { ...good, action: [1] }],
    /action is int32\(\) and takes 2 values for 2 steps, got 1/,
  ],
  [
    "too many rewards",
    [0, { ...good, reward: [1, 2, 3] }],
    /reward .* takes 2 values for 2 steps, got 3/,
  ],
  [
    "rewards of another dtype",
    [0, { ...good, reward: new Float64Array(2) }],
    /reward .* one Float32Array or plain array, got Float64Array\(2\)/,
  ],
  ["one action for all", [0, { ...good, action: 1 }], /action .* got 1/],
  [
    "a fractional action",
    [0, { ...good, action: [0, 0.5] }],
    /recordMany\(\): action\[1\] must be an integer .* got 0\.5/,
  ],
  [
    "no extras",
    [0, { ...good, extras: undefined }],
    /recordMany\(\): extras are missing; the schema of this replay has steps/,
  ],
  ["an extra too few", [0, { ...good, extras: {} }], /recordMany\(\): extras\.steps is missing/],
  [
    "an unknown extra",
    [0, { ...good, extras: { steps: [1, 2], x: 1 } }],
    /extras has no option "x"/,
  ],
  [
    "an extra of other length",
    [0, { ...good, extras: { steps: [1] } }],
    /extras\.steps .* takes 2 values for 2 steps, got 1/,
  ],
  ["truncated alone", [0, { ...good, truncated: true }], /truncated needs finalState/],
  [
    "a final state for each",
    [0, { ...good, finalState: [1, 2, 3, 4] }],
    /recordMany\(\): finalState .* got 4/,
  ],
  ["an unknown handle", [9, good], /no episode has handle 9/],
  ["an ended episode", [1, good], /episode 1 has ended/],
];

const BATCH: [string, unknown[], RegExp][] = [
  [
    "a plain array of handles",
    [[0, 2], good],
    /episodes must be a Float64Array of handles, .* got Array\(2\)/,
  ],
  [
    "no environments",
    [new Float64Array(0), good],
    /number of environments must be an integer from 1/,
  ],
  [
    "a state too few",
    [[0, 2], { ...good, state: [1, 2] }],
    /state is float32\(2\) and takes 4 values for 2 steps, got 2/,
  ],
  ["a reward too few", [[0, 2], { ...good, reward: [1] }], /recordBatch\(\): reward .* got 1/],
  [
    "a flag too few",
    [[0, 2], { ...good, terminated: [true] }],
    /terminated takes 2 values for 2 steps, got 1/,
  ],
  [
    "a flag that is none",
    [[0, 2], { ...good, truncated: [0, 2] }],
    /truncated\[1\] must be true, false, 1 or 0, got 2/,
  ],
  [
    "one flag for all",
    [[0, 2], { ...good, terminated: true }],
    /terminated must be a Uint8Array or an array of booleans, got true/,
  ],
  [
    "no next state of one that is done",
    [[0, 2], { ...good, terminated: [0, 1] }],
    /nextState is missing: environment 1 is done/,
  ],
  [
    "a next state too few",
    [[0, 2], { ...good, nextState: [1, 2] }],
    /nextState is float32\(2\) .* got 2/,
  ],
  [
    "a next state of text",
    [[0, 2], { ...good, nextState: [1, 2, 3, "4"], terminated: [0, 1] }],
    /nextState\[3\] must be a number/,
  ],
  [
    "an unknown option",
    [[0, 2], { ...good, finalState: [1, 2] }],
    /recordBatch\(\) has no option "finalState"/,
  ],
  ["an unknown handle", [[0, 9], good], /no episode has handle 9/],
  ["a handle that is NaN", [[0, NaN], good], /no episode has handle NaN/],
  ["an ended episode after a good one", [[0, 1], good], /episode 1 has ended/],
  ["one episode twice", [[2, 2], good], /environments 0 and 1 both record into episode 2/],
];

for (const [method, cases] of [["recordMany", MANY], ["recordBatch", BATCH]] as const) {
  for (const [name, [first, options], text] of cases) {
    Deno.test(`${method}() refuses ${name}, and nothing has changed`, async () => {
      using replay = await ExperienceReplay.create({
        capacity: 20,
        state: float32(2),
        extras: { steps: uint8() },
      });
      for (const finalState of [undefined, [0, 0], undefined]) {
        replay.record(replay.newEpisode(), [0, 0], 0, 0, {
          extras: { steps: 1 },
          ...(finalState === undefined ? {} : { finalState }),
        });
      }
      const before = [visibleState(replay), await replay.serialize()];
      const handles =
        method === "recordBatch" && Array.isArray(first) && !name.startsWith("a plain")
          ? Float64Array.from(first)
          : first;
      const error = assertThrows(() => loose(replay, method)(handles, options));
      assertMatch((error as Error).message, text);
      assertEquals([visibleState(replay), await replay.serialize()], before);
      if (handles instanceof Float64Array) {
        assertEquals([...handles], [...first as Iterable<number>]);
      }
      // And the call works when it is right.
      loose(replay, method)(method === "recordMany" ? 0 : Float64Array.of(0, 2), good);
      assertStrictEquals(replay.recordCount, 5);
    });
  }
}

Deno.test("recordStep() and endEpisode() refuse what is wrong, and nothing has changed", async () => {
  using replay = await smallReplay();
  const episode = replay.newEpisode();
  replay.record(episode, [0], 0, 0);
  const before = [visibleState(replay), await replay.serialize()];
  const step = loose(replay, "recordStep");
  const end = loose(replay, "endEpisode");
  const cases: [() => unknown, RegExp][] = [
    [() => step("0", [0], 0, 0, false, false, [0]), /recordStep\(\): episode must be the number/],
    [
      () => step(episode, [0], 0, 0, 2, false, [0]),
      /recordStep\(\): terminated must be true, false, 1 or 0, got 2/,
    ],
    [
      () => step(episode, [0], 0, 0, true, undefined, [0]),
      /truncated must be true, false, 1 or 0, got undefined/,
    ],
    [() => step(episode, [0], 0, 0, true, false), /recordStep\(\): nextState .* got undefined/],
    [() => step(episode, [0, 0], 0, 0, true, false, [0]), /recordStep\(\): state .* got 2/],
    [
      () => step(episode, [0], 0, 0, false, false, [0], { done: 1 }),
      /recordStep\(\) has no option "done"/,
    ],
    [() => step(9, [0], 0, 0, false, false, [0]), /recordStep\(\): no episode has handle 9/],
    [() => end("0", { finalState: [0] }), /endEpisode\(\): episode must be the number/],
    [() => end(episode), /endEpisode\(\) takes an object of options, got undefined/],
    [() => end(episode, {}), /endEpisode\(\): finalState .* got undefined/],
    [() => end(episode, { finalState: [0, 1] }), /endEpisode\(\): finalState .* got 2/],
    [() => end(episode, { finalState: [0], truncated: 1 }), /truncated must be true or false/],
    [() => end(episode, { finalState: [0], terminated: true }), /has no option "terminated"/],
    [() => end(9, { finalState: [0] }), /endEpisode\(\): no episode has handle 9/],
  ];
  for (const [call, text] of cases) {
    assertMatch((assertThrows(call) as Error).message, text);
    assertEquals([visibleState(replay), await replay.serialize()], before);
  }
});
