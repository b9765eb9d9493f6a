/**
 * Draining: returning each record once, in order, for learners that learn only from what their own policy did.
 *
 * A count for each stored episode says how many of its first records were drained. The number of lost records follows from the
 * counts: it is what was recorded, less what was drained, less what is stored and waits.
 * Invariants: 1. a count is at most the number of its episode's records, and less while the newest one's next state is not known;
 * 2. after each drain that looks at the episodes, only stored ones have counts.
 *
 * @module
 */

import { checkBoolean, checkInteger } from "../../base/checks.ts";
import { checkOptions } from "../../base/option_names.ts";
import * as abi from "../../ffi/symbols.ts";
import type { AnyColumnArray } from "../../schema/columns.ts";
import { EPISODE_END } from "../../schema/episode_filter.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import type { ReplayCore } from "../core.ts";
import type { Episodes } from "../record/episodes.ts";
import type { CustomSelectors } from "../rules/custom_selectors.ts";
import type { Drained } from "./drained.ts";
import { DrainedSteps, type Segment } from "./drained_steps.ts";
import { allocateRows, type RecordReader } from "./records.ts";

/**
 * The options of {@linkcode ExperienceReplay.drain}.
 *
 * @example Two environments, 4 steps a turn
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * const episodes = Float64Array.of(replay.newEpisode(), replay.newEpisode());
 * for (let step = 0; step < 3; step++) {
 *   console.log(replay.drain({ steps: 4 }).size); // 0
 *   replay.recordBatch(episodes, {
 *     state: [step, 10 + step],
 *     action: [0, 0],
 *     reward: [1, 1],
 *   });
 * }
 * const steps = replay.drain({ steps: 4 });
 * console.log([...steps.state]); // [0, 1, 10, 11]
 * console.log([...steps.lastNextState]); // [2, 12]: both go on: their third step waits for its next state, which nobody gave
 * console.log([...steps.seqLen]); // [2, 2]
 * console.log(replay.drain({ steps: 4 }).size); // 0
 * ```
 */
export interface DrainOptions {
  /**
   * Exactly this many steps or none, 1 to the capacity. They come from open episodes too, up to the last step whose next state is
   * known: the newest step, if `recordStep` or `recordBatch` recorded it with its next state. The last episode is cut to reach the
   * number, and goes on with the next drain.
   */
  readonly steps?: number;
  /** At least this many steps or none, 1 to the capacity: every step whose next state is known, of open episodes too. */
  readonly minSteps?: number;
  /**
   * Whether records stay in the replay after they were drained, until their room is needed; false by default. They are removed before any
   * record that was not drained.
   */
  readonly keep?: boolean;
}

/** What has been drained: the part of draining that is saved. */
export interface DrainCursor {
  /** Steps drained. */
  readonly drained: number;
  /** Steps that were lost before the latest drain that looked at the episodes. */
  readonly lost: number;
  /** How many records of each stored episode were drained, by its handle. */
  readonly counts: ReadonlyMap<number, number>;
}

/** Nothing drained yet. */
export const CURSOR_AT_FIRST: DrainCursor = { drained: 0, lost: 0, counts: new Map() };

const OPTIONS = ["steps", "minSteps", "keep"] as const;
const OPERATION = "drain()";

/** Random streams of this number and above shuffle drained steps; those of hindsights and selectors have other numbers. */
const SHUFFLE_STREAM = 2 ** 30;

/** What waits in the replay. */
interface Waiting {
  /** The runs of steps that may be drained, oldest episode first. */
  readonly segments: readonly Segment[];
  /** Steps in them. */
  readonly ready: number;
  /** Records that were lost since the last drain. */
  readonly lost: number;
  /** The counts of the cursor, of stored episodes only. */
  readonly counts: Map<number, number>;
}

/** Hands out the records of one replay. */
export class Drainer {
  readonly #core: ReplayCore;
  readonly #episodes: Episodes;
  readonly #customs: CustomSelectors;
  readonly #reader: RecordReader;
  /** The empty result of most calls. */
  #nothing: Drained | undefined;
  /** How far the replay was drained. */
  cursor: DrainCursor = CURSOR_AT_FIRST;

  /** Hands out the records of the replay of `core`. */
  constructor(
    core: ReplayCore,
    episodes: Episodes,
    customs: CustomSelectors,
    reader: RecordReader,
  ) {
    this.#core = core;
    this.#episodes = episodes;
    this.#customs = customs;
    this.#reader = reader;
  }

  /** How many records were neither drained nor known to be lost. */
  get undrainedCount(): number {
    const recorded =
      this.#core.info(OPERATION, this.#core.occupiedId)[abi.EXRP_INFO_RECORDED_COUNT];
    return (recorded ?? 0) - this.cursor.drained - this.cursor.lost;
  }

