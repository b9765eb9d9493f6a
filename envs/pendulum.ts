/**
 * Pendulum-v1: swing a pendulum up by a motor that is too weak to lift it at once, and hold it there.
 *
 * The dynamics, rewards and limits are those of Gymnasium's `Pendulum-v1`, in float64 as there. `tests/envs/pendulum_test.ts` compares whole
 * trajectories with it.
 *
 * @module
 */
import type { RandomStream } from "../selectors/random_stream.ts";
import { checkFirst, Clock, randomOf, type StepResult } from "./environment.ts";

const GRAVITY = 10; // m/s²
const MASS = 1; // kg
const LENGTH = 1; // m, of a rod that turns about its end
const TIME_STEP = 0.05; // s
const SPEED_LIMIT = 8; // rad/s
const STEP_LIMIT = 200;

/**
 * A rod that hangs from a motor. The motor has to swing it up and to hold it upright, but it is too weak to lift it without a swing.
 *
 * A state is float32 `[3]`. The angle is 0 upright:
 *
 * | element | what | range |
 * |---|---|---|
 * | 0 | cosine of the angle | -1 to 1 |
 * | 1 | sine of the angle | -1 to 1 |
 * | 2 | angular velocity, rad/s | -8 to 8 |
 *
 * An action is the torque in N·m. One beyond ±2 counts as ±2. The reward is -(angle² + 0.1 velocity² + 0.001 torque²), with the angle from
 * -π to π, before the step: 0 at best, and -16.3 at worst. An episode is truncated after 200 steps of 0.05 s, and never terminates.
 *
 * The numbers are those of Gymnasium's `Pendulum-v1`. Only the first states differ for the same seed, because the random numbers are
 * the library's own.
 *
 * @example A pendulum that falls from upright, without torque
 * ```ts
 * import { Pendulum } from "@exrp/replay/envs";
 *
 * const environment = new Pendulum();
 * console.log([...environment.reset([0, 1])]); // [1, 0, 1]: upright, at 1 rad/s
 * const { state, reward, truncated } = environment.step(0);
 * console.log(state[2], reward, truncated); // 1 -0.1 false
 * ```
 */
export class Pendulum {
  /** How many numbers a state has. */
  static readonly stateSize: 3 = 3;
  /** The largest torque, in N·m, either way. */
  static readonly actionLimit: 2 = 2;

  readonly #random: RandomStream;
  #angle = 0;
  #velocity = 0;
  readonly #clock = new Clock("Pendulum", STEP_LIMIT);

  /**
   * Makes an environment whose first episode begins with `reset()`.
   *
   * @param seed Whole number 0 to 2^53 - 1. The same seed gives the same first states, episode after episode, on every platform.
   * @throws {TypeError} When the seed is not a number.
   * @throws {RangeError} When the seed is out of its range.
   */
  constructor(seed = 0) {
    this.#random = randomOf("Pendulum", seed);
  }

  /**
   * Begins an episode and returns its first state, float32 `[3]`.
   *
   * @param first The first angle, in rad, and angular velocity, in rad/s. Without it, they are drawn uniformly from ±π and ±1.
   * @throws {TypeError | RangeError} When `first` is not two finite numbers.
   */
  reset(first?: readonly [angle: number, velocity: number]): Float32Array<ArrayBuffer> {
    const numbers = first ?? [Math.PI, 1].map((high) => high * (2 * this.#random.uniform() - 1));
    [this.#angle, this.#velocity] = checkFirst<[number, number]>(
      numbers,
      2,
      "is an angle and a velocity",
    );
    this.#clock.begin();
    return this.#observe();
  }

  /**
   * Turns the motor for one time step of 0.05 s.
   *
   * @param action The torque in N·m: a finite number. One beyond ±2 counts as ±2.
   * @throws {TypeError | RangeError} When `action` is not a finite number.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<Float32Array<ArrayBuffer>> {
    const torque = this.#clock.checkPush(action, Pendulum.actionLimit);
    const turn = 2 * Math.PI;
    const angle = ((this.#angle + Math.PI) % turn + turn) % turn - Math.PI; // from -π to π
    const reward = -(angle ** 2 + 0.1 * this.#velocity ** 2 + 0.001 * torque ** 2);
    const acceleration = (3 * GRAVITY) / (2 * LENGTH) * Math.sin(this.#angle) +
      3 / (MASS * LENGTH ** 2) * torque;
    const velocity = this.#velocity + acceleration * TIME_STEP;
    this.#velocity = Math.min(SPEED_LIMIT, Math.max(-SPEED_LIMIT, velocity));
    this.#angle += this.#velocity * TIME_STEP;
    return this.#clock.count(this.#observe(), reward, false);
  }

  #observe(): Float32Array<ArrayBuffer> {
    return Float32Array.of(Math.cos(this.#angle), Math.sin(this.#angle), this.#velocity);
  }
}
