/**
 * What you can read from a replay, whatever it holds.
 *
 * @module
 */

import { show } from "../base/checks.ts";
import { showAs } from "../base/inspect.ts";
import { displayAs, htmlTable } from "../base/notebook.ts";
import * as abi from "../ffi/symbols.ts";
import { ReplayCore } from "./core.ts";
import { describedRows, describeReplay, type ReplayDescription } from "./describe.ts";
import type { EpisodeInfo, Episodes } from "./record/episodes.ts";
import type { PickView } from "./register/pick_view.ts";
import type {
  EpisodeColumns,
  EpisodeFilter,
  EpisodeReturns,
  ReturnsFilter,
} from "../schema/episode_filter.ts";
import type { AnyPick, AnySchema, Schema, ViewSchema } from "../schema/schema.ts";
import type { Register } from "./register/register.ts";
import type { Selector } from "./register/selector.ts";
import { collectStats } from "./stats/collect.ts";
import { type ColumnStatistics, columnStatistics } from "./stats/column_statistics.ts";
import type { ReplayStats } from "../stats/replay_stats.ts";
import { statsSvg } from "../stats/stats_svg.ts";

/** What a view looks at: the replay's place in the kernel, its episodes, and its pick views and selectors. */
interface ViewParts {
  readonly core: ReplayCore;
  readonly episodes: Episodes;
  readonly register: Register;
}

/**
 * The place of a replay in the kernel, for other parts of the library.
 *
 * @throws {TypeError} If `replay` is no replay.
 */
export let coreOf: (where: string, replay: unknown) => ReplayCore;

/**
 * What you can read from a replay. {@linkcode ExperienceReplay} extends it, and records, draws and saves.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, type ReplayView } from "@exrp/replay";
 *
 * // What only looks takes a view, so it takes every replay.
 * const fill = (view: ReplayView): number => view.recordCount / view.capacity;
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
 * replay.record(replay.newEpisode(), 1, 0, 0, { finalState: 2 });
 * console.log(fill(replay)); // 0.01
 * ```
 */
export class ReplayView<S extends Schema = AnySchema> implements Disposable {
  readonly #parts: ViewParts;

  static {
    coreOf = (where, replay) => {
      const isReplay = typeof replay === "object" && replay !== null && #parts in replay;
      if (isReplay) return replay.#parts.core;
      throw new TypeError(`${where} takes a replay, got ${show(replay)}`);
    };
  }

  /** Looks at these parts; `ExperienceReplay.create` makes them. */
  protected constructor(parts: ViewParts) {
    if (!(parts?.core instanceof ReplayCore)) {
      throw new TypeError("a replay is made by ExperienceReplay.create(), which finds its kernel");
    }
    this.#parts = parts;
  }

  /** The pick views, in order of creation. The first one is that of `create`. Those that other threads made are among them. */
  get pickViews(): readonly [PickView<S>, ...PickView<ViewSchema<S, AnyPick>>[]] {
    this.#parts.core.catchUp("pickViews");
    const views: readonly unknown[] = this.#parts.register.views;
    return views as readonly [PickView<S>, ...PickView<ViewSchema<S, AnyPick>>[]];
  }

  /**
   * Returns the state of an episode, `open`, `terminated`, `truncated` or `evicted`, and the number of its stored records.
   *
   * @throws {ReplayError} `episode-unknown` for a handle that the replay never gave.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * let episode = replay.newEpisode();
   * episode = replay.record(episode, [1], 0, 0);
   * const { ending, recordCount, firstPosition, tag } = replay.episode(episode);
   * console.log(ending, recordCount, firstPosition, tag); // open 1 0 0
   * ```
   */
  episode(handle: number): EpisodeInfo {
    return this.#parts.episodes.info("episode()", handle);
  }

