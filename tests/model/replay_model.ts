/**
 * The whole replay, plain and slow: episodes are arrays of records, the pick table is an array, sums are added up anew for
 * each draw. It is written from what the module promises (docs/design.md, kernel/exrp.h), not from how the kernel does it.
 *
 * @module
 */

import { type EvictionKind, type EvictionModel, evictionModel } from "./eviction_models.ts";
import type { Fault } from "./faults.ts";
import { portablePow } from "./portable_math.ts";
import {
  type Draws,
  type SelectorModel,
  selectorModel,
  type SelectorSpec,
} from "./selector_models.ts";

/** What a replay is made with. */
export interface ModelConfig {
  readonly capacity: number;
  /** Undefined: an eighth of the capacity, at least one pick. */
  readonly segmentLength?: number;
  readonly seed: number;
  readonly length: number;
  readonly allowShort: boolean;
  readonly allowOpenEnd: boolean;
  readonly discount: number;
  /** Bytes of each column of one record: the state, the action, the reward, extras. */
  readonly columnBytes: readonly number[];
  readonly eviction: EvictionKind;
  /** The option of `afterDraws`. */
  readonly evictionDraws: number;
  /** Bytes of records and final states. */
  readonly capacityBytes?: number;
  /** Records that may be written since an episode began. */
  readonly maxAge?: number;
}

/** How an episode ended. */
export type Ending = "terminated" | "truncated";

interface Episode {
  readonly handle: number;
  /** How many records had been written when it began. */
  birth: number;
  /** The bytes of each column of each record. */
  readonly records: (readonly Uint8Array[])[];
  ending?: Ending;
  finalState?: Uint8Array;
}

/** A sequence that may be drawn. */
export interface Pick {
  readonly episode: number;
  readonly position: number;
}

/** What a batch must hold. */
export interface ModelBatch {
  readonly columns: readonly Uint8Array[];
  readonly nextState: Uint8Array;
  readonly seqLen: readonly number[];
  readonly nextSeqLen: readonly number[];
  readonly pickEpisode: readonly number[];
  readonly pickPosition: readonly number[];
  readonly probability: readonly number[];
  readonly importanceWeight: readonly number[];
  readonly discount: readonly number[];
  /** How far probability and importance weight may be off, relative. */
  readonly tolerance: number;
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

export class ReplayModel {
  readonly config: ModelConfig;
  readonly segmentLength: number;
  /** Records that there can be: as many as given, or as fit into the bytes beside a final state. */
  readonly capacity: number;
  /** By handle, oldest first. */
  readonly #episodes = new Map<number, Episode>();
  readonly #picks: Pick[] = [];
  readonly #selectors: SelectorModel[] = [];
  #eviction: EvictionModel;
  readonly #fault: Fault | undefined;
  /** Streams of random numbers given out: rules of the kernel draw from streams 1, 2, ... of the seed. */
  #streams = 0;
  nextHandle = 0;
  recordedCount = 0;
  evictedCount = 0;

