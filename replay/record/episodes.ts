/**
 * Episodes: how they begin and end, what state they are in, and how one is forgotten.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import { checkBoolean, show } from "../../base/checks.ts";
import { arraysText, numberOf, showOneAs } from "../../base/inspect.ts";
import { checkOptions } from "../../base/option_names.ts";
import * as abi from "../../ffi/symbols.ts";
import { rewardColumn } from "../../schema/create_options.ts";
import { checkEpisodeFilter, type EpisodeColumns } from "../../schema/episode_filter.ts";
import type { Recordable, RecordValue, Schema } from "../../schema/schema.ts";
import { checkTag } from "../../schema/pick_where.ts";
import type { ReplayCore } from "../core.ts";
import { bestOf } from "./_best_episodes.ts";
import type { UserRules } from "../rules/user_rules.ts";
import { callWithRoom, checkEpisode, FINAL_STATE_HINTS } from "./record_input.ts";
import type { Row } from "./row.ts";

/** The state of an episode, as {@linkcode ReplayView.episode} returns it. */
export interface EpisodeInfo {
  /** Its handle. */
  readonly handle: number;
  /** How it ended: by the task, or cut off. `open` while it goes on; `evicted` once it was forgotten. */
  readonly ending: "open" | "terminated" | "truncated" | "evicted";
  /** How many records of it are stored. */
  readonly recordCount: number;
  /** The position of the oldest of them, or of the next record if it holds none. It is 0 until the replay trims the episode. */
  readonly firstPosition: number;
  /** Its tag; 0 once it was forgotten. */
  readonly tag: number;
}

/** An episode as one line, such as `Episode 3: open, 20 records from position 16, tag 1`. */
function episodeText({ handle, ending, recordCount, firstPosition, tag }: EpisodeInfo): string {
  const from = firstPosition > 0 ? ` from position ${firstPosition}` : "";
  return `Episode ${handle}: ${ending}, ${numberOf(recordCount, "record")}${from}, tag ${tag}`;
}

/** How an episode begins: the options of {@linkcode ExperienceReplay.newEpisode}. */
export interface NewEpisodeOptions {
  /** A whole number from -2^31 to 2^31 - 1; 0 by default. The option `where` of a pick view chooses episodes by it. */
  readonly tag?: number;
}

/** How an episode ends without a further record: the options of {@linkcode ExperienceReplay.endEpisode}. */
export type EndEpisodeOptions<S extends Schema> = Recordable<S, {
  /** The state after the last record. */
  readonly finalState: RecordValue<S, "state">;
  /** Whether the episode was cut off and not ended by the task; false by default. Learners then bootstrap. */
  readonly truncated?: boolean;
}>;

const NEW_OPTIONS = ["tag"] as const;
const END_OPTIONS = ["finalState", "truncated"] as const;

/** The episodes of one replay. */
export class Episodes {
  readonly #core: ReplayCore;
  readonly #rules: UserRules;
  readonly #row: Row;
  readonly #number = new Float64Array(1);
  readonly #info = new Float64Array(abi.EXRP_EPISODE_INFO_COUNT);
  readonly #flag = new Uint32Array(1);

  /** The episodes of the replay of `core`. `row` checks final states. */
  constructor(core: ReplayCore, rules: UserRules, row: Row) {
    this.#core = core;
    this.#rules = rules;
    this.#row = row;
  }

  /** Begins an episode. */
  begin(options: NewEpisodeOptions | undefined): number {
    const core = this.#core;
    let tag = 0;
    if (options !== undefined) {
      checkOptions("newEpisode()", options, NEW_OPTIONS);
      if (options.tag !== undefined) tag = checkTag("newEpisode(): tag", options.tag);
    }
    return tag === 0 ? this.#begin(tag) : core.together("newEpisode()", () => this.#begin(tag));
  }

