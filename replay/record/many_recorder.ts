/**
 * Recording many steps in one call: steps of one episode, one step of each of many parallel environments, or steps of many episodes one
 * after the other.
 *
 * @module
 */

import { checkBoolean, checkInteger, checkNumbers, show } from "../../base/checks.ts";
import { numberOf } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import { checkHonest, checkUnshared, countOf, isOwn, lengthOf } from "../../base/typed_arrays.ts";
import * as abi from "../../ffi/symbols.ts";
import type { NamedColumn } from "../../schema/columns.ts";
import { takeApart } from "../../schema/state.ts";
import { checkTag } from "../../schema/pick_where.ts";
import type { ReplayCore } from "../core.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { ManyRows } from "./many_rows.ts";
import type { FlatRecorded } from "./many_steps.ts";
import {
  checkEpisode,
  checkPriority,
  FINAL_STATE_HINTS,
  FLAG_HINTS,
  flagError,
  writeEnd,
  writeExtras,
} from "./record_input.ts";
import { countSteps } from "./staged_column.ts";

const MANY = "recordMany()";
const BATCH = "recordBatch()";
const FLAT = "recordFlat()";
const COLUMNS = ["state", "action", "reward", "extras", "priority"];
const MANY_OPTIONS = [...COLUMNS, "finalState", "truncated", "tag"];
const BATCH_OPTIONS = [...COLUMNS, "nextState", "terminated", "truncated", "tag"];
const FLAT_OPTIONS = [
  ...COLUMNS,
  ...["terminated", "truncated", "nextState", "nextStateUnknown", "tag"],
];
const FLAT_HINTS = { ...FLAG_HINTS, terminals: "use terminated", timeouts: "use truncated" };

/** The flags of a step that ends its episode, after which another begins. */
const ENDS = abi.EXRP_RECORD_ENDS | abi.EXRP_RECORD_BEGINS;
const ENDS_TRUNCATED = ENDS | abi.EXRP_RECORD_TRUNCATED;

/** The staging rows are kept for the next call if they have at most this many bytes. */
const KEPT_BYTES_MAX = 2 ** 22;

/** The parts of a call before they are checked. */
type Loose = Readonly<Record<string, unknown>>;

