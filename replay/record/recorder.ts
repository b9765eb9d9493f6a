/**
 * Recording one step at a time.
 *
 * @module
 */

import { checkOptions } from "../../base/option_names.ts";
import { ReplayError } from "../../base/errors.ts";
import * as abi from "../../ffi/symbols.ts";
import type { Columns, ColumnValue } from "../../schema/columns.ts";
import type { anySchema, ExtrasOf, Recordable, RecordValue, Schema } from "../../schema/schema.ts";
import { checkTag } from "../../schema/pick_where.ts";
import type { ReplayCore } from "../core.ts";
import type { UserRules } from "../rules/user_rules.ts";
import {
  callWithRoom,
  checkEpisode,
  checkFlag,
  checkPriority,
  FINAL_STATE_HINTS,
  FLAG_HINTS,
  writeEnd,
  writeExtras,
} from "./record_input.ts";
import type { Row } from "./row.ts";

/**
 * What a record may carry beside its values: options of {@linkcode ExperienceReplay.record} and {@linkcode ExperienceReplay.recordStep}.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, highestPriority } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * const selector = replay.newPickSelector(highestPriority());
 * const episode = replay.newEpisode();
 * replay.record(episode, 1, 0, 0, { priority: 3, finalState: 2 });
 * console.log([...replay.getPriority(selector, [episode], [0])]); // [3]
 * ```
 */
export interface RecordMeta {
  /**
   * The first priority of the pick that begins at this record: finite, 0 or more. It holds for every selector. Without it each
   * selector's rule chooses, for example the largest priority so far.
   */
  readonly priority?: number;
}

/** A value for each extra of a record, in {@linkcode RecordExtras}. */
export type ExtraValues<X extends Columns> = { readonly [K in keyof X]: ColumnValue<X[K]> };

/**
 * What {@linkcode ExperienceReplay.record} takes beside the columns: `extras` has every extra of the schema; it is required if the schema
 * has extras.
 */
export type RecordExtras<S extends Schema> = string extends keyof ExtrasOf<S>
  ? { readonly extras?: ExtraValues<ExtrasOf<S>> }
  : [keyof ExtrasOf<S>] extends [never] ? { readonly extras?: never }
  : { readonly extras: ExtraValues<ExtrasOf<S>> };

/** The options of {@linkcode ExperienceReplay.record}. */
export type RecordOptions<S extends Schema> = Recordable<
  S,
  RecordMeta & RecordExtras<S> & {
    /** The state after the last record. It ends the episode: as terminated, or as truncated if `truncated` is true. */
    readonly finalState?: RecordValue<S, "state">;
    /** With `finalState`: whether the episode was cut off and not ended by the task. Learners then bootstrap. */
    readonly truncated?: boolean;
  }
>;

/**
 * What follows the reward in a call of {@linkcode ExperienceReplay.record}: the options, required if the schema has extras. Nobody can
 * record into a replay of any schema. TypeScript's error then has the label, which says what to do.
 */
export type RecordRest<S extends Schema> = typeof anySchema extends keyof S
  ? [writeTheColumnsInTheTypeOfThisReplay: never]
  : [keyof ExtrasOf<S>] extends [never] ? [options?: RecordOptions<S>]
  : [options: RecordOptions<S>];