  /** Hands out steps. */
  drain(options: DrainOptions): Drained {
    const core = this.#core;
    checkOptions(OPERATION, options, OPTIONS);
    const { steps, minSteps } = options;
    if (steps !== undefined && minSteps !== undefined) {
      throw new TypeError(`${OPERATION} takes steps, exactly, or minSteps, at least, not both`);
    }
    const { capacity } = core.config;
    const name = steps === undefined ? "minSteps" : "steps";
    const asked = steps ?? minSteps;
    const wanted = asked === undefined
      ? 1
      : checkInteger(`${OPERATION}: ${name} (at most the capacity)`, asked, 1, capacity);
    const keep = checkBoolean(`${OPERATION}: keep`, options.keep ?? false);
    return core.together(OPERATION, () => this.#drain(wanted, steps, asked !== undefined, keep));
  }

  /** Hands out at least `wanted` steps, or none; exactly `steps`, where a number is given. `open` says whether those of open episodes, too. */
  #drain(wanted: number, steps: number | undefined, open: boolean, keep: boolean): Drained {
    const core = this.#core;
    // Most calls of a learner that asks after each step end here.
    if (this.undrainedCount < wanted) {
      this.#nothing ??= this.#read([], 0);
      return this.#nothing as Drained;
    }
    const waiting = this.#look(open);
    const segments = waiting.ready < wanted ? [] : take(waiting.segments, steps ?? Infinity);
    const drained = this.#read(segments, waiting.lost);
    this.#forget(segments, waiting, keep);
    this.cursor = {
      drained: this.cursor.drained + drained.size,
      lost: this.cursor.lost + waiting.lost,
      counts: waiting.counts,
    };
    core.announce();
    const counted = drained.size + waiting.lost;
    if (counted > 0) {
      core.check(OPERATION, core.kernel.symbols.exrp_rate_limiter_grant_end(core.id, counted));
      core.changed();
    }
    return drained;
  }

  #look(open: boolean): Waiting {
    const core = this.#core;
    const episodes = core.episodes(OPERATION);
    const nextStates = this.#reader.knownNextStates(OPERATION, episodes.handle);
    const segments: Segment[] = [];
    const stored = new Map<number, number>();
    let ready = 0;
    let waits = 0;
    for (let k = 0; k < episodes.size; k++) {
      const handle = episodes.handle[k] as number;
      const first = episodes.firstPosition[k] as number;
      const recordCount = first + (episodes.length[k] as number);
      const end = episodes.end[k] as number;
      // Records that were trimmed before they were drained are lost.
      const handedOut = this.cursor.counts.get(handle) ?? 0;
      const position = Math.max(handedOut, first);
      if (handedOut > 0) stored.set(handle, handedOut);
      waits += recordCount - position;
      const isOpen = end === EPISODE_END.open;
      // The newest record of an open episode waits for its next state, unless that came with it.
      const isWaiting = isOpen && nextStates[k] === 0;
      const known = isOpen && !open ? 0 : isWaiting ? recordCount - 1 : recordCount;
      if (known <= position) continue;
      const terminated = end === EPISODE_END.terminated;
      const ending = isOpen ? undefined : terminated ? "terminated" : "truncated";
      const isNewest = isOpen && known === recordCount;
      segments.push({ handle, position, count: known - position, ending, isOpen, isNewest });
      ready += known - position;
    }
    return { segments, ready, lost: this.undrainedCount - waits, counts: stored };
  }

  #read(
    segments: readonly Segment[],
    lost: number,
  ): Drained {
    const { config } = this.#core;
    const size = segments.reduce((sum, { count }) => sum + count, 0);
    const arrays = config.columns.map(({ column }, k) => {
      const rows = allocateRows(OPERATION, column, size);
      let to = 0;
      for (const { handle, position, count } of segments) {
        this.#reader.copyRun(OPERATION, k, [handle, position], count, rows, to);
        to += count;
      }
      return rows;
    });
    return new DrainedSteps({
      segments,
      arrays,
      config,
      lastNextState: this.#lastNextState(segments),
      actors: this.#reader.actors(OPERATION, handlesOf(segments)),
      random: new RandomStream(this.#core.seed, SHUFFLE_STREAM + this.cursor.drained % 2 ** 29),
      lost,
    });
  }

  /** The state after each segment's last step. That after an open episode's newest step stands apart. */
  #lastNextState(segments: readonly Segment[]): readonly AnyColumnArray[] {
    const newest = segments.filter(({ isNewest }) => isNewest);
    const kept = this.#reader.nextStates(OPERATION, handlesOf(newest));
    if (newest.length === segments.length) return kept;
    return kept.map((keptRows, leaf) => {
      const column = this.#reader.column(leaf);
      const width = column.elementCount;
      const rows = allocateRows(OPERATION, column, segments.length);
      let from = 0;
      for (const [k, { handle, position, count, isNewest }] of segments.entries()) {
        if (isNewest) rows.set(keptRows.subarray(from, from += width), k * width);
        else this.#reader.copyRun(OPERATION, leaf, [handle, position + count], 1, rows, k);
      }
      return rows;
    });
  }

  /**
   * Moves the counts on. What was drained is removed at once, or, if `keep` is set, as soon as its room is needed. So is what was drained
   * of an ended episode that is not drained whole.
   */
  #forget(segments: readonly Segment[], { counts }: Waiting, keep: boolean): void {
    for (const { handle, position, count, ending, isOpen } of segments) {
      const end = position + count;
      counts.set(handle, end);
      if (keep || (!isOpen && ending === undefined)) {
        this.#episodes.release(OPERATION, handle, end);
        continue;
      }
      // Whatever goes may write many events into the journals, which need room for them.
      if (this.#customs.size > 0) this.#customs.drain(this.#core.id);
      if (isOpen) {
        this.#episodes.trim(OPERATION, handle, end);
        continue;
      }
      this.#episodes.evict(handle);
      counts.delete(handle);
    }
  }
}

function handlesOf(segments: readonly Segment[]): Float64Array<ArrayBuffer> {
  return Float64Array.from(segments, ({ handle }) => handle);
}

/** The first `steps` steps. If the last run is cut, it has no ending. */
function take(segments: readonly Segment[], steps: number): readonly Segment[] {
  let left = steps;
  return segments.flatMap((segment) => {
    const count = Math.min(segment.count, left);
    left -= count;
    if (count === segment.count) return segment;
    return count === 0 ? [] : { ...segment, count, ending: undefined, isNewest: false };
  });
}
