/**
 * Recording many steps in one call: steps of one episode, or one step of each of many parallel environments.
 *
 * @module
 */

import { checkInteger, show } from "../../base/checks.ts";
import { numberOf } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import {
  checkHonest,
  checkUnshared,
  countOf,
  isKind,
  isNumeric,
  isOwn,
  lengthOf,
} from "../../base/typed_arrays.ts";
import {
  EXRP_LIMIT_BATCH,
  EXRP_RECORD_BEGINS,
  EXRP_RECORD_ENDS,
  EXRP_RECORD_NEXT_STATE,
  EXRP_RECORD_PRIORITY,
  EXRP_RECORD_TAG,
  EXRP_RECORD_TRUNCATED,
  EXRP_STATUS_FULL,
} from "../../ffi/symbols.ts";
import type { ArrayValue, Columns, NamedColumn, NumericArray } from "../../schema/columns.ts";
import type {
  ExtrasOf,
  Recordable,
  RecordArray,
  RecordValue,
  Schema,
} from "../../schema/schema.ts";
import { checkTag } from "../../schema/pick_where.ts";
import type { ReplayCore } from "../core.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { checkValues, countSteps, ManyRows } from "./many_rows.ts";
import {
  checkEpisode,
  checkExtras,
  checkPriority,
  checkTruncated,
  extraOf,
  FINAL_STATE_HINTS,
  FLAG_HINTS,
  flagError,
  refuseUnknownExtras,
} from "./record_input.ts";
import type { Row } from "./row.ts";

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

const MANY = "recordMany()";
const BATCH = "recordBatch()";
const MANY_OPTIONS = [
  "state",
  "action",
  "reward",
  "extras",
  "priority",
  "finalState",
  "truncated",
  "tag",
] as const;
const BATCH_OPTIONS = [
  "state",
  "action",
  "reward",
  "extras",
  "priority",
  "nextState",
  "terminated",
  "truncated",
  "tag",
] as const;

/** The staging rows are kept for the next call if they have at most this many bytes. */
export const KEPT_BYTES_MAX = 2 ** 22;

/** The parts of a call before they are checked. */
export type Loose = Readonly<Record<string, unknown>>;

/** A call of the kernel that stores steps; there are two, with the same parameters. */
type Store = (
  id: number,
  episodes: Float64Array<ArrayBuffer>,
  bytes: Uint8Array<ArrayBuffer>,
  size: number,
  count: number,
  flags: number,
  done: Uint32Array<ArrayBuffer>,
) => number;

/** Writes many steps at a time into one replay. */
export class ManyRecorder {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #row: Row;
  readonly #handle = new Float64Array(1);
  readonly #done = new Uint32Array(1);
  #many: ManyRows | undefined;
  #batch: ManyRows | undefined;

