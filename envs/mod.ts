/**
 * Small environments to try a learner on: the ones that the examples and guides use. All of them are plain TypeScript without a
 * dependency, and most learners solve them in seconds.
 *
 * | environment | state | actions | for |
 * |---|---|---|---|
 * | {@linkcode CartPole} | float32 `[4]` | 2 | a first agent: Gymnasium's `CartPole-v1` |
 * | {@linkcode Pendulum} | float32 `[3]` | a torque | continuous actions: Gymnasium's `Pendulum-v1` |
 * | {@linkcode CartPoleSwingUp} | float32 `[5]` | a force | the same, and harder: swing a pole up by pushing its cart |
 * | {@linkcode BlindCliffwalk} | whole number | 2 | prioritized replay: one record in thousands has the reward |
 * | {@linkcode BitFlip} | uint8 `[bitCount]` | `bitCount` | hindsight: a goal that is hardly ever reached by chance |
 * | {@linkcode GridMaze} | whole number | 4 | tables of values, offline data |
 * | {@linkcode RandomWalk} | whole number | none | learners of values: the right ones are known |
 * | {@linkcode TMaze} | float32 `[3]` | 4 | recurrent agents: what was seen first decides much later |
 *
 * Each has `reset()`, which begins an episode and returns its first state, and `step()`, which returns a {@linkcode StepResult}. Random
 * numbers come from a seed by {@linkcode RandomStream} of `@exrp/replay/selectors`, so a run is the same on every platform.
 *
 * @example Records an episode of CartPole
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { CartPole } from "@exrp/replay/envs";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 1000, // records
 *   state: float32(CartPole.stateSize),
 * });
 * const environment = new CartPole(1);
 * let state = environment.reset();
 * let episode = replay.newEpisode();
 * let steps = 0;
 * for (let isOver = false; !isOver; steps++) {
 *   const result = environment.step(1); // always to the right
 *   isOver = result.terminated || result.truncated;
 *   const ending = isOver ? { finalState: result.state, truncated: result.truncated } : undefined;
 *   episode = replay.record(episode, state, 1, result.reward, ending);
 *   state = result.state;
 * }
 * console.log(replay.recordCount === steps); // true
 * ```
 *
 * @module
 */

export { BitFlip, type BitFlipOptions } from "./bit_flip.ts";
export { BlindCliffwalk } from "./blind_cliffwalk.ts";
export { CartPole } from "./cart_pole.ts";
export { CartPoleSwingUp } from "./cart_pole_swing_up.ts";
export type { StepResult } from "./environment.ts";
export { GridMaze, type GridMazeOptions } from "./grid_maze.ts";
export { Pendulum } from "./pendulum.ts";
export { RandomWalk, type RandomWalkOptions } from "./random_walk.ts";
export { TMaze, type TMazeOptions } from "./t_maze.ts";