  /** Lists episodes with their returns. */
  episodes(filter: ReturnsFilter): EpisodeReturns;
  /**
   * Lists the episodes in the replay, oldest first, as columns: the handle of each, how many records it has, its tag, how it ended, how old it
   * is. A filter chooses among them. With `discount` or `best` you get their returns, too.
   *
   * {@linkcode ReplayView.episode} says the same of one episode. {@linkcode ExperienceReplay.episodeRecords} gives the records of one, and
   * {@linkcode ExperienceReplay.evict} forgets one.
   *
   * Cost: one pass through the list of episodes. Returns are one pass through the rewards of the episodes that the filter takes, in the kernel.
   *
   * @throws {TypeError} For an unknown option or one of the wrong kind. Also if you ask for returns and a reward is not a single number.
   * @throws {RangeError} For a number out of its range, and if `lengthMin` is above `lengthMax`.
   * @throws {ReplayError} `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32() });
   * for (const tag of [7, 8]) {
   *   let episode = replay.newEpisode({ tag });
   *   episode = replay.record(episode, 0, 0, tag);
   *   replay.record(episode, 1, 0, 0.5, { finalState: 2 });
   * }
   * replay.newEpisode();
   * console.log([...replay.episodes().handle]); // [0, 1, 2]
   * const ended = replay.episodes({ ended: true, discount: 0.5 });
   * console.log([...ended.length], [...ended.tag]); // [2, 2] [7, 8]
   * console.log([...ended.age]); // [2, 0]: two records were written since the first episode's newest
   * console.log([...ended.return]); // [7.25, 8.25]: 7 + 0.5 * 0.5, and 8 + 0.5 * 0.5
   * console.log([...replay.episodes({ best: 1 }).handle]); // [1]
   * ```
   */
  episodes(filter?: EpisodeFilter): EpisodeColumns;
  episodes(filter: EpisodeFilter = {}): EpisodeColumns {
    return this.#parts.episodes.list(filter);
  }

