/**
 * What goes between actors, an inference server and a policy.
 *
 * @module
 */

import type { ReplayWriter } from "../learner/types.ts";
import type { ArrayValue, Column, ColumnArray, ColumnArrays, Columns } from "../schema/columns.ts";
import type { NoColumns } from "../schema/columns.ts";
import type { TransitionColumns } from "../learner/types.ts";
import type { SchemaOf } from "../schema/schema.ts";
import type { StateArrays, StateColumns, StateValues } from "../schema/state.ts";
import type { DoneFlags } from "../replay/record/many_steps.ts";

/** What a policy of {@linkcode serveInference} gets: one row for each environment that waits. Its arrays are those of the next batch, too. */
export interface InferenceBatch<
  State extends StateColumns = StateColumns,
  Action extends Column = Column,
  Reward extends Column = Column,
  Recurrent extends Columns = Columns,
> {
  /** How many environments wait. */
  readonly size: number;
  /** `[size, ...shape]`: the states in which to act. */
  readonly state: StateArrays<State>;
  /** `[size]`: 1 where an episode begins, else 0. */
  readonly isFirst: Uint8Array<ArrayBuffer>;
  /** `[size, ...shape]`: the actions before; zeros where an episode begins. */
  readonly lastAction: ColumnArray<Action>;
  /** `[size, ...shape]`: the rewards of these; zeros where an episode begins. */
  readonly lastReward: ColumnArray<Reward>;
  /** The recurrent states by name, each `[size, ...shape]`; zeros where an episode begins. Write the new ones over them. */
  readonly recurrent: ColumnArrays<Recurrent>;
  /** `[size]`: a number of each environment, from 0, which stays the same for as long as its actor lives. */
  readonly environment: Int32Array<ArrayBuffer>;
}

/** What a policy of {@linkcode serveInference} returns. */
export interface InferenceActions<
  Action extends Column = Column,
  Extras extends Columns = Columns,
> {
  /** `[size, ...shape]`: the actions. */
  readonly action: ArrayValue<Action>;
  /** `[size, ...shape]` each: the extras that are recorded with the actions, such as their log-probabilities. */
  readonly extras?: { readonly [K in keyof Extras]: ArrayValue<Extras[K]> };
}

/** The options of {@linkcode serveInference}. Actors give the same `state`, `action` and `reward`. */
export interface ServeInferenceOptions<
  State extends StateColumns = StateColumns,
  Action extends Column = Column,
  Reward extends Column = Column,
  Extras extends Columns = Columns,
  Recurrent extends Columns = Columns,
> extends TransitionColumns<State, Action, Reward, Extras> {
  /** The recurrent states that the server keeps for each environment, by name; none by default. */
  readonly recurrent?: Recurrent;
  /** The policy. It is called for all environments that wait, and never twice at a time. It may return a promise. */
  readonly act: (
    batch: InferenceBatch<State, Action, Reward, Recurrent>,
  ) => InferenceActions<Action, Extras> | Promise<InferenceActions<Action, Extras>>;
  /** Makes the writer that records the steps of an environment, such as {@linkcode replayWriter} does. Without it, nothing is recorded. */
  readonly writer?: (
    environment: number,
  ) => ReplayWriter<SchemaOf<State, Action, Reward, Extras, NoColumns>>;
  /** From how many environments on it does not wait for more; 1024 by default. */
  readonly maxBatch?: number;
  /** How many ms the first of a batch waits for others; 2 by default. If all actors wait, it does not. */
  readonly maxWaitMs?: number;
  /** After how many silent ms an actor counts as dead, and its environments are forgotten; 10,000 by default. */
  readonly dropAfterMs?: number;
  /** How many environments all actors may have together; 65,536 by default. */
  readonly maxEnvironments?: number;
}

/** What {@linkcode InferenceClient.step} takes: what came of the last actions. */
export interface InferenceStep<
  State extends StateColumns = StateColumns,
  Reward extends Column = Column,
> {
  /** `[n, ...shape]`: the rewards of the last actions. */
  readonly reward: ArrayValue<Reward>;
  /** `[n]`: whether the task ended the episode. */
  readonly terminated: DoneFlags;
  /** `[n]`: whether the episode was cut off; none by default. It counts only if `terminated` is not set. */
  readonly truncated?: DoneFlags;
  /** `[n, ...shape]`: the states that the actions led to. Only those of episodes that ended are read. */
  readonly nextState: StateValues<State>;
  /** `[n, ...shape]`: the states in which to act next: `nextState`, and the first state of the next episode where one ended. */
  readonly state: StateValues<State>;
}

/** The options of {@linkcode inferenceClient}. */
export interface InferenceClientOptions {
  /** How many environments the actor has; 1 by default. */
  readonly environments?: number;
  /** After how many ms a request is repeated; 1000 by default. The server tells a repeated one from the next, so each step counts once. */
  readonly retryMs?: number;
}
