/** The examples of continuous control: the command line, the networks, that a seed fixes a run, and that SAC and RLPD learn. */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { RandomStream } from "@exrp/replay/selectors";
import {
  newReplay,
  newSelector,
  OFFLINE,
  type OfflineData,
  ONLINE,
  recordPlay,
  type Run,
  SETTINGS,
  train,
} from "../../examples/continuous_control/_agent.ts";
import { parseOptions, solvedAfter } from "../../examples/continuous_control/main.ts";
import { Networks } from "../../examples/continuous_control/_networks.ts";
import { bandOf } from "../../examples/continuous_control/_picture.ts";
import { TASKS } from "../../examples/continuous_control/_tasks.ts";

const RUN: Run = {
  agent: "sac",
  task: TASKS.pendulum,
  rule: "uniform",
  nStep: 1,
  seed: 1,
  steps: 600,
};

/**
 * Steps of a rule that gives a pendulum energy while it has too little to stand, and holds it by a spring near the top. Every other action is
 * random, as a policy that is half trained errs.
 */
function ruledData(count: number): OfflineData {
  const random = new RandomStream(9);
  return recordPlay(TASKS.pendulum, ([cosine = 0, sine = 0, velocity = 0]) => {
    if (random.below(2) === 0) return Float32Array.of(2 * random.uniform() - 1);
    const energy = velocity ** 2 / 6 + 5 * (cosine - 1); // 0 for a pendulum that comes to rest upright
    const push = cosine > 0.9 ? -4 * sine - velocity : Math.sign(-energy * velocity);
    return Float32Array.of(Math.max(-1, Math.min(1, push)));
  }, { count, seed: 5 });
}

Deno.test("the example of continuous control refuses flags that are wrong", () => {
  const plain = { rule: "uniform" as const, nStep: 1 };
  assertEquals(parseOptions([]), {
    env: "pendulum",
    replays: [plain],
    seeds: [1],
    steps: 8_000,
    rlpd: false,
    control: false,
  });
  assertEquals(parseOptions(["--rlpd", "--seed=3", "--seeds=2"]), {
    env: "swing_up",
    replays: [plain],
    seeds: [3, 4],
    steps: 18_000,
    rlpd: true,
    control: false,
  });
  assertEquals(parseOptions(["--replay=prioritized:3", "--replay=uniform", "--steps=9"]), {
    env: "pendulum",
    replays: [{ rule: "prioritized", nStep: 3 }, plain],
    seeds: [1],
    steps: 9,
    rlpd: false,
    control: false,
  });
  assertStrictEquals(parseOptions(["-h"]), "help");
  const wrong = [
    "--env=cheetah",
    "--replay=best",
    "--replay=uniform:0",
    "--seeds=0",
    "--steps=x",
    "--control",
  ];
  for (const flag of wrong) assertThrows(() => parseOptions([flag]), TypeError, flag.split("=")[0]);
});

Deno.test("a task counts as solved after three good evaluations in a row", () => {
  const points = [-100, -300, -200, -150, -199, -400].map((value, k) => ({
    step: 500 * (k + 1),
    return: value,
  }));
  assertStrictEquals(solvedAfter(TASKS.pendulum, points), "solved after 2500 steps");
  assertStrictEquals(solvedAfter(TASKS.pendulum, points.slice(0, 4)), "not solved");
});

Deno.test("the picture has the mean and the range of the seeds", () => {
  const seeds = [1, 2, 6].map((value) => [{ step: 500, return: value }]);
  assertEquals(bandOf({ name: "", seeds }), [{ step: 500, mean: 3, low: 1, high: 6 }]);
});

