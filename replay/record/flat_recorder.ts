/**
 * Recording flat arrays: consecutive steps of many episodes, with flags that say where an episode ends.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { checkBoolean, checkInteger } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import {
  EXRP_LIMIT_BATCH,
  EXRP_RECORD_BEGINS,
  EXRP_RECORD_ENDS,
  EXRP_RECORD_FINAL,
  EXRP_RECORD_NEXT_STATE,
  EXRP_RECORD_TRUNCATED,
  EXRP_STATUS_FULL,
} from "../../ffi/symbols.ts";
import type { NamedColumn, NumericArray } from "../../schema/columns.ts";
import type { Recordable, RecordArray, Schema } from "../../schema/schema.ts";
import type { ReplayCore } from "../core.ts";
import type { UserRules } from "../rules/user_rules.ts";
import {
  checkFiniteSteps,
  type DoneFlags,
  forEachDone,
  KEPT_BYTES_MAX,
  type Loose,
  type StepColumns,
  type StepExtras,
  writeColumns,
  writePriorities,
  writeTags,
} from "./many_recorder.ts";
import { checkValues, countSteps, ManyRows } from "./many_rows.ts";
import { checkEpisode, FLAG_HINTS } from "./record_input.ts";

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

const FLAT = "recordFlat()";
const FLAT_OPTIONS = [
  "state",
  "action",
  "reward",
  "extras",
  "priority",
  "terminated",
  "truncated",
  "nextState",
  "nextStateUnknown",
  "tag",
] as const;
const HINTS = { ...FLAG_HINTS, terminals: "use terminated", timeouts: "use truncated" };

/** Writes flat arrays into one replay. */
export class FlatRecorder {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #isFinite: boolean;
  #kept: ManyRows | undefined;