/** Writes many steps at a time into one replay. */
export class ManyRecorder {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  /** The staging rows of the latest call of each kind, for the next one. A call takes them out, as it may run the user's code. */
  readonly #kept: Record<string, ManyRows | undefined> = {
    [MANY]: undefined,
    [BATCH]: undefined,
    [FLAT]: undefined,
  };

  /** Records into the replay of `core`. */
  constructor(core: ReplayCore, rules: UserRules) {
    this.#core = core;
    this.#rules = rules;
    core.countBuffers(() => {
      let bytes = 0;
      for (const rows of Object.values(this.#kept)) bytes += rows?.memoryBytes ?? 0;
      return bytes;
    });
  }

  /** Writes consecutive steps of one episode. */
  recordMany(episode: number, options: unknown): number {
    checkEpisode(MANY, episode);
    checkOptions(MANY, options, MANY_OPTIONS, FINAL_STATE_HINTS);
    const loose = options as Loose;
    const steps = this.#rows(MANY, this.#countOf(MANY, loose), undefined);
    const { count, bytes, handle, done } = steps;
    this.#writeColumns(MANY, steps, loose);
    if (loose["tag"] !== undefined) checkTag(`${MANY}: tag`, loose["tag"]);
    const flags = writePriorities(MANY, steps, loose["priority"]) |
      writeTags(MANY, steps, loose["tag"]) |
      writeEnd(MANY, steps.finalState, loose["finalState"], loose["truncated"]);
    handle[0] = episode;
    const { symbols } = this.#core.kernel;
    const store = (id: number): number =>
      symbols.exrp_record_many(id, handle, bytes, lengthOf(bytes), count, flags, done);
    this.#store(MANY, steps, handle, store);
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
    checkInteger(`${BATCH}: the number of environments`, count, 1, abi.EXRP_LIMIT_BATCH);
    checkOptions(BATCH, options, BATCH_OPTIONS, FLAG_HINTS);
    const loose = options as Loose;
    const steps = this.#rows(BATCH, count, count);
    const { bytes, done } = steps;
    this.#writeColumns(BATCH, steps, loose);
    const doneCount = writeEnds(BATCH, steps.flags, loose, ENDS_TRUNCATED);
    const flags = this.#writeNextStates(steps, loose["nextState"], doneCount) |
      writePriorities(BATCH, steps, loose["priority"]) | writeTags(BATCH, steps, loose["tag"]);
    const { symbols } = this.#core.kernel;
    this.#store(BATCH, steps, episodes, (id) => {
      // Reading values and serving rules may run the user's code, which can take the array's memory away.
      if (lengthOf(episodes) !== count) {
        throw new TypeError(`${BATCH}: the memory of episodes was taken away during the call`);
      }
      return symbols.exrp_record_batch(id, episodes, bytes, lengthOf(bytes), count, flags, done);
    });
    return doneCount;
  }

  /** Writes consecutive steps of many episodes, of which the first goes to `episode`. */
  recordFlat(episode: number, options: unknown): FlatRecorded {
    checkEpisode(FLAT, episode);
    checkOptions(FLAT, options, FLAT_OPTIONS, FLAT_HINTS);
    const loose = options as Loose;
    const { nextState, nextStateUnknown = false } = loose;
    const isUnknown = checkBoolean(`${FLAT}: nextStateUnknown`, nextStateUnknown);
    const count = this.#countOf(FLAT, loose);
    if (isUnknown && nextState !== undefined) {
      throw new TypeError(`${FLAT} takes nextState or nextStateUnknown: true, got both`);
    }
    const ends = new Uint8Array(count);
    const cut = isUnknown ? abi.EXRP_RECORD_FINAL : ENDS_TRUNCATED;
    const doneCount = writeEnds(FLAT, ends, loose, cut);
    const leftOut = isUnknown ? ends.filter((end) => end === cut).length : 0;
    const keepsLast = nextState !== undefined && ends[count - 1] === 0;
    const finalCount = doneCount - leftOut + (keepsLast ? 1 : 0);
    const steps = this.#rows(FLAT, count, finalCount);
    const { bytes, handle, done } = steps;
    this.#writeColumns(FLAT, steps, loose);
    steps.flags.set(ends);
    writeFinalStates(steps, loose, isUnknown, finalCount, keepsLast);
    const flags = (nextState === undefined ? 0 : abi.EXRP_RECORD_NEXT_STATE) |
      writePriorities(FLAT, steps, loose["priority"]) | writeTags(FLAT, steps, loose["tag"]);
    handle[0] = episode;
    const episodes = new Float64Array(count);
    const { symbols } = this.#core.kernel;
    const size = lengthOf(bytes);
    const store = (id: number): number =>
      symbols.exrp_record_flat(id, handle, bytes, size, count, flags, done, episodes, count);
    this.#store(FLAT, steps, handle, store);
    return {
      episode: handle[0],
      episodes: episodes.slice(0, done[1]),
      recordCount: count - leftOut,
    };
  }

  /** How many steps there are, by the states. */
  #countOf(operation: string, { state }: Loose): number {
    const { leaves: [first], tree } = this.#core.config;
    const values = tree === 0 ? state : takeApart(`${operation}: state`, tree, state)[0];
    const count = countSteps(operation, first as NamedColumn, values);
    return checkInteger(`${operation}: the number of steps`, count, 1, abi.EXRP_LIMIT_BATCH);
  }

  /** Staging rows for so many steps and at least so many of their next states, or for one final state by itself. */
  #rows(operation: string, count: number, finals: number | undefined): ManyRows {
    const kept = this.#kept[operation];
    this.#kept[operation] = undefined;
    const finalCount = finals ?? 1;
    if (kept?.count === count && kept.fits(finalCount)) return kept;
    return new ManyRows(this.#core, operation, count, finals, kept);
  }

  /** Writes the values of all columns. */
  #writeColumns(operation: string, steps: ManyRows, loose: Loose): void {
    steps.state.write(loose["state"]);
    steps.action.write(loose["action"]);
    steps.reward.write(loose["reward"]);
    writeExtras(operation, loose["extras"], this.#core.config.extraNames, steps.extras);
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
      return abi.EXRP_RECORD_NEXT_STATE;
    }
    const values = finalState.check(nextState);
    if (doneCount === 0) return 0;
    for (let k = 0; k < flags.length; k++) if (flags[k] !== 0) finalState.writeStep(values, k, k);
    return 0;
  }

  /** Calls the kernel until all steps are stored. One call does it, unless rules in TypeScript must be served in between. */
  #store(
    operation: string,
    steps: ManyRows,
    handles: Float64Array,
    store: (id: number) => number,
  ): void {
    const core = this.#core;
    const { eviction, selectors } = this.#rules;
    const { count, done } = steps;
    done[0] = done[1] = 0;
    for (;;) {
      const status = store(core.id);
      if (status === abi.EXRP_STATUS_FULL && eviction !== undefined) eviction.makeRoom(core.id);
      else if (status !== 0) core.check(operation, status);
      else {
        core.changed();
        eviction?.recordedMany(core.id, handles);
        if (done[0] === count) break;
        if (selectors.size > 0) selectors.drain(core.id);
      }
    }
    if (selectors.size > 0) selectors.recorded(core.id, count);
    if (steps.bytes.length <= KEPT_BYTES_MAX) this.#kept[operation] = steps;
  }
}

