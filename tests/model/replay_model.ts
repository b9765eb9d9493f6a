/**
 * The whole replay, plain and slow: episodes are arrays of records, the pick table is an array, sums are added up anew for
 * each draw. It is written from what the module promises (docs/design.md, kernel/exrp.h), not from how the kernel does it.
 *
 * @module
 */

import { type EvictionKind, type EvictionModel, evictionModel } from "./eviction_models.ts";
import type { Fault } from "./faults.ts";
import {
  type EpisodeGoals,
  HindsightModel,
  type HindsightSpec,
  type ModelGoal,
  type PickOfBatch,
} from "./hindsight_model.ts";
import type { PickPolicy } from "@exrp/replay";
import { RandomStream } from "@exrp/replay/selectors";
import { portablePow } from "./portable_math.ts";
import type { Draws, SelectorModel } from "./draws.ts";
import { selectorModel } from "./selector_models.ts";
import {
  type ComposedSpec,
  isComposedSpec,
  partCounts,
  partsOf,
  type SelectorSpec,
} from "./selector_specs.ts";
import {
  type Ending,
  type Episode,
  isPick,
  join,
  keptAt,
  type PickRows,
  pickRows,
  type RewardSpec,
} from "./window_model.ts";
import {
  type DrainRequest,
  joinBatches,
  keepByScore,
  type ModelBatch,
  type ModelDrained,
} from "./batch_model.ts";

/** What a replay is made with. */
export interface ModelConfig {
  readonly capacity: number;
  /** Undefined: an eighth of the capacity, at least one pick. */
  readonly segmentLength?: number;
  readonly seed: number;
  /** The pick policy of the first pick table. */
  readonly pick: PickPolicy;
  /** Bytes of each column of one record: the state, the action, the reward, extras. */
  readonly columnBytes: readonly number[];
  /** Which records keep each column: every so manieth. */
  readonly every: readonly number[];
  readonly reward: RewardSpec;
  readonly eviction: EvictionKind;
  /** The option of `afterDraws`. */
  readonly evictionDraws: number;
  /** Bytes of records and final states. */
  readonly capacityBytes?: number;
  /** Records that may be written since an episode began. */
  readonly maxAge?: number;
}

/** A sequence that may be drawn. */
export interface Pick {
  readonly episode: number;
  readonly position: number;
}

/** What the library drew, for rules that the model can only follow. */
export interface SeenBatch {
  readonly pickEpisode: ArrayLike<number>;
  readonly pickPosition: ArrayLike<number>;
  readonly probability: ArrayLike<number>;
}

/** A call that must be refused. */
export class ModelError extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

/** A selector, by itself or made of others, which are named by their ordinals. */
type SelectorOfTable = readonly [TableModel, SelectorModel | ComposedModel];

interface ComposedModel {
  readonly spec: ComposedSpec;
  readonly parts: readonly number[];
  readonly owed: number[];
  readonly random: RandomStream;
}

/** One pick table, and the selectors that draw from it. */
class TableModel {
  readonly policy: PickPolicy;
  readonly picks: Pick[] = [];
  readonly selectors: SelectorModel[] = [];

  constructor(policy: PickPolicy) {
    this.policy = policy;
  }

  push(pick: Pick, priority: number | undefined): void {
    this.picks.push(pick);
    for (const selector of this.selectors) {
      selector.pushed();
      if (priority !== undefined) selector.setPriority([this.picks.length - 1], [priority]);
    }
  }

  pop(): void {
    this.picks.pop();
    for (const selector of this.selectors) selector.popped();
  }

  indexOf(handle: number, position: number): number {
    return this.picks.findIndex((pick) => pick.episode === handle && pick.position === position);
  }
}

