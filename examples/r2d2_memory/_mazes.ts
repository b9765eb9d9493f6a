/**
 * Several T-mazes side by side, with what the agent in each of them remembers.
 *
 * @module
 */
import { TMaze, type TMazeOptions } from "@exrp/replay/envs";
import type { Floats } from "../_network.ts";
import { HIDDEN } from "./_recurrent_network.ts";

/** What one step of all mazes leads to. Each array has a row for each maze. */
export interface MazeSteps {
  /** `[n, 3]`: the states that the steps led to. For an episode that ended, it is the final state. */
  nextState: Floats;
  reward: Floats;
  terminated: boolean[];
  truncated: boolean[];
}

/** Mazes that step together. Where an episode ends, the next one begins at once, with a hidden state of zeros. */
export class Mazes {
  /** How many mazes there are. */
  readonly count: number;
  readonly #mazes: TMaze[];
  readonly #returns: number[];
  #state: Floats;
  #hidden: Floats;

  constructor(options: TMazeOptions, count: number, firstSeed: number) {
    this.count = count;
    this.#mazes = Array.from(
      { length: count },
      (_, n) => new TMaze({ ...options, seed: firstSeed + n }),
    );
    this.#returns = this.#mazes.map(() => 0);
    this.#state = joined(this.#mazes.map((maze) => maze.reset()));
    this.#hidden = new Float32Array(count * HIDDEN);
  }

  /** `[n, 3]`: the states in which the next actions are taken. */
  get state(): Floats {
    return this.#state;
  }

  /** `[n, 32]`: the hidden states before them. */
  get hidden(): Floats {
    return this.#hidden;
  }

  /** Takes one step in each maze. `ended` has the return of each maze whose episode ended. */
  step(actions: readonly number[], hidden: Floats): MazeSteps & { ended: Map<number, number> } {
    const results = this.#mazes.map((maze, n) => maze.step(actions[n] ?? 0));
    const ended = new Map<number, number>();
    this.#hidden = hidden.slice();
    this.#state = joined(results.map(({ state, reward, terminated, truncated }, n) => {
      const episodeReturn = (this.#returns[n] ?? 0) + reward;
      this.#returns[n] = episodeReturn;
      if (!terminated && !truncated) return state;
      ended.set(n, episodeReturn);
      this.#returns[n] = 0;
      this.#hidden.fill(0, n * HIDDEN, (n + 1) * HIDDEN);
      return this.#mazes[n]?.reset() ?? state;
    }));
    return {
      nextState: joined(results.map(({ state }) => state)),
      reward: Float32Array.from(results, ({ reward }) => reward),
      terminated: results.map(({ terminated }) => terminated),
      truncated: results.map(({ truncated }) => truncated),
      ended,
    };
  }
}

/** States one after the other, `[n, 3]`. */
function joined(states: readonly Floats[]): Floats {
  return Float32Array.from(states.flatMap((state) => [...state]));
}
