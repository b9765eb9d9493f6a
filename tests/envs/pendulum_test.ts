/**
 * Pendulum against Gymnasium 1.4.0's `Pendulum-v1`: the numbers below are what its `env.unwrapped.state` went through from the same first
 * state under the same actions, and the rewards that it gave.
 */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../_assert.ts";
import { Pendulum } from "@exrp/replay/envs";

interface Trajectory {
  name: string;
  first: [number, number];
  action: (step: number) => number;
  /** Angle, angular velocity and reward of some steps, counted from 1. */
  after: Record<number, [number, number, number]>;
}

const TRAJECTORIES: Trajectory[] = [
  {
    name: "swayed for a whole episode",
    first: [3, 0.5],
    action: (step) => (step % 7 - 3) * 0.9, // two of seven are beyond the limit
    after: {
      1: [3.016792000302245, 0.3358400060449004, -9.02824],
      2: [3.031501885838224, 0.29419771071958156, -9.113122824053644],
      10: [3.282959937792128, 0.22463221025058927, -9.079238883073815],
      100: [3.049943195488973, 0.3450238744711422, -9.213911777767352],
      200: [3.1223795304607833, 0.6144445645255041, -9.57869203590421],
    },
  },
  {
    name: "driven round, faster than it may turn",
    first: [-2, 6],
    action: () => 5,
    after: {
      1: [-1.719098653505963, 5.618026929880739, -7.603999999999999],
      2: [-1.4602856827396188, 5.1762594173248795, -6.1155228389725345],
      5: [-0.8078945239439834, 3.9914387305397527, -2.8900269138327856],
      20: [3.559950742224987, 8, -16.158594147727143],
      60: [18.141116130463978, 6.261479709242131, -5.40501405645798],
    },
  },
  {
    name: "left to fall",
    first: [0.1, 0],
    action: () => 0,
    after: {
      1: [0.10374375312425606, 0.07487506248512112, -0.010000000000000018],
      2: [0.11137092218407037, 0.15254338119628624, -0.011323393810521654],
      5: [0.16118669637954877, 0.4323764401828701, -0.03024021815979544],
      30: [5.415779731735998, 3.5289098795197154, -2.8345002826851924],
      40: [6.136603611302248, 0.4729079682953654, -0.06497277485048591],
    },
  },
];

for (const { name, first, action, after } of TRAJECTORIES) {
  Deno.test(`Pendulum goes through the same states as Gymnasium's when ${name}`, () => {
    const environment = new Pendulum();
    environment.reset(first);
    const lastStep = Math.max(...Object.keys(after).map(Number));
    for (let step = 1; step <= lastStep; step++) {
      const { state, reward, terminated, truncated } = environment.step(action(step));
      assertEquals([terminated, truncated], [false, step === 200]);
      const expected = after[step];
      if (expected === undefined) continue;
      const [angle, velocity, wanted] = expected;
      // A sine of another library may differ in its last digit, and the states are float32.
      for (const [k, value] of [Math.cos(angle), Math.sin(angle), velocity].entries()) {
        assertAlmostEquals(state[k] ?? NaN, value, 1e-6, `element ${k} of step ${step}`);
      }
      assertAlmostEquals(reward, wanted, 1e-9, `reward of step ${step}`);
    }
  });
}

Deno.test("Pendulum starts the same episodes from the same seed, at any angle and up to 1 rad/s", () => {
  const firsts = (seed: number): Float32Array[] => {
    const environment = new Pendulum(seed);
    return Array.from({ length: 1000 }, () => environment.reset());
  };
  assertEquals(firsts(7), firsts(7));
  assert(firsts(7).join() !== firsts(8).join());
  // Each quarter of all angles and of all velocities has 250 of 1,000 on average. 5 deviations are 68.
  const angles = firsts(3).map(([cosine = 0, sine = 0]) => Math.atan2(sine, cosine) / Math.PI);
  const velocities = firsts(3).map(([, , velocity = NaN]) => velocity);
  for (const numbers of [angles, velocities]) {
    assert(numbers.every((number) => Math.abs(number) <= 1));
    for (const low of [-1, -0.5, 0, 0.5]) {
      const count = numbers.filter((number) => number >= low && number < low + 0.5).length;
      assert(Math.abs(count - 250) < 68, `${count} from ${low}`);
    }
  }
});

Deno.test("Pendulum refuses what is no torque, no first state and no running episode, and changes nothing", () => {
  const environment = new Pendulum();
  assertThrows(() => environment.step(0), Error, "reset()");
  const [cosine] = environment.reset([0.5, 0]);
  for (const action of [NaN, Infinity]) {
    assertThrows(() => environment.step(action), RangeError, "finite number");
  }
  assertThrows(() => environment.step([1] as never), TypeError, "must be a number");
  assertThrows(() => environment.reset([1] as never), TypeError, "an angle and a velocity");
  assertThrows(() => environment.reset([1, NaN]), RangeError, "element 1");
  assertThrows(() => new Pendulum(-1), RangeError, "seed");
  const other = new Pendulum();
  assertEquals(other.reset([0.5, 0])[0], cosine);
  assertEquals(environment.step(1), other.step(1));
  for (let step = 2; step <= 200; step++) environment.step(0);
  assertThrows(() => environment.step(0), Error, "reset()");
});
