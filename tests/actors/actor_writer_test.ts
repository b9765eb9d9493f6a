/** ActorWriter: it records what `recordStep` with the same priorities would record. */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import {
  type Column,
  ExperienceReplay,
  float32,
  float64,
  prioritized,
  ReplayError,
  uint8,
} from "@exrp/replay";
import { nStepReturn } from "@exrp/replay/returns";
import { absoluteTdError, type ActorSteps, ActorWriter } from "../../actors/mod.ts";
import { testRandom } from "../replay/_helpers.ts";

const SEED = Number(Deno.env.get("EXRP_ACTOR_SEED") ?? 261123);
/** Sums of halves with this discount are exact in float32, in which `nStepReturn` gives them. */
const DISCOUNT = 0.5;
const RUNS = Number(Deno.env.get("EXRP_ACTOR_RUNS") ?? 30);

interface Kept {
  readonly state: Column<"float32", [2]>;
  readonly action: Column<"uint8", [2]>;
  readonly extras: { readonly noise: Column<"float64", []> };
  readonly pick: { readonly nStep: number };
}

/** One step of one environment, with what only priorities need. */
interface Made {
  readonly state: number[];
  readonly action: number[];
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly nextState: number[];
  readonly extras: { readonly noise: number };
  readonly value: number;
  readonly stateValue: number;
  readonly nextStateValue?: number;
}

function newReplay(nStep: number): Promise<ExperienceReplay<Kept>> {
  return ExperienceReplay.create({
    capacity: 300,
    state: float32(2),
    action: uint8(2),
    extras: { noise: float64() },
    pick: { nStep, discount: DISCOUNT },
    seed: 5,
  });
}

/** How many records were ever written to a replay. */
function recordedIn(replay: ExperienceReplay<Kept>): number {
  return replay.describe().recordedCount;
}

/** |target − value| of every step, by `nStepReturn` on whole episodes. `environment` has all steps of one environment. */
function expectedPriorities(environment: readonly Made[], n: number): number[] {
  const priorities: number[] = [];
  let begin = 0;
  for (const [k, step] of environment.entries()) {
    if (!step.terminated && !step.truncated && k < environment.length - 1) continue;
    const episode = environment.slice(begin, k + 1);
    const nextValue = episode.map((each, at) => {
      const next = at + 1 < episode.length ? episode[at + 1] : undefined;
      return next?.stateValue ?? each.nextStateValue ?? each.stateValue;
    });
    const target = nStepReturn({
      reward: episode.map(({ reward }) => reward),
      discount: episode.map(({ terminated }) => terminated ? 0 : DISCOUNT),
      nextValue,
      n,
      seqLen: [episode.length],
    });
    episode.forEach(({ value }, at) => priorities.push(Math.abs((target[at] ?? 0) - value)));
    begin = k + 1;
  }
  return priorities;
}

/** Makes random steps of environments, and gives each batch of them to `take`. */
function makeSteps(
  seed: number,
  environments: number,
  length: number,
  take: (steps: readonly Made[], turn: number) => void,
): Made[][] {
  const below = testRandom(seed);
  const all: Made[][] = Array.from({ length: environments }, () => []);
  // Halves are exact in float32, and so are short sums of them.
  const number = (): number => (below(64) - 32) / 2;
  const states = all.map(() => [number(), number()]);
  for (let turn = 0; turn < length; turn++) {
    const steps = all.map((_, e): Made => {
      const terminated = below(9) === 0;
      const truncated = below(12) === 0;
      const state = states[e] ?? [];
      const nextState = [number(), number()];
      states[e] = terminated || truncated ? [number(), number()] : nextState;
      return {
        state,
        action: [below(256), below(256)],
        reward: number(),
        terminated,
        truncated,
        nextState,
        extras: { noise: below(1000) / 7 },
        value: number(),
        stateValue: number(),
        ...truncated && below(2) === 0 ? { nextStateValue: number() } : {},
      };
    });
    take(steps, turn);
    steps.forEach((step, e) => all[e]?.push(step));
  }
  return all;
}

