/**
 * CartPole for several environments at once: to record from, and to evaluate a policy.
 *
 * @module
 */
import { CartPole } from "@exrp/replay/envs";
import type { Floats } from "./_network.ts";

/** Brings the four numbers of a state to about the same size. */
export const STATE_SCALE = [1 / 2.4, 1 / 2, 1 / 0.21, 1 / 2];

/** What one step of all environments leads to. Each array has a row for each environment. */
export interface Steps {
  /** `[n, 4]`: the states that the steps led to. For an episode that ended, it is the final state. */
  nextState: Floats;
  reward: Floats;
  terminated: boolean[];
  truncated: boolean[];
  /** The returns of the episodes that ended in this step. */
  ended: number[];
}

/** Environments that step together. Where an episode ends, the next one begins at once. */
export class CartPoles {
  readonly #environments: CartPole[];
  readonly #returns: number[];
  #state: Floats;

  constructor(count: number, firstSeed: number) {
    this.#environments = newEnvironments(count, firstSeed);
    this.#returns = this.#environments.map(() => 0);
    this.#state = joined(this.#environments.map((environment) => environment.reset()));
  }

  /** `[n, 4]`: the states in which the next actions are taken. */
  get state(): Floats {
    return this.#state;
  }

  /** Takes one step in each environment. */
  step(actions: ArrayLike<number>): Steps {
    const results = this.#environments.map((environment, n) => environment.step(actions[n] ?? 0));
    const ended: number[] = [];
    const states = results.map(({ state, reward, terminated, truncated }, n) => {
      const episodeReturn = (this.#returns[n] ?? 0) + reward;
      const isOver = terminated || truncated;
      if (isOver) ended.push(episodeReturn);
      this.#returns[n] = isOver ? 0 : episodeReturn;
      return isOver ? this.#environments[n]?.reset() ?? state : state;
    });
    this.#state = joined(states);
    return {
      nextState: joined(results.map(({ state }) => state)),
      reward: Float32Array.from(results, ({ reward }) => reward),
      terminated: results.map(({ terminated }) => terminated),
      truncated: results.map(({ truncated }) => truncated),
      ended,
    };
  }
}

/** Environments with the seeds `firstSeed`, `firstSeed + 1`, …. */
export function newEnvironments(count: number, firstSeed: number): CartPole[] {
  return Array.from({ length: count }, (_, index) => new CartPole(firstSeed + index));
}

/** States one after the other, as networks take them: `[n, 4]`. */
export function joined(states: readonly Floats[]): Floats {
  const rows = new Float32Array(states.length * CartPole.stateSize);
  states.forEach((state, row) => rows.set(state, row * CartPole.stateSize));
  return rows;
}

/** A policy that can be evaluated: it gives the best action in each of the states `[n, 4]`. */
export interface GreedyPolicy {
  bestActions(states: Floats): ArrayLike<number>;
}

/** Plays one greedy episode in each environment, all at the same time. Returns their returns. */
export function play(policy: GreedyPolicy, environments: readonly CartPole[]): number[] {
  const returns = environments.map(() => 0);
  let playing = environments.map((environment, index) => ({
    environment,
    index,
    state: environment.reset(),
  }));
  while (playing.length > 0) {
    const actions = policy.bestActions(joined(playing.map((player) => player.state)));
    playing = playing.filter((player, row) => {
      const result = player.environment.step(actions[row] ?? 0);
      player.state = result.state;
      returns[player.index] = (returns[player.index] ?? 0) + result.reward;
      return !result.terminated && !result.truncated;
    });
  }
  return returns;
}