/** What {@linkcode ExperienceReplay.recordStep} takes: one step, with everything that an environment in the style of Gymnasium returns. */
export type Step<S extends Schema> = Recordable<
  S,
  RecordMeta & RecordExtras<S> & {
    /** `[...shape]`: the state in which the action was chosen. */
    readonly state: RecordValue<S, "state">;
    /** `[...shape]`: the action. */
    readonly action: RecordValue<S, "action">;
    /** `[...shape]`: the reward. */
    readonly reward: RecordValue<S, "reward">;
    /** Whether the task ended the episode: `true` or `false`, or 1 or 0. */
    readonly terminated: boolean | number;
    /**
     * Whether the episode was cut off, likewise; false by default. Learners then bootstrap. It counts only if `terminated` is false.
     */
    readonly truncated?: boolean | number;
    /**
     * `[...shape]`: the state that `step()` returned. Give it at every step. If the episode ended, it is the final state. If not, the
     * replay keeps it until the next step, so that `drain` can return the newest step too. With
     * {@linkcode CreateOptions.keepNextState} false, it is read only if the episode ended.
     */
    readonly nextState: RecordValue<S, "state">;
    /**
     * A whole number from -2^31 to 2^31 - 1: the tag of each episode that begins in this call, or has its first record in it. Without it,
     * they have the tag of `newEpisode`, or of the episode before.
     */
    readonly tag?: number;
  }
>;

const STEP_PARTS = [
  "state",
  "action",
  "reward",
  "terminated",
  "truncated",
  "nextState",
  "extras",
  "priority",
  "tag",
] as const;
const OPTIONS = ["finalState", "truncated", "extras", "priority"] as const;

/** The options before they are checked. */
type LooseOptions = Readonly<Partial<Record<(typeof OPTIONS)[number], unknown>>>;

/** A step as it comes. */
type LooseStep = Readonly<Partial<Record<(typeof STEP_PARTS)[number], unknown>>>;

/** The error for a value whose code recorded into the same replay while it was read. */
function interrupted(operation: string): ReplayError {
  return new ReplayError(
    "busy",
    `${operation}: a value given to it recorded into the same replay while it was read`,
  );
}

/**
 * Writes single records into one replay. The engine inlines a whole call only where all its functions together have less than 920 bytes of
 * bytecode, and that saves an eighth of its time. So what is seldom needed stands in functions of its own.
 */
export class Recorder {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #row: Row;
  readonly #extraNames: readonly string[];
  readonly #hasExtras: boolean;
  readonly #keepsNextState: boolean;

  /** Records into the replay of `core`. `row` holds each record until the kernel has it. */
  constructor(core: ReplayCore, rules: UserRules, row: Row) {
    this.#core = core;
    this.#rules = rules;
    this.#row = row;
    this.#extraNames = core.config.extraNames;
    this.#hasExtras = this.#extraNames.length > 0;
    this.#keepsNextState = core.config.keepNextState;
  }

  /** Writes one record. */
  record(
    episode: number,
    state: unknown,
    action: unknown,
    reward: unknown,
    options: LooseOptions | undefined,
  ): number {
    const turn = this.#writeRow("record()", episode, state, action, reward);
    const flags = options === undefined && !this.#hasExtras ? 0 : this.#writeOptions(options);
    return this.#store("record()", episode, turn, flags);
  }

  /** Writes one step as `step()` of an environment gives it. */
  recordStep(episode: number, step: LooseStep): number {
    const operation = "recordStep()";
    if (typeof step !== "object" || step === null) checkOptions(operation, step, STEP_PARTS);
    try {
      return this.#recordStep(operation, episode, step);
    } catch (error) {
      // A part that is missing may be there under a misspelt name.
      checkOptions(operation, step, STEP_PARTS, FLAG_HINTS);
      throw error;
    }
  }

