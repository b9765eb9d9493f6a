/**
 * What a priority function looks at: the steps that will be written now, with their n-step returns.
 *
 * @module
 */

import { joinInto, lengthOfAll } from "../base/bytes.ts";
import type { AnyColumnArray } from "../schema/columns.ts";
import type { NamedColumns } from "../schema/record_columns.ts";
import type { AnySchema, Known, known, Schema, StateOf } from "../schema/schema.ts";
import { type AnyState, arrange, type StateArrays } from "../schema/state.ts";
import type { StepArrays } from "../schema/step_arrays.ts";
import type { LocalColumn, LocalSteps } from "./_local_steps.ts";

/**
 * The n-step return of each of the {@linkcode ActorSteps}, as a batch has it in `nStep`. A learner's function for TD errors takes it as it
 * is.
 */
export interface ActorNStep<S extends Schema = AnySchema> {
  /** The type of the part; only for TypeScript. */
  readonly [known]?: Known<S>;
  /** `[size]`: the sum of the discounted rewards of up to n steps. */
  readonly reward: Float32Array<ArrayBuffer>;
  /** `[size, ...shape]`: the state after them. */
  readonly nextState: StateArrays<StateOf<S>>;
  /** `[size]`: the discount of the value of that state: γ^m after m steps, 0 if the episode terminated. */
  readonly discount: Float32Array<ArrayBuffer>;
}

/**
 * The steps of which an {@linkcode ActorWriter} asks the priorities: those of one environment after the other, each in time order.
 *
 * The arrays may be the writer's own memory, so they hold during the call only. Those that you don't read cost nothing.
 */
export interface ActorSteps<S extends Schema = AnySchema> extends StepArrays<S> {
  /** How many steps there are. */
  readonly size: number;
  /** `[size, ...shape]`: the states that the steps led to. */
  readonly nextState: StateArrays<StateOf<S>>;
  /** `[size]`: 1 where the task ended the episode. */
  readonly terminated: Uint8Array<ArrayBuffer>;
  /** `[size]`: 1 where the episode was cut off. */
  readonly truncated: Uint8Array<ArrayBuffer>;
  /** The n-step returns, with the state after them. It needs a reward without a shape. */
  readonly nStep: ActorNStep<S>;
  /** `[size]`: `value` of each step. It needs that every step had one. */
  readonly value: Float64Array<ArrayBuffer>;
  /**
   * `[size]`: the target of each step, r_t + γ r_(t+1) + … + γ^n V(s_(t+n)), with the `stateValue` of the step n steps later. It needs that every
   * step had one.
   */
  readonly target: Float64Array<ArrayBuffer>;
}

/** The n-step returns of some steps. */
interface Returns {
  readonly reward: Float64Array<ArrayBuffer>;
  readonly discount: Float64Array<ArrayBuffer>;
  /** The last step that each sum has. */
  readonly last: Uint32Array<ArrayBuffer>;
}

/** What is known of the steps beside their values. */
export interface StepsOptions {
  /** The columns of the replay. */
  readonly named: NamedColumns;
  /** n and γ of the returns of which priorities are made. */
  readonly nStep: number;
  readonly discount: number;
}

/** The first steps of each environment of `local`. */
export class FirstSteps {
  readonly size: number;
  readonly #local: LocalSteps;
  readonly #takes: readonly number[];
  readonly #options: StepsOptions;
  #returns: Returns | undefined;

  /** The first `takes[e]` steps of each environment e. */
  constructor(local: LocalSteps, takes: readonly number[], options: StepsOptions) {
    this.size = takes.reduce((sum, take) => sum + take, 0);
    this.#local = local;
    this.#takes = takes;
    this.#options = options;
  }

  get state(): AnyState {
    return this.#joinState(this.#local.state);
  }

  get action(): AnyColumnArray {
    return this.#join(this.#local.others[0]);
  }

  get reward(): AnyColumnArray {
    return this.#join(this.#local.others[1]);
  }

  get nextState(): AnyState {
    return this.#joinState(this.#local.nextState);
  }

  get extras(): Readonly<Record<string, AnyColumnArray>> {
    const { others } = this.#local;
    const { extraNames } = this.#options.named;
    return Object.fromEntries(extraNames.map((name, k) => [name, this.#join(others[2 + k])]));
  }

  get terminated(): AnyColumnArray {
    return this.#join(this.#local.terminated);
  }

  get truncated(): AnyColumnArray {
    return this.#join(this.#local.truncated);
  }

  get nStep(): ActorNStep {
    const { reward, discount, last } = this.#sums();
    const states = this.#local.nextState.map((leaf) => {
      const parts: AnyColumnArray[] = [];
      this.#each((e, _, k) => {
        const at = last[k] as number;
        parts.push(leaf.view(e, at, at + 1));
      });
      return concatenated(parts);
    });
    return {
      reward: Float32Array.from(reward),
      discount: Float32Array.from(discount),
      nextState: arrange(this.#local.tree, states),
    };
  }

