/**
 * A random walk on a row of places, whose values are known.
 *
 * @module
 */
import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type { RandomStream } from "../selectors/random_stream.ts";
import { Clock, randomOf, type StepResult } from "./environment.ts";

/** The options of {@linkcode RandomWalk}. */
export interface RandomWalkOptions {
  /** How many places there are between the two ends: an odd number 1 to 65,535. By default 5. */
  readonly placeCount?: number;
  /** After how many steps an episode is truncated: 1 to 2^31 - 1. By default never. */
  readonly stepLimit?: number;
  /** The same seed gives the same walks on every platform: whole number 0 to 2^53 - 1. By default 0. */
  readonly seed?: number;
}

/**
 * A walk on a row of places: each step goes left or right with equal chance, whatever the agent does. It is the plainest task for
 * learners of values, because the value of place i is i / (placeCount + 1).
 *
 * A state is a whole number: places 1 to `placeCount`, 0 off the left end and `placeCount` + 1 off the right end. An episode begins in the
 * middle, and terminates off an end. The reward is 1 for the step off the right end, and else 0. With a `stepLimit`, an episode of that
 * many steps is truncated. This must teach a learner nothing wrong: the place still has its value.
 *
 * From Sutton and Barto, "Reinforcement Learning" (2018), example 6.2.
 *
 * @example
 * ```ts
 * import { RandomWalk } from "@exrp/replay/envs";
 *
 * const walk = new RandomWalk({ seed: 5 });
 * let count = 0;
 * for (let episode = 0; episode < 1000; episode++) {
 *   walk.reset();
 *   for (let result = walk.step();; result = walk.step()) {
 *     count += result.reward;
 *     if (result.terminated) break;
 *   }
 * }
 * console.log(Math.abs(count / 1000 - 3 / 6) < 0.07); // true: the value of the middle place
 * ```
 */
export class RandomWalk {
  /** How many places there are between the two ends. */
  readonly placeCount: number;
  readonly #clock: Clock;
  readonly #random: RandomStream;
  #place = 0;

  /**
   * Makes a walk whose first episode begins with `reset()`.
   *
   * @throws {TypeError | RangeError} When an option is unknown or out of its range.
   */
  constructor(options: RandomWalkOptions = {}) {
    checkOptions("RandomWalk", options, ["placeCount", "stepLimit", "seed"]);
    const { placeCount = 5, stepLimit, seed = 0 } = options;
    this.placeCount = checkInteger("RandomWalk: placeCount", placeCount, 1, 65_535);
    if (placeCount % 2 === 0) {
      throw new RangeError(
        `RandomWalk: placeCount must be odd, so that there is a middle, got ${placeCount}`,
      );
    }
    if (stepLimit !== undefined) checkInteger("RandomWalk: stepLimit", stepLimit, 1, 2 ** 31 - 1);
    this.#clock = new Clock("RandomWalk", stepLimit);
    this.#random = randomOf("RandomWalk", seed);
  }

  /** Begins an episode and returns its first state, the place in the middle. */
  reset(): number {
    this.#place = (this.placeCount + 1) / 2;
    this.#clock.begin();
    return this.#place;
  }

  /**
   * Goes to a neighbouring place.
   *
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(): StepResult<number> {
    this.#clock.checkStep(0, 1);
    this.#place += this.#random.below(2) === 0 ? -1 : 1;
    const isOffRight = this.#place > this.placeCount;
    return this.#clock.count(this.#place, isOffRight ? 1 : 0, isOffRight || this.#place < 1);
  }
}