/** The steps of a batch as the arrays that `stepBatch` takes. */
function asBatch(steps: readonly Made[]): Parameters<ActorWriter<Kept>["stepBatch"]>[0] {
  return {
    state: Float32Array.from(steps.flatMap(({ state }) => state)),
    action: steps.flatMap(({ action }) => action),
    reward: steps.map(({ reward }) => reward),
    terminated: steps.map(({ terminated }) => terminated),
    truncated: Uint8Array.from(steps, ({ truncated }) => truncated ? 1 : 0),
    nextState: steps.flatMap(({ nextState }) => nextState),
    extras: { noise: steps.map(({ extras }) => extras.noise) },
    value: steps.map(({ value }) => value),
    stateValue: Float64Array.from(steps, ({ stateValue }) => stateValue),
    nextStateValue: steps.map(({ nextStateValue = NaN }) => nextStateValue),
  };
}

for (let run = 0; run < RUNS; run++) {
  const seed = SEED + run;
  const below = testRandom(seed);
  const environments = 1 + below(3) * below(2);
  const options = { environments, flushSteps: 1 + below(20), tag: below(3) };
  const nStep = 1 + below(5);
  const hasPriorities = below(4) > 0;
  Deno.test(`what an ActorWriter writes equals recordStep: ${environments} environments, ${options.flushSteps} steps a flush, n ${nStep}, ${hasPriorities ? "with" : "without"} priorities (seed ${seed})`, async () => {
    using written = await newReplay(nStep);
    using direct = await newReplay(nStep);
    const selectors = [written, direct].map((replay) => replay.newPickSelector(prioritized()));
    // Which environment wrote how many steps, in order.
    const calls: { environment: number; count: number }[] = [];
    const handles = new Map(Array.from({ length: environments }, (_, e) => [e, e]));
    const recordFlat = written.recordFlat.bind(written);
    written.recordFlat = (episode, steps) => {
      const environment = handles.get(episode) ?? -1;
      const recorded = recordFlat(episode, steps);
      handles.set(recorded.episode, environment);
      calls.push({ environment, count: recorded.recordCount });
      return recorded;
    };
    const writer = new ActorWriter(written, {
      ...options,
      ...hasPriorities ? { priority: absoluteTdError } : {},
    });
    const all = makeSteps(seed, environments, 200, (steps, turn) => {
      const [only] = steps;
      if (environments === 1 && only !== undefined) writer.step(only);
      else writer.stepBatch(asBatch(steps));
      // The last step waits until the end, so it is the one that ends as truncated.
      if (turn < 199 && below(25) === 0) writer.flush();
      assertStrictEquals(writer.waitingCount, writer.stepCount - recordedIn(written));
      const waiting = environments * (options.flushSteps + (hasPriorities ? nStep : 0));
      assert(writer.waitingCount <= waiting);
    });
    writer[Symbol.dispose]();
    assertStrictEquals(recordedIn(written), 200 * environments);

    const priorities = all.map((steps) => expectedPriorities(steps, nStep));
    const at = all.map(() => 0);
    const { tag } = options;
    const episodes = all.map(() => direct.newEpisode({ tag }));
    for (const { environment: e, count } of calls) {
      for (let k = 0; k < count; k++) {
        const index = at[e] ?? 0;
        const made = all[e]?.[index];
        if (made === undefined) throw new Error(`step ${index} of environment ${e} was never made`);
        const { state, action, reward, terminated, truncated, nextState, extras } = made;
        const isLast = index === 199;
        episodes[e] = direct.recordStep(episodes[e] ?? -1, {
          ...{ state, action, reward, terminated, nextState, extras, tag },
          truncated: truncated || isLast,
          ...hasPriorities ? { priority: priorities[e]?.[index] ?? -1 } : {},
        });
        at[e] = index + 1;
      }
    }
    for (const episode of episodes) direct.endEpisode(episode, { finalState: [0, 0] });
    assertEquals(at, all.map(() => 200));
    assertEquals(await written.serialize(), await direct.serialize());
    const [one, other] = selectors;
    if (one === undefined || other === undefined) throw new Error("two selectors");
    assertEquals(written.getBatch(64, one).bytes, direct.getBatch(64, other).bytes);
  });
}

