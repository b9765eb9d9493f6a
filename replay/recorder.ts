/**
 * Recording: episodes, records, and room for them.
 *
 * @module
 */

import { checkBoolean, checkOptions, show, unknownOption } from "../ffi/checks.ts";
import {
  EXRP_EPISODE_INFO_COUNT,
  EXRP_EPISODE_OPEN,
  EXRP_EPISODE_RECORD_COUNT,
  EXRP_EPISODE_STATE,
  EXRP_EPISODE_TERMINATED,
  EXRP_EPISODE_TRUNCATED,
  EXRP_INFO_EPISODE_COUNT,
  EXRP_RECORD_ENDS,
  EXRP_RECORD_TRUNCATED,
  EXRP_STATUS_FULL,
} from "../ffi/symbols.ts";
import { ReplayError } from "../ffi/errors.ts";
import type { ReplayCore } from "./core.ts";
import type { CustomSelectors } from "./custom_selectors.ts";
import { ExternalEviction } from "./external_eviction.ts";
import { Row, type RowColumn } from "./row.ts";
import type { Column, Columns, ColumnValue } from "./schema.ts";

/** The options of `record` but the extras. */
export interface EndOptions<S extends Column = Column> {
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

const OPTIONS = ["finalState", "truncated", "extras"] as const;

/** The options as they come, before anything is known about them. */
interface LooseOptions {
  readonly finalState?: unknown;
  readonly truncated?: unknown;
  readonly extras?: unknown;
}

/** Writes records into one replay. */
export class Recorder {
  readonly #core: ReplayCore;
  readonly #customs: CustomSelectors;
  readonly #row: Row;
  readonly #extras: readonly RowColumn[];
  readonly #number = new Float64Array(1);
  /** Counts the calls of `record`, to notice one inside another: they share the row. */
  #turn = 0;
  readonly #episodeInfo = new Float64Array(EXRP_EPISODE_INFO_COUNT);
  /** Serves an eviction policy written in TypeScript. */
  readonly external: ExternalEviction | undefined;

  /** Records into the replay of `core`. */
  constructor(core: ReplayCore, customs: CustomSelectors) {
    this.#core = core;
    this.#customs = customs;
    this.#row = new Row(core.kernel, core.id, core.config.columns);
    this.#extras = this.#row.columns.slice(3);
    const { eviction } = core.config;
    this.external = "native" in eviction ? undefined : new ExternalEviction(core.kernel, eviction);
  }

  /** Begins an episode. */
  newEpisode(): number {
    const core = this.#core;
    const symbols = core.kernel.symbols;
    let status = symbols.exrp_episode_create(core.id, this.#number);
    while (status === EXRP_STATUS_FULL && this.external !== undefined) {
      this.external.makeRoom(core.id);
      status = symbols.exrp_episode_create(core.id, this.#number);
    }
    core.check("newEpisode()", status);
    const [handle = 0] = this.#number;
    this.external?.seen(handle);
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
    if (typeof episode !== "number") {
      throw new TypeError(
        `record(): episode must be the number that newEpisode() or record() gave, got ${
          show(episode)
        }`,
      );
    }
    const row = this.#row;
    const turn = ++this.#turn;
    row.state.write(state);
    row.action.write(action);
    row.reward.write(reward);
    let flags = 0;
    if (options !== undefined) flags = this.#writeOptions(options);
    else if (this.#extras.length > 0) this.#writeExtras(undefined);

    if (this.#turn !== turn) {
      throw new ReplayError(
        "busy",
        "record(): a value given to it called record() of the same replay while it was read",
      );
    }
    const core = this.#core;
    const bytes = row.bytes;
    row.view.setFloat64(0, episode, true);
    const status = core.kernel.symbols.exrp_record(core.id, bytes, bytes.length, flags);
    if (status !== 0) this.#recordAfter(status, flags);
    const handle = row.view.getFloat64(0, true);
    if (this.external !== undefined) this.external.seen(handle);
    if (this.#customs.size > 0) this.#customs.recorded(core.id);
    return handle;
  }

  /** Makes room where that was what failed, and tries again. */
  #recordAfter(firstStatus: number, flags: number): void {
    const core = this.#core;
    const { bytes } = this.#row;
    let status = firstStatus;
    while (status === EXRP_STATUS_FULL && this.external !== undefined) {
      // The policy is the user's code: should it record something itself, this record must not become that one.
      const row = bytes.slice();
      this.external.makeRoom(core.id);
      bytes.set(row);
      status = core.kernel.symbols.exrp_record(core.id, bytes, bytes.length, flags);
    }
    core.check("record()", status);
  }

  #writeOptions(options: LooseOptions): number {
    checkOptions("record()", options, OPTIONS);
    const { finalState, truncated, extras } = options;
    if (extras !== undefined || this.#extras.length > 0) this.#writeExtras(extras);
    const isTruncated = truncated !== undefined && checkBoolean("record(): truncated", truncated);
    if (finalState === undefined) {
      if (!isTruncated) return 0;
      throw new TypeError(
        "record(): truncated needs finalState, the state after the last record, to bootstrap from",
      );
    }
    this.#row.finalState.write(finalState);
    return isTruncated ? EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED : EXRP_RECORD_ENDS;
  }

  #writeExtras(extras: unknown): void {
    const names = this.#core.config.extraNames;
    if (names.length === 0) {
      throw new TypeError("record(): extras were given, but the schema of this replay has none");
    }
    if (extras === undefined) {
      throw new TypeError(
        `record(): extras are missing; the schema of this replay has ${names.join(", ")}`,
      );
    }
    if (typeof extras !== "object" || extras === null) {
      throw new TypeError(`record(): extras must be an object, got ${show(extras)}`);
    }
    const values = extras as Readonly<Record<string, unknown>>;
    for (let k = 0; k < names.length; k++) {
      const name = names[k] as string;
      const value = values[name];
      if (value === undefined) {
        throw new TypeError(
          `record(): extras.${name} is missing; every extra of the schema must be given`,
        );
      }
      (this.#extras[k] as RowColumn).write(value);
    }
    for (const key in values) {
      if (!names.includes(key)) throw unknownOption("record(): extras", key, names);
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
    this.external?.removed(handle);
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
