/** Bugs of other libraries with n-step returns and with stacks of frames. */

import { assert, assertAlmostEquals, assertEquals, assertStrictEquals } from "../../_assert.ts";
import { lru, newest, uniform } from "@exrp/replay";
import { nStepReturn } from "@exrp/replay/returns";
import { assertCode, manyEnvironments, range, recordEpisode, small } from "./_helpers.ts";

/** The step n steps ahead of the state `value`, in an environment of {@linkcode manyEnvironments}. */
function lookAhead(
  value: number,
  n: number,
  gamma: number,
): { reward: number; nextState: number; discount: number } {
  const [name, environment] = [Math.floor(value / 1000), Math.floor(value / 100) % 10];
  const [clock, count] = [value % 100, 3 + environment];
  const ahead = Math.min(n, count - clock);
  let reward = 0;
  for (let step = 0; step < ahead; step++) reward += gamma ** step * (clock + step + 1);
  const terminated = clock + ahead === count && name % 2 === 0;
  return { reward, nextState: value + ahead, discount: terminated ? 0 : gamma ** ahead };
}

Deno.test("FastTD3#6, FastTD3#7, ray#17844, ray#18034, chainerrl#442, stable-baselines3#47: n-step returns of a batch", async () => {
  // Windows crossed the write head of a full ring and the ends of episodes. Environments were mixed up. Gamma was not
  // raised to n. The done mask was that of another step. Next observations were shifted by n.
  const nStep = [1, 2, 3, 7];
  const [replay, selector] = await manyEnvironments(6, 150, 160, { nStep, nextState: "copy" });
  using _replay = replay;
  const batch = replay.getBatch(2000, selector);
  const cut = new Set<number>();
  for (const [k, value] of batch.state.entries()) {
    assertStrictEquals(batch.nextState[k], value + 1);
    assertStrictEquals(batch.reward[k], value % 100 + 1);
    for (const part of batch.nStep) {
      const { reward, nextState, discount } = lookAhead(value, part.n, 0.5);
      assertAlmostEquals(part.reward[k] ?? NaN, reward, 1e-5);
      assertStrictEquals(part.nextState[k], nextState);
      assertStrictEquals(part.discount[k], discount);
      if (nextState - value < part.n) cut.add(discount);
    }
  }
  // Both ends were met before n steps: terminated, and truncated after fewer.
  assert(cut.has(0) && cut.has(0.5) && cut.has(0.25));
});

Deno.test("pytorch/rl#952, stable-baselines3#2144: nStepReturn() of a batch ends with each episode", async () => {
  // Returns took a row of steps for one episode; what is cut off before n steps has a value all the same.
  for (const n of [1, 2, 3, 5]) {
    const [replay, selector] = await manyEnvironments(5, 80, 200, { length: n, allowShort: true });
    using _replay = replay;
    const valueOf = (state: number): number => state / 64;
    const { state, nextState, reward, discount, seqLen } = replay.getBatch(800, selector);
    const returns = nStepReturn({
      reward,
      discount,
      nextValue: nextState.map(valueOf),
      n,
      seqLen,
    });
    for (const row of range(800)) {
      const first = state[n * row] ?? NaN;
      const ahead = lookAhead(first, n, 0.5);
      const expected = ahead.reward + ahead.discount * valueOf(ahead.nextState);
      assertAlmostEquals(returns[n * row] ?? NaN, expected, 1e-4);
    }
  }
});

Deno.test("pytorch/rl#3036: a sequence can be drawn when its last step is known, and is never empty", async () => {
  // With n-step returns the first element that was stored came out as an empty slice.
  using replay = await small({ capacity: 50, pick: { length: 3 } });
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  for (const step of range(20)) {
    replay.record(episode, step, 0, 0);
    assertStrictEquals(replay.pickCount, Math.max(0, step - 2));
    if (step < 3) assertCode(() => replay.getBatch(1, selector), "empty");
    else assertEquals(new Set(replay.getBatch(20, selector).seqLen), new Set([3]));
  }
});

Deno.test("pytorch/rl#3036: an n-step return can be drawn when its last step is known", async () => {
  // The same, where the pick is one record and the steps are ahead of it.
  using replay = await small({ capacity: 50, pick: { nStep: 3, discount: 0.5 } });
  const selector = replay.newPickSelector(uniform());
  const episode = replay.newEpisode();
  for (const step of range(12)) {
    replay.record(episode, step, 0, 1);
    assertStrictEquals(replay.pickCount, Math.max(0, step - 2));
    if (step < 3) {
      assertCode(() => replay.getBatch(1, selector), "empty");
      continue;
    }
    const { state, nStep: [part] } = replay.getBatch(20, selector);
    for (const [k, value] of state.entries()) assertStrictEquals(part?.nextState[k], value + 3);
    assertEquals(new Set(part?.reward), new Set([1.75]));
    assertEquals(new Set(part?.discount), new Set([0.125]));
  }
});

Deno.test("cpprb 1.5.5: no stack has frames of two episodes, however often the store was lapped", async () => {
  // A row beside the write head got a next state made of two episodes' frames, one wrong row for a whole lap.
  using replay = await small({
    capacity: 30,
    segmentLength: 12,
    pick: { stack: 4 },
    blockLength: 4,
    eviction: lru(),
  });
  const selector = replay.newPickSelector(uniform());
  for (const name of range(150)) {
    recordEpisode(replay, name, 1 + (name * 5) % 14, name % 4 === 0 ? "open" : "truncated");
    if (replay.pickCount === 0) continue;
    const { state, nextState } = replay.getBatch(40, selector);
    for (const k of range(40)) {
      const stack = [...state.subarray(4 * k, 4 * k + 4)];
      const next = [...nextState.subarray(4 * k, 4 * k + 4)];
      const newest = stack[3] ?? NaN;
      const first = 100 * Math.floor(newest / 100);
      // An episode of more than 12 records goes on as another, whose first frame is not the first of all.
      const start = newest - first < 12 ? first : first + 12;
      assertEquals(stack, [3, 2, 1, 0].map((age) => Math.max(start, newest - age)));
      assertEquals(next, [...stack.slice(1), newest + 1]);
    }
  }
});

Deno.test("with allowOpenEnd, the n-step return of an open episode's newest record is its own reward", async () => {
  // It was 0, although the reward is known. The returns before it end at the newest state, from which a learner can bootstrap.
  for (const pick of [{ stack: 1 }, { stack: 2 }, { stack: 1, length: 2 }]) {
    using replay = await small({
      capacity: 50,
      pick: { ...pick, nStep: [1, 3], discount: 0.5, allowOpenEnd: true },
    });
    const selector = replay.newPickSelector(newest());
    const episode = replay.newEpisode();
    for (const step of range(6)) replay.record(episode, 10 + step, 0, 8 + step);
    const { nStep: [one, three], seqLen: [rows = 0] } = replay.getBatch(1, selector);
    assert(one && three);
    const last = rows - 1;
    for (const part of [one, three]) {
      assertStrictEquals(part.reward[last], 13);
      assertStrictEquals(part.discount[last], 0);
      assertEquals(new Set(part.nextState.subarray(-(pick.stack))), new Set([0]));
    }
    if (last === 0) continue;
    // The record before it: one step, and the newest state to bootstrap from.
    assertEquals([three.reward[0], three.nextState[0], three.discount[0]], [12, 15, 0.5]);
  }
});
