/**
 * Bit flipping: bits must come to match a goal, and only a match is good news.
 *
 * @module
 */
import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type { RandomStream } from "../selectors/random_stream.ts";
import { Clock, randomOf, type StepResult } from "./environment.ts";

/** The options of {@linkcode BitFlip}. */
export interface BitFlipOptions {
  /** How many bits there are: 1 to 65,536. By default 15. */
  readonly bitCount?: number;
  /** The same seed gives the same bits and goals on every platform: whole number 0 to 2^53 - 1. By default 0. */
  readonly seed?: number;
}

/**
 * A row of bits and a goal, both random. Each step flips one bit. The episode terminates when the bits match the goal, and is truncated
 * after as many steps as there are bits.
 *
 * A state is uint8 `[bitCount]`, each element 0 or 1, and so is {@linkcode BitFlip.goal}. Action k flips bit k. The reward is -1, and 0
 * on the step that reaches the goal. By chance, 15 bits match once in 32,768 times: this is the task for hindsight experience replay.
 *
 * From Andrychowicz et al., "Hindsight Experience Replay" (2017), section 3.1, as others describe it.
 *
 * @example
 * ```ts
 * import { BitFlip } from "@exrp/replay/envs";
 *
 * const environment = new BitFlip({ bitCount: 8, seed: 3 });
 * let state = environment.reset();
 * while (!environment.isReached(state)) {
 *   const wrong = state.findIndex((bit, k) => bit !== environment.goal[k]);
 *   const result = environment.step(wrong);
 *   console.log(result.reward === (result.terminated ? 0 : -1)); // true
 *   state = result.state;
 * }
 * console.log(state.every((bit, k) => bit === environment.goal[k])); // true
 * ```
 */
export class BitFlip {
  /** How many bits there are, which is how many actions there are. */
  readonly bitCount: number;
  readonly #random: RandomStream;
  readonly #clock: Clock;
  #goal: Uint8Array<ArrayBuffer>;
  #bits: Uint8Array<ArrayBuffer>;

  /**
   * Makes an environment whose first episode begins with `reset()`.
   *
   * @throws {TypeError | RangeError} When an option is unknown or out of its range.
   */
  constructor(options: BitFlipOptions = {}) {
    checkOptions("BitFlip", options, ["bitCount", "seed"]);
    const { bitCount = 15, seed = 0 } = options;
    this.bitCount = checkInteger("BitFlip: bitCount", bitCount, 1, 65_536);
    this.#random = randomOf("BitFlip", seed);
    this.#clock = new Clock("BitFlip", bitCount);
    this.#goal = new Uint8Array(bitCount);
    this.#bits = new Uint8Array(bitCount);
  }

  /** The goal of the episode, uint8 `[bitCount]`. Each episode has an array of its own. */
  get goal(): Uint8Array<ArrayBuffer> {
    return this.#goal;
  }

  /** Begins an episode with a new goal, and returns its first state, uint8 `[bitCount]`. The two always differ. */
  reset(): Uint8Array<ArrayBuffer> {
    this.#goal = this.#draw();
    do this.#bits = this.#draw(); while (this.isReached(this.#bits));
    this.#clock.begin();
    return this.#bits.slice();
  }

  /**
   * Flips one bit.
   *
   * @param action Which bit: whole number 0 to `bitCount` - 1.
   * @throws {TypeError} When `action` is not a number.
   * @throws {RangeError} When there is no such bit.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<Uint8Array<ArrayBuffer>> {
    this.#clock.checkStep(action, this.bitCount);
    this.#bits[action] = 1 - (this.#bits[action] ?? 0);
    const terminated = this.isReached(this.#bits);
    return this.#clock.count(this.#bits.slice(), terminated ? 0 : -1, terminated);
  }

  /** Whether these bits match the goal of the episode. */
  isReached(bits: ArrayLike<number>): boolean {
    if (bits.length !== this.bitCount) return false;
    for (let k = 0; k < this.bitCount; k++) if (bits[k] !== this.#goal[k]) return false;
    return true;
  }

  #draw(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: this.bitCount }, () => this.#random.below(2));
  }
}
