/**
 * What the calls that record many steps take and give.
 *
 * @module
 */

import type { ArrayValue, Columns, NumericArray } from "../../schema/columns.ts";
import type {
  ExtrasOf,
  Recordable,
  RecordArray,
  RecordValue,
  Schema,
} from "../../schema/schema.ts";

/** The values of all steps, for each extra, in {@linkcode StepExtras}. */
export type ExtraArrays<X extends Columns> = { readonly [K in keyof X]: ArrayValue<X[K]> };

/**
 * What {@linkcode ManySteps} have beside their columns: `extras` has every extra of the schema; it is required if the schema has extras.
 */
export type StepExtras<S extends Schema> = string extends keyof ExtrasOf<S>
  ? { readonly extras?: ExtraArrays<ExtrasOf<S>> }
  : [keyof ExtrasOf<S>] extends [never] ? { readonly extras?: never }
  : { readonly extras: ExtraArrays<ExtrasOf<S>> };

/**
 * The columns of many steps, in {@linkcode ManySteps} and {@linkcode BatchSteps}: one array for each column, with the values step after
 * step.
 */
export interface StepColumns<S extends Schema> {
  /** `[n, ...shape]`: the states. */
  readonly state: RecordArray<S, "state">;
  /** `[n, ...shape]`: the actions. */
  readonly action: RecordArray<S, "action">;
  /** `[n, ...shape]`: the rewards. */
  readonly reward: RecordArray<S, "reward">;
  /**
   * `[n]`: the first priority of the pick that begins at each step: finite, 0 or more. It holds for every selector. Without it each
   * selector's rule chooses.
   */
  readonly priority?: NumericArray;
}

/** What {@linkcode ExperienceReplay.recordMany} takes: n consecutive steps of one episode. */
export type ManySteps<S extends Schema> = Recordable<
  S,
  StepColumns<S> & StepExtras<S> & {
    /** The state after the last step. It ends the episode: as terminated, or as truncated if `truncated` is true. */
    readonly finalState?: RecordValue<S, "state">;
    /** With `finalState`: whether the episode was cut off and not ended by the task. Learners then bootstrap. */
    readonly truncated?: boolean;
    /**
     * A whole number from -2^31 to 2^31 - 1: the tag of each episode that begins in this call, or has its first record in it. Without it,
     * they have the tag of `newEpisode`, or of the episode before.
     */
    readonly tag?: number;
  }
>;

/**
 * Flags of {@linkcode BatchSteps} and {@linkcode FlatSteps}: booleans, or 0 and 1 in a plain or typed array. A `Uint8Array` is read
 * fastest.
 */
export type DoneFlags = NumericArray | readonly (boolean | number)[];

/** What {@linkcode ExperienceReplay.recordBatch} takes: one step of each of m environments. */
export type BatchSteps<S extends Schema> = Recordable<
  S,
  StepColumns<S> & StepExtras<S> & {
    /**
     * `[m, ...shape]`: the states that the steps led to. You may leave them out if no environment is done. Those of environments that
     * are done become final states. The replay keeps the others until the next step, so that `drain` can return the newest steps too.
     * With {@linkcode CreateOptions.keepNextState} false, only the states of environments that are done are read.
     */
    readonly nextState?: RecordArray<S, "state">;
    /** `[m]`: whether the task ended the episode. */
    readonly terminated?: DoneFlags;
    /** `[m]`: whether the episode was cut off, so that learners bootstrap. It counts only if `terminated` is not set. */
    readonly truncated?: DoneFlags;
    /**
     * The tag of each episode that begins in this call, or has its first record in it: a whole number from -2^31 to 2^31 - 1, or `[m]`, one
     * for each environment. Without it, they have the tag of `newEpisode`, or of the environment's episode before.
     */
    readonly tag?: number | NumericArray;
  }
>;

/** What {@linkcode ExperienceReplay.recordFlat} takes: n consecutive steps, of one episode after the other. */
export type FlatSteps<S extends Schema> = Recordable<
  S,
  StepColumns<S> & StepExtras<S> & {
    /** `[n]`: whether the task ended the episode at this step. */
    readonly terminated?: DoneFlags;
    /** `[n]`: whether the episode was cut off at this step, so that learners bootstrap. It counts only if `terminated` is not set. */
    readonly truncated?: DoneFlags;
    /**
     * `[n, ...shape]`: the states that the steps led to. Those of steps that end an episode are read, as final states, and that of the
     * last step: `drain` gives it.
     */
    readonly nextState?: RecordArray<S, "state">;
    /**
     * True if you do not have the states that the last steps of episodes led to; false by default. Then the state of a truncated step is
     * the final state of its episode, and the step is not recorded. A terminated step is recorded, and its own state stands in the place
     * of the final state. No learner looks there, because the step's `discount` is 0.
     */
    readonly nextStateUnknown?: boolean;
    /**
     * The tag of each episode that begins in this call, or has its first record in it: a whole number from -2^31 to 2^31 - 1, or `[n]`, one
     * for each step. An episode then has the tag of its first step. Without it, it has that of `newEpisode`, or of the episode before.
     */
    readonly tag?: number | NumericArray;
  }
>;

/** What {@linkcode ExperienceReplay.recordFlat} did. */
export interface FlatRecorded {
  /** The handle for the next step. It is that of a new episode without records if the last step ended its episode. */
  readonly episode: number;
  /** The handles of the episodes that got records, in the order of the steps. */
  readonly episodes: Float64Array<ArrayBuffer>;
  /** How many steps were recorded. With `nextStateUnknown` these are all but the truncated ones. */
  readonly recordCount: number;
}