export class ReplayModel {
  readonly config: ModelConfig;
  readonly segmentLength: number;
  /** Records that there can be: as many as given, or as fit into the bytes beside a final state. */
  capacity: number;
  /** By handle, oldest first. */
  readonly #episodes = new Map<number, Episode>();
  readonly #tables: TableModel[] = [];
  /** The table and the rule of each selector, in order of creation. */
  readonly #selectors: SelectorOfTable[] = [];
  #eviction: EvictionModel;
  readonly #fault: Fault | undefined;
  /** Streams of random numbers given out: rules of the kernel draw from streams 1, 2, ... of the seed. */
  #streams = 0;
  /** How many of each stored episode's records were handed out, from the first on. */
  readonly #handedOut = new Map<number, number>();
  /** Records evicted since the last drain that were never handed out. */
  #lost = 0;
  #hindsight: HindsightModel;
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
    this.#tables.push(new TableModel(config.pick));
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
    return this.#tables.length;
  }
  get selectorCount(): number {
    return this.#selectors.length;
  }
  /** Oldest first. */
  get handles(): number[] {
    return [...this.#episodes.keys()];
  }
  /** The picks of a table. */
  picks(table: number): readonly Pick[] {
    return this.#table(table).picks;
  }
  episode(handle: number): { state: "open" | "evicted" | Ending; recordCount: number } {
    this.#checkHandle(handle);
    const episode = this.#episodes.get(handle);
    return {
      state: episode === undefined ? "evicted" : episode.ending ?? "open",
      recordCount: episode?.records.length ?? 0,
    };
  }

  // ---- recording ----

  newEpisode(): number {
    return this.#begin().handle;
  }

  /** Returns the handle of the episode that the record went to. */
  record(
    handle: number,
    columns: readonly Uint8Array[],
    finalState?: Uint8Array,
    ending: Ending = "terminated",
    priority?: number,
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
    episode ??= this.#begin();
    if (episode.records.length === 0 && this.#fault === "ageOfFirstRecord") {
      episode.birth = this.recordedCount;
    }
    episode.records.push(columns);
    episode.priorities.push(priority);
    this.recordedCount++;
    this.#pushPicks(episode);
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
  ): number[] {
    const seen = new Set<number>();
    for (const handle of handles) {
      this.#checkOpen(handle);
      if (!this.#episodes.has(handle)) continue;
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
      );
      return end === undefined || this.#fault === "batchGoesOn" ? after : this.newEpisode();
    });
  }

  /** False when there was nothing to end. */
  endEpisode(handle: number, finalState: Uint8Array, ending: Ending): boolean {
    this.#checkOpen(handle);
    const episode = this.#episodes.get(handle);
    if (episode === undefined) return false;
    if (episode.records.length > 0 || this.#fault === "emptyEnds") {
      this.#makeRoom(handle, 0, 1);
      // A user's policy may choose this very episode.
      if (!this.#episodes.has(handle)) return false;
      this.#end(episode, finalState, ending);
      return true;
    }
    this.#remove(handle);
    return false;
  }

  /** False when it was gone before. */
  evict(handle: number): boolean {
    this.#checkHandle(handle);
    if (!this.#episodes.has(handle)) return false;
    this.#remove(handle);
    return true;
  }

  // ---- drawing ----

  /** A further pick table; the picks there are already come oldest episode first. */
  newPickTable(policy: PickPolicy): number {
    this.#tables.push(new TableModel(policy));
    for (const episode of this.#episodes.values()) this.#pushPicks(episode);
    return this.#tables.length - 1;
  }

  newPickSelector(spec: SelectorSpec, ordinalOfTable = 0): number {
    const table = this.#table(ordinalOfTable);
    if (isComposedSpec(spec)) {
      const rules = partsOf(spec);
      const parts = rules.map((rule) => this.newPickSelector(rule, ordinalOfTable));
      const random = new RandomStream(this.config.seed, this.#selectors.length);
      const owed = rules.map(() => 0);
      return this.#selectors.push([table, { spec, parts, owed, random }]) - 1;
    }
    const ordinal = this.#selectors.length;
    if (spec.kind !== "sweep") this.#streams++;
    const selector = selectorModel(spec, this.config.seed, this.#streams, this.#fault);
    for (const [index, pick] of table.picks.entries()) {
      selector.pushed();
      const priority = this.#episodes.get(pick.episode)?.priorities[pick.position];
      if (priority !== undefined) selector.setPriority([index], [priority]);
    }
    table.selectors.push(selector);
    this.#selectors.push([table, selector]);
    return ordinal;
  }

  setPriority(
    ordinal: number,
    episodes: readonly number[],
    positions: readonly number[],
    priorities: readonly number[],
  ): number {
    const [table, selector] = this.#selector(ordinal);
    if ("parts" in selector) {
      const applied = selector.parts.map((part) =>
        this.setPriority(part, episodes, positions, priorities)
      );
      return Math.max(...applied);
    }
    for (const priority of priorities) {
      if (!(priority >= 0 && priority < Infinity)) {
        throw new ModelError("invalid-priority", `a priority of ${priority}`);
      }
    }
    for (const handle of episodes) this.#checkHandle(handle);
    const indices: number[] = [];
    const kept: number[] = [];
    for (const [k, handle] of episodes.entries()) {
      const index = table.indexOf(handle, positions[k] ?? -1);
      if (index < 0) continue;
      indices.push(index);
      kept.push(priorities[k] ?? NaN);
    }
    selector.setPriority(indices, kept, (index) => this.#picksBefore(table, index));
    const named = indices.map((index) => table.picks[index]?.episode ?? NaN);
    this.#eviction.prioritized?.(named, kept);
    return this.#fault === "evictedPicksCount" ? episodes.length : indices.length;
  }

  getBatch(ordinal: number, count: number, beta: number, seen?: SeenBatch): ModelBatch {
    const [table, selector] = this.#selector(ordinal);
    if (table.picks.length === 0) throw new ModelError("empty", "there is no pick");
    if ("parts" in selector) return this.#compose(selector, count, beta, seen);
    if (count > (selector.batchMax ?? Infinity)) {
      throw new ModelError("batch-size", "there are fewer picks");
    }
    const draws = selector.select(count, seen === undefined ? undefined : drawsOf(table, seen));
    const batch = this.#assemble(table, draws);
    this.#eviction.sampled(batch.pickEpisode);

    const least = selector.probabilityMin() || Math.min(...draws.probabilities);
    return {
      ...batch,
      tolerance: draws.tolerance ?? 0,
      probability: draws.probabilities.map(Math.fround),
      importanceWeight: draws.probabilities.map((probability) =>
        selector.weighted ? Math.fround(portablePow(least / probability, beta)) : 1
      ),
    };
  }

  #compose(
    { spec, parts, owed, random }: ComposedModel,
    count: number,
    beta: number,
    seen: SeenBatch | undefined,
  ): ModelBatch {
    if (spec.kind === "laber") {
      const size = count * spec.factor;
      const candidates = this.getBatch(parts[0] ?? -1, size, beta);
      return keepByScore(candidates, size, count, spec.normalize, random, this.#fault);
    }
    const batches: ModelBatch[] = [];
    let first = 0;
    if (this.#fault === "mixtureForgetsOwed") owed.fill(0);
    for (const [k, size] of partCounts(spec, count, owed).entries()) {
      const own = (from: ArrayLike<number>): number[] =>
        Array.from(from).slice(first, first + size);
      const seenByPart = seen && {
        pickEpisode: own(seen.pickEpisode),
        pickPosition: own(seen.pickPosition),
        probability: own(seen.probability),
      };
      if (size > 0) batches.push(this.getBatch(parts[k] ?? -1, size, beta, seenByPart));
      first += size;
    }
    return joinBatches(batches);
  }

  // ---- draining ----

  /** One record after the other, by episode and time, until there are enough. */
  drain({ steps, minSteps, keep }: DrainRequest): ModelDrained {
    const open = steps !== undefined || minSteps !== undefined;
    const ready: { readonly episode: Episode; readonly position: number }[] = [];
    for (const [handle, episode] of this.#episodes) {
      if (episode.ending === undefined && !open) continue;
      for (let position = 0; position < episode.records.length; position++) {
        if (position < (this.#handedOut.get(handle) ?? 0)) continue;
        const isNewest = position === episode.records.length - 1;
        const known = episode.ending !== undefined || !isNewest || this.#fault === "drainsNewest";
        if (known) ready.push({ episode, position });
      }
    }
    const lost = this.#fault === "drainForgetsLost" ? 0 : this.#lost;
    if (ready.length < (steps ?? minSteps ?? 1)) return this.#drained([], lost);
    const taken = ready.slice(0, steps);
    const drained = this.#drained(taken, lost);
    this.#lost = 0;
    for (const { episode, position } of taken) {
      if (this.#fault !== "drainsAgain" || episode.ending !== undefined) {
        this.#handedOut.set(episode.handle, position + 1);
      }
      const isLast = episode.ending !== undefined && position === episode.records.length - 1;
      if (isLast && !keep && this.#fault !== "drainKeeps") this.#remove(episode.handle);
    }
    return drained;
  }

  #drained(
    taken: readonly { readonly episode: Episode; readonly position: number }[],
    lost: number,
  ): ModelDrained {
    const { columnBytes } = this.config;
    const columns = columnBytes.map((bytes) => new Uint8Array(taken.length * bytes));
    const stateBytes = columnBytes[0] ?? 0;
    const nextState = new Uint8Array(taken.length * stateBytes);
    const [episodes, positions, seqLen]: [number[], number[], number[]] = [[], [], []];
    const lastRows: number[] = [];
    const discount: number[] = [];
    const terminated: number[] = [];
    const truncated: number[] = [];
    for (const [row, { episode, position }] of taken.entries()) {
      for (const [k, bytes] of this.#recordAt(episode, position).entries()) {
        columns[k]?.set(bytes, row * bytes.length);
      }
      const isLast = position === episode.records.length - 1;
      const next = isLast ? episode.finalState : episode.records[position + 1]?.[0];
      nextState.set(next ?? episode.records[position]?.[0] ?? [], row * stateBytes);
      if (row === 0 || taken[row - 1]?.episode !== episode) {
        episodes.push(episode.handle);
        positions.push(position);
        seqLen.push(0);
        lastRows.push(row);
      }
      seqLen[seqLen.length - 1] = (seqLen.at(-1) ?? 0) + 1;
      lastRows[lastRows.length - 1] = row;
      const cut = row === taken.length - 1 && this.#fault === "drainCutEnds" && !isLast;
      terminated.push((isLast || cut) && episode.ending === "terminated" ? 1 : 0);
      truncated.push((isLast || cut) && episode.ending === "truncated" ? 1 : 0);
      discount.push(terminated.at(-1) === 1 ? 0 : Math.fround(this.config.pick.discount));
    }
    const lastNextState = new Uint8Array(lastRows.length * stateBytes);
    for (const [k, row] of lastRows.entries()) {
      const from = nextState.subarray(row * stateBytes, (row + 1) * stateBytes);
      lastNextState.set(from, k * stateBytes);
    }
    return {
      columns,
      nextState,
      lastNextState,
      episode: episodes,
      position: positions,
      seqLen,
      discount,
      terminated,
      truncated,
      lost,
    };
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
        all.set(this.#recordAt(episode, row)[k] ?? [], row * bytes);
      }
      return all;
    });
    return { columns, finalState: episode.finalState };
  }

  /** A record as it can be read: of columns that not all records keep, the newest value kept. */
  #recordAt({ records }: Episode, position: number): readonly Uint8Array[] {
    return (records[position] ?? []).map((own, k) =>
      records[keptAt(position, this.config.every[k], this.#fault)]?.[k] ?? own
    );
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
    copy.#tables.length = 0;
    for (const table of this.#tables) {
      const twin = new TableModel(table.policy);
      twin.picks.push(...table.picks);
      copy.#tables.push(twin);
    }
    for (const [table, selector] of this.#selectors) {
      const twin = copy.#table(this.#tables.indexOf(table));
      if ("parts" in selector) {
        const random = new RandomStream(0);
        random.load(selector.random.save());
        copy.#selectors.push([twin, { ...selector, owed: [...selector.owed], random }]);
        continue;
      }
      const own = selector.clone();
      twin.selectors.push(own);
      copy.#selectors.push([twin, own]);
    }
    copy.#eviction = this.#eviction.clone();
    copy.#streams = this.#streams;
    if (this.#fault !== "snapshotForgetsDrain") {
      for (const [handle, count] of this.#handedOut) copy.#handedOut.set(handle, count);
    }
    copy.#lost = this.#lost;
    copy.#hindsight = this.#hindsight.clone(this.#fault === "snapshotForgetsHindsight");
    copy.nextHandle = this.nextHandle;
    copy.recordedCount = this.recordedCount;
    copy.evictedCount = this.evictedCount;
    return copy;
  }

  // ---- inside ----

  #checkHandle(handle: number): void {
    if (!(Number.isInteger(handle) && handle >= 0 && handle < this.nextHandle)) {
      throw new ModelError("episode-unknown", `handle ${handle} was never given out`);
    }
  }

  #checkOpen(handle: number): void {
    this.#checkHandle(handle);
    if (this.#episodes.get(handle)?.ending === undefined) return;
    throw new ModelError("episode-ended", `episode ${handle} has ended`);
  }

  #table(ordinal: number): TableModel {
    const table = this.#tables[ordinal];
    if (table === undefined) throw new RangeError(`the model has no pick table ${ordinal}`);
    return table;
  }

  #selector(ordinal: number): SelectorOfTable {
    const selector = this.#selectors[ordinal];
    if (selector === undefined) throw new RangeError(`the model has no selector ${ordinal}`);
    return selector;
  }

  /** Bytes of the records of one episode; of some columns only every so manieth record has any. */
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
      this.#remove(this.#eviction.victim(episode === undefined ? undefined : handle));
    }
  }

  #begin(): Episode {
    const episode: Episode = {
      handle: this.nextHandle++,
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
    episode.ending = ending;
    this.#pushPicks(episode);
    this.#eviction.ended?.(episode.handle, this.#firstTablePicks(episode));
  }

  /** Picks that are one now and were none before join their table, in order of position. */
  /** How many picks of the first pick table an episode has. */
  #firstTablePicks(episode: Episode): number {
    const [table] = this.#tables;
    return episode.records.filter((_, position) =>
      table !== undefined && isPick(table.policy, episode, position, this.#fault)
    ).length;
  }

  #pushPicks(episode: Episode): void {
    for (const table of this.#tables) {
      for (let position = 0; position < episode.records.length; position++) {
        if (table.indexOf(episode.handle, position) >= 0) continue;
        if (!isPick(table.policy, episode, position, this.#fault)) continue;
        const priority = this.#fault === "firstPrioritiesLost"
          ? undefined
          : episode.priorities[position];
        table.push({ episode: episode.handle, position }, priority);
      }
    }
  }

  /** The picks of a table before one in its episode, the nearest first. */
  #picksBefore(table: TableModel, index: number): number[] {
    const pick = table.picks[index];
    if (pick === undefined) throw new RangeError(`the model has no pick ${index}`);
    const before: number[] = [];
    for (let position = pick.position - 1; position >= 0; position--) {
      const earlier = table.indexOf(pick.episode, position);
      if (earlier >= 0) before.push(earlier);
    }
    if (this.#fault === "pserCrossesEpisodes") before.push(...table.picks.keys());
    return before;
  }

  /** Chen and Wang, section 3.2, in nine steps: the picks of an episode go one by one, the last pick into each gap. */
  #remove(handle: number): void {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new Error(`the model would evict ${handle}, which is gone`);
    this.#lost += episode.records.length - (this.#handedOut.get(handle) ?? 0);
    this.#handedOut.delete(handle);
    for (const table of this.#tables) this.#removePicks(table, episode);
    this.#episodes.delete(handle);
    this.#eviction.removed(handle);
    this.evictedCount++;
  }

  #removePicks(table: TableModel, { handle, records }: Episode): void {
    for (let position = 0; position < records.length; position++) {
      const index = table.indexOf(handle, position);
      if (index < 0) continue;
      // What stands at the end and goes anyway is not moved into the gap first.
      while (
        this.#fault !== "swapsOwnPicks" && table.picks.length > index &&
        table.picks.at(-1)?.episode === handle
      ) table.pop();
      const last = table.picks.at(-1);
      if (index >= table.picks.length || last === undefined) continue;
      if (index < table.picks.length - 1) {
        table.picks[index] = last;
        for (const selector of table.selectors) selector.moved(index);
      }
      table.pop();
    }
  }

  /** Everything of a batch that the rule which drew it has no say in. */
  #assemble(
    table: TableModel,
    draws: Draws,
  ): Omit<ModelBatch, "probability" | "importanceWeight" | "tolerance"> {
    const { columnBytes, every, reward } = this.config;
    const picks = draws.indices.map((index) => {
      const pick = table.picks[index];
      const episode = pick && this.#episodes.get(pick.episode);
      if (pick === undefined || episode === undefined) {
        throw new Error(`the model has no pick ${index}`);
      }
      const { position } = pick;
      return {
        pick,
        rows: pickRows(table.policy, episode, position, columnBytes, every, reward, this.#fault),
      };
    });
    const all = <T>(part: (rows: PickRows) => readonly T[]): T[] =>
      picks.flatMap(({ rows }) => [...part(rows)]);
    return {
      columns: columnBytes.map((_, k) => join(all(({ columns }) => columns[k] ?? []))),
      nextState: join(all(({ nextState }) => nextState)),
      seqLen: picks.map(({ rows }) => rows.seqLen),
      nextSeqLen: picks.map(({ rows }) => rows.nextSeqLen),
      pickEpisode: picks.map(({ pick }) => pick.episode),
      pickPosition: picks.map(({ pick }) => pick.position),
      discount: all(({ discount }) => discount),
      learnMask: all(({ learnMask }) => learnMask),
      contextMask: all(({ contextMask }) => contextMask),
      nStep: table.policy.nStep.map((_, k) => ({
        reward: all(({ nStep }) => nStep[k]?.reward ?? []),
        state: join(all(({ nStep }) => nStep[k]?.state ?? [])),
        discount: all(({ nStep }) => nStep[k]?.discount ?? []),
      })),
    };
  }
}

function drawsOf(table: TableModel, seen: SeenBatch): Draws {
  const indices = Array.from(seen.pickEpisode, (handle, k) => {
    const index = table.indexOf(handle, seen.pickPosition[k] ?? -1);
    if (index < 0) throw new Error(`draw ${k} is no pick: episode ${handle}`);
    return index;
  });
  return { indices, probabilities: Array.from(seen.probability) };
}
