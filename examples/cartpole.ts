/**
 * CartPole-v1: keep a pole upright on a cart by pushing the cart left or right.
 *
 * The dynamics, rewards, limits and first states are those of Gymnasium's `CartPole-v1` (Barto, Sutton and Anderson 1983), in float64 as
 * there. `tests/examples/cartpole_test.ts` compares whole trajectories with it.
 *
 * @module
 */
import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

const GRAVITY = 9.8; // m/s²
const CART_MASS = 1.0; // kg
const POLE_MASS = 0.1; // kg
const TOTAL_MASS = CART_MASS + POLE_MASS;
const POLE_HALF_LENGTH = 0.5; // m
const FORCE = 10; // N, to the left or to the right
const TIME_STEP = 0.02; // s, of the explicit Euler method

const POSITION_LIMIT = 2.4; // m, either way from the centre of the track
const ANGLE_LIMIT = (12 * Math.PI) / 180; // rad, either way from upright
const STEP_LIMIT = 500;

/** The four numbers of a state: cart position and velocity, pole angle and angular velocity. */
export const STATE_SIZE = 4;
/** Push to the left (0) or to the right (1). */
export const ACTION_COUNT = 2;

/** What one step leads to. */
export interface StepResult {
  /** The state after the step, float32 `[4]`; a new array each time. */
  state: Float32Array<ArrayBuffer>;
  /** Always 1, also on the step that ends the episode. */
  reward: number;
  /** The pole fell or the cart left its track: nothing more could have been earned. */
  terminated: boolean;
  /** The pole still stood at step 500: the clock ended the episode, and not the task. */
  truncated: boolean;
}

/**
 * A seeded CartPole-v1.
 *
 * @example
 * ```ts
 * import { CartPole } from "./cartpole.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const environment = new CartPole(7);
 * let state = environment.reset();
 * const [, , angle = 0] = state;
 * const result = environment.step(angle > 0 ? 1 : 0); // push towards where the pole leans
 * state = result.state;
 * assertEquals(result.reward, 1);
 * ```
 */
export class CartPole {
  readonly #random;
  #position = 0;
  #velocity = 0;
  #angle = 0;
  #angularVelocity = 0;
  #stepCount = 0;
  #ended = true;

  /** The same seed gives the same first states, episode after episode. */
  constructor(seed: number) {
    this.#random = xoroshiro128plus(seed);
  }

  /**
   * Begins an episode and returns its first state: the given numbers, or four numbers drawn uniformly from [-0.05, 0.05).
   */
  reset(first?: readonly [number, number, number, number]): Float32Array<ArrayBuffer> {
    const draw = () => uniformFloat64(this.#random) * 0.1 - 0.05;
    [this.#position, this.#velocity, this.#angle, this.#angularVelocity] = first ??
      [draw(), draw(), draw(), draw()];
    this.#stepCount = 0;
    this.#ended = false;
    return this.#observe();
  }

  /**
   * Pushes the cart for one time step.
   *
   * `terminated` and `truncated` are never both true: a pole that falls on step 500 has fallen.
   *
   * @throws {RangeError} if `action` is neither 0 nor 1
   * @throws {Error} if the episode is over: call `reset()` first
   */
  step(action: number): StepResult {
    if (action !== 0 && action !== 1) {
      throw new RangeError(`An action is 0 (left) or 1 (right), not ${action}`);
    }
    if (this.#ended) throw new Error("The episode is over: call reset() before the next step()");

    const force = action === 1 ? FORCE : -FORCE;
    const sine = Math.sin(this.#angle);
    const cosine = Math.cos(this.#angle);
    const poleMoment = POLE_MASS * POLE_HALF_LENGTH;
    const push = (force + poleMoment * this.#angularVelocity ** 2 * sine) / TOTAL_MASS;
    const angularAcceleration = (GRAVITY * sine - cosine * push) /
      (POLE_HALF_LENGTH * (4 / 3 - (POLE_MASS * cosine ** 2) / TOTAL_MASS));
    const acceleration = push - (poleMoment * angularAcceleration * cosine) / TOTAL_MASS;

    this.#position += TIME_STEP * this.#velocity;
    this.#velocity += TIME_STEP * acceleration;
    this.#angle += TIME_STEP * this.#angularVelocity;
    this.#angularVelocity += TIME_STEP * angularAcceleration;
    this.#stepCount++;

    const terminated = Math.abs(this.#position) > POSITION_LIMIT ||
      Math.abs(this.#angle) > ANGLE_LIMIT;
    const truncated = !terminated && this.#stepCount === STEP_LIMIT;
    this.#ended = terminated || truncated;
    return { state: this.#observe(), reward: 1, terminated, truncated };
  }

  #observe(): Float32Array<ArrayBuffer> {
    return Float32Array.of(
      this.#position,
      this.#velocity,
      this.#angle,
      this.#angularVelocity,
    );
  }
}
