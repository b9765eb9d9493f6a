/**
 * Recording: episodes, records, and room for them.
 *
 * @module
 */

import { checkBoolean, checkOptions, show, unknownOption } from "../../base/checks.ts";
import {
  EXRP_EPISODE_INFO_COUNT,
  EXRP_EPISODE_OPEN,
  EXRP_EPISODE_RECORD_COUNT,
  EXRP_EPISODE_STATE,
  EXRP_EPISODE_TERMINATED,
  EXRP_EPISODE_TRUNCATED,
  EXRP_INFO_EPISODE_COUNT,
  EXRP_RECORD_BEGINS,
  EXRP_RECORD_ENDS,
  EXRP_RECORD_PRIORITY,
  EXRP_RECORD_TRUNCATED,
  EXRP_STATUS_FULL,
} from "../../ffi/symbols.ts";
import { ReplayError } from "../../base/errors.ts";
import type { ReplayCore } from "../core.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { checkEpisode, checkPriority, checkTruth } from "./record_input.ts";
import { Row, type RowColumn } from "./row.ts";
import { ManyRecorder } from "./many_recorder.ts";
import type { Column, Columns, ColumnValue } from "../../schema/columns.ts";

/** What can be said of a record beside its values. */
export interface RecordMeta {
  /**
   * The first priority of the pick that begins at this record, with every selector: finite, 0 or more. Without it a pick begins
   * with what the selector's rule says, such as the largest priority so far.
   */
  readonly priority?: number;
}

/** The options of `record` but the extras. */
export interface EndOptions<S extends Column = Column> extends RecordMeta {
  /** The state after the last record: with it the episode ends, as terminated unless `truncated` says otherwise. */
  readonly finalState?: ColumnValue<S>;
  /** With `finalState`: the episode was cut off rather than ended by the task, so that learners bootstrap. */
  readonly truncated?: boolean;
}

/** The options of `record`; `extras` has every extra of the schema, and can't be left out when there is one. */
export type RecordOptions<S extends Column = Column, X extends Columns = Columns> =
  & EndOptions<S>
  & (string extends keyof X ? { readonly extras?: ExtraValues<X> }
    : [keyof X] extends [never] ? { readonly extras?: never }
    : { readonly extras: ExtraValues<X> });

/** A value for each extra. */
export type ExtraValues<X extends Columns> = { readonly [K in keyof X]: ColumnValue<X[K]> };

/** What follows the reward in a call of `record`. */
export type RecordRest<S extends Column, X extends Columns> = [keyof X] extends [never]
  ? [options?: RecordOptions<S, X>]
  : [options: RecordOptions<S, X>];

/** How an episode stands. */
export interface EpisodeInfo {
  /** Its handle. */
  readonly handle: number;
  /** Open, ended by the task, cut off, or forgotten. */
  readonly state: "open" | "terminated" | "truncated" | "evicted";
  /** How many records of it are stored. */
  readonly recordCount: number;
}

/** How an episode ends that gets no further record. */
export interface EndEpisodeOptions<S extends Column = Column> {
  /** The state after the last record. */
  readonly finalState: ColumnValue<S>;
  /** Whether the episode was cut off rather than ended by the task, so that learners bootstrap; false by default. */
  readonly truncated?: boolean;
}

/** What follows the next state in a call of `recordStep`: the extras, where the schema has any. */
export type StepRest<X extends Columns> = [keyof X] extends [never] ? [options?: StepOptions<X>]
  : [options: StepOptions<X>];

/** The options of `recordStep`; `extras` has every extra of the schema, and can't be left out when there is one. */
export type StepOptions<X extends Columns = Columns> =
  & RecordMeta
  & (string extends keyof X ? { readonly extras?: ExtraValues<X> }
    : [keyof X] extends [never] ? { readonly extras?: never }
    : { readonly extras: ExtraValues<X> });

const END_OPTIONS = ["finalState", "truncated"] as const;
const STEP_OPTIONS = ["extras", "priority"] as const;
const OPTIONS = ["finalState", "truncated", "extras", "priority"] as const;

/** The options as they come, before anything is known about them. */
interface LooseOptions {
  readonly finalState?: unknown;
  readonly truncated?: unknown;
  readonly extras?: unknown;
  readonly priority?: unknown;
}

/** Writes records into one replay. */
export class Recorder {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #row: Row;
  readonly #extras: readonly RowColumn[];
  readonly #number = new Float64Array(1);
  readonly #episodeInfo = new Float64Array(EXRP_EPISODE_INFO_COUNT);
  readonly #flag = new Uint32Array(1);
  /** Records many steps at a time. */
  readonly steps: ManyRecorder;