  /** Records into the replay of `core`. */
  constructor(core: ReplayCore, rules: UserRules) {
    this.#core = core;
    this.#rules = rules;
    this.#isFinite = core.config.checkFinite;
    core.countBuffers(() => this.#kept?.memoryBytes ?? 0);
  }

  /** Writes consecutive steps of many episodes, of which the first goes to `episode`. */
  record(episode: number, options: unknown): FlatRecorded {
    checkEpisode(FLAT, episode);
    checkOptions(FLAT, options, FLAT_OPTIONS, HINTS);
    const loose = options as Loose;
    const { config } = this.#core;
    const state = config.columns[0] as NamedColumn;
    const count = countSteps(FLAT, state, checkValues(FLAT, state, loose.state));
    checkInteger(`${FLAT}: the number of steps`, count, 1, EXRP_LIMIT_BATCH);
    const ends = readEnds(loose, count);
    const kept = this.#kept;
    this.#kept = undefined;
    const steps = kept?.count === count && kept.finalCount >= ends.finalCount
      ? kept
      : new ManyRows(this.#core, FLAT, count, "nextState", ends.finalCount);
    writeColumns(FLAT, steps, loose, config.extraNames);
    steps.flags.set(ends.flags);
    this.#writeFinalStates(steps, ends, loose);
    const next = loose.nextState === undefined ? 0 : EXRP_RECORD_NEXT_STATE;
    const flags = next | writePriorities(FLAT, steps, loose.priority) |
      writeTags(FLAT, steps, loose.tag);
    if (this.#isFinite) checkFiniteSteps(steps);
    const recorded = this.#store(episode, steps, flags);
    if (steps.bytes.length <= KEPT_BYTES_MAX) this.#kept = steps;
    return { ...recorded, recordCount: count - ends.leftOut };
  }

  #writeFinalStates(
    { finalState, count }: ManyRows,
    { flags, finalCount }: Ends,
    loose: Loose,
  ): void {
    const { state, nextState = state } = loose;
    if (loose.nextState === undefined && finalCount === 0) return;
    const { column } = this.#core.config.columns[0] as NamedColumn;
    const named = { name: "nextState", column };
    const values = checkValues(FLAT, named, nextState);
    const given = countSteps(FLAT, named, values);
    if (given !== count) {
      throw new RangeError(
        `${FLAT}: nextState is ${column} and takes the values of ${count} steps, got those of ${given}`,
      );
    }
    let at = 0;
    for (let k = 0; k < count; k++) {
      const isLast = loose.nextState !== undefined && k === count - 1 && flags[k] === 0;
      if (!isLast && ((flags[k] as number) & EXRP_RECORD_ENDS) === 0) continue;
      finalState.writeStepTo(values, k, at);
      if (this.#isFinite) finalState.checkFinite(at, at + 1, k - at);
      at++;
    }
  }

  /** Calls the kernel until all steps are stored. One call does it, unless rules in TypeScript must be served in between. */
  #store(
    first: number,
    { bytes, count }: ManyRows,
    flags: number,
  ): Pick<FlatRecorded, "episode" | "episodes"> {
    const { id, kernel: { symbols } } = this.#core;
    const { eviction, selectors } = this.#rules;
    const [handle, done, episodes] = [
      Float64Array.of(first),
      new Uint32Array(2),
      new Float64Array(count),
    ];
    for (;;) {
      const status = symbols.exrp_record_flat(
        this.#core.id,
        handle,
        bytes,
        lengthOf(bytes),
        count,
        flags,
        done,
        episodes,
        lengthOf(episodes),
      );
      if (status === EXRP_STATUS_FULL && eviction !== undefined) eviction.makeRoom(id);
      else if (status !== 0) this.#core.check(FLAT, status);
      else {
        this.#core.changed();
        eviction?.recorded(id, handle[0] as number);
        if (done[0] === count) break;
        if (selectors.size > 0) selectors.drain(id);
      }
    }
    if (selectors.size > 0) selectors.recorded(id, count);
    return { episode: handle[0] as number, episodes: episodes.slice(0, done[1]) };
  }
}

/** Where episodes end. */
interface Ends {
  /** `[n]`: the `EXRP_RECORD_` flags of each step. */
  readonly flags: Uint8Array<ArrayBuffer>;
  /** How many steps have a final state, or a next state that is kept. */
  readonly finalCount: number;
  /** How many steps are no records. */
  readonly leftOut: number;
}

/** Reads the flags of all steps. */
function readEnds(loose: Loose, count: number): Ends {
  const { terminated, truncated, nextState, nextStateUnknown } = loose;
  const isUnknown = nextStateUnknown !== undefined &&
    checkBoolean(`${FLAT}: nextStateUnknown`, nextStateUnknown);
  if (isUnknown && nextState !== undefined) {
    throw new TypeError(`${FLAT} takes nextState or nextStateUnknown: true, got both`);
  }
  const flags = new Uint8Array(count);
  let finalCount = 0;
  let leftOut = 0;
  if (truncated !== undefined) {
    forEachDone(FLAT, "truncated", truncated, count, (k) => {
      flags[k] = isUnknown
        ? EXRP_RECORD_FINAL
        : EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS | EXRP_RECORD_TRUNCATED;
      if (isUnknown) leftOut++;
      else finalCount++;
    });
  }
  if (terminated !== undefined) {
    forEachDone(FLAT, "terminated", terminated, count, (k) => {
      if (flags[k] === EXRP_RECORD_FINAL) leftOut--;
      if (((flags[k] as number) & EXRP_RECORD_ENDS) === 0) finalCount++;
      flags[k] = EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    });
  }
  if (finalCount > 0 && nextState === undefined && !isUnknown) {
    const step = flags.findIndex((each) => each !== 0);
    const how = ((flags[step] as number) & EXRP_RECORD_TRUNCATED) !== 0
      ? "truncated"
      : "terminated";
    throw new TypeError(
      `${FLAT}: nextState is missing: step ${step} is ${how}, and its next state is the final state of its episode; if you do not have it, add nextStateUnknown: true`,
    );
  }
  if (nextState !== undefined && flags[count - 1] === 0) finalCount++;
  return { flags, finalCount, leftOut };
}
