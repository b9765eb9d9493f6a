/**
 * The whole replay, plain and slow: episodes are arrays of records, the pick view is an array, sums are added up anew for
 * each draw. It is written from what the module promises (docs/internals/decisions, kernel/exrp.h), not from how the kernel does it.
 *
 * The file is long because the whole state of a replay is one class here, with no part that could hide a rule.
 *
 * @module
 */

import type { AnyPickPolicy } from "@exrp/replay/types";
import type { EpisodeFilter } from "@exrp/replay/types";
import type { DrainRequest, ModelBatch, ModelDrained } from "./batch_model.ts";
import { DrainModel } from "./drain_model.ts";
import { listEpisodes, type ModelEpisodes } from "./episodes_model.ts";
import { type EvictionModel, evictionModel } from "./eviction_models.ts";
import type { Fault } from "./faults.ts";
import {
  type EpisodeGoals,
  HindsightModel,
  type HindsightSpec,
  type ModelGoal,
  type PickOfBatch,
} from "./hindsight_model.ts";
import { type ModelConfig, ModelError } from "./model_config.ts";
import type { SelectorSpec } from "./selector_specs.ts";
import { type Pick, type SeenBatch, type TablesHost, TablesModel } from "./pick_views_model.ts";
import type { RunningStatistics } from "./transforms_model.ts";
import { type Ending, type Episode, keptAt, recordAt } from "./window_model.ts";

/** One step that is recorded. */
interface RecordedStep {
  readonly columns: readonly Uint8Array[];
  readonly finalState: Uint8Array | undefined;
  readonly ending: Ending;
  readonly priority: number | undefined;
  readonly nextState: Uint8Array | undefined;
  /** Whether another episode begins after the end of this one, for which there must be room, too. */
  readonly begins: boolean;
  /** The tag of the episode, if the record is its first. */
  readonly tag?: number | undefined;
}

/** The end of an episode among flat steps. */
export interface FlatEnd {
  readonly finalState: Uint8Array;
  readonly ending: Ending;
  /** Whether the step is a record; else it only gives the final state. */
  readonly isRecord: boolean;
}

/** Room that must be there before a change. */
interface Room {
  readonly blocks: number;
  readonly records: number;
  readonly bytes: number;
}

/** The birth of an episode's oldest record. */
function birthOf({ births, first }: Episode): number {
  return births[first] ?? Infinity;
}

/** Whether the k-th record was named before. */
function isBefore(episodes: readonly number[], positions: readonly number[], k: number): boolean {
  return episodes.slice(0, k).some((handle, j) =>
    handle === episodes[k] && positions[j] === positions[k]
  );
}

export class ReplayModel {
  readonly config: ModelConfig;
  readonly segmentLength: number;
  /** Slots in a block. It decides only when there are no blocks left. */
  blockLength: number;
  /** How many records of an open episode go at once, a power of two; births are known for each position that is a multiple of it. */
  readonly trimLength: number;
  /** Records that there can be: as many as given, or as fit into the bytes beside a final state. */
  capacity: number;
  /** By handle, oldest first. */
  readonly #episodes = new Map<number, Episode>();
  #views: TablesModel;
  #drained: DrainModel;
  #eviction: EvictionModel;
  readonly #fault: Fault | undefined;
  #hindsight: HindsightModel;
  /** Handles of episodes that went while they were open: a record with one begins a new episode, once. Oldest first. */
  #orphans: readonly number[] = [];
  /** The tag of each episode that there was. */
  #tags = new Map<number, number>();
  nextHandle = 0;
  recordedCount = 0;
  evictedCount = 0;
  /** How many records open episodes have lost. */
  trimmedCount = 0;