  /** Records into the replay of `core`. */
  constructor(core: ReplayCore, rules: UserRules) {
    this.#core = core;
    this.#rules = rules;
    this.#row = new Row(core.kernel, core.id, core.config.columns);
    this.#extras = this.#row.columns.slice(3);
    this.steps = new ManyRecorder(core, rules, this.#row);
  }

  /** Begins an episode. */
  newEpisode(): number {
    const core = this.#core;
    const symbols = core.kernel.symbols;
    let status = symbols.exrp_episode_create(core.id, this.#number);
    const { eviction } = this.#rules;
    while (status === EXRP_STATUS_FULL && eviction !== undefined) {
      eviction.makeRoom(core.id);
      status = symbols.exrp_episode_create(core.id, this.#number);
    }
    core.check("newEpisode()", status);
    const [handle = 0] = this.#number;
    eviction?.seen(handle);
    return handle;
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
    let flags = 0;
    if (options !== undefined) flags = this.#writeOptions(options);
    else if (this.#extras.length > 0) this.#writeExtras("record()", undefined);
    return this.#store("record()", episode, turn, flags);
  }

  /** Writes one step as an environment gives it. */
  recordStep(
    episode: number,
    [state, action, reward, terminated, truncated, nextState]: readonly unknown[],
    options: LooseOptions | undefined,
  ): number {
    const operation = "recordStep()";
    const turn = this.#writeRow(operation, episode, state, action, reward);
    const isTerminated = checkTruth(`${operation}: terminated`, terminated);
    const isTruncated = checkTruth(`${operation}: truncated`, truncated);
    if (options !== undefined) checkOptions(operation, options, STEP_OPTIONS);
    const extras = options?.extras;
    if (extras !== undefined || this.#extras.length > 0) this.#writeExtras(operation, extras);
    const given = this.#writePriority(operation, options?.priority);
    if (!isTerminated && !isTruncated) return this.#store(operation, episode, turn, given);
    this.#row.nextState.write(nextState);
    const flags = given | EXRP_RECORD_ENDS | EXRP_RECORD_BEGINS;
    return this.#store(
      operation,
      episode,
      turn,
      isTerminated ? flags : flags | EXRP_RECORD_TRUNCATED,
    );
  }

  #writeRow(
    operation: string,
    episode: number,
    state: unknown,
    action: unknown,
    reward: unknown,
  ): number {
    checkEpisode(operation, episode);
    const row = this.#row;
    const turn = ++row.turn;
    row.operation.name = operation;
    row.state.write(state);
    row.action.write(action);
    row.reward.write(reward);
    return turn;
  }

  #store(operation: string, episode: number, turn: number, flags: number): number {
    if (this.#row.turn !== turn) {
      throw new ReplayError(
        "busy",
        `${operation}: a value given to it recorded into the same replay while it was read`,
      );
    }
    const core = this.#core;
    const { bytes, view } = this.#row;
    view.setFloat64(0, episode, true);
    const status = core.kernel.symbols.exrp_record(core.id, bytes, bytes.length, flags);
    if (status !== 0) this.#storeAfter(operation, status, flags);
    const handle = view.getFloat64(0, true);
    const { eviction, selectors } = this.#rules;
    if (eviction !== undefined) eviction.seen(handle);
    if (selectors.size > 0) selectors.recorded(core.id);
    return handle;
  }

  /** Makes room where that was what failed, and tries again. */
  #storeAfter(operation: string, firstStatus: number, flags: number): void {
    const core = this.#core;
    const { bytes } = this.#row;
    const { eviction } = this.#rules;
    let status = firstStatus;
    while (status === EXRP_STATUS_FULL && eviction !== undefined) {
      // The policy is the user's code: should it record something itself, this record must not become that one.
      const row = bytes.slice();
      eviction.makeRoom(core.id);
      bytes.set(row);
      status = core.kernel.symbols.exrp_record(core.id, bytes, bytes.length, flags);
    }
    core.check(operation, status);
  }

  /** Ends an episode without a further record; false where there was nothing to end. */
  endEpisode(episode: unknown, options: unknown): boolean {
    const operation = "endEpisode()";
    checkEpisode(operation, episode);
    checkOptions(operation, options, END_OPTIONS);
    const { finalState, truncated } = options as LooseOptions;
    const isTruncated = truncated !== undefined &&
      checkBoolean(`${operation}: truncated`, truncated);
    const core = this.#core;
    const row = this.#row;
    row.turn++;
    row.operation.name = operation;
    row.finalState.write(finalState);
    const { eviction } = this.#rules;
    const bytes = eviction === undefined ? row.finalBytes : row.finalBytes.slice();
    const flags = isTruncated ? EXRP_RECORD_TRUNCATED : 0;
    const end = (): number =>
      core.kernel.symbols.exrp_episode_end(
        core.id,
        episode,
        bytes,
        bytes.length,
        flags,
        this.#flag,
      );
    const isEmpty = eviction !== undefined && this.#isEmpty(operation, episode);
    let status = end();
    while (status === EXRP_STATUS_FULL && eviction !== undefined) {
      eviction.makeRoom(core.id);
      status = end();
    }
    core.check(operation, status);
    if (isEmpty) eviction?.removed(episode);
    return this.#flag[0] === 1;
  }

  #isEmpty(operation: string, episode: number): boolean {
    const { state, recordCount } = this.episode(operation, episode);
    return state === "open" && recordCount === 0;
  }

