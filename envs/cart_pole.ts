/**
 * CartPole-v1: keep a pole upright on a cart by pushing the cart left or right.
 *
 * The dynamics, rewards and limits are those of Gymnasium's `CartPole-v1` (Barto, Sutton and Anderson 1983), in float64 as there.
 * `tests/envs/cart_pole_test.ts` compares whole trajectories with it.
 *
 * @module
 */
import type { RandomStream } from "../selectors/random_stream.ts";
import { changeOf, type Motion, motionAfter } from "./_cart_pole_motion.ts";
import { checkFirst, Clock, randomOf, type StepResult } from "./environment.ts";

const GRAVITY = 9.8; // m/s²
const FORCE = 10; // N, to the left or to the right
const TIME_STEP = 0.02; // s, of the explicit Euler method

const POSITION_LIMIT = 2.4; // m, either way from the centre of the track
const ANGLE_LIMIT = (12 * Math.PI) / 180; // rad, either way from upright
const STEP_LIMIT = 500;

/**
 * A pole that stands on a cart. Each step pushes the cart to the left or to the right, and the pole must not fall.
 *
 * A state is float32 `[4]`:
 *
 * | element | what | unit | the episode ends beyond |
 * |---|---|---|---|
 * | 0 | position of the cart, 0 in the middle of the track | m | ±2.4 |
 * | 1 | velocity of the cart | m/s | |
 * | 2 | angle of the pole, 0 upright, positive to the right | rad | ±0.2095 (12°) |
 * | 3 | angular velocity of the pole | rad/s | |
 *
 * There are two actions: 0 pushes to the left and 1 to the right, with 10 N for 0.02 s. The reward of a step is always 1, also on the
 * step that ends the episode. An episode that reaches 500 steps is truncated.
 *
 * The numbers are those of Gymnasium's `CartPole-v1`. Only the first states differ for the same seed, because the random numbers are
 * the library's own.
 *
 * @example A rule that pushes towards the side where the pole falls
 * ```ts
 * import { CartPole } from "@exrp/replay/envs";
 *
 * const environment = new CartPole(7);
 * let [position = 0, velocity = 0, angle = 0, spin = 0] = environment.reset();
 * let steps = 0;
 * for (let isOver = false; !isOver; steps++) {
 *   const lean = 0.1 * position + 0.3 * velocity + 3 * angle + spin;
 *   const { state, reward, terminated, truncated } = environment.step(lean > 0 ? 1 : 0);
 *   console.log(reward); // 1
 *   console.log(!terminated); // true
 *   [position = 0, velocity = 0, angle = 0, spin = 0] = state;
 *   isOver = truncated;
 * }
 * console.log(steps); // 500
 * ```
 */
export class CartPole {
  /** How many numbers a state has. */
  static readonly stateSize: 4 = 4;
  /** How many actions there are. */
  static readonly actionCount: 2 = 2;

  readonly #random: RandomStream;
  #motion: Motion = [0, 0, 0, 0];
  readonly #clock = new Clock("CartPole", STEP_LIMIT);

  /**
   * Makes an environment whose first episode begins with `reset()`.
   *
   * @param seed Whole number 0 to 2^53 - 1. The same seed gives the same first states, episode after episode, on every platform.
   * @throws {TypeError} When the seed is not a number.
   * @throws {RangeError} When the seed is out of its range.
   */
  constructor(seed = 0) {
    this.#random = randomOf("CartPole", seed);
  }

  /**
   * Begins an episode and returns its first state, float32 `[4]`.
   *
   * @param first The four numbers of the first state. Without it, they are drawn uniformly from [-0.05, 0.05).
   * @throws {TypeError | RangeError} When `first` is not four finite numbers.
   */
  reset(first?: readonly [number, number, number, number]): Float32Array<ArrayBuffer> {
    const numbers = first ?? Array.from({ length: 4 }, () => this.#random.uniform() * 0.1 - 0.05);
    this.#motion = checkFirst<Motion>(numbers, CartPole.stateSize, "has four numbers");
    this.#clock.begin();
    return this.#observe();
  }

  /**
   * Pushes the cart for one time step of 0.02 s.
   *
   * `terminated` and `truncated` are never both true: a pole that falls on step 500 has fallen.
   *
   * @param action 0 pushes to the left, 1 to the right.
   * @throws {TypeError} When `action` is not a number.
   * @throws {RangeError} When `action` is neither 0 nor 1.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<Float32Array<ArrayBuffer>> {
    this.#clock.checkStep(action, CartPole.actionCount);
    const change = changeOf(this.#motion, action === 1 ? FORCE : -FORCE, GRAVITY);
    this.#motion = motionAfter(this.#motion, change, TIME_STEP);
    const [position, , angle] = this.#motion;
    const terminated = Math.abs(position) > POSITION_LIMIT || Math.abs(angle) > ANGLE_LIMIT;
    return this.#clock.count(this.#observe(), 1, terminated);
  }

  #observe(): Float32Array<ArrayBuffer> {
    return new Float32Array(this.#motion);
  }
}