Deno.test("a priority function sees the steps of all environments, with n-step returns as in a batch", async () => {
  using replay = await newReplay(2);
  const seen: {
    size: number;
    states: number[];
    reward: number[];
    next: number[];
    gamma: number[];
  }[] = [];
  const priority = (steps: ActorSteps<Kept>): Float32Array => {
    const { size, state, nStep, terminated, truncated, extras, action, nextState, reward } = steps;
    assertEquals([state.length, action.length, nextState.length], [2 * size, 2 * size, 2 * size]);
    assertEquals([reward.length, extras.noise.length], [size, size]);
    assertEquals([terminated.length, truncated.length], [size, size]);
    seen.push({
      size,
      states: [...state],
      reward: [...nStep.reward],
      next: [...nStep.nextState],
      gamma: [...nStep.discount],
    });
    return new Float32Array(size).fill(1);
  };
  using writer = new ActorWriter(replay, { environments: 2, flushSteps: 8, priority });
  const step = (t: number, terminated: boolean): Made => ({
    state: [t, 0],
    action: [0, 0],
    reward: t,
    terminated,
    truncated: false,
    nextState: [t + 1, 0],
    extras: { noise: 0 },
    value: 0,
    stateValue: 0,
  });
  for (let t = 1; t <= 4; t++) writer.stepBatch(asBatch([step(t, false), step(10 + t, t === 3)]));
  assertStrictEquals(writer.flush(), 2 + 3);
  assertEquals(seen, [{
    size: 5,
    states: [1, 0, 2, 0, 11, 0, 12, 0, 13, 0],
    reward: [1 + 2 / 2, 2 + 3 / 2, 11 + 12 / 2, 12 + 13 / 2, 13],
    next: [3, 0, 4, 0, 13, 0, 14, 0, 14, 0],
    gamma: [0.25, 0.25, 0.25, 0, 0],
  }]);
});

Deno.test("a step that is refused changes nothing, and says why as recordStep does", async () => {
  using replay = await newReplay(1);
  using writer = new ActorWriter(replay, { priority: absoluteTdError });
  const good = {
    ...{ state: [1, 2], action: [3, 4], reward: 1, terminated: false, nextState: [2, 3] },
    extras: { noise: 0 },
  };
  const cases: [unknown, string][] = [
    [{ ...good, state: [1] }, "step(): state is float32(2) and takes 2 values, got 1"],
    [
      { ...good, action: [3, 256] },
      "step(): action[1] must be an integer from 0 to 255 (uint8), got 256",
    ],
    [{ ...good, terminated: 2 }, "step(): terminated must be true, false, 1 or 0, got 2"],
    [
      { ...good, nextState: undefined },
      "step(): nextState must be the state that step() of the environment returned, at every step; got undefined",
    ],
    [
      { ...good, extras: undefined },
      "step(): extras are missing; the schema of this replay has noise",
    ],
    [
      { ...good, extras: { noise: 0, nose: 1 } },
      'step(): extras has no option "nose"; did you mean noise? It has noise',
    ],
    [
      { ...good, statValue: 1 },
      'step() has no option "statValue"; did you mean stateValue? It has state, action, reward, terminated, truncated, nextState, extras, value, stateValue, nextStateValue',
    ],
    [{ ...good, value: "1" }, 'step(): value must be a number (it is float64()), got "1"'],
    [{ ...good, value: Infinity }, "step(): value must be a finite number, got Infinity"],
    [7, "step() takes an object of options, got 7"],
  ];
  for (const [step, text] of cases) {
    const error = assertThrows(() => writer.step(step as never));
    assertInstanceOf(error, Error);
    assertStrictEquals(error.message, text);
  }
  assertStrictEquals(writer.stepCount, 0);
  using two = new ActorWriter(replay, { environments: 2 });
  assertThrows(() => two.step(good), TypeError, "this writer has 2; call stepBatch()");
  assertThrows(
    () => two.stepBatch({ ...asBatch([]), state: [1, 2, 3] }),
    RangeError,
    "stepBatch(): state is float32(2) and takes 4 values for 2 steps, got 3",
  );
  const wrong: [object, string][] = [
    [{ environments: 0 }, "ActorWriter: environments must be an integer from 1 to 65536, got 0"],
    [{ flushStep: 3 }, 'ActorWriter has no option "flushStep"; did you mean flushSteps?'],
    [{ priority: "td" }, 'ActorWriter: priority must be a function, got "td"'],
  ];
  for (const [options, text] of wrong) {
    assertThrows(() => new ActorWriter(replay, options), Error, text);
  }
  assertThrows(() => new ActorWriter({} as never), TypeError, "ActorWriter takes a replay");
});