Deno.test("the critics learn the rewards of what has weight, and the actor then takes the better action", async () => {
  for (const layerNorm of [false, true]) {
    using networks = await Networks.create({ stateScale: [1, 1], actionSize: 1, layerNorm }, 1);
    const random = new RandomStream(2);
    const count = 64;
    const numbers = (length: number): Float32Array<ArrayBuffer> =>
      Float32Array.from({ length }, () => 2 * random.uniform() - 1);
    const [state, action] = [numbers(2 * count), numbers(count)];
    const batch = {
      state,
      action,
      reward: action.map((a, k) => k < count / 2 ? -((a - 0.5) ** 2) : 100),
      nextState: state,
      discount: new Float32Array(count), // nothing comes after
      weight: Float32Array.from(action, (_, k) => k < count / 2 ? 1 : 0),
    };
    let errors = new Float32Array(count);
    for (let update = 0; update < 300; update++) {
      const rates = { learning: 3e-3, target: 0.005 };
      errors = networks.updateCritics(batch, rates, random).tdError;
      networks.updateActor(state, 3e-3, random);
    }
    const [learned, left] = [errors.subarray(0, count / 2), errors.subarray(count / 2)];
    assert(Math.max(...learned) < 0.2, `errors up to ${Math.max(...learned)}`);
    assert(Math.min(...left) > 50, `errors down to ${Math.min(...left)}`);
    const actions = networks.act(state);
    assertEquals(networks.act(state), actions);
    const mean = actions.reduce((sum, a) => sum + a, 0) / count;
    assertAlmostEquals(mean, 0.5, 0.2);
    assert(networks.act(state, random).join() !== actions.join());
    assert(networks.act(state, random).every((a) => Math.abs(a) < 1));
  }
});

Deno.test("offline data has whole episodes, and the last is cut off", () => {
  const data = ruledData(450);
  const ends = [...data.truncated.entries()].filter(([, end]) => end === 1).map(([k]) => k);
  assertEquals(ends, [199, 399, 449]);
  assert(data.terminated.every((end) => end === 0));
  assertEquals(data.nextState.subarray(0, 3), data.state.subarray(3, 6));
  assert(data.nextState.subarray(597, 600).join() !== data.state.subarray(600, 603).join());
});

Deno.test("the agents do the same for the same seed, and something else for each other way", async () => {
  const saved = structuredClone(SETTINGS);
  SETTINGS.sac.warmupSteps = 60;
  SETTINGS.evaluation = { every: 120, episodes: 2 };
  try {
    const curve = async (change: Partial<Run>): Promise<string> =>
      JSON.stringify(await train({ ...RUN, steps: 240, ...change }));
    const first = await curve({});
    assertStrictEquals(await curve({}), first);
    const offline = ruledData(400);
    const all = [
      first,
      await curve({ seed: 2 }),
      await curve({ nStep: 3 }),
      await curve({ rule: "prioritized" }),
      await curve({ agent: "rlpd" }),
      await curve({ agent: "rlpd", offline }),
    ];
    assertStrictEquals(new Set(all).size, all.length);
  } finally {
    Object.assign(SETTINGS, saved);
  }
});

Deno.test("half of each batch of RLPD is offline data", async () => {
  for (const rule of ["uniform", "prioritized"] as const) {
    const run: Run = { ...RUN, agent: "rlpd", rule, nStep: 3, offline: ruledData(450) };
    using replay = await newReplay(run);
    const selector = newSelector(replay, run);
    let episode = replay.newEpisode({ tag: ONLINE });
    for (let k = 0; k < 10; k++) episode = replay.record(episode, [1, 0, 0], [0.5], 0);
    const { pickEpisode, size } = replay.getBatch(SETTINGS.batchSize, selector, { beta: 0.4 });
    const tags = [...pickEpisode].map((handle) => replay.episode(handle).tag);
    assertStrictEquals(tags.filter((tag) => tag === OFFLINE).length, size / 2);
    assertStrictEquals(tags.filter((tag) => tag === ONLINE).length, size / 2);
  }
});

Deno.test("RLPD with priorities and 3-step returns learns the pendulum in steps in which SAC learns nothing", async () => {
  const run: Run = { ...RUN, steps: 1_000 };
  const last = async (run: Run): Promise<number> => (await train(run)).at(-1)?.return ?? NaN;
  const rlpd = await last({
    ...run,
    ...{ agent: "rlpd", rule: "prioritized", nStep: 3, offline: ruledData(4_000) },
  });
  const sac = await last(run);
  assert(rlpd > -600 && sac < -1000, `RLPD earned ${rlpd}, and SAC ${sac}`);
});
