/**
 * What an `ActorWriter` takes: its options, and steps.
 *
 * @module
 */

import type { DoneFlags, StepExtras } from "../replay/record/many_steps.ts";
import type { RecordExtras } from "../replay/record/recorder.ts";
import type { NumericArray } from "../schema/columns.ts";
import type { AnySchema, Recordable, RecordArray, RecordValue, Schema } from "../schema/schema.ts";
import type { ActorSteps } from "./actor_steps.ts";

/** The options of an {@linkcode ActorWriter}. */
export interface ActorWriterOptions<S extends Schema = AnySchema> {
  /** How many environments the actor steps at once: from 1 to 65,536; 1 by default. */
  readonly environments?: number;
  /** How many steps of each environment go into one call: from 1 to 1,048,576; 50 by default, as in Ape-X. */
  readonly flushSteps?: number;
  /**
   * Gives the first priorities: one number for each step of `steps`, finite and 0 or more. {@linkcode absoluteTdError} is that of Ape-X.
   * Without it, each selector's rule chooses. The call must not change the replay.
   */
  readonly priority?: (steps: ActorSteps<S>) => NumericArray;
  /** n of the returns that priorities are made of: from 1 to 65,536. By default it is the largest n of the replay's option `pick`, or 1. */
  readonly nStep?: number;
  /** γ of these returns: from 0 to 1. By default it is that of the replay's option `pick`. */
  readonly discount?: number;
  /** The tag of the actor's episodes: a whole number from -2^31 to 2^31 - 1; 0 by default. Pick views can choose by it. */
  readonly tag?: number;
}

/** What {@linkcode ActorWriter.step} takes: one step, with everything that an environment in the style of Gymnasium returns. */
export type ActorStep<S extends Schema> = Recordable<
  S,
  RecordExtras<S> & {
    /** `[...shape]`: the state in which the action was chosen. */
    readonly state: RecordValue<S, "state">;
    /** `[...shape]`: the action. */
    readonly action: RecordValue<S, "action">;
    /** `[...shape]`: the reward. */
    readonly reward: RecordValue<S, "reward">;
    /** Whether the task ended the episode: `true` or `false`, or 1 or 0. */
    readonly terminated: boolean | number;
    /** Whether the episode was cut off, likewise; false by default. It counts only if `terminated` is false. */
    readonly truncated?: boolean | number;
    /** `[...shape]`: the state that the step led to, and not the first state of the next episode. */
    readonly nextState: RecordValue<S, "state">;
    /** What the actor thinks that the action is worth: Q(s, a). Only priorities need it. */
    readonly value?: number;
    /** What the actor thinks that the state is worth: the largest Q(s, ·). Only priorities need it. */
    readonly stateValue?: number;
    /**
     * What `nextState` is worth, if the episode was cut off at this step. Without it, `stateValue` of this step stands in, because a first
     * priority is a guess anyway.
     */
    readonly nextStateValue?: number;
  }
>;

/** What {@linkcode ActorWriter.stepBatch} takes: one step of each of m environments. */
export type ActorBatch<S extends Schema> = Recordable<
  S,
  StepExtras<S> & {
    /** `[m, ...shape]`: the states in which the actions were chosen. */
    readonly state: RecordArray<S, "state">;
    /** `[m, ...shape]`: the actions. */
    readonly action: RecordArray<S, "action">;
    /** `[m, ...shape]`: the rewards. */
    readonly reward: RecordArray<S, "reward">;
    /** `[m]`: whether the task ended the episode. */
    readonly terminated: DoneFlags;
    /** `[m]`: whether the episode was cut off; none by default. It counts only if `terminated` is not set. */
    readonly truncated?: DoneFlags;
    /** `[m, ...shape]`: the states that the steps led to, and not the first states of next episodes. */
    readonly nextState: RecordArray<S, "state">;
    /** `[m]`: what the actor thinks that the actions are worth. */
    readonly value?: readonly number[] | Float32Array | Float64Array;
    /** `[m]`: what the actor thinks that the states are worth. */
    readonly stateValue?: readonly number[] | Float32Array | Float64Array;
    /** `[m]`: what the next states are worth, where an episode was cut off; NaN where that is not known. */
    readonly nextStateValue?: readonly number[] | Float32Array | Float64Array;
  }
>;
