/**
 * The tasks of this example, each with what an agent needs to know of it, and how a policy plays them.
 *
 * @module
 */
import { CartPoleSwingUp, Pendulum, type StepResult } from "@exrp/replay/envs";
import type { Floats } from "../_network.ts";

/** An environment whose action is one number. */
interface Environment {
  reset(): Floats;
  step(action: number): StepResult<Floats>;
}

/** A task, and the numbers that suit it. */
export interface Task {
  readonly title: string;
  readonly make: (seed: number) => Environment;
  /** Brings the numbers of a state to about the same size. */
  readonly stateScale: readonly number[];
  /** The largest action either way: those of the networks are from -1 to 1. */
  readonly actionLimit: number;
  /** What the agent learns from is the reward times this. */
  readonly rewardScale: number;
  /** The usual ends of the axis of returns. */
  readonly returns: readonly [number, number];
  /** It is solved if so many evaluations in a row earn so much on average. */
  readonly solved: { readonly return: number; readonly times: number };
  /** A policy that earns so much is half trained: its steps are the offline data of RLPD. */
  readonly halfTrained: number;
  /** Environment steps of a run. */
  readonly steps: number;
}

/** The tasks by name. */
export const TASKS = {
  pendulum: {
    title: "Pendulum-v1",
    make: (seed) => new Pendulum(seed),
    stateScale: [1, 1, 1 / 8],
    actionLimit: Pendulum.actionLimit,
    rewardScale: 0.1,
    returns: [-1800, 0],
    solved: { return: -200, times: 3 },
    halfTrained: -700,
    steps: 8_000,
  },
  swing_up: {
    title: "CartPoleSwingUp",
    make: (seed) => new CartPoleSwingUp(seed),
    stateScale: [1 / 2.4, 1 / 5, 1, 1, 1 / 10],
    actionLimit: CartPoleSwingUp.actionLimit,
    rewardScale: 1,
    returns: [0, 200],
    solved: { return: 150, times: 3 },
    halfTrained: 75,
    steps: 18_000,
  },
} as const satisfies Readonly<Record<string, Task>>;

/** Plays one episode in an environment of each seed, all at the same time. Returns their returns. */
export function play(
  task: Task,
  act: (states: Floats) => Floats,
  seeds: readonly number[],
): number[] {
  const returns = seeds.map(() => 0);
  let playing = seeds.map((seed, index) => {
    const environment = task.make(seed);
    return { environment, index, state: environment.reset() };
  });
  while (playing.length > 0) {
    const actions = act(Float32Array.from(playing.flatMap(({ state }) => [...state])));
    playing = playing.filter((player, row) => {
      const result = player.environment.step((actions[row] ?? 0) * task.actionLimit);
      player.state = result.state;
      returns[player.index] = (returns[player.index] ?? 0) + result.reward;
      return !result.terminated && !result.truncated;
    });
  }
  return returns;
}
