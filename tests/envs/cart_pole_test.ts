/**
 * CartPole against Gymnasium 1.4.0's `CartPole-v1`: the numbers below are what its
 * `env.unwrapped.state` went through from the same first state under the same actions.
 */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { CartPole, type StepResult } from "@exrp/replay/envs";

type State = [number, number, number, number];

interface Trajectory {
  name: string;
  first: State;
  action: (step: number) => number;
  /** The states after some steps, counted from 1; the episode terminates after the last. */
  after: Record<number, State>;
}

const TRAJECTORIES: Trajectory[] = [
  {
    name: "pushed left and right in turn",
    first: [0.01, -0.02, 0.03, 0.04],
    action: (step) => (step - 1) % 2,
    after: {
      1: [0.009600000000000001, -0.21553901710278936, 0.030799999999999998, 0.34199522377603914],
      2: [0.005289219657944213, -0.020868498014729647, 0.03763990447552078, 0.059181706756417596],
      5: [0.00010246131253273551, -0.21771141054787174, 0.04775962910264799, 0.3901677184355337],
      22: [-0.04577410503374299, -0.04769733801535095, 0.2024160829613867, 0.6636670990662574],
      23: [-0.046728051794050006, -0.24497380243993103, 0.21568942494271184, 1.012645098481112],
    },
  },
  {
    name: "pushed right from rest",
    first: [0, 0, 0, 0],
    action: () => 1,
    after: {
      1: [0, 0.1951219512195122, 0, -0.2926829268292683],
      2: [0.0039024390243902443, 0.3902439024390244, -0.005853658536585366, -0.5853658536585366],
      5: [0.03903233286065466, 0.9763639236140543, -0.05871948683251454, -1.4815325603291771],
      8: [0.10936554080272214, 1.5642715615169862, -0.16640428728809772, -2.4390881298455973],
      9: [0.14065097203306187, 1.7603811257683097, -0.21518604988500967, -2.777886494012814],
    },
  },
  {
    name: "pushed left from a leaning start",
    first: [-0.05, 0.05, 0.0123, -0.04],
    action: () => 0,
    after: {
      1: [-0.049, -0.14529615240944732, 0.0115, 0.2565381779455821],
      2: [-0.051905923048188946, -0.34058038790823214, 0.016630763558911642, 0.5528260871297385],
      5: [-0.08406457285269836, -0.9270959452144423, 0.06774054916342737, 1.4583193668622727],
      8: [-0.1514471553745152, -1.5152370045641732, 0.17418533715683504, 2.423043591503761],
      9: [-0.18175189546579867, -1.711383054031533, 0.22264620898691026, 2.763762480617757],
    },
  },
  {
    name: "driven off the track",
    first: [2.3, 2, 0, 0],
    action: () => 1,
    after: {
      1: [2.34, 2.1951219512195124, 0, -0.2926829268292683],
      2: [2.38390243902439, 2.3902439024390247, -0.005853658536585366, -0.5853658536585366],
      3: [2.4317073170731707, 2.5854473555162594, -0.0175609756097561, -0.8798869825388553],
    },
  },
];

for (const { name, first, action, after } of TRAJECTORIES) {
  Deno.test(`CartPole goes through the same states as Gymnasium's when ${name}`, () => {
    const environment = new CartPole(0);
    environment.reset(first);
    const lastStep = Math.max(...Object.keys(after).map(Number));
    for (let step = 1; step <= lastStep; step++) {
      const result = environment.step(action(step));
      const expected = after[step];
      // The observation is float32, but the internal state is not. A state rounded at each step would differ by more than
      // one bit after 23 steps.
      if (expected !== undefined) assertEquals(result.state, Float32Array.from(expected));
      assertEquals(result.reward, 1);
      assertEquals(result.terminated, step === lastStep, `at step ${step}`);
      assertEquals(result.truncated, false);
    }
  });
}

Deno.test("CartPole truncates a pole that still stands after 500 steps", () => {
  const environment = new CartPole(1);
  const results = balance(environment, 1_000);
  assertEquals(results.length, 500);
  assertEquals(results.map((result) => result.truncated), [...Array(499).fill(false), true]);
  assert(results.every((result) => !result.terminated));
});

Deno.test("CartPole starts the same episodes from the same seed, and others from another", () => {
  const firsts = (seed: number): Float32Array[] => {
    const environment = new CartPole(seed);
    return Array.from({ length: 100 }, () => environment.reset());
  };
  assertEquals(firsts(7), firsts(7));
  assert(firsts(7).join() !== firsts(8).join());
});

Deno.test("CartPole's first states are uniform in [-0.05, 0.05]", () => {
  const environment = new CartPole(3);
  const bins = Array.from({ length: 4 }, () => new Array<number>(10).fill(0));
  const count = 10_000;
  for (let episode = 0; episode < count; episode++) {
    for (const [index, value] of environment.reset().entries()) {
      assert(Math.abs(value) <= 0.0500001);
      const bin = Math.min(9, Math.floor((value + 0.05) * 100));
      const column = bins[index];
      if (column !== undefined) column[bin] = (column[bin] ?? 0) + 1;
    }
  }
  // Chi-square with 9 degrees of freedom exceeds 33.7 once in 10,000 draws; the seed is fixed.
  for (const column of bins) {
    const expected = count / 10;
    const chiSquare = column.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    assert(chiSquare < 33.7, `chi-square ${chiSquare}`);
  }
});

Deno.test("CartPole refuses an action that does not exist", () => {
  const environment = new CartPole(0);
  environment.reset();
  for (const action of [-1, 2, 0.5, NaN]) {
    assertThrows(() => environment.step(action), RangeError, String(action));
  }
});

Deno.test("CartPole refuses a step before the first reset and after the end", () => {
  const environment = new CartPole(0);
  assertThrows(() => environment.step(0), Error, "reset()");
  environment.reset([0, 0, 0.3, 0]);
  assert(environment.step(0).terminated);
  assertThrows(() => environment.step(0), Error, "reset()");
  environment.reset();
  environment.step(0);
});

Deno.test("CartPole gives each state in an array of its own", () => {
  const environment = new CartPole(0);
  const first = environment.reset();
  const copy = first.slice();
  environment.step(1);
  assertEquals(first, copy);
});

/** Balances the pole by a linear rule until the episode ends, or for `stepCount` steps. */
function balance(environment: CartPole, stepCount: number): StepResult<Float32Array>[] {
  const results: StepResult<Float32Array>[] = [];
  let state = environment.reset();
  for (let step = 0; step < stepCount; step++) {
    const [position = 0, velocity = 0, angle = 0, angularVelocity = 0] = state;
    const lean = 0.1 * position + 0.3 * velocity + 3 * angle + angularVelocity;
    const result = environment.step(lean > 0 ? 1 : 0);
    results.push(result);
    if (result.terminated || result.truncated) break;
    state = result.state;
  }
  return results;
}