  constructor(config: ModelConfig, fault?: Fault) {
    this.config = config;
    const { capacityBytes = Infinity, maxAge = Infinity } = config;
    this.capacity = Math.min(
      config.capacity,
      Math.floor((capacityBytes - this.#stateBytes) / this.#recordBytes),
    );
    this.segmentLength = config.segmentLength ??
      Math.max(config.length, Math.floor(Math.min(this.capacity, maxAge) / 8));
    this.#fault = fault;
    this.#eviction = evictionModel(config.eviction, config.evictionDraws, config.seed, fault);
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
    let bytes = this.recordCount * this.#recordBytes;
    for (const { ending } of this.#episodes.values()) {
      if (ending !== undefined) bytes += this.#stateBytes;
    }
    return bytes;
  }
  get pickCount(): number {
    return this.#picks.length;
  }
  get selectorCount(): number {
    return this.#selectors.length;
  }
  /** Oldest first. */
  get handles(): number[] {
    return [...this.#episodes.keys()];
  }
  get picks(): readonly Pick[] {
    return this.#picks;
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
    const before = this.#validCount(episode);
    episode.records.push(columns);
    this.recordedCount++;
    this.#pushPicks(episode, before);
    if (finalState !== undefined) this.#end(episode, finalState, ending);
    return episode.handle;
  }

  /** Steps of one episode, one after the other; the end is the last one's. */
  recordMany(
    handle: number,
    steps: readonly (readonly Uint8Array[])[],
    finalState?: Uint8Array,
    ending?: Ending,
  ): number {
    let current = handle;
    for (const [k, columns] of steps.entries()) {
      const isLast = k === steps.length - 1;
      current = this.record(current, columns, isLast ? finalState : undefined, ending);
    }
    return current;
  }

  /** A step of each of many episodes, in order; where one ends another begins at once. Handles to go on with. */
  recordBatch(
    handles: readonly number[],
    steps: readonly (readonly Uint8Array[])[],
    ends: readonly ({ readonly finalState: Uint8Array; readonly ending: Ending } | undefined)[],
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
      const after = this.record(handle, steps[k] ?? [], end?.finalState, end?.ending);
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

  newPickSelector(spec: SelectorSpec): number {
    const ordinal = this.#selectors.length;
    if (spec.kind !== "sweep") this.#streams++;
    const selector = selectorModel(spec, this.config.seed, this.#streams, this.#fault);
    for (const _ of this.#picks) selector.pushed();
    this.#selectors.push(selector);
    return ordinal;
  }

  setPriority(
    ordinal: number,
    episodes: readonly number[],
    positions: readonly number[],
    priorities: readonly number[],
  ): number {
    const selector = this.#selector(ordinal);
    for (const priority of priorities) {
      if (!(priority >= 0 && priority < Infinity)) {
        throw new ModelError("invalid-priority", `a priority of ${priority}`);
      }
    }
    for (const handle of episodes) this.#checkHandle(handle);
    const indices: number[] = [];
    const kept: number[] = [];
    for (const [k, handle] of episodes.entries()) {
      const index = this.#indexOf(handle, positions[k] ?? -1);
      if (index < 0) continue;
      indices.push(index);
      kept.push(priorities[k] ?? NaN);
    }
    selector.setPriority(indices, kept);
    const named = indices.map((index) => this.#picks[index]?.episode ?? NaN);
    this.#eviction.prioritized?.(named, kept);
    return this.#fault === "evictedPicksCount" ? episodes.length : indices.length;
  }

  getBatch(ordinal: number, count: number, beta: number, seen?: SeenBatch): ModelBatch {
    const selector = this.#selector(ordinal);
    if (this.#picks.length === 0) throw new ModelError("empty", "there is no pick");
    if (count > (selector.batchMax ?? Infinity)) {
      throw new ModelError("batch-size", "there are fewer picks");
    }
    const draws = selector.select(count, seen === undefined ? undefined : this.#drawsOf(seen));
    const batch = this.#assemble(draws);
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

  // ---- saving ----

  /** The same replay, going its own way from here: what a snapshot must restore. */
  clone(): ReplayModel {
    const copy = new ReplayModel(this.config, this.#fault);
    for (const [handle, episode] of this.#episodes) {
      copy.#episodes.set(handle, { ...episode, records: [...episode.records] });
    }
    copy.#picks.push(...this.#picks);
    copy.#selectors.push(...this.#selectors.map((selector) => selector.clone()));
    copy.#eviction = this.#eviction.clone();
    copy.#streams = this.#streams;
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

  #selector(ordinal: number): SelectorModel {
    const selector = this.#selectors[ordinal];
    if (selector === undefined) throw new RangeError(`the model has no selector ${ordinal}`);
    return selector;
  }

  get #recordBytes(): number {
    return this.config.columnBytes.reduce((sum, bytes) => sum + bytes, 0);
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
      const bytes = this.storedBytes + records * this.#recordBytes + more * this.#stateBytes;
      if (this.recordCount + records <= capacity && bytes <= capacityBytes) return;
      this.#remove(this.#eviction.victim(episode === undefined ? undefined : handle));
    }
  }

  #begin(): Episode {
    const episode: Episode = {
      handle: this.nextHandle++,
      birth: this.recordedCount,
      records: [],
    };
    this.#episodes.set(episode.handle, episode);
    this.#eviction.created(episode.handle);
    return episode;
  }

  #end(episode: Episode, finalState: Uint8Array, ending: Ending): void {
    const before = this.#validCount(episode);
    episode.finalState = finalState;
    episode.ending = ending;
    this.#pushPicks(episode, before);
    this.#eviction.ended?.(episode.handle, this.#validCount(episode));
  }

  /** How many positions of an episode, from its first on, are picks. */
  #validCount(episode: Episode): number {
    const { length, allowShort, allowOpenEnd } = this.config;
    const count = episode.records.length;
    const ended = episode.ending !== undefined;
    // Where short picks count, every record of an ended episode begins one.
    if (allowShort && (ended || this.#fault === "shortWhileOpen")) return count;
    // Whole picks; the last next state of a pick must be known, but where an open end is allowed.
    const known = ended || allowOpenEnd ? count : count - 1;
    return Math.max(0, known - length + 1);
  }

  #pushPicks(episode: Episode, before: number): void {
    for (let position = before; position < this.#validCount(episode); position++) {
      this.#picks.push({ episode: episode.handle, position });
      for (const selector of this.#selectors) selector.pushed();
    }
  }

  #indexOf(handle: number, position: number): number {
    return this.#picks.findIndex((pick) => pick.episode === handle && pick.position === position);
  }

  #pop(): void {
    this.#picks.pop();
    for (const selector of this.#selectors) selector.popped();
  }

  /** Chen and Wang, section 3.2, in nine steps: the picks of an episode go one by one, the last pick into each gap. */
  #remove(handle: number): void {
    const episode = this.#episodes.get(handle);
    if (episode === undefined) throw new Error(`the model would evict ${handle}, which is gone`);
    for (let position = 0; position < episode.records.length; position++) {
      const index = this.#indexOf(handle, position);
      if (index < 0) continue;
      // What stands at the end and goes anyway is not moved into the gap first.
      while (
        this.#fault !== "swapsOwnPicks" && this.#picks.length > index &&
        this.#picks.at(-1)?.episode === handle
      ) this.#pop();
      const last = this.#picks.at(-1);
      if (index >= this.#picks.length || last === undefined) continue;
      if (index < this.#picks.length - 1) {
        this.#picks[index] = last;
        for (const selector of this.#selectors) selector.moved(index);
      }
      this.#pop();
    }
    this.#episodes.delete(handle);
    this.#eviction.removed(handle);
    this.evictedCount++;
  }

  #drawsOf(seen: SeenBatch): Draws {
    const indices = Array.from(seen.pickEpisode, (handle, k) => {
      const index = this.#indexOf(handle, seen.pickPosition[k] ?? -1);
      if (index < 0) throw new Error(`draw ${k} is no pick: episode ${handle}`);
      return index;
    });
    return { indices, probabilities: Array.from(seen.probability) };
  }

  /** Everything of a batch that the rule which drew it has no say in. */
  #assemble(draws: Draws): Omit<ModelBatch, "probability" | "importanceWeight" | "tolerance"> {
    const { length, columnBytes, discount } = this.config;
    const rows = draws.indices.length * length;
    const stateBytes = columnBytes[0] ?? 0;
    const columns = columnBytes.map((bytes) => new Uint8Array(rows * bytes));
    const nextState = new Uint8Array(rows * stateBytes);
    const discounts = new Array<number>(rows).fill(0);
    const seqLen: number[] = [];
    const nextSeqLen: number[] = [];
    const pickEpisode: number[] = [];
    const pickPosition: number[] = [];
    for (const [k, index] of draws.indices.entries()) {
      const pick = this.#picks[index];
      const episode = pick && this.#episodes.get(pick.episode);
      if (pick === undefined || episode === undefined) {
        throw new Error(`the model has no pick ${index}`);
      }
      let known = 0;
      let real = 0;
      for (let step = 0; step < length; step++) {
        const position = pick.position + step;
        const record = episode.records[position];
        if (record === undefined) break;
        real++;
        const row = k * length + step;
        for (const [column, bytes] of record.entries()) {
          columns[column]?.set(bytes, row * bytes.length);
        }
        const isLast = position === episode.records.length - 1;
        const next = isLast ? episode.finalState : episode.records[position + 1]?.[0];
        if (next === undefined && this.#fault !== "openEndKnown") continue;
        known++;
        if (next !== undefined) nextState.set(next, row * stateBytes);
        const terminates = isLast && episode.ending === "terminated" &&
          this.#fault !== "terminatedBootstraps";
        discounts[row] = terminates ? 0 : Math.fround(discount);
      }
      seqLen.push(real);
      nextSeqLen.push(known);
      pickEpisode.push(pick.episode);
      pickPosition.push(pick.position);
    }
    return {
      columns,
      nextState,
      seqLen,
      nextSeqLen,
      pickEpisode,
      pickPosition,
      discount: discounts,
    };
  }
}