  /** The selectors, in order of creation. Those that other threads made are among them, whenever you ask. */
  get selectors(): readonly Selector<ViewSchema<S, AnyPick>>[] {
    this.#parts.core.catchUp("selectors");
    const selectors: readonly unknown[] = this.#parts.register.entries.map(({ selector }) =>
      selector
    );
    return selectors as readonly Selector<ViewSchema<S, AnyPick>>[];
  }

  /** How many episodes the replay holds. */
  get episodeCount(): number {
    return this.#info("episodeCount", abi.EXRP_INFO_EPISODE_COUNT);
  }

  /** How many records the replay holds: at most `capacity`. */
  get recordCount(): number {
    return this.#info("recordCount", abi.EXRP_INFO_RECORD_COUNT);
  }

  /** How many picks the first pick view has now. */
  get pickCount(): number {
    return this.#info("pickCount", abi.EXRP_INFO_PICK_COUNT);
  }

  /**
   * How many bytes of memory the replay takes: what the process grew by, within 10 %. It counts whole pages, the buffers that the replay
   * keeps for later calls, and the engine's objects, but no batch that you hold. `docs/memory.md` says what a record takes.
   */
  get memoryBytes(): number {
    return this.#info("memoryBytes", abi.EXRP_INFO_MEMORY_BYTES);
  }

  /** How many records the replay holds at most. With `capacityBytes` it can be less than the `capacity` of `create`. */
  get capacity(): number {
    return this.#parts.core.config.capacity;
  }

  /** The seed, from which all random draws follow. */
  get seed(): number {
    return this.#parts.core.seed;
  }

  /** True once the replay was freed. */
  get isDisposed(): boolean {
    return this.#parts.core.isDisposed;
  }

  #info(operation: string, index: number): number {
    return this.#parts.core.info(operation)[index] ?? 0;
  }

  /**
   * Describes the replay as a plain object. As a string, it is a table for people.
   *
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4) });
   * const description = replay.describe();
   * console.log(description.recordCount); // 0
   * console.log(String(description).includes("0 of 1_000")); // true
   * ```
   */
  describe(): ReplayDescription {
    return describeReplay(this.#parts.core, this.#parts.register);
  }

  /**
   * Says in numbers what is in the replay, and what its selectors draw: fill, episodes, the ages of what is stored and of what is drawn,
   * the weights and priorities of each selector, and the sample-to-insert ratio. As a string, it is a table for people. It changes nothing.
   *
   * The counts of draws are saved in snapshots. The noted draws, with their ages, are not: they begin anew after `unserialize`.
   *
   * Cost: it looks at every record and weight, which takes a few ms for each million.
   *
   * @throws {ReplayError} `disposed` or `busy`. `rule` if `getPriority()` of a rule of your own is wrong.
   * @example
   * ```ts
   * import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
   *
   * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
   * const selector = replay.newPickSelector(prioritized({ alpha: 1, epsilon: 0 }));
   * let episode = replay.newEpisode();
   * for (let t = 0; t < 9; t++) episode = replay.record(episode, [t], 0, 0);
   * replay.record(episode, [9], 0, 0, { finalState: [10] });
   * replay.setPriority(selector, [episode], [4], [3]); // the others have 1
   * replay.getBatch(32, selector);
   *
   * const stats = replay.stats();
   * console.log(stats.records); // { stored: 10, capacity: 100, fill: 0.1, written: 10 }
   * console.log([stats.ages.mean, stats.ages.largest]); // [4.5, 9]
   * const [drawn] = stats.selectors;
   * console.log([drawn?.drawnCount, drawn?.drawsPerRecord]); // [32, 3.2]
   * console.log([drawn?.weights?.sum, drawn?.weights?.largest]); // [12, 3]
   * console.log(drawn?.weights?.effectiveCount); // 8: 12 ** 2 / (9 + 9)
   * console.log(String(stats).includes("10 of 100 (10 %)")); // true
   * ```
   */
  stats(): ReplayStats {
    return collectStats(this.#parts.core, this.#parts.register);
  }

  /**
   * The running mean and variance of each element of a column, which {@linkcode normalize} keeps: of the records that were stored when the first pick view
   * asked for them, and of all that came since. It is undefined if no view normalizes the column.
   *
   * @param column The column's name: `"state"`, `"action"`, `"reward"`, or `"extras.name"`; of a state of several leaves `"state.image"` and the like.
   * @throws {TypeError} If there is no such column.
   * @throws {ReplayError} `disposed` or `busy`.
   * @example
   * ```ts
   * import { ExperienceReplay, float32 } from "@exrp/replay";
   * import { normalize } from "@exrp/replay/transforms";
   *
   * using replay = await ExperienceReplay.create({ capacity: 2, state: float32() });
   * replay.newPickView({ transform: { reward: [normalize()] } });
   * let episode = replay.newEpisode();
   * for (const reward of [1, 2, 3, 4]) episode = replay.record(episode, 0, 0, reward);
   * console.log(replay.columnStatistics("reward")?.mean); // Float64Array(1) [2.5]: of all that were recorded
   * console.log(replay.columnStatistics("state")); // undefined
   * ```
   */
  columnStatistics(column: string): ColumnStatistics | undefined {
    return columnStatistics(this.#parts.core, column);
  }

  /** The view of `describe()`. It never throws: if the replay can't be read now, the text says why. */
  toString(): string {
    // A console may look at the prototype alone.
    if (!(#parts in this)) return "ExperienceReplay";
    if (this.isDisposed) return "ExperienceReplay (disposed)";
    const { busyWith } = this.#parts.core;
    if (busyWith !== undefined) return `ExperienceReplay (busy until ${busyWith} is done)`;
    try {
      return String(this.describe());
    } catch (error) {
      return `ExperienceReplay (${error instanceof Error ? error.message : String(error)})`;
    }
  }

  /**
   * Frees the replay's memory. A second call does nothing. Any other call afterwards throws a `ReplayError` with code `disposed`.
   */
  // Where a platform lacks the symbol, `base/platform.ts` has added it by now: `ffi/handle.ts` needs it first.
  [Symbol.dispose](): void {
    this.#parts.core.dispose();
  }
}

showAs(ReplayView, (replay) => replay.toString());
// A replay that can't be read now is shown by its text.
displayAs(ReplayView.prototype, (replay) => {
  const stats = replay.stats();
  return `${htmlTable("ExperienceReplay", describedRows(replay.describe()))}${statsSvg(stats)}`;
});