  /** Records into the replay of `core`. `row` checks single final states. */
  constructor(core: ReplayCore, rules: UserRules, row: Row) {
    this.#core = core;
    this.#rules = rules;
    this.#row = row;
    core.countBuffers(() => (this.#many?.memoryBytes ?? 0) + (this.#batch?.memoryBytes ?? 0));
  }

  /** Writes consecutive steps of one episode. */
  recordMany(episode: number, options: unknown): number {
    checkEpisode(MANY, episode);
    checkOptions(MANY, options, MANY_OPTIONS, FINAL_STATE_HINTS);
    const loose = options as Loose;
    const state = this.#core.config.columns[0] as NamedColumn;
    const count = countSteps(MANY, state, checkValues(MANY, state, loose.state));
    checkInteger(`${MANY}: the number of steps`, count, 1, EXRP_LIMIT_BATCH);
    let steps = this.#many;
    if (steps?.count !== count) steps = new ManyRows(this.#core, MANY, count, "finalState", 1);
    this.#many = undefined;
    writeColumns(MANY, steps, loose, this.#core.config.extraNames);
    const flags = writePriorities(MANY, steps, loose.priority) |
      writeTag(MANY, steps, loose.tag) | this.#writeEnd(steps, loose);
    if (this.#row.isFinite) checkFiniteSteps(steps);
    const { symbols } = this.#core.kernel;
    const handle = this.#rules.eviction === undefined ? this.#handle : new Float64Array(1);
    handle[0] = episode;
    this.#store(MANY, symbols.exrp_record_many, handle, steps, flags);
    if (steps.bytes.length <= KEPT_BYTES_MAX) this.#many = steps;
    return handle[0];
  }

  /** Writes one step of each of many environments; returns how many are done. */
  recordBatch(episodes: unknown, options: unknown): number {
    if (!isOwn("Float64Array", episodes)) {
      checkHonest(`${BATCH}: episodes`, episodes);
      checkUnshared(`${BATCH}: episodes`, episodes);
      throw new TypeError(
        `${BATCH}: episodes must be a Float64Array of handles, as they change, got ${
          show(episodes)
        }`,
      );
    }
    const count = lengthOf(episodes);
    if (count === 0) checkHonest(`${BATCH}: episodes`, episodes);
    checkInteger(`${BATCH}: the number of environments`, count, 1, EXRP_LIMIT_BATCH);
    checkOptions(BATCH, options, BATCH_OPTIONS, FLAG_HINTS);
    const loose = options as Loose;
    let steps = this.#batch;
    if (steps?.count !== count) steps = new ManyRows(this.#core, BATCH, count, "nextState", count);
    this.#batch = undefined;
    writeColumns(BATCH, steps, loose, this.#core.config.extraNames);
    const doneCount = writeFlags(steps, loose.terminated, loose.truncated);
    const flags = this.#writeNextStates(steps, loose.nextState, doneCount) |
      writePriorities(BATCH, steps, loose.priority) | writeTags(BATCH, steps, loose.tag);
    if (this.#row.isFinite) {
      checkFiniteSteps(steps);
      const keeps = (flags & EXRP_RECORD_NEXT_STATE) !== 0;
      for (let k = 0; k < count; k++) {
        if (keeps || steps.flags[k] !== 0) steps.finalState.checkFinite(k, k + 1);
      }
    }
    this.#store(BATCH, this.#core.kernel.symbols.exrp_record_batch, episodes, steps, flags);
    if (steps.bytes.length <= KEPT_BYTES_MAX) this.#batch = steps;
    return doneCount;
  }

  #writeEnd(steps: ManyRows, { finalState, truncated }: Loose): number {
    const isTruncated = checkTruncated(MANY, truncated, finalState);
    if (finalState === undefined) return 0;
    const row = this.#row;
    row.turn++;
    row.operation.name = MANY;
    row.finalState.write(finalState);
    if (row.isFinite) row.checkFiniteOf(MANY, row.finalState);
    steps.finalBytes.set(row.finalBytes);
    return isTruncated ? EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED : EXRP_RECORD_ENDS;
  }

  /** Writes the next states that are kept; returns the flag that tells the kernel of those that are no final states. */
  #writeNextStates(steps: ManyRows, nextState: unknown, doneCount: number): number {
    const { flags, finalState } = steps;
    if (nextState === undefined) {
      if (doneCount === 0) return 0;
      throw new TypeError(
        `${BATCH}: nextState is missing: environment ${
          flags.findIndex((flag) => flag !== 0)
        } is done, and its next state is the episode's final state`,
      );
    }
    if (this.#core.config.keepNextState) {
      finalState.write(nextState);
      return EXRP_RECORD_NEXT_STATE;
    }
    const values = finalState.check(nextState);
    if (doneCount === 0) return 0;
    for (let k = 0; k < flags.length; k++) if (flags[k] !== 0) finalState.writeStep(values, k);
    return 0;
  }

  /** Calls the kernel until all steps are stored. One call does it, unless rules in TypeScript must be served in between. */
  #store(
    operation: string,
    store: Store,
    episodes: Float64Array<ArrayBuffer>,
    { bytes, count }: ManyRows,
    flags: number,
  ): void {
    const core = this.#core;
    const { eviction, selectors } = this.#rules;
    const done = eviction === undefined ? this.#done : new Uint32Array(1);
    done[0] = 0;
    const handleCount = operation === BATCH ? count : 1;
    for (;;) {
      // Reading values and serving rules may run the user's code, which can take the array's memory away.
      if (lengthOf(episodes) !== handleCount) {
        throw new TypeError(`${operation}: the memory of episodes was taken away during the call`);
      }
      const status = store(core.id, episodes, bytes, lengthOf(bytes), count, flags, done);
      if (status === EXRP_STATUS_FULL && eviction !== undefined) eviction.makeRoom(core.id);
      else if (status !== 0) core.check(operation, status);
      else {
        core.changed();
        if (eviction !== undefined) eviction.recordedMany(core.id, episodes);
        if (done[0] === count) break;
        if (selectors.size > 0) selectors.drain(core.id);
      }
    }
    if (selectors.size > 0) selectors.recorded(core.id, count);
  }
}

/** Writes the values of all columns; `names` are those of the extras. */
export function writeColumns(
  operation: string,
  steps: ManyRows,
  loose: Loose,
  names: readonly string[],
): void {
  const [state, action, reward, ...extras] = steps.columns;
  state?.write(loose.state);
  action?.write(loose.action);
  reward?.write(loose.reward);
  if (loose.extras === undefined && names.length === 0) return;
  const values = checkExtras(operation, loose.extras, names);
  for (const [k, name] of names.entries()) {
    extras[k]?.write(extraOf(operation, values, name));
  }
  refuseUnknownExtras(operation, values, names);
}

/** Refuses NaN and infinite values in the states, actions and rewards. */
export function checkFiniteSteps({ columns, count }: ManyRows): void {
  for (const column of columns.slice(0, 3)) column.checkFinite(0, count);
}

/** Writes the priorities of all steps; returns the flag that tells the kernel so. */
export function writePriorities(operation: string, steps: ManyRows, value: unknown): number {
  if (value === undefined) return 0;
  const { priorities, count } = steps;
  if (!isKind("Float64Array", value) && !isKind("Float32Array", value)) {
    checkHonest(`${operation}: priority`, value);
  }
  if (!isNumeric(value) && !Array.isArray(value)) {
    throw new TypeError(
      `${operation}: priority must be a plain or typed array of numbers, got ${show(value)}`,
    );
  }
  if (countOf(value) !== count) {
    checkHonest(`${operation}: priority`, value);
    throw new RangeError(
      `${operation}: priority takes ${numberOf(count, "value")} for ${
        numberOf(count, "step")
      }, got ${countOf(value)}`,
    );
  }
  for (let k = 0; k < count; k++) {
    priorities[k] = checkPriority(`${operation}: priority[${k}]`, value[k]);
  }
  return EXRP_RECORD_PRIORITY;
}

/** Writes one tag for all steps; returns the flag that tells the kernel so. */
function writeTag(operation: string, steps: ManyRows, value: unknown): number {
  if (value === undefined) return 0;
  steps.tags.fill(checkTag(`${operation}: tag`, value));
  return EXRP_RECORD_TAG;
}

/** Writes the tags of all steps, from one or from as many as there are steps; returns the flag that tells the kernel so. */
export function writeTags(operation: string, steps: ManyRows, value: unknown): number {
  if (value === undefined || typeof value === "number") return writeTag(operation, steps, value);
  const { tags, count } = steps;
  if (!isKind("Int32Array", value)) checkHonest(`${operation}: tag`, value);
  if (!isNumeric(value) && !Array.isArray(value)) {
    throw new TypeError(
      `${operation}: tag must be a whole number, or a plain or typed array of whole numbers, got ${
        show(value)
      }`,
    );
  }
  if (countOf(value) !== count) {
    checkHonest(`${operation}: tag`, value);
    throw new RangeError(
      `${operation}: tag takes one value, or ${count} for ${count} steps, got ${countOf(value)}`,
    );
  }
  for (let k = 0; k < count; k++) {
    const tag: unknown = value[k];
    // The comparison is true only for whole numbers of 32 bits.
    tags[k] = typeof tag === "number" && (tag | 0) === tag
      ? tag
      : checkTag(`${operation}: tag[${k}]`, tag);
  }
  return EXRP_RECORD_TAG;
}

/** Calls `each` with the index of each flag that is set. */
export function forEachDone(
  operation: string,
  name: string,
  value: unknown,
  count: number,
  each: (index: number) => void,
): void {
  const flags = checkFlags(operation, name, value, count);
  if (isKind("Uint8Array", flags)) {
    for (let k = 0; k < count; k++) {
      const flag = flags[k];
      if (flag === 0) continue;
      if (flag !== 1) throw flagError(`${operation}: ${name}[${k}]`, flag);
      each(k);
    }
    return;
  }
  for (let k = 0; k < count; k++) {
    const flag = flags[k];
    if (flag === false || flag === 0) continue;
    if (flag !== true && flag !== 1) throw flagError(`${operation}: ${name}[${k}]`, flag);
    each(k);
  }
}

function checkFlags(
  operation: string,
  name: string,
  value: unknown,
  count: number,
): Float64Array | readonly unknown[] {
  if (!isKind("Uint8Array", value)) checkHonest(`${operation}: ${name}`, value);
  if (!isNumeric(value) && !Array.isArray(value)) {
    throw new TypeError(
      `${operation}: ${name} must be a plain or typed array of booleans or of 0 and 1, got ${
        show(value)
      }`,
    );
  }
  if (countOf(value) === count) return value;
  checkHonest(`${operation}: ${name}`, value);
  throw new RangeError(
    `${operation}: ${name} takes ${numberOf(count, "value")} for ${numberOf(count, "step")}, got ${
      countOf(value)
    }`,
  );
}

/** Writes of each step whether it ends its episode; returns how many do. */
function writeFlags(steps: ManyRows, terminated: unknown, truncated: unknown): number {
  const { flags, count } = steps;
  flags.fill(0);
  let doneCount = 0;
  // If both are set the task has ended the episode, and there is nothing to bootstrap from.
  if (truncated !== undefined) {
    forEachDone(BATCH, "truncated", truncated, count, (k) => {
      flags[k] = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS | EXRP_RECORD_TRUNCATED;
      doneCount++;
    });
  }
  if (terminated !== undefined) {
    forEachDone(BATCH, "terminated", terminated, count, (k) => {
      if (flags[k] === 0) doneCount++;
      flags[k] = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    });
  }
  return doneCount;
}
