/**
 * What all environments of this folder have in common: the result of a step, its clock, and the checks of seeds, first states and actions.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";
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

/** The numbers of a first state: `needed` says in an error what it has. */
export function checkFirst<First extends readonly number[]>(
  first: readonly number[],
  count: First["length"],
  needed: string,
): First {
  if (!Array.isArray(first) || first.length !== count) {
    throw new TypeError(`reset(): a first state ${needed}, got ${show(first)}`);
  }
  for (const [k, number] of first.entries()) checkNumber(`reset(): element ${k}`, number);
  return [...first] as readonly number[] as First;
}

/** Says whether an episode of an environment runs, and when it has had its steps. */
export class Clock {
  readonly #name: string;
  readonly #stepLimit: number;
  /** Steps that are left of the episode; 0 where none runs. */
  #left = 0;

  /** For the environment of this name, whose episodes are truncated after `stepLimit` steps. */
  constructor(name: string, stepLimit = Infinity) {
    this.#name = name;
    this.#stepLimit = stepLimit;
  }

  /** An episode begins. */
  begin(): void {
    this.#left = this.#stepLimit;
  }

  /** Refuses a step before the first `reset()` and after the end of an episode, and an action that is none of `actionCount`. */
  checkStep(action: unknown, actionCount: number): void {
    checkAction(`${this.#name}.step()`, action, actionCount);
    this.#checkRunning();
  }

  /** The same for an action that is any finite number. Returns it, brought into ±`limit`. */
  checkPush(action: unknown, limit: number): number {
    const push = checkNumber(`${this.#name}.step(): the action`, action);
    this.#checkRunning();
    return Math.min(limit, Math.max(-limit, push));
  }

  #checkRunning(): void {
    if (this.#left > 0) return;
    throw new Error(`${this.#name}.step(): the episode is over: call reset() first`);
  }

  /** The result of a step. Ends the episode where it terminated, or had its last step. */
  count<State>(state: State, reward: number, terminated: boolean): StepResult<State> {
    this.#left = terminated ? 0 : this.#left - 1;
    return { state, reward, terminated, truncated: !terminated && this.#left === 0 };
  }
}

/** The random numbers of an environment with this seed. */
export function randomOf(where: string, seed: unknown): RandomStream {
  return new RandomStream(checkInteger(`${where}: the seed`, seed, 0, Number.MAX_SAFE_INTEGER));
}