  constructor(config: ModelConfig, fault?: Fault) {
    this.config = config;
    const { capacityBytes = Infinity, maxAge = Infinity } = config;
    this.capacity = config.capacity;
    while (this.#episodeBytes(this.capacity) + this.#stateBytes > capacityBytes) this.capacity--;
    this.segmentLength = config.segmentLength ?? 2 ** 31 - 1;
    this.blockLength = config.blockLength;
    let trimLength = 16;
    while (trimLength > 1 && trimLength > Math.min(this.capacity, maxAge) / 64) trimLength /= 2;
    this.trimLength = trimLength;
    this.#views = new TablesModel(config, this.#host(), fault);
    this.#drained = new DrainModel(config, this.#episodes, fault);
    this.#fault = fault;
    this.#eviction = evictionModel(config.eviction, config.evictionDraws, config.seed, fault);
    this.#hindsight = new HindsightModel(config.seed);
  }

  // ---- what can be seen ----

  get recordCount(): number {
    let count = 0;
    for (const { records, first } of this.#episodes.values()) count += records.length - first;
    return count;
  }
  get episodeCount(): number {
    return this.#episodes.size;
  }
  /** Bytes of all records and final states. */
  get storedBytes(): number {
    let bytes = 0;
    for (const { records, first, ending } of this.#episodes.values()) {
      bytes += this.#episodeBytes(records.length, first);
      if (ending !== undefined) bytes += this.#stateBytes;
    }
    return bytes;
  }
  get pickCount(): number {
    return this.picks(0).length;
  }
  get tableCount(): number {
    return this.#views.tableCount;
  }
  get selectorCount(): number {
    return this.#views.selectorCount;
  }
  /** Oldest first. */
  get handles(): number[] {
    return [...this.#episodes.keys()];
  }
  /** The picks of a view. */
  picks(view: number): readonly Pick[] {
    return this.#views.picks(view);
  }
  episode(
    handle: number,
  ): {
    state: "open" | "evicted" | Ending;
    recordCount: number;
    firstPosition: number;
    tag: number;
  } {
    this.#checkHandle(handle);
    const episode = this.#episodes.get(handle);
    return {
      state: episode === undefined ? "evicted" : episode.ending ?? "open",
      recordCount: (episode?.records.length ?? 0) - (episode?.first ?? 0),
      firstPosition: episode?.first ?? 0,
      tag: episode?.tag ?? 0,
    };
  }

  /** The episodes that a filter takes, as `episodes()` lists them. */
  list(filter: EpisodeFilter): ModelEpisodes {
    const { config: { reward }, recordedCount } = this;
    return listEpisodes(this.#episodes.values(), filter, {
      reward,
      recordedCount,
      fault: this.#fault,
    });
  }

  // ---- recording ----

  newEpisode(tag = 0): number {
    this.#makeRoom({ blocks: 1, records: 0, bytes: 0 });
    return this.#begin(tag).handle;
  }

  /** Returns the handle of the episode that the record went to. */
  record(
    handle: number,
    columns: readonly Uint8Array[],
    finalState?: Uint8Array,
    ending: Ending = "terminated",
    priority?: number,
    nextState?: Uint8Array,
  ): number {
    return this.#record(handle, {
      columns,
      finalState,
      ending,
      priority,
      nextState,
      begins: false,
    });
  }