  #writeOptions(options: LooseOptions): number {
    checkOptions("record()", options, OPTIONS);
    const { finalState, truncated, extras, priority } = options;
    const given = this.#writePriority("record()", priority);
    if (extras !== undefined || this.#extras.length > 0) this.#writeExtras("record()", extras);
    const isTruncated = truncated !== undefined && checkBoolean("record(): truncated", truncated);
    if (finalState === undefined) {
      if (!isTruncated) return given;
      throw new TypeError(
        "record(): truncated needs finalState, the state after the last record, to bootstrap from",
      );
    }
    this.#row.finalState.write(finalState);
    const ends = given | EXRP_RECORD_ENDS;
    return isTruncated ? ends | EXRP_RECORD_TRUNCATED : ends;
  }

  /** Puts the priority into the row; the flag that says that it is there. */
  #writePriority(operation: string, priority: unknown): number {
    if (priority === undefined) return 0;
    const { view, priorityOffset } = this.#row;
    view.setFloat64(priorityOffset, checkPriority(`${operation}: priority`, priority), true);
    return EXRP_RECORD_PRIORITY;
  }

  #writeExtras(operation: string, extras: unknown): void {
    const names = this.#core.config.extraNames;
    if (names.length === 0) {
      throw new TypeError(
        `${operation}: extras were given, but the schema of this replay has none`,
      );
    }
    if (extras === undefined) {
      throw new TypeError(
        `${operation}: extras are missing; the schema of this replay has ${names.join(", ")}`,
      );
    }
    if (typeof extras !== "object" || extras === null) {
      throw new TypeError(`${operation}: extras must be an object, got ${show(extras)}`);
    }
    const values = extras as Readonly<Record<string, unknown>>;
    for (let k = 0; k < names.length; k++) {
      const name = names[k] as string;
      const value = values[name];
      if (value === undefined) {
        throw new TypeError(
          `${operation}: extras.${name} is missing; every extra of the schema must be given`,
        );
      }
      (this.#extras[k] as RowColumn).write(value);
    }
    for (const key in values) {
      if (!names.includes(key)) throw unknownOption(`${operation}: extras`, key, names);
    }
  }

  /** How an episode stands. */
  episode(operation: string, handle: number): EpisodeInfo {
    const core = this.#core;
    const info = this.#episodeInfo;
    if (typeof handle !== "number") {
      throw new TypeError(`${operation} takes an episode's handle, got ${show(handle)}`);
    }
    const status = core.kernel.symbols.exrp_episode_info(core.id, handle, info, info.length);
    core.check(operation, status);
    return {
      handle,
      state: stateText(info[EXRP_EPISODE_STATE] ?? 0),
      recordCount: info[EXRP_EPISODE_RECORD_COUNT] ?? 0,
    };
  }

  /** The handles of all episodes, oldest first. */
  episodes(): Float64Array<ArrayBuffer> {
    const info = this.#core.info("episodes()");
    return this.#core.episodes("episodes()", info[EXRP_INFO_EPISODE_COUNT] ?? 0);
  }

  /** Forgets an episode; false when it was gone before. */
  evict(handle: number): boolean {
    if (this.episode("evict()", handle).state === "evicted") return false;
    const core = this.#core;
    core.check("evict()", core.kernel.symbols.exrp_episode_evict(core.id, handle));
    this.#rules.eviction?.removed(handle);
    return true;
  }
}

function stateText(state: number): EpisodeInfo["state"] {
  switch (state) {
    case EXRP_EPISODE_OPEN:
      return "open";
    case EXRP_EPISODE_TERMINATED:
      return "terminated";
    case EXRP_EPISODE_TRUNCATED:
      return "truncated";
    default:
      return "evicted";
  }
}