  get value(): Float64Array<ArrayBuffer> {
    const values = new Float64Array(this.size);
    this.#each((e, at, k) => values[k] = given(this.#local, "value", e, at));
    return values;
  }

  get target(): Float64Array<ArrayBuffer> {
    const { reward, discount, last } = this.#sums();
    const target = new Float64Array(this.size);
    this.#each((e, _, k) => {
      const gamma = discount[k] as number;
      const after = gamma === 0 ? 0 : gamma * this.#valueAfter(e, last[k] as number);
      target[k] = (reward[k] as number) + after;
    });
    return target;
  }

  /** The value of the state after a step, from which an n-step return bootstraps. */
  #valueAfter(environment: number, at: number): number {
    const local = this.#local;
    const isTruncated = local.truncated.at(environment, at) === 1;
    if (!isTruncated && at + 1 < (local.counts[environment] as number)) {
      return given(local, "stateValue", environment, at + 1);
    }
    const value = local.nextStateValue.at(environment, at);
    // Nobody valued this state. That of the state before it stands in, as a priority is only a first guess.
    return Number.isNaN(value) ? given(local, "stateValue", environment, at) : value;
  }

  /** Adds up the rewards. As `nStepReturn` does, but it also says where each sum ends. */
  #sums(): Returns {
    if (this.#returns !== undefined) return this.#returns;
    const [sums, discounts] = [new Float64Array(this.size), new Float64Array(this.size)];
    const last = new Uint32Array(this.size);
    const { others, terminated, truncated, counts } = this.#local;
    const reward = others[1] as LocalColumn;
    const { nStep, discount } = this.#options;
    if (reward.width !== 1) throw new TypeError("nStep and target need a reward without a shape");
    this.#each((e, at, k) => {
      const count = Math.min(at + nStep, counts[e] as number);
      let [sum, gamma, isOver] = [0, 1, false];
      let step = at;
      for (; step < count && !isOver; step++) {
        const isTerminated = terminated.at(e, step) === 1;
        sum += gamma * reward.at(e, step);
        gamma *= isTerminated ? 0 : discount;
        isOver = isTerminated || truncated.at(e, step) === 1;
      }
      sums[k] = sum;
      discounts[k] = gamma;
      last[k] = step - 1;
    });
    return this.#returns = { reward: sums, discount: discounts, last };
  }

  /** Calls `call` with the environment and the place of each step, and with its index among all. */
  #each(call: (environment: number, at: number, index: number) => void): void {
    let index = 0;
    for (const [e, take] of this.#takes.entries()) {
      for (let at = 0; at < take; at++) call(e, at, index++);
    }
  }

  /** The same of each leaf of a state. */
  #joinState(leaves: readonly LocalColumn[]): AnyState {
    return arrange(this.#local.tree, leaves.map((leaf) => this.#join(leaf)));
  }

  /** The parts of all environments as one array: a view if there is one part only. */
  #join(column: LocalColumn | undefined): AnyColumnArray {
    const parts = this.#takes.flatMap((take, e) =>
      take === 0 || column === undefined ? [] : [column.view(e, 0, take)]
    );
    const [first] = parts;
    return first !== undefined && parts.length === 1 ? first : concatenated(parts);
  }
}

/** The number of a step, which must have one. */
function given(
  local: LocalSteps,
  name: "value" | "stateValue",
  environment: number,
  at: number,
): number {
  const number = local[name].at(environment, at);
  if (!Number.isNaN(number)) return number;
  throw new TypeError(
    `ActorWriter: the priority function reads ${
      name === "value" ? "value" : "target"
    }, but a step was given no ${name}, or NaN; give it with each step`,
  );
}

/** Arrays of one kind, one after the other. */
function concatenated<T extends AnyColumnArray>(parts: readonly T[]): T {
  const [first] = parts;
  if (first === undefined) throw new TypeError("there are no steps");
  const Kind = first.constructor as new (length: number) => T;
  return joinInto(new Kind(lengthOfAll(parts)), parts);
}

/**
 * The size of the n-step TD error of each step, |target − value|: the first priorities of Ape-X (Horgan et al., "Distributed Prioritized
 * Experience Replay", 2018, section 3 and algorithm 1). The actor has both numbers from choosing its actions, so no network runs again.
 *
 * @returns `[size]`: the priorities.
 * @throws {TypeError} If a step was given no `value` or no `stateValue`.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { absoluteTdError, ActorWriter } from "@exrp/replay/actors";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * using writer = new ActorWriter(replay, { priority: absoluteTdError });
 * console.log(writer.recordedCount); // 0
 * ```
 */
export function absoluteTdError<S extends Schema>(
  { target, value }: ActorSteps<S>,
): Float64Array<ArrayBuffer> {
  return target.map((goal, k) => Math.abs(goal - (value[k] as number)));
}
