/**
 * The whole replay, plain and slow: episodes are arrays of records, the pick table is an array, sums are added up anew for
 * each draw. It is written from what the module promises (docs/design.md, kernel/exrp.h), not from how the kernel does it.
 *
 * @module
 */

import type { PickPolicy } from "@exrp/replay";
import type { DrainRequest, ModelBatch, ModelDrained } from "./batch_model.ts";
import { DrainModel } from "./drain_model.ts";
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
import { type Pick, type SeenBatch, type TablesHost, TablesModel } from "./tables_model.ts";
import { type Ending, type Episode, recordAt } from "./window_model.ts";

export class ReplayModel {
  readonly config: ModelConfig;
  readonly segmentLength: number;
  /** Records that there can be: as many as given, or as fit into the bytes beside a final state. */
  capacity: number;
  /** By handle, oldest first. */
  readonly #episodes = new Map<number, Episode>();
  #tables: TablesModel;
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

  constructor(config: ModelConfig, fault?: Fault) {
    this.config = config;
    const { capacityBytes = Infinity, maxAge = Infinity } = config;
    this.capacity = config.capacity;
    while (this.#episodeBytes(this.capacity) + this.#stateBytes > capacityBytes) this.capacity--;
    this.segmentLength = config.segmentLength ??
      Math.max(config.pick.length, Math.floor(Math.min(this.capacity, maxAge) / 8));
    this.#tables = new TablesModel(config, this.#host(), fault);
    this.#drained = new DrainModel(config, this.#episodes, fault);
    this.#fault = fault;
    this.#eviction = evictionModel(config.eviction, config.evictionDraws, config.seed, fault);
    this.#hindsight = new HindsightModel(config.seed);
  }

  // ---- what can be seen ----

  get recordCount(): number {
    let count = 0;
    for (const episode of this.#episodes.values()) count += episode.records.length;
    return count;
  }
  get episodeCount(): number {
    return this.#episodes.size;
  }
  /** Bytes of all records and final states. */
  get storedBytes(): number {
    let bytes = 0;
    for (const { records, ending } of this.#episodes.values()) {
      bytes += this.#episodeBytes(records.length);
      if (ending !== undefined) bytes += this.#stateBytes;
    }
    return bytes;
  }
  get pickCount(): number {
    return this.picks(0).length;
  }
  get tableCount(): number {
    return this.#tables.tableCount;
  }
  get selectorCount(): number {
    return this.#tables.selectorCount;
  }
  /** Oldest first. */
  get handles(): number[] {
    return [...this.#episodes.keys()];
  }
  /** The picks of a table. */
  picks(table: number): readonly Pick[] {
    return this.#tables.picks(table);
  }
  episode(
    handle: number,
  ): { state: "open" | "evicted" | Ending; recordCount: number; tag: number } {
    this.#checkHandle(handle);
    const episode = this.#episodes.get(handle);
    return {
      state: episode === undefined ? "evicted" : episode.ending ?? "open",
      recordCount: episode?.records.length ?? 0,
      tag: episode?.tag ?? 0,
    };
  }

  // ---- recording ----

  newEpisode(tag = 0): number {
    return this.#begin(tag).handle;
  }

  /** The episode that begins where another one ends, or is gone: of the same tag. */
  newEpisodeAfter(handle: number): number {
    return this.#begin(this.#tagAfter(handle)).handle;
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
    this.#checkOpen(handle);
    this.#forgetAged(handle);
    this.#makeRoom(handle, 1, finalState === undefined ? 0 : 1);

    let episode = this.#episodes.get(handle);
    if (episode !== undefined && episode.records.length === this.segmentLength) {
      // The record after a segment's last begins another episode, and its state ends the segment.
      const [state = new Uint8Array()] = columns;
      const forgotten = this.#fault === "cutForgetsState";
      this.#end(
        episode,
        forgotten ? new Uint8Array(state.length) : state,
        this.#fault === "cutTerminates" ? "terminated" : "truncated",
      );
      episode = undefined;
    }
    if (episode === undefined) this.#useUp(handle);
    episode ??= this.#begin(this.#tagAfter(handle));
    if (episode.records.length === 0 && this.#fault === "ageOfFirstRecord") {
      episode.birth = this.recordedCount;
    }
    episode.records.push(columns);
    episode.priorities.push(priority);
    this.recordedCount++;
    this.#tables.pushPicks(episode);
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
  ): number {
    let current = handle;
    for (const [k, columns] of steps.entries()) {
      const end = k === steps.length - 1 ? finalState : undefined;
      current = this.record(current, columns, end, ending, priorities[k]);
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
      const after = this.record(
        handle,
        steps[k] ?? [],
        end?.finalState,
        end?.ending,
        priorities[k],
        nextStates[k],
      );
      return end === undefined || this.#fault === "batchGoesOn"
        ? after
        : this.newEpisodeAfter(after);
    });
  }

  /** Steps of one episode after the other. The handle to go on with, and the handles of the episodes that got records. */
  recordFlat(
    handle: number,
    steps: readonly (readonly Uint8Array[])[],
    ends: readonly ({ readonly finalState: Uint8Array; readonly ending: Ending } | undefined)[],
    priorities: readonly number[] = [],
    nextState?: Uint8Array,
  ): { readonly episode: number; readonly episodes: readonly number[] } {
    let episode = handle;
    const episodes = new Set<number>();
    for (const [k, columns] of steps.entries()) {
      const end = ends[k];
      const next = k === steps.length - 1 && end === undefined ? nextState : undefined;
      episode = this.record(
        episode,
        columns,
        end?.finalState,
        end?.ending,
        priorities[k],
        next,
      );
      episodes.add(episode);
      if (end !== undefined) episode = this.newEpisodeAfter(episode);
    }
    return { episode, episodes: [...episodes] };
  }

  /** False when there was nothing to end. */
  endEpisode(handle: number, finalState: Uint8Array, ending: Ending): boolean {
    this.#checkOpen(handle);
    const episode = this.#episodes.get(handle);
    if (episode === undefined) {
      this.#useUp(handle);
      return false;
    }
    if (episode.records.length > 0 || this.#fault === "emptyEnds") {
      this.#makeRoom(handle, 0, 1);
      // A user's policy may choose this very episode.
      if (!this.#episodes.has(handle)) {
        this.#useUp(handle);
        return false;
      }
      this.#end(episode, finalState, ending);
      return true;
    }
    this.#remove(handle);
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

  /** A further pick table; the picks there are already come oldest episode first. */
  newPickTable(policy: PickPolicy): number {
    return this.#tables.newPickTable(policy);
  }

  newPickSelector(spec: SelectorSpec, table = 0): number {
    return this.#tables.newPickSelector(spec, table);
  }

  setPriority(
    selector: number,
    episodes: readonly number[],
    positions: readonly number[],
    priorities: readonly number[],
  ): number {
    return this.#tables.setPriority(selector, episodes, positions, priorities);
  }

  getBatch(selector: number, count: number, beta: number, seen?: SeenBatch): ModelBatch {
    return this.#tables.getBatch(selector, count, beta, seen);
  }

  drain(request: DrainRequest): ModelDrained {
    return this.#drained.drain(request, (handle) => this.#remove(handle));
  }

  /** A goal for each pick; `goalOf` is what of a row of `column` is the goal. */
  chooseGoals(
    spec: HindsightSpec,
    picks: readonly PickOfBatch[],
    column: number,
    goalOf: (row: Uint8Array) => Uint8Array,
  ): ModelGoal[] {
    const goals: EpisodeGoals[] = [...this.#episodes.values()].map((episode) => {
      // In the state, a step's goal is that of its next state.
      const rows = episode.records.map((record, position) =>
        column > 0 ? record[column] : episode.records[position + 1]?.[0] ?? episode.finalState
      );
      const known = rows.flatMap((row) => row === undefined ? [] : [goalOf(row)]);
      return { handle: episode.handle, goals: known };
    });
    return this.#hindsight.choose(spec, picks, goals, this.#fault === "hindsightFromFirst");
  }

  /** All of an episode: the bytes of each column, and of its final state. */
  episodeRecords(handle: number): { columns: Uint8Array[]; finalState: Uint8Array | undefined } {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new ModelError("record-unknown", `${handle} was evicted`);
    const columns = this.config.columnBytes.map((bytes, k) => {
      const all = new Uint8Array(bytes * episode.records.length);
      for (const row of episode.records.keys()) {
        all.set(recordAt(episode, row, this.config.every, this.#fault)[k] ?? [], row * bytes);
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
        priorities: [...episode.priorities],
      });
    }
    copy.#tables = this.#tables.clone(copy.#host());
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

  /** Bytes of the records of one episode; of some columns only every nth record has any. */
  #episodeBytes(recordCount: number): number {
    let bytes = 0;
    for (const [k, size] of this.config.columnBytes.entries()) {
      const every = this.#fault === "keptBytesOfAll" ? 1 : this.config.every[k] ?? 1;
      for (let position = 0; position < recordCount; position += every) bytes += size;
    }
    return bytes;
  }

  get #stateBytes(): number {
    return this.config.columnBytes[0] ?? 0;
  }

  /** Forgets the episodes of which another record would make too old. */
  #forgetAged(recording: number): void {
    const { maxAge = Infinity } = this.config;
    const limit = this.#fault === "ageOneMore" ? maxAge + 1 : maxAge;
    for (const { handle, birth } of [...this.#episodes.values()]) {
      if (this.recordedCount < birth + limit) continue;
      if (this.#fault === "agedSpared" && handle === recording) continue;
      this.#remove(handle);
    }
  }

  /** Forgets until a record and a final state, or one of them, fit; a segment that the record cuts gets a final state too. */
  #makeRoom(handle: number, records: number, finalStates: number): void {
    const { capacityBytes = Infinity } = this.config;
    const capacity = this.capacity + (this.#fault === "capacityPlusOne" ? 1 : 0);
    while (this.#episodes.size > 0) {
      const episode = this.#episodes.get(handle);
      const cuts = records > 0 && episode?.records.length === this.segmentLength;
      const more = this.#fault === "finalStatesFree" ? 0 : finalStates + (cuts ? 1 : 0);
      const before = cuts ? 0 : episode?.records.length ?? 0;
      const record = this.#episodeBytes(before + records) - this.#episodeBytes(before);
      const bytes = this.storedBytes + record + more * this.#stateBytes;
      if (this.recordCount + records <= capacity && bytes <= capacityBytes) return;
      const others = this.handles.filter((one) => one !== handle);
      this.#remove(this.#eviction.victim() ?? others[0] ?? handle);
    }
  }

  #tagAfter(handle: number): number {
    return this.#fault === "tagsEnd" ? 0 : this.#tags.get(handle) ?? 0;
  }

  #begin(tag: number): Episode {
    this.#tags.set(this.nextHandle, tag);
    const episode: Episode = {
      handle: this.nextHandle++,
      tag,
      birth: this.recordedCount,
      records: [],
      priorities: [],
    };
    this.#episodes.set(episode.handle, episode);
    this.#eviction.created(episode.handle);
    return episode;
  }

  #end(episode: Episode, finalState: Uint8Array, ending: Ending): void {
    episode.finalState = finalState;
    delete episode.nextState;
    episode.ending = ending;
    this.#tables.pushPicks(episode);
    this.#eviction.ended?.(episode.handle, this.#tables.firstTablePicks(episode));
  }

  /** Chen and Wang, section 3.2, in nine steps: the picks of an episode go one by one, the last pick into each gap. */
  #remove(handle: number): void {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new Error(`the model would evict ${handle}, which is gone`);
    this.#drained.removed(episode);
    this.#tables.removePicks(episode);
    this.#episodes.delete(handle);
    this.#eviction.removed(handle);
    if (episode.ending === undefined) this.#orphans = [...this.#orphans, handle].slice(-1024);
    this.evictedCount++;
  }
}