  #record(
    handle: number,
    { columns, finalState, ending, priority, nextState, begins, tag }: RecordedStep,
  ): number {
    this.#checkOpen(handle);
    this.#forgetAged(handle);
    this.#makeRoomForRecord(handle, finalState !== undefined, begins);

    let episode = this.#episodes.get(handle);
    if (episode !== undefined && episode.records.length === this.segmentLength) {
      // The record after a segment's last begins another episode, and its state ends the segment.
      const [state = new Uint8Array()] = columns;
      const forgotten = this.#fault === "cutForgetsState";
      if (episode.first === episode.records.length) {
        this.#remove(handle);
      } else {
        this.#end(
          episode,
          forgotten ? new Uint8Array(state.length) : state,
          this.#fault === "cutTerminates" ? "terminated" : "truncated",
        );
      }
      episode = undefined;
    }
    if (episode === undefined) this.#useUp(handle);
    episode ??= this.#begin(this.#tagAfter(handle));
    this.#tagFirst(episode, tag);
    const position = episode.records.length;
    // Births count on from a multiple of the step, or from the first record after all others were gone.
    const before = episode.births[position - 1] ?? 0;
    const isKnown = position % this.trimLength === 0 || position === episode.first;
    episode.births.push(isKnown ? this.recordedCount : before + 1);
    episode.records.push(columns);
    episode.priorities.push(priority);
    this.recordedCount++;
    this.#views.recorded(columns);
    this.#views.pushPicks(episode);
    if (nextState === undefined || this.#fault === "nextStateForgotten") delete episode.nextState;
    else episode.nextState = nextState;
    if (this.#fault === "nextStateStale" && nextState === undefined) {
      episode.nextState = columns[0] ?? new Uint8Array();
    }
    if (finalState !== undefined) this.#end(episode, finalState, ending);
    return episode.handle;
  }

  /** Steps of one episode, one after the other; the end is the last one's. */
  recordMany(
    handle: number,
    steps: readonly (readonly Uint8Array[])[],
    finalState?: Uint8Array,
    ending?: Ending,
    priorities: readonly number[] = [],
    tag?: number,
  ): number {
    let current = handle;
    for (const [k, columns] of steps.entries()) {
      current = this.#record(current, {
        columns,
        finalState: k === steps.length - 1 ? finalState : undefined,
        ending: ending ?? "terminated",
        priority: priorities[k],
        nextState: undefined,
        begins: false,
        tag,
      });
    }
    return current;
  }

  /** A step of each of many episodes, in order; where one ends another begins at once. Handles to go on with. */
  recordBatch(
    handles: readonly number[],
    steps: readonly (readonly Uint8Array[])[],
    ends: readonly ({ readonly finalState: Uint8Array; readonly ending: Ending } | undefined)[],
    priorities: readonly number[] = [],
    nextStates: readonly Uint8Array[] = [],
    tags: readonly number[] = [],
  ): number[] {
    const seen = new Set<number>();
    for (const handle of handles) {
      this.#checkOpen(handle);
      if (seen.has(handle)) {
        throw new ModelError("episode-twice", `episode ${handle} is there twice`);
      }
      seen.add(handle);
    }
    return handles.map((handle, k) => {
      const end = ends[k];
      return this.recordStep(
        handle,
        steps[k] ?? [],
        end?.finalState,
        end?.ending,
        priorities[k],
        nextStates[k],
        tags[k],
      );
    });
  }

  /** Steps of one episode after the other. The handle to go on with, and the handles of the episodes that got records. */
  recordFlat(
    handle: number,
    steps: readonly (readonly Uint8Array[])[],
    ends: readonly (FlatEnd | undefined)[],
    priorities: readonly number[] = [],
    nextState?: Uint8Array,
    tags: readonly number[] = [],
  ): { readonly episode: number; readonly episodes: readonly number[] } {
    this.#checkOpen(handle);
    let episode = handle;
    const episodes = new Set<number>();
    for (const [k, columns] of steps.entries()) {
      const end = ends[k];
      if (end?.isRecord === false) {
        episode = this.#cut(episode, end.finalState, tags[k]);
        continue;
      }
      const next = k === steps.length - 1 && end === undefined ? nextState : undefined;
      episode = this.#record(episode, {
        columns,
        finalState: end?.finalState,
        ending: end?.ending ?? "terminated",
        priority: priorities[k],
        nextState: next,
        begins: end !== undefined,
        tag: tags[k],
      });
      episodes.add(episode);
      if (end !== undefined) episode = this.#begin(tags[k] ?? this.#tagAfter(episode)).handle;
    }
    return { episode, episodes: [...episodes] };
  }

  /** Ends an episode as truncated without another record, and begins the next. One that never had a record stays. */
  #cut(handle: number, finalState: Uint8Array, tag: number | undefined): number {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) return handle;
    if (episode.records.length === 0) {
      this.#tagFirst(episode, tag);
      return handle;
    }
    const isEmpty = (): boolean => episode.first === episode.records.length;
    if (isEmpty() && this.#fault === "trimmedGoesOn") return handle;
    if (!isEmpty()) {
      const needsBlock = episode.records.length % this.blockLength === 0;
      this.#makeRoom({ blocks: needsBlock ? 2 : 1, records: 0, bytes: this.#stateBytes });
    }
    if (!this.#episodes.has(handle)) return handle;
    if (isEmpty()) this.#remove(handle);
    else this.#end(episode, finalState, "truncated");
    const after = this.#begin(this.#tagAfter(handle));
    this.#useUp(handle);
    this.#tagFirst(after, tag);
    return after.handle;
  }

  /** A step of an environment: another episode begins where the environment is done. The handle to go on with. */
  recordStep(
    handle: number,
    columns: readonly Uint8Array[],
    finalState?: Uint8Array,
    ending: Ending = "terminated",
    priority?: number,
    nextState?: Uint8Array,
    tag?: number,
  ): number {
    const ends = finalState !== undefined;
    const step = { columns, finalState, ending, priority, nextState, begins: ends, tag };
    const after = this.#record(handle, step);
    const goesOn = !ends || this.#fault === "batchGoesOn";
    return goesOn ? after : this.#begin(tag ?? this.#tagAfter(after)).handle;
  }

  /** False when there was nothing to end. */
  endEpisode(handle: number, finalState: Uint8Array, ending: Ending): boolean {
    this.#checkOpen(handle);
    const episode = this.#episodes.get(handle);
    if (episode === undefined) {
      this.#useUp(handle);
      return false;
    }
    const isEmpty = (): boolean =>
      episode.first === episode.records.length && this.#fault !== "emptyEnds";
    if (!isEmpty()) {
      const needsBlock = episode.records.length % this.blockLength === 0;
      this.#makeRoom({ blocks: needsBlock ? 1 : 0, records: 0, bytes: this.#stateBytes });
    }
    // Its own last records may have made room.
    if (this.#episodes.has(handle) && !isEmpty()) {
      this.#end(episode, finalState, ending);
      return true;
    }
    if (this.#episodes.has(handle)) this.#remove(handle);
    this.#useUp(handle);
    return false;
  }

  /** False when it was gone before. */
  evict(handle: number): boolean {
    this.#checkHandle(handle);
    if (!this.#episodes.has(handle)) return false;
    this.#remove(handle);
    return true;
  }

  clear(): void {
    for (const handle of this.handles) this.evict(handle);
  }

  // ---- drawing and draining ----

  /** A further pick view; the picks there are already come oldest episode first. */
  newPickView(policy: AnyPickPolicy): number {
    return this.#views.newPickView(policy);
  }

  newPickSelector(spec: SelectorSpec, view = 0): number {
    return this.#views.newPickSelector(spec, view);
  }

  setPriority(
    selector: number,
    episodes: readonly number[],
    positions: readonly number[],
    priorities: readonly number[],
  ): number {
    return this.#views.setPriority(selector, episodes, positions, priorities);
  }

  /** Gives columns of records other values: for each column, the bytes of each record. Returns how many records are there. */
  update(
    episodes: readonly number[],
    positions: readonly number[],
    changes: ReadonlyMap<number, readonly Uint8Array[]>,
  ): number {
    for (const handle of episodes) this.#checkHandle(handle);
    for (const [k, handle] of episodes.entries()) {
      const { records } = this.#episodes.get(handle) ?? {};
      if (records === undefined || (positions[k] ?? 0) < records.length) continue;
      throw new ModelError("record-unknown", `episode ${handle} has no position ${positions[k]}`);
    }
    let updated = 0;
    for (const [k, handle] of episodes.entries()) {
      const episode = this.#episodes.get(handle);
      const position = positions[k] ?? 0;
      if (episode === undefined) continue;
      if (position < episode.first && this.#fault !== "updatesTrimmed") continue;
      updated++;
      if (this.#fault === "firstUpdateWins" && isBefore(episodes, positions, k)) continue;
      for (const [column, rows] of changes) {
        const at = this.#fault === "updatesOwn"
          ? position
          : keptAt(position, this.config.every[column], this.#fault);
        const record = [...episode.records[at] ?? []];
        record[column] = rows[k] ?? new Uint8Array();
        episode.records[at] = record;
      }
    }
    return updated;
  }

  getPriority(
    selector: number,
    episodes: readonly number[],
    positions: readonly number[],
  ): number[] | undefined {
    return this.#views.getPriority(selector, episodes, positions);
  }

  getBatch(selector: number, count: number, beta: number, seen?: SeenBatch): ModelBatch {
    return this.#views.getBatch(selector, count, beta, seen);
  }

  /** The running statistics of a column, if a view normalizes it. */
  statistics(column: number): RunningStatistics | undefined {
    return this.#views.statistics(column);
  }

  drain(request: DrainRequest): ModelDrained {
    return this.#drained.drain(
      request,
      (handle) => this.#remove(handle),
      (handle, position) => this.#trim(this.#stored(handle), position),
    );
  }

  /** A goal for each pick; `goalOf` is what of a row of `column` is the goal. */
  chooseGoals(
    spec: HindsightSpec,
    picks: readonly PickOfBatch[],
    column: number,
    goalOf: (row: Uint8Array) => Uint8Array,
  ): ModelGoal[] {
    const goals: EpisodeGoals[] = [...this.#episodes.values()].map((episode) => {
      const { handle, records, first, finalState } = episode;
      // In the state, a step's goal is that of its next state.
      const rows = records.map((record, position) =>
        column > 0 ? record[column] : records[position + 1]?.[0] ?? finalState
      );
      const known = rows.slice(first).flatMap((row) => row === undefined ? [] : [goalOf(row)]);
      return { handle, first, goals: known };
    });
    return this.#hindsight.choose(spec, picks, goals, this.#fault === "hindsightFromFirst");
  }

  /** All of an episode: the bytes of each column, and of its final state. */
  episodeRecords(handle: number): { columns: Uint8Array[]; finalState: Uint8Array | undefined } {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new ModelError("record-unknown", `${handle} was evicted`);
    const { records, first } = episode;
    const columns = this.config.columnBytes.map((bytes, k) => {
      const all = new Uint8Array(bytes * (records.length - first));
      for (let position = first; position < records.length; position++) {
        const record = recordAt(episode, position, this.config.every, this.#fault);
        all.set(record[k] ?? [], (position - first) * bytes);
      }
      return all;
    });
    return { columns, finalState: episode.finalState };
  }

  // ---- saving ----

  /** The same replay, going its own way from here: what a snapshot must restore. */
  clone(): ReplayModel {
    const copy = new ReplayModel(this.config, this.#fault);
    for (const [handle, episode] of this.#episodes) {
      copy.#episodes.set(handle, {
        ...episode,
        records: [...episode.records],
        births: [...episode.births],
        priorities: [...episode.priorities],
      });
    }
    if (this.#fault === "snapshotForgetsBirths") {
      for (const { births } of copy.#episodes.values()) births.fill(0);
    }
    copy.blockLength = this.blockLength;
    copy.#views = this.#views.clone(copy.#host());
    copy.#drained = this.#drained.clone(copy.#episodes);
    copy.#eviction = this.#eviction.clone();
    copy.#hindsight = this.#hindsight.clone(this.#fault === "snapshotForgetsHindsight");
    if (this.#fault !== "snapshotForgetsOrphans") copy.#orphans = this.#orphans;
    copy.#tags = new Map(this.#tags);
    copy.nextHandle = this.nextHandle;
    copy.recordedCount = this.recordedCount;
    copy.evictedCount = this.evictedCount;
    return copy;
  }

  // ---- inside ----

  #host(): TablesHost {
    return {
      episodes: this.#episodes,
      checkHandle: (handle) => this.#checkHandle(handle),
      sampled: (handles) => this.#eviction.sampled(handles),
      prioritized: (handles, priorities) => this.#eviction.prioritized?.(handles, priorities),
    };
  }

  #checkHandle(handle: number): void {
    if (!(Number.isInteger(handle) && handle >= 0 && handle < this.nextHandle)) {
      throw new ModelError("episode-unknown", `handle ${handle} was never given out`);
    }
  }

  #checkOpen(handle: number): void {
    this.#checkHandle(handle);
    const episode = this.#episodes.get(handle);
    const goesOn = this.#orphans.includes(handle) || this.#fault === "staleGoesOn";
    if (episode === undefined ? goesOn : episode.ending === undefined) return;
    throw new ModelError("episode-ended", `episode ${handle} has ended`);
  }

  /** The handle of an episode that went while it was open has been used. */
  #useUp(handle: number): void {
    if (this.#fault === "orphansGoOn") return;
    this.#orphans = this.#orphans.filter((orphan) => orphan !== handle);
  }

  /**
   * Bytes of the records `first` to `count` - 1 of one episode. Of some columns only every nth record has any; a row from before
   * `first` counts as long as a record has its value, or the next record will.
   */
  #episodeBytes(count: number, first = 0): number {
    let bytes = 0;
    for (const [k, size] of this.config.columnBytes.entries()) {
      const every = this.#fault === "keptBytesOfAll" ? 1 : this.config.every[k] ?? 1;
      const least = this.#fault === "carriedFree" ? first : 0;
      for (let row = keptAt(first, every); row < count; row += every) {
        if (row >= least) bytes += size;
      }
    }
    return bytes;
  }

  get #stateBytes(): number {
    return this.config.columnBytes[0] ?? 0;
  }

  #stored(handle: number): Episode {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new Error(`the model has no episode ${handle} any more`);
    return episode;
  }

  /** The episode with the oldest record; of several, the one that began first. */
  #oldest(which: (episode: Episode) => boolean): Episode | undefined {
    return [...this.#episodes.values()]
      .filter((episode) => episode.first < episode.records.length && which(episode))
      .toSorted((a, b) => birthOf(a) - birthOf(b) || a.handle - b.handle)[0];
  }

  /** Lets records go that another record would make too old: an ended episode whole, an open one its oldest. */
  #forgetAged(recording: number): void {
    const { maxAge = Infinity } = this.config;
    const limit = this.#fault === "ageOneMore" ? maxAge + 1 : maxAge;
    const isDue = (episode: Episode): boolean =>
      this.recordedCount >= birthOf(episode) + limit &&
      !(this.#fault === "agedSpared" && episode.handle === recording);
    for (let due = this.#oldest(isDue); due !== undefined; due = this.#oldest(isDue)) {
      if (due.ending !== undefined || this.#fault === "agedOpenGoes") this.#remove(due.handle);
      else this.#trimStep(due, this.trimLength);
    }
  }

  /** What a record takes: blocks, its own place, and bytes beside those of the columns that all records have. */
  #roomFor(handle: number, ends: boolean, begins: boolean): Room {
    const episode = this.#episodes.get(handle);
    const count = episode?.records.length ?? 0;
    const cuts = count === this.segmentLength;
    const needsBlock = (position: number): number =>
      position > 0 && position % this.blockLength === 0 ? 1 : 0;
    const own = episode === undefined
      ? 1
      : cuts
      ? 1 + needsBlock(count)
      : needsBlock(count) + (ends ? needsBlock(count + 1) : 0);
    const finalStates = this.#fault === "finalStatesFree" ? 0 : (ends ? 1 : 0) + (cuts ? 1 : 0);
    const before = cuts ? 0 : count;
    const record = this.#episodeBytes(before + 1) - this.#episodeBytes(before);
    return {
      blocks: own + (begins ? 1 : 0),
      records: 1,
      bytes: record + finalStates * this.#stateBytes,
    };
  }

  /** Blocks that no episode has. An episode without a record keeps its last one. */
  get #freeBlocks(): number {
    let count = this.capacity + Math.min(this.capacity, 4096) + 4;
    for (const { records, first, ending } of this.#episodes.values()) {
      const end = records.length + (ending === undefined ? 0 : 1);
      const last = Math.floor(Math.max(0, end - 1) / this.blockLength);
      count -= 1 + last - Math.min(last, Math.floor(first / this.blockLength));
    }
    return count;
  }

  /** Lets records go until there is that much room. */
  #makeRoom({ blocks, records, bytes }: Room): void {
    const { capacityBytes = Infinity } = this.config;
    const capacity = this.capacity + (this.#fault === "capacityPlusOne" ? 1 : 0);
    const fits = (): boolean =>
      this.recordCount + records <= capacity && this.storedBytes + bytes <= capacityBytes;
    while (this.#freeBlocks < blocks || !fits()) {
      const released = this.#oldest((episode) => this.#releasedOf(episode) > episode.first);
      if (released !== undefined && this.#fault !== "releasedWait") {
        this.#giveReleased(
          released,
          this.#freeBlocks < blocks ? this.blockLength : this.trimLength,
        );
        continue;
      }
      const oldest = this.#oldest(({ ending }) => ending === undefined);
      const isOld = oldest !== undefined && this.#fault !== "openNeverGivesWay" &&
        this.recordedCount - birthOf(oldest) >= this.recordCount;
      const ended = [...this.#episodes.values()].some(({ ending }) => ending !== undefined);
      if (oldest !== undefined && (isOld || !ended)) {
        this.#trimStep(oldest, this.#freeBlocks < blocks ? this.blockLength : this.trimLength);
        continue;
      }
      const victim = ended ? this.#eviction.victim() : this.handles[0];
      if (victim === undefined) return;
      // Only a policy of the user's names an open one: then open ones give way, or the oldest ended one where they hold no record.
      const isOpen = ended && this.#stored(victim).ending === undefined;
      const firstEnded = this.handles.find((handle) => this.#stored(handle).ending !== undefined);
      if (!isOpen) this.#remove(victim);
      else if (oldest !== undefined) this.#trimStep(oldest, this.trimLength);
      else this.#remove(firstEnded ?? victim);
    }
  }

  /** Room for a record. It may take the record's own episode, if that holds none; then the one that begins needs other room. */
  #makeRoomForRecord(handle: number, ends: boolean, begins: boolean): void {
    const wasThere = this.#episodes.has(handle);
    this.#makeRoom(this.#roomFor(handle, ends, begins));
    if (wasThere && !this.#episodes.has(handle)) {
      this.#makeRoom(this.#roomFor(handle, ends, begins));
    }
  }

  /** The records of an episode before this position were handed out, and go before all others. */
  #releasedOf({ handle }: Episode): number {
    return this.#drained.handedOut(handle);
  }

  /** Records that were handed out go: an ended episode of which all were, or those up to the next multiple of `length`. */
  #giveReleased(episode: Episode, length: number): void {
    const released = this.#releasedOf(episode);
    if (episode.ending !== undefined && released === episode.records.length) {
      return this.#remove(episode.handle);
    }
    const next = Math.floor(episode.first / length + 1) * length;
    this.#trim(episode, Math.min(next, released));
  }

  /** The oldest records of an open episode go, up to the next multiple of `length`. */
  #trimStep(episode: Episode, length: number): void {
    const next = Math.floor(episode.first / length + 1) * length;
    this.#trim(episode, Math.min(next, episode.records.length));
  }

  /** The records of an open episode before `position` go, and the picks that show one of them. */
  #trim(episode: Episode, position: number): void {
    const { handle, records, first } = episode;
    if (position <= first) return;
    if (this.#fault === "trimGoesWhole") return this.#remove(handle);
    this.trimmedCount += position - first;
    this.#drained.trimmed(episode, position);
    this.#views.trimPicks(episode, position);
    episode.first = position;
    if (episode.ending !== undefined) {
      this.#eviction.trimmed?.(handle, this.#views.firstTablePicks(episode));
    }
    // Values that not all records keep stay as long as a record has them, or the next one will.
    const { every } = this.config;
    const gone = new Set(every.map((n) => keptAt(first, n)));
    for (let at = first; at < position; at++) gone.add(at);
    for (const at of gone) {
      if (at >= position) continue;
      records[at] = (records[at] ?? []).map((value, k) => {
        const stays = (every[k] ?? 1) > 1 && keptAt(position, every[k]) === at;
        return stays && this.#fault !== "carriesNothing" ? value : new Uint8Array(value.length);
      });
    }
    if (position === records.length) this.#pushOutEmpty();
  }

  #tagAfter(handle: number): number {
    return this.#fault === "tagsEnd" ? 0 : this.#tags.get(handle) ?? 0;
  }

  /** An episode without a record takes a tag. */
  #tagFirst(episode: Episode, tag: number | undefined): void {
    if (tag === undefined || this.#fault === "stepTagsForgotten") return;
    if (episode.records.length > 0 && this.#fault !== "stepTagsLate") return;
    episode.tag = tag;
    this.#tags.set(episode.handle, tag);
  }

  #begin(tag: number): Episode {
    this.#tags.set(this.nextHandle, tag);
    const episode: Episode = {
      handle: this.nextHandle++,
      tag,
      first: 0,
      records: [],
      births: [],
      priorities: [],
    };
    this.#episodes.set(episode.handle, episode);
    this.#eviction.created(episode.handle);
    this.#pushOutEmpty();
    return episode;
  }

  /** There is a place for so many episodes that hold no record; the oldest beyond them goes. */
  #pushOutEmpty(): void {
    const empty = [...this.#episodes.values()]
      .filter(({ records, first }) => first === records.length);
    const [oldest] = empty;
    const isTooMany = empty.length > Math.min(this.capacity, 4096);
    if (isTooMany && oldest !== undefined) this.#remove(oldest.handle);
  }

  #end(episode: Episode, finalState: Uint8Array, ending: Ending): void {
    episode.finalState = finalState;
    delete episode.nextState;
    episode.ending = ending;
    this.#views.pushPicks(episode);
    this.#eviction.ended?.(episode.handle, this.#views.firstTablePicks(episode));
  }

  /** Chen and Wang, section 3.2, in nine steps: the picks of an episode go one by one, the last pick into each gap. */
  #remove(handle: number): void {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new Error(`the model would evict ${handle}, which is gone`);
    this.#drained.removed(episode);
    this.#views.removePicks(episode);
    this.#episodes.delete(handle);
    this.#eviction.removed(handle);
    if (episode.ending === undefined) this.#orphans = [...this.#orphans, handle].slice(-4096);
    this.evictedCount++;
  }
}
