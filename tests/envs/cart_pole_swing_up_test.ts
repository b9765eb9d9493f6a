/**
 * CartPoleSwingUp against physics: energy and momentum, the pendulum's period in closed form, and Gymnasium's equations of CartPole.
 */
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "../_assert.ts";
import { CartPole, CartPoleSwingUp } from "@exrp/replay/envs";

const [GRAVITY, CART, POLE, HALF] = [9.81, 1, 0.1, 0.5]; // m/s², kg, kg, m
type First = [number, number, number, number];

/** The energy of cart and pole, in J, and their momentum along the track, in kg m/s. The pole is a rod, so it has a third of m·l² more. */
function conserved([, velocity = 0, cosine = 0, sine = 0, spin = 0]: Float32Array): {
  energy: number;
  momentum: number;
} {
  const along = velocity + HALF * spin * cosine; // of the pole's middle
  const down = -HALF * spin * sine;
  return {
    energy: 0.5 * CART * velocity ** 2 + 0.5 * POLE * (along ** 2 + down ** 2) +
      0.5 * POLE * HALF ** 2 / 3 * spin ** 2 + POLE * GRAVITY * HALF * cosine,
    momentum: CART * velocity + POLE * along,
  };
}

Deno.test("CartPoleSwingUp keeps energy and momentum where nothing pushes", () => {
  for (const first of [[0, 0, 1, 0], [0.5, -0.1, 3, 4], [0, 0.1, 0.01, 0]] as First[]) {
    const environment = new CartPoleSwingUp();
    const before = conserved(environment.reset(first));
    for (let step = 1; step <= 200; step++) {
      const { state, terminated } = environment.step(0);
      assert(!terminated);
      const { energy, momentum } = conserved(state);
      assertAlmostEquals(energy, before.energy, 1e-5, `energy after ${step} steps from ${first}`);
      assertAlmostEquals(momentum, before.momentum, 1e-6, `momentum after ${step} steps`);
    }
  }
});

Deno.test("CartPoleSwingUp's momentum grows by force times time, and its energy by force times way", () => {
  const environment = new CartPoleSwingUp();
  let [state, way] = [environment.reset([0, 0, 2, -1]), 0];
  const first = conserved(state);
  for (let step = 1; step <= 8; step++) {
    const next = environment.step(4).state;
    way += (next[0] ?? 0) - (state[0] ?? 0);
    state = next;
    const { energy, momentum } = conserved(state);
    assertAlmostEquals(momentum, first.momentum + 4 * 0.05 * step, 1e-5);
    assertAlmostEquals(energy, first.energy + 4 * way, 1e-5);
  }
});

Deno.test("a pole that hangs from the cart swings with the period of small swings", () => {
  // Linearized about hanging: the cart gives way, so the frequency is that of a rod times √(1 / (1 - 3m / 4M)).
  const share = 3 * POLE / (4 * (CART + POLE));
  const frequency = Math.sqrt(3 * GRAVITY / (4 * HALF) / (1 - share));
  const environment = new CartPoleSwingUp();
  environment.reset([0, 0, Math.PI + 0.001, 0]);
  for (let step = 1; step <= 100; step++) {
    const { state } = environment.step(0);
    assertAlmostEquals(-(state[3] ?? NaN), 0.001 * Math.cos(frequency * 0.05 * step), 1e-7);
  }
});

Deno.test("CartPoleSwingUp accelerates as Gymnasium's CartPole does, which has 9.8 m/s²", () => {
  // A step of CartPole is explicit Euler: its change of the velocities is their derivative at the first state, times 0.02 s.
  for (const first of [[0, 0, 0.1, 0.5], [0.2, 1, -0.15, -2]] as First[]) {
    const [cart, swing] = [new CartPole(), new CartPoleSwingUp()];
    cart.reset(first);
    swing.reset(first);
    const [, velocity = 0, , spin = 0] = cart.step(1).state;
    const state = swing.step(10).state;
    // Over 0.05 s the derivative changes, so this is a rough comparison; a wrong sign or factor would be further off.
    const change = (after: number, before: number | undefined, time: number): number =>
      (after - (before ?? 0)) / time;
    assertAlmostEquals(
      change(state[1] ?? 0, first[1], 0.05),
      change(velocity, first[1], 0.02),
      0.3,
    );
    assertAlmostEquals(change(state[4] ?? 0, first[3], 0.05), change(spin, first[3], 0.02), 1.2);
  }
});

Deno.test("CartPoleSwingUp rewards a pole that stands still over the middle without a force", () => {
  const rewardOf = (first: First, force: number): number => {
    const environment = new CartPoleSwingUp();
    environment.reset(first);
    return environment.step(force).reward;
  };
  assertAlmostEquals(rewardOf([0, 0, 0, 0], 0), 1, 1e-12);
  assertAlmostEquals(rewardOf([0, 0, Math.PI, 0], 0), 0, 1e-12);
  assertAlmostEquals(rewardOf([2, 0, 0, 0], 0), 0.55, 1e-12); // 2 m from the middle: (1 + 0.1) / 2
  const pushed = rewardOf([0, 0, 0, 0], 10); // a force of 10 N costs a fifth, and what it moves costs more
  assert(pushed < 0.8 && pushed > 0.7, `${pushed}`);
  assertEquals(rewardOf([0, 0, 0, 0], 99), pushed);
  // Gravity changes the spin of an upright pole by next to nothing at first, so that 5 rad/s cost 45 % and the angle a little more.
  const turning = rewardOf([0, 0, -0.125, 5], 0);
  assert(turning < 0.55 && turning > 0.5, `${turning}`);
});

Deno.test("CartPoleSwingUp terminates beyond the end of the track, and is truncated after 200 steps", () => {
  const environment = new CartPoleSwingUp();
  environment.reset([2.3, 2.5, Math.PI, 0]);
  assert(environment.step(0).terminated);
  assertThrows(() => environment.step(0), Error, "reset()");
  environment.reset([-2.3, 0, Math.PI, 0]);
  const results = Array.from({ length: 200 }, () => environment.step(0));
  assert(results.every(({ terminated }) => !terminated));
  assertEquals(results.map(({ truncated }) => truncated), [...Array(199).fill(false), true]);
});

Deno.test("CartPoleSwingUp starts near hanging, by its seed", () => {
  const firsts = (seed: number): Float32Array[] => {
    const environment = new CartPoleSwingUp(seed);
    return Array.from({ length: 100 }, () => environment.reset());
  };
  assertEquals(firsts(7), firsts(7));
  assert(firsts(7).join() !== firsts(8).join());
  for (const [position = 0, velocity = 0, cosine = 0, sine = 0, spin = 0] of firsts(7)) {
    assert([position, velocity, sine, spin].every((number) => Math.abs(number) <= 0.0500001));
    assert(cosine < -0.998);
  }
});

Deno.test("CartPoleSwingUp refuses what is no force, no first state and no running episode", () => {
  const environment = new CartPoleSwingUp();
  assertThrows(() => environment.step(0), Error, "reset()");
  environment.reset();
  assertThrows(() => environment.step(NaN), RangeError, "finite number");
  assertThrows(() => environment.step("1" as never), TypeError, "must be a number");
  assertThrows(() => environment.reset([1, 2] as never), TypeError, "four numbers");
  assertThrows(() => environment.reset([1, 2, 3, Infinity]), RangeError, "element 3");
  assertThrows(() => new CartPoleSwingUp("1" as never), TypeError, "seed");
});