  #begin(tag: number): number {
    const core = this.#core;
    const symbols = core.kernel.symbols;
    const create = (): number => symbols.exrp_episode_create(core.id, this.#number);
    core.check("newEpisode()", callWithRoom(core, this.#rules, create));
    core.begunCount++;
    core.changed();
    const [handle = 0] = this.#number;
    if (tag !== 0) core.check("newEpisode()", symbols.exrp_episode_tag(core.id, handle, tag));
    this.#rules.eviction?.recorded(core.id, handle);
    return handle;
  }

  /** Ends an episode without a further record; returns false if there was nothing to end. */
  end(episode: unknown, options: unknown): boolean {
    const operation = "endEpisode()";
    checkEpisode(operation, episode);
    checkOptions(operation, options, END_OPTIONS, FINAL_STATE_HINTS);
    const { finalState, truncated } = options as Partial<
      Record<(typeof END_OPTIONS)[number], unknown>
    >;
    const isTruncated = truncated !== undefined &&
      checkBoolean(`${operation}: truncated`, truncated);
    const core = this.#core;
    const row = this.#row;
    row.writeFinal(operation, finalState);
    const { eviction } = this.#rules;
    const bytes = eviction === undefined ? row.finalBytes : row.finalBytes.slice();
    const flags = isTruncated ? abi.EXRP_RECORD_TRUNCATED : 0;
    const size = lengthOf(bytes);
    const { symbols } = core.kernel;
    const end = (): number =>
      symbols.exrp_episode_end(core.id, episode, bytes, size, flags, this.#flag);
    core.check(operation, callWithRoom(core, this.#rules, end));
    core.changed();
    eviction?.look(core.id);
    return this.#flag[0] === 1;
  }

  /** The state of an episode. */
  info(operation: string, handle: number): EpisodeInfo {
    const core = this.#core;
    const info = this.#info;
    if (typeof handle !== "number") {
      throw new TypeError(`${operation} takes an episode's handle, got ${show(handle)}`);
    }
    const status = core.kernel.symbols.exrp_episode_info(core.id, handle, info, lengthOf(info));
    core.check(operation, status);
    return showOneAs({
      handle,
      ending: endingOf(info[abi.EXRP_EPISODE_STATE] ?? 0),
      recordCount: info[abi.EXRP_EPISODE_RECORD_COUNT] ?? 0,
      firstPosition: info[abi.EXRP_EPISODE_FIRST_POSITION] ?? 0,
      tag: info[abi.EXRP_EPISODE_TAG] ?? 0,
    }, episodeText);
  }

  /** The episodes that a filter takes. */
  list(filter: unknown): EpisodeColumns {
    const core = this.#core;
    const operation = "episodes()";
    const { numbers, best } = checkEpisodeFilter(operation, filter, rewardColumn(core.config));
    const all = core.together(operation, () => core.episodes(operation, numbers));
    const listed = best === undefined ? all : bestOf(all, best);
    return showOneAs(
      listed,
      ({ size, ...columns }) => `${numberOf(size, "episode")} ${arraysText(columns)}`,
    );
  }

  /** Forgets all episodes, the oldest first. */
  clear(): void {
    const core = this.#core;
    const { eviction, selectors } = this.#rules;
    core.checkUsable("clear()");
    const handles = eviction === undefined ? [] : this.list({}).handle;
    core.check("clear()", core.kernel.symbols.exrp_replay_clear(core.id));
    core.changed();
    for (const handle of handles) eviction?.removed(handle);
    // The journals have every pick now. Rules hear of it at once, so that the memory can be used again.
    if (selectors.size > 0) selectors.drain(core.id);
  }

  /** Lets the records of an open episode before `position` go. */
  trim(operation: string, handle: number, position: number): void {
    const core = this.#core;
    const status = core.kernel.symbols.exrp_episode_trim(core.id, handle, position);
    core.check(operation, status);
    core.changed();
    this.#rules.eviction?.look(core.id);
  }

  /** Lets the records of an episode before `position` go before any others, once their room is needed. */
  release(operation: string, handle: number, position: number): void {
    const core = this.#core;
    core.check(operation, core.kernel.symbols.exrp_records_release(core.id, handle, position));
  }

  /** Forgets an episode; returns false if it was gone before. */
  evict(handle: number): boolean {
    const core = this.#core;
    const wasThere = core.together("evict()", () => {
      if (this.info("evict()", handle).ending === "evicted") return false;
      core.check("evict()", core.kernel.symbols.exrp_episode_evict(core.id, handle));
      return true;
    });
    if (!wasThere) return false;
    core.changed();
    this.#rules.eviction?.removed(handle);
    return true;
  }
}

const ENDINGS: Readonly<Partial<Record<number, EpisodeInfo["ending"]>>> = {
  [abi.EXRP_EPISODE_OPEN]: "open",
  [abi.EXRP_EPISODE_TERMINATED]: "terminated",
  [abi.EXRP_EPISODE_TRUNCATED]: "truncated",
};

/** How an episode has ended, from its state in the kernel. */
export function endingOf(state: number): EpisodeInfo["ending"] {
  return ENDINGS[state] ?? "evicted";
}
