/**
 * A T-maze: what the agent sees first decides which way to turn much later.
 *
 * @module
 */
import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import type { RandomStream } from "../selectors/random_stream.ts";
import { Clock, randomOf, type StepResult } from "./environment.ts";

/** The options of {@linkcode TMaze}. */
export interface TMazeOptions {
  /** How many steps lead through a corridor to its junction: 1 to 1,000,000. By default 10. */
  readonly corridorLength?: number;
  /** How many corridors with a junction follow one another: 1 to 1,000. By default 1, as in the paper. */
  readonly junctionCount?: number;
  /** After how many steps an episode is truncated: 1 to 2^31 - 1. By default four times as many as the shortest way has. */
  readonly stepLimit?: number;
  /** The same seed gives the same signs on every platform: whole number 0 to 2^53 - 1. By default 0. */
  readonly seed?: number;
}

/**
 * A corridor that ends at a junction. A sign in the first cell says whether to turn up or down there. The agent sees the sign in that
 * cell only, so it must remember it. With `junctionCount` above 1, the right arm leads into the next corridor, which has no sign: the same
 * way is right at every junction.
 *
 * A state is float32 `[3]`, and each element is 0 or 1:
 *
 * | element | is 1 |
 * |---|---|
 * | 0 | in the first cell of the maze, if the sign says up |
 * | 1 | in the first cell of the maze, if the sign says down |
 * | 2 | at a junction |
 *
 * The actions are 0 up, 1 right, 2 down and 3 left, as in {@linkcode GridMaze}. The reward is 1 for the right turn at a junction, and -0.1
 * for the wrong one and for a move against a wall. Other moves earn 0. The episode terminates with a wrong turn, and with the last right
 * one. It is truncated after `stepLimit` steps. A door shuts behind the agent, so it can't go back into the corridor before.
 *
 * An agent without memory can do no better than to turn the same way always, which is right in every second episode.
 *
 * After Bakker, "Reinforcement Learning with Long Short-Term Memory" (NIPS 2001), which has one junction and other numbers.
 *
 * @example
 * ```ts
 * import { TMaze } from "@exrp/replay/envs";
 *
 * const maze = new TMaze({ corridorLength: 3, seed: 1 });
 * const [up] = maze.reset();
 * const states = [1, 1, 1].map((action) => [...maze.step(action).state]);
 * console.log(states); // [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
 * const { reward, terminated } = maze.step(up === 1 ? 0 : 2);
 * console.log([reward, terminated]); // [1, true]
 * ```
 */
export class TMaze {
  /** How many numbers a state has. */
  static readonly stateSize: 3 = 3;
  /** How many actions there are: up, right, down, left. */
  static readonly actionCount: 4 = 4;

  /** How many steps lead through a corridor to its junction. */
  readonly corridorLength: number;
  /** How many corridors with a junction follow one another. */
  readonly junctionCount: number;
  /** After how many steps an episode is truncated. */
  readonly stepLimit: number;
  readonly #random: RandomStream;
  readonly #clock: Clock;
  #rightTurn = 0;
  #cell = 0;
  #junction = 0;

  /**
   * Makes a maze whose first episode begins with `reset()`.
   *
   * @throws {TypeError | RangeError} When an option is unknown or out of its range.
   */
  constructor(options: TMazeOptions = {}) {
    checkOptions("TMaze", options, ["corridorLength", "junctionCount", "stepLimit", "seed"]);
    const { corridorLength = 10, junctionCount = 1, seed = 0 } = options;
    this.corridorLength = checkInteger("TMaze: corridorLength", corridorLength, 1, 1_000_000);
    this.junctionCount = checkInteger("TMaze: junctionCount", junctionCount, 1, 1_000);
    const { stepLimit = 4 * junctionCount * (corridorLength + 1) } = options;
    this.stepLimit = checkInteger("TMaze: stepLimit", stepLimit, 1, 2 ** 31 - 1);
    this.#random = randomOf("TMaze", seed);
    this.#clock = new Clock("TMaze", stepLimit);
  }

  /** Begins an episode with a new sign, and returns its first state, float32 `[3]`. */
  reset(): Float32Array<ArrayBuffer> {
    this.#rightTurn = this.#random.below(2) === 0 ? 0 : 2;
    this.#cell = 0;
    this.#junction = 0;
    this.#clock.begin();
    return this.#observe();
  }

  /**
   * Moves by one cell.
   *
   * @param action 0 up, 1 right, 2 down, 3 left.
   * @throws {TypeError} When `action` is not a number.
   * @throws {RangeError} When `action` is not 0, 1, 2 or 3.
   * @throws {Error} When the episode is over: call `reset()` first.
   */
  step(action: number): StepResult<Float32Array<ArrayBuffer>> {
    this.#clock.checkStep(action, TMaze.actionCount);
    const turns = action % 2 === 0;
    const next = turns ? this.#cell : this.#cell + 2 - action; // right is 1, and left is 3
    let reward = 0;
    let terminated = false;
    if (turns && this.#cell === this.corridorLength) {
      reward = action === this.#rightTurn ? 1 : -0.1;
      if (reward === 1) this.#junction++;
      terminated = reward !== 1 || this.#junction === this.junctionCount;
      if (!terminated) this.#cell = 0;
    } else if (turns || next < 0 || next > this.corridorLength) {
      reward = -0.1;
    } else {
      this.#cell = next;
    }
    return this.#clock.count(this.#observe(), reward, terminated);
  }

  #observe(): Float32Array<ArrayBuffer> {
    const seesSign = this.#cell === 0 && this.#junction === 0;
    return Float32Array.of(
      seesSign && this.#rightTurn === 0 ? 1 : 0,
      seesSign && this.#rightTurn === 2 ? 1 : 0,
      this.#cell === this.corridorLength ? 1 : 0,
    );
  }
}