  #recordStep(operation: string, episode: number, step: LooseStep): number {
    const { state, action, reward, terminated, truncated, nextState, extras, priority } = step;
    // To count the parts is a third of the cost of comparing their names. Where one is too many, its name is looked for.
    let known = 5;
    if (truncated !== undefined) known++;
    if (extras !== undefined) known++;
    if (priority !== undefined) known++;
    for (const _part in step) known--;
    let tag: unknown;
    // An object of a class may have parts that the loop does not see, so its count says nothing.
    if (known !== 0 || step.constructor !== Object) {
      tag = step.tag;
      checkOptions(operation, step, STEP_PARTS, FLAG_HINTS);
    }
    const turn = this.#writeRow(operation, episode, state, action, reward);
    const isTerminated = checkFlag("recordStep(): terminated", terminated);
    const isTruncated = truncated !== undefined &&
      checkFlag("recordStep(): truncated", truncated);
    if (this.#hasExtras || extras !== undefined) {
      writeExtras(operation, extras, this.#extraNames, this.#row.extras);
    }
    let given = this.#writePriority(operation, priority);
    if (tag !== undefined) given |= this.#writeTag(operation, tag);
    if (nextState === undefined) {
      throw new TypeError(
        `${operation}: nextState must be the state that step() returned, at every step; got undefined`,
      );
    }
    const goesOn = !isTerminated && !isTruncated;
    if (goesOn && !this.#keepsNextState) return this.#store(operation, episode, turn, given);
    this.#row.nextState.write(nextState);
    if (goesOn) return this.#store(operation, episode, turn, given | abi.EXRP_RECORD_NEXT_STATE);
    const flags = given | abi.EXRP_RECORD_ENDS | abi.EXRP_RECORD_BEGINS;
    return this.#store(
      operation,
      episode,
      turn,
      isTerminated ? flags : flags | abi.EXRP_RECORD_TRUNCATED,
    );
  }

  #writeRow(
    operation: string,
    episode: number,
    state: unknown,
    action: unknown,
    reward: unknown,
  ): number {
    if (typeof episode !== "number") checkEpisode(operation, episode);
    const row = this.#row;
    const turn = ++row.turn;
    row.operation.name = operation;
    row.state.write(state);
    row.action.write(action);
    row.reward.write(reward);
    return turn;
  }

  #store(operation: string, episode: number, turn: number, flags: number): number {
    const row = this.#row;
    if (row.turn !== turn) throw interrupted(operation);
    const core = this.#core;
    const { view } = row;
    view.setFloat64(0, episode, true);
    const status = core.kernel.symbols.exrp_record(core.id, row.bytes, row.byteCount, flags);
    if (status !== 0) this.#storeAfter(operation, status, flags);
    core.changed();
    const handle = view.getFloat64(0, true);
    const { eviction, selectors } = this.#rules;
    if (eviction !== undefined) eviction.recorded(core.id, handle);
    if (selectors.size > 0) selectors.recorded(core.id);
    return handle;
  }

  /** Stores the row once there is room, where that is what the first try lacked. */
  #storeAfter(operation: string, first: number, flags: number): void {
    const core = this.#core;
    if (first !== abi.EXRP_STATUS_FULL) throw core.error(operation, first);
    const { bytes, byteCount } = this.#row;
    // The policy is the user's code: if it records something itself, that must not replace this record.
    const row = bytes.slice();
    const status = callWithRoom(core, this.#rules, () => {
      bytes.set(row);
      return core.kernel.symbols.exrp_record(core.id, bytes, byteCount, flags);
    });
    core.check(operation, status);
  }

  #writeOptions(options: LooseOptions = {}): number {
    checkOptions("record()", options, OPTIONS, FINAL_STATE_HINTS);
    const { finalState, truncated, extras, priority } = options;
    const given = this.#writePriority("record()", priority);
    writeExtras("record()", extras, this.#extraNames, this.#row.extras);
    return given | writeEnd("record()", this.#row.finalState, finalState, truncated);
  }

  /** Puts the priority into the row; returns the flag that tells the kernel so. */
  #writePriority(operation: string, priority: unknown): number {
    if (priority === undefined) return 0;
    const { view, priorityOffset } = this.#row;
    view.setFloat64(priorityOffset, checkPriority(`${operation}: priority`, priority), true);
    return abi.EXRP_RECORD_PRIORITY;
  }

  /** Puts the tag into the row; returns the flag that tells the kernel so. */
  #writeTag(operation: string, tag: unknown): number {
    const { view, tagOffset } = this.#row;
    view.setInt32(tagOffset, checkTag(`${operation}: tag`, tag), true);
    return abi.EXRP_RECORD_TAG;
  }
}
