/**
 * CartPoleSwingUp: swing up a pole that hangs from a cart, by pushing the cart, and hold it over the middle of the track.
 *
 * The reward is that of the task `cartpole-swingup` of Tassa et al., "DeepMind Control Suite" (2018).
 *
 * @module
 */
import type { RandomStream } from "../selectors/random_stream.ts";
import { changeOf, type Motion, motionAfter } from "./_cart_pole_motion.ts";
import { checkFirst, Clock, randomOf, type StepResult } from "./environment.ts";

const GRAVITY = 9.81; // m/s²
const TIME_STEP = 0.01; // s, of the Runge-Kutta method
const TIME_STEPS = 5; // for each step of the environment
const POSITION_LIMIT = 2.4; // m, either way from the middle of the track
const STEP_LIMIT = 200;

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
    this.#motion = checkFirst<Motion>(numbers, 4, "has four numbers");
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

/** The motion one time step later, by the classic Runge-Kutta method of order 4. */
function rungeKutta(motion: Motion, force: number): Motion {
  const changeFrom = (from: Motion): Motion => changeOf(from, force, GRAVITY);
  const a = changeFrom(motion);
  const b = changeFrom(motionAfter(motion, a, TIME_STEP / 2));
  const c = changeFrom(motionAfter(motion, b, TIME_STEP / 2));
  const d = changeFrom(motionAfter(motion, c, TIME_STEP));
  const sum = (k: 0 | 1 | 2 | 3): number => (a[k] + 2 * b[k] + 2 * c[k] + d[k]) / 6;
  return motionAfter(motion, [sum(0), sum(1), sum(2), sum(3)], TIME_STEP);
}
