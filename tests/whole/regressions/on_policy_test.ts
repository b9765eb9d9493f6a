/**
 * PPO lost steps under default settings: what was drained stood in the way of what was not. Nothing is lost as long as the capacity is at
 * least what the actors write between two drains.
 */
import {
  ExperienceReplay,
  fifo,
  float32,
  int32,
  lfu,
  lru,
  reservoir,
  secondChance,
} from "@exrp/replay";
import { assertEquals, assertStrictEquals } from "../../_assert.ts";
import { amount } from "../../_amount.ts";
import { KeepBest } from "../../../examples/custom_eviction.ts";
import { testRandom } from "../../replay/_helpers.ts";

interface Setting {
  readonly capacity: number;
  readonly actors: number;
  /** Steps of each actor between two drains. */
  readonly horizon: number;
  readonly rollouts: number;
  /** How long the next episode of an actor is. */
  readonly episodeLength: () => number;
  readonly options?: object;
  readonly keep?: boolean;
}

/** Records and drains as PPO does; returns the lost steps. Each step must come once, in order, with its next state. */
async function lostSteps(setting: Setting): Promise<number> {
  const { capacity, actors, horizon, rollouts, episodeLength, options = {}, keep = false } =
    setting;
  using replay = await ExperienceReplay.create({
    capacity,
    state: float32(),
    action: int32(), // the actor
    seed: 1,
    ...options,
  });
  const episodes = Float64Array.from({ length: actors }, () => replay.newEpisode());
  const left = Array.from({ length: actors }, episodeLength);
  const expected = Array.from({ length: actors }, () => 0); // the next step that must come
  const state = new Float32Array(actors);
  const nextState = new Float32Array(actors);
  const action = Int32Array.from({ length: actors }, (_, k) => k);
  const reward = new Float32Array(actors);
  let [step, lost, drained] = [0, 0, 0];
  for (let rollout = 0; rollout < rollouts; rollout++) {
    for (let t = 0; t < horizon; t++, step++) {
      state.fill(step);
      nextState.fill(step + 1);
      const truncated = Uint8Array.from(left, (_, k) => {
        left[k] = (left[k] ?? 0) - 1;
        if (left[k] !== 0) return 0;
        left[k] = episodeLength();
        return 1;
      });
      for (let k = 0; k < actors; k++) if (truncated[k] === 1) nextState[k] = step + 0.5;
      replay.recordBatch(episodes, { state, nextState, action, reward, truncated });
    }
    const steps = replay.drain({ steps: horizon * actors, keep });
    lost += steps.lost;
    drained += steps.size;
    assertStrictEquals(steps.size, horizon * actors, `rollout ${rollout}, lost ${steps.lost}`);
    const { nextState: next } = steps;
    for (const [k, actor] of steps.action.entries()) {
      assertStrictEquals(steps.state[k], expected[actor], `actor ${actor}`);
      const end = steps.truncated[k] === 1 ? 0.5 : 1;
      assertStrictEquals(next[k], (expected[actor] ?? NaN) + end, `actor ${actor}`);
      expected[actor] = (expected[actor] ?? NaN) + 1;
    }
    assertEquals(steps.timeMajor().shape.state, [horizon, actors]);
  }
  assertStrictEquals(drained + lost, step * actors);
  return lost;
}

Deno.test("8 actors whose episodes never end, 320,000 steps, drain({ steps: 512 }): none is lost at three capacities", async () => {
  const table = [];
  for (const capacity of [600, 4096, 65536]) {
    const lost = await lostSteps({
      ...{ capacity, actors: 8, horizon: 64, rollouts: 625 },
      episodeLength: () => Infinity,
    });
    table.push({ capacity, lost });
  }
  assertEquals(table.map(({ lost }) => lost), [0, 0, 0]);
});

Deno.test("64 environments of 128 steps, episodes of 1,000: none is lost at a capacity of two rollouts, of one, or of few more", async () => {
  const lost = [];
  for (const capacity of [2 * 64 * 128, 64 * 128, 64 * 128 + 1, 9000]) {
    const setting = { capacity, actors: 64, horizon: 128, rollouts: 40 };
    lost.push(await lostSteps({ ...setting, episodeLength: () => 1000 }));
  }
  assertEquals(lost, [0, 0, 0, 0]);
});

for (const keep of [false, true]) {
  Deno.test(`capacity = one rollout, episodes of any lengths, every policy: none is lost with keep: ${keep}`, async () => {
    const random = testRandom(4);
    const lengths: Record<string, () => number> = {
      "1": () => 1,
      "7": () => 7,
      "128": () => 128,
      "1000": () => 1000,
      never: () => Infinity,
      any: () => 1 + random(random(3) === 0 ? 300 : 9),
    };
    const policies = [fifo, secondChance, lru, lfu, reservoir, () => new KeepBest()];
    for (const [actors, horizon] of [[64, 128], [3, 5], [1, 33]] as const) {
      for (const [name, episodeLength] of Object.entries(lengths)) {
        for (const policy of policies) {
          const setting = {
            capacity: actors * horizon,
            actors,
            horizon,
            rollouts: amount(3, 6),
            keep,
          };
          const options = { eviction: policy() };
          const lost = await lostSteps({ ...setting, episodeLength, options });
          assertStrictEquals(lost, 0, `${actors} × ${horizon}, episodes of ${name}`);
        }
      }
    }
  });
}

Deno.test("keep: true holds what was drained until its room is needed, and then lets the oldest go first", async () => {
  using replay = await ExperienceReplay.create({ capacity: 40, state: float32() });
  const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode());
  const batch = (t: number, truncated = false): void => {
    replay.recordBatch(episodes, {
      state: [t, 100 + t],
      action: [0, 0],
      reward: [0, 0],
      nextState: [t + 1, 101 + t],
      truncated: [truncated, false],
    });
  };
  for (let t = 0; t < 10; t++) batch(t, t === 4);
  assertStrictEquals(replay.drain({ steps: 20, keep: true }).size, 20);
  assertStrictEquals(replay.recordCount, 20);
  for (let t = 10; t < 20; t++) batch(t);
  assertStrictEquals(replay.recordCount, 40);
  for (let t = 20; t < 28; t++) batch(t);
  const steps = replay.drain({ minSteps: 1, keep: true });
  assertEquals([steps.size, steps.lost], [36, 0]);
  assertStrictEquals(replay.recordCount <= 40, true);
});
