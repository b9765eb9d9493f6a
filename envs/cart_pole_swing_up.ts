/**
 * CartPoleSwingUp: swing up a pole that hangs from a cart, by pushing the cart, and hold it over the middle of the track.
 *
 * The equations of motion are those of Florian, "Correct equations for the dynamics of the cart-pole system" (2005), without friction. The
 * reward is that of the task `cartpole-swingup` of Tassa et al., "DeepMind Control Suite" (2018).
 *
 * @module
 */
import { checkNumber, show } from "../base/checks.ts";
import type { RandomStream } from "../selectors/random_stream.ts";
import { Clock, randomOf, type StepResult } from "./environment.ts";

const GRAVITY = 9.81; // m/s²
const CART_MASS = 1; // kg
const POLE_MASS = 0.1; // kg
const TOTAL_MASS = CART_MASS + POLE_MASS;
const POLE_HALF_LENGTH = 0.5; // m
const TIME_STEP = 0.01; // s, of the Runge-Kutta method
const TIME_STEPS = 5; // for each step of the environment
const POSITION_LIMIT = 2.4; // m, either way from the middle of the track
const STEP_LIMIT = 200;

/** Position in m, velocity in m/s, angle in rad, and angular velocity in rad/s. */
type Motion = readonly [position: number, velocity: number, angle: number, spin: number];

/**
 * A pole that hangs from a cart. Each step pushes the cart to the left or to the right. The pole has to be swung up, and then held upright
 * over the middle of the track. This is harder than {@linkcode Pendulum}: the motor moves the cart only, and the track ends.
 *
 * A state is float32 `[5]`. The angle is 0 upright, and positive to the right:
 *
 * | element | what | unit |
 * |---|---|---|
 * | 0 | position of the cart, 0 in the middle of the track | m |
 * | 1 | velocity of the cart | m/s |
 * | 2 | cosine of the angle | |
 * | 3 | sine of the angle | |
 * | 4 | angular velocity of the pole | rad/s |
 *
 * An action is the force on the cart in N, positive to the right. One beyond ±10 counts as ±10. The reward is 0 to 1, the product of four
 * terms of the state after the step. It is 1 if the pole stands still over the middle, without a force:
 *
 * | term | formula |
 * |---|---|
 * | upright | (1 + cos angle) / 2 |
 * | in the middle | (1 + 0.1^((position / 2)²)) / 2 |
 * | hardly pushed | (4 + 1 - (force / 10)²) / 5 |
 * | slow | (1 + 0.1^((angular velocity / 5)²)) / 2 |
 *
 * An episode terminates if the cart is further than 2.4 m from the middle. It is truncated after 200 steps of 0.05 s.
 *
 * The cart has 1 kg and the pole 0.1 kg and 1 m, as in the DeepMind Control Suite. Its simulator, the ends of its track and the length of
 * its steps differ from these, so its returns are others.
 *
 * @example A cart that is pushed to the right only
 * ```ts
 * import { CartPoleSwingUp } from "@exrp/replay/envs";
 *
 * const environment = new CartPoleSwingUp(7);
 * environment.reset();
 * let steps = 1;
 * while (!environment.step(10).terminated) steps++;
 * console.log(steps); // 15: after 0.75 s it leaves the track
 * ```
 */
export class CartPoleSwingUp {
  /** How many numbers a state has. */
  static readonly stateSize: 5 = 5;
  /** The largest force, in N, either way. */
  static readonly actionLimit: 10 = 10;

  readonly #random: RandomStream;
  #motion: Motion = [0, 0, 0, 0];
  readonly #clock = new Clock("CartPoleSwingUp", STEP_LIMIT);

  /**
   * Makes an environment whose first episode begins with `reset()`.
   *
   * @param seed Whole number 0 to 2^53 - 1. The same seed gives the same first states, episode after episode, on every platform.
   * @throws {TypeError} When the seed is not a number.
   * @throws {RangeError} When the seed is out of its range.
   */
  constructor(seed = 0) {
    this.#random = randomOf("CartPoleSwingUp", seed);
  }

