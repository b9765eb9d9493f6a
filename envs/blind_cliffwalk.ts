/**
 * The Blind Cliffwalk: a walk on which only the last of many steps earns anything.
 *
 * @module
 */
import { checkInteger } from "../base/checks.ts";
import { Clock, type StepResult } from "./environment.ts";

/**
 * A walk through `stateCount` states. In each state, action 1 leads on, and action 0 ends the walk. Only the last step of the whole walk
 * has a reward, 1.
 *
 * A state is a whole number: 0 at the beginning, and `stateCount` after the last step. An agent that acts at random finds the reward once
 * in 2^stateCount walks, so almost all of its records teach nothing. Nothing is random, so there is no seed, and no episode is truncated.
 *
 * From Schaul et al., "Prioritized Experience Replay" (2016), section 3.1, as others describe it.
 *
 * @example
 * ```ts
 * import { BlindCliffwalk } from "@exrp/replay/envs";
 *
 * const walk = new BlindCliffwalk(2);
 * console.log(walk.reset()); // 0
 * console.log(walk.step(1)); // { state: 1, reward: 0, terminated: false, truncated: false }
 * console.log(walk.step(1)); // { state: 2, reward: 1, terminated: true, truncated: false }
 * ```
 */
export class BlindCliffwalk {
  /** How many actions there are: 0 ends the walk, 1 leads on. */
  static readonly actionCount: 2 = 2;

  /** How many steps the whole walk has. */
  readonly stateCount: number;
  #state = 0;
  readonly #clock = new Clock("BlindCliffwalk");

  /**
   * Makes a walk whose first episode begins with `reset()`.
   *
   * @param stateCount Whole number 1 to 2^31 - 1.
   * @throws {TypeError | RangeError} When `stateCount` is no such number.
   */
  constructor(stateCount = 10) {
    this.stateCount = checkInteger("BlindCliffwalk: stateCount", stateCount, 1, 2 ** 31 - 1);
  }

  /** Begins an episode and returns its first state, 0. */
  reset(): number {
    this.#state = 0;
    this.#clock.begin();
    return this.#state;
  }

  /**
   * Goes on, or ends the walk.
   *
   * @param action 1 leads on. 0 ends the walk, and the state stays the same.
   * @throws {TypeError} When `action` is not a number.
   * @throws {RangeError} When `action` is neither 0 nor 1.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<number> {
    this.#clock.checkStep(action, BlindCliffwalk.actionCount);
    this.#state += action;
    const arrived = this.#state === this.stateCount;
    return this.#clock.count(this.#state, arrived ? 1 : 0, arrived || action === 0);
  }
}
