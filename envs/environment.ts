/**
 * What all environments of this folder have in common: the result of a step, and the checks of seeds and actions.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { RandomStream } from "../selectors/random_stream.ts";

/** What one step of an environment leads to, such as {@linkcode CartPole.step}. */
export interface StepResult<State> {
  /** The state after the step. An array is a new one each time, so you may keep it. */
  readonly state: State;
  /** What the step earned. */
  readonly reward: number;
  /** The episode is over, and nothing more could have been earned. */
  readonly terminated: boolean;
  /** The clock ended the episode, and not the task: the state after the step still has a value. */
  readonly truncated: boolean;
}

/** An action of an environment that has `count` actions. */
export function checkAction(where: string, action: unknown, count: number): number {
  return checkInteger(`${where}: the action`, action, 0, count - 1);
}

/** Refuses a step before the first `reset()` and after the end of an episode. */
export function checkRunning(where: string, isRunning: boolean): void {
  if (!isRunning) throw new Error(`${where}: the episode is over: call reset() first`);
}

/** The random numbers of an environment with this seed. */
export function randomOf(where: string, seed: unknown): RandomStream {
  return new RandomStream(checkInteger(`${where}: the seed`, seed, 0, Number.MAX_SAFE_INTEGER));
}