/** Writes the final states of the episodes that end, and that of the last step. */
function writeFinalStates(
  { finalState, flags, count }: ManyRows,
  { state, nextState }: Loose,
  isUnknown: boolean,
  finalCount: number,
  keepsLast: boolean,
): void {
  if (finalCount === 0) return;
  if (nextState === undefined && !isUnknown) {
    const step = flags.findIndex((each) => each !== 0);
    const how = flags[step] === ENDS ? "terminated" : "truncated";
    throw new TypeError(
      `${FLAT}: nextState is missing: step ${step} is ${how}, and its next state is the final state of its episode; if you do not have it, add nextStateUnknown: true`,
    );
  }
  const values = finalState.check(nextState ?? state, count);
  let at = 0;
  for (let k = 0; k < count; k++) {
    const isFinal = ((flags[k] as number) & abi.EXRP_RECORD_ENDS) !== 0;
    if (isFinal || (keepsLast && k === count - 1)) finalState.writeStep(values, k, at++);
  }
}

/** An array with a value for each step. `one` says what may stand in its place. */
function checkPerStep(
  operation: string,
  name: string,
  value: unknown,
  count: number,
  needed?: string,
  one = "",
): ArrayLike<unknown> {
  const values = checkNumbers(operation, name, value, needed);
  if (countOf(values) === count) return values;
  throw new RangeError(
    `${operation}: ${name} takes ${one}${numberOf(count, "value")} for ${
      numberOf(count, "step")
    }, got ${countOf(values)}`,
  );
}

/** Writes the priorities of all steps; returns the flag that tells the kernel so. */
function writePriorities(operation: string, steps: ManyRows, value: unknown): number {
  if (value === undefined) return 0;
  const { priorities, count } = steps;
  const values = checkPerStep(operation, "priority", value, count);
  for (let k = 0; k < count; k++) {
    priorities[k] = checkPriority(`${operation}: priority[${k}]`, values[k]);
  }
  return abi.EXRP_RECORD_PRIORITY;
}

/** Writes the tags of all steps, from one or from as many as there are steps; returns the flag that tells the kernel so. */
function writeTags(operation: string, { tags, count }: ManyRows, value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === "number") tags.fill(checkTag(`${operation}: tag`, value));
  else {
    const needed = "must be a whole number, or a plain or typed array of whole numbers";
    const values = checkPerStep(operation, "tag", value, count, needed, "one value, or ");
    for (let k = 0; k < count; k++) {
      const tag = values[k];
      // The comparison is true only for whole numbers of 32 bits.
      tags[k] = typeof tag === "number" && (tag | 0) === tag
        ? tag
        : checkTag(`${operation}: tag[${k}]`, tag);
    }
  }
  return abi.EXRP_RECORD_TAG;
}

/** Calls `each` with the index of each flag that is set. */
export function forEachDone(
  operation: string,
  name: string,
  value: unknown,
  count: number,
  each: (index: number) => void,
): void {
  const needed = "must be a plain or typed array of booleans or of 0 and 1";
  const flags = checkPerStep(operation, name, value, count, needed);
  for (let k = 0; k < count; k++) {
    const flag = flags[k];
    if (flag === false || flag === 0) continue;
    if (flag !== true && flag !== 1) throw flagError(`${operation}: ${name}[${k}]`, flag);
    each(k);
  }
}

/** Writes of each step whether it ends its episode, `cut` where it is truncated; returns how many do. */
function writeEnds(
  operation: string,
  flags: Uint8Array,
  { terminated, truncated }: Loose,
  cut: number,
): number {
  // To fill a short array takes longer.
  for (let k = 0; k < flags.length; k++) flags[k] = 0;
  let doneCount = 0;
  // If both are set the task has ended the episode, and there is nothing to bootstrap from.
  if (truncated !== undefined) {
    forEachDone(operation, "truncated", truncated, flags.length, (k) => {
      flags[k] = cut;
      doneCount++;
    });
  }
  if (terminated !== undefined) {
    forEachDone(operation, "terminated", terminated, flags.length, (k) => {
      if (flags[k] === 0) doneCount++;
      flags[k] = ENDS;
    });
  }
  return doneCount;
}