Deno.test("checkFinite refuses NaN at the step, not at the flush", async () => {
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(1),
    checkFinite: true,
  });
  using writer = new ActorWriter(replay);
  const good = { state: [1], action: 0, reward: 0, terminated: false, nextState: [2] };
  assertThrows(() => writer.step({ ...good, state: [NaN] }), RangeError, "step(): state is NaN");
  assertThrows(() => writer.step({ ...good, nextState: [NaN] }), RangeError, "nextState is NaN");
  assertStrictEquals(writer.waitingCount, 0);
});

Deno.test("a priority function that fails loses no step and doubles none", async () => {
  using replay = await newReplay(1);
  let answer: (size: number) => unknown = (size) => new Float32Array(size + 1);
  const writer = new ActorWriter(replay, {
    flushSteps: 4,
    priority: ({ size }) => answer(size) as number[],
  });
  const all: Made[] = [];
  const fill = (): void => {
    makeSteps(3, 1, 5, ([step]) => {
      if (step === undefined) return;
      writer.step(step);
      all.push(step);
    });
  };
  fill();
  const says = (kind: new (...args: never[]) => Error, text: string): void => {
    assertThrows(() => writer.flush(), kind, text);
    assertEquals([writer.recordedCount, recordedIn(replay)], [0, 0]);
  };
  says(RangeError, "priority() must return 4 numbers, one for each step, got 5");
  answer = () => "x";
  says(TypeError, 'priority() must return a plain or typed array of numbers, got "x"');
  answer = (size) => new Array(size).fill(-1);
  says(ReplayError, "ActorWriter: priority[0] must be finite and not negative, got -1");
  answer = () => {
    throw new Error("planned");
  };
  says(Error, "planned");
  const [step] = all;
  if (step === undefined) throw new Error("there are steps");
  assertThrows(() => writer.step(step), Error, "planned");
  assertStrictEquals(writer.stepCount, 5);
  answer = (size) => new Float64Array(size);
  writer.step(step);
  writer[Symbol.dispose]();
  writer[Symbol.dispose]();
  assertEquals([writer.stepCount, writer.recordedCount, recordedIn(replay)], [6, 6, 6]);
  const error = assertThrows(() => writer.flush());
  assertStrictEquals(error instanceof ReplayError && error.code, "disposed");
});

Deno.test("a flush that fails in the middle goes on there, with the priorities that it had", async () => {
  using replay = await newReplay(1);
  let asked = 0;
  const writer = new ActorWriter(replay, {
    environments: 3,
    flushSteps: 5,
    priority: ({ size }) => new Float32Array(size).fill(++asked),
  });
  const recordFlat = replay.recordFlat.bind(replay);
  let calls = 0;
  replay.recordFlat = (episode, steps) => {
    if (++calls === 2) throw new Error("planned");
    return recordFlat(episode, steps);
  };
  makeSteps(4, 3, 4, (steps) => writer.stepBatch(asBatch(steps)));
  assertThrows(() => writer.flush(), Error, "planned");
  const [before] = [recordedIn(replay)];
  assert(before > 0 && before === writer.recordedCount);
  writer.flush();
  assertStrictEquals(asked, 1);
  writer[Symbol.dispose]();
  assertEquals([writer.recordedCount, recordedIn(replay)], [12, 12]);
});