  /**
   * Begins an episode and returns its first state, float32 `[5]`.
   *
   * @param first The first position in m, velocity in m/s, angle in rad, and angular velocity in rad/s. Without it, the pole hangs at
   * rest over the middle, and each of the four is off by a number drawn uniformly from [-0.05, 0.05).
   * @throws {TypeError | RangeError} When `first` is not four finite numbers.
   */
  reset(
    first?: readonly [position: number, velocity: number, angle: number, spin: number],
  ): Float32Array<ArrayBuffer> {
    const numbers = first ?? [0, 0, Math.PI, 0].map((n) => n + 0.1 * this.#random.uniform() - 0.05);
    if (!Array.isArray(numbers) || numbers.length !== 4) {
      throw new TypeError(`reset(): a first state has four numbers, got ${show(first)}`);
    }
    for (const [k, number] of numbers.entries()) checkNumber(`reset(): element ${k}`, number);
    const [position = 0, velocity = 0, angle = 0, spin = 0] = numbers;
    this.#motion = [position, velocity, angle, spin];
    this.#clock.begin();
    return this.#observe();
  }

  /**
   * Pushes the cart for one time step of 0.05 s.
   *
   * @param action The force in N: a finite number. One beyond ±10 counts as ±10.
   * @throws {TypeError | RangeError} When `action` is not a finite number.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<Float32Array<ArrayBuffer>> {
    const force = this.#clock.checkPush(action, CartPoleSwingUp.actionLimit);
    for (let k = 0; k < TIME_STEPS; k++) this.#motion = rungeKutta(this.#motion, force);
    const [position, , angle, spin] = this.#motion;
    const upright = (1 + Math.cos(angle)) / 2;
    const centred = (1 + 0.1 ** ((position / 2) ** 2)) / 2;
    const hardlyPushed = (4 + 1 - (force / CartPoleSwingUp.actionLimit) ** 2) / 5;
    const slow = (1 + 0.1 ** ((spin / 5) ** 2)) / 2;
    const reward = upright * centred * hardlyPushed * slow;
    return this.#clock.count(this.#observe(), reward, Math.abs(position) > POSITION_LIMIT);
  }

  #observe(): Float32Array<ArrayBuffer> {
    const [position, velocity, angle, spin] = this.#motion;
    return Float32Array.of(position, velocity, Math.cos(angle), Math.sin(angle), spin);
  }
}

/** How fast each number of a motion changes under a force: Florian's equations, without friction. */
function changeOf([, velocity, angle, spin]: Motion, force: number): Motion {
  const sine = Math.sin(angle);
  const cosine = Math.cos(angle);
  const poleMoment = POLE_MASS * POLE_HALF_LENGTH;
  const push = (force + poleMoment * spin ** 2 * sine) / TOTAL_MASS;
  const spinChange = (GRAVITY * sine - cosine * push) /
    (POLE_HALF_LENGTH * (4 / 3 - (POLE_MASS * cosine ** 2) / TOTAL_MASS));
  return [velocity, push - (poleMoment * spinChange * cosine) / TOTAL_MASS, spin, spinChange];
}

/** The motion one time step later, by the classic Runge-Kutta method of order 4. */
function rungeKutta(motion: Motion, force: number): Motion {
  const after = (change: Motion, time: number): Motion => [
    motion[0] + time * change[0],
    motion[1] + time * change[1],
    motion[2] + time * change[2],
    motion[3] + time * change[3],
  ];
  const a = changeOf(motion, force);
  const b = changeOf(after(a, TIME_STEP / 2), force);
  const c = changeOf(after(b, TIME_STEP / 2), force);
  const d = changeOf(after(c, TIME_STEP), force);
  const sum = (k: 0 | 1 | 2 | 3): number => (a[k] + 2 * b[k] + 2 * c[k] + d[k]) / 6;
  return after([sum(0), sum(1), sum(2), sum(3)], TIME_STEP);
}