Deno.test("cut() and dispose end open episodes as truncated, and leave no empty ones", async () => {
  using replay = await newReplay(2);
  {
    using writer = new ActorWriter(replay, { priority: absoluteTdError });
    const [steps] = makeSteps(1, 1, 30, ([step]) => {
      if (step === undefined) return;
      writer.step({ ...step, terminated: false, truncated: false });
      if (writer.stepCount === 10 || writer.stepCount === 20) writer.cut();
      if (writer.stepCount === 20) {
        writer.flush();
        writer.cut(); // nothing waits, and nothing is open
      }
    });
    assertStrictEquals(steps?.length, 30);
    assertStrictEquals(
      String(writer),
      "ActorWriter { 30 steps, 20 written in 1 flush, 10 waiting }",
    );
  }
  const infos = [...replay.episodes()].map((handle) => replay.episode(handle));
  assertEquals(infos.map(({ ending, recordCount }) => [ending, recordCount]), [
    ["truncated", 10],
    ["truncated", 10],
    ["truncated", 10],
  ]);
  assertStrictEquals(replay.pickCount, 30);
  {
    using _unused = new ActorWriter(replay, { environments: 4 });
  }
  assertStrictEquals(replay.episodeCount, 3);
});

Deno.test("dispose ends the other episodes, where somebody ended or evicted some of them", async () => {
  using replay = await newReplay(1);
  const writer = new ActorWriter(replay, { environments: 4 });
  makeSteps(3, 4, 5, (steps) => {
    const open = steps.map((step) => ({ ...step, terminated: false, truncated: false }));
    writer.stepBatch(asBatch(open));
  });
  writer.flush();
  const { episodes } = writer;
  const [, ended = -1, evicted = -1] = episodes;
  replay.endEpisode(ended, { finalState: [0, 0] });
  replay.endEpisode(evicted, { finalState: [0, 0] });
  replay.evict(evicted);
  writer[Symbol.dispose]();
  const endings = Array.from(episodes, (episode) => replay.episode(episode).ending);
  assertEquals(endings, ["truncated", "terminated", "evicted", "truncated"]);
});

Deno.test("cut() ends an episode whose steps are all written", async () => {
  using replay = await newReplay(1);
  using writer = new ActorWriter(replay);
  makeSteps(2, 1, 3, ([step]) => {
    if (step !== undefined) writer.step({ ...step, terminated: false, truncated: false });
  });
  writer.flush();
  const [handle = -1] = writer.episodes;
  writer.cut();
  assertStrictEquals(replay.episode(handle).ending, "truncated");
  assert(writer.episodes[0] !== handle);
});

Deno.test("close() and flushWhenReady() write when the replay lets them, and time out", async () => {
  using replay = await newReplay(1);
  const writer = new ActorWriter(replay);
  makeSteps(2, 1, 3, ([step]) => {
    if (step !== undefined) writer.step({ ...step, terminated: false, truncated: false });
  });
  const recordFlat = replay.recordFlat.bind(replay);
  replay.recordFlat = () => {
    throw new ReplayError("rate-limiter", "planned");
  };
  const late = await assertRejects(() => writer.flushWhenReady({ timeoutMs: 10 }));
  assertStrictEquals(late instanceof ReplayError && late.code, "timeout");
  const flushed = writer.flushWhenReady();
  replay.recordFlat = recordFlat;
  replay.newEpisode(); // a change of the replay
  replay.record(replay.newEpisode(), [0, 0], [0, 0], 0, { extras: { noise: 0 } });
  assertStrictEquals(await flushed, 3);
  await writer.close();
  assertStrictEquals(writer.waitingCount, 0);
});
