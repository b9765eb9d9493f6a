/**
 * The eviction policies, as obvious lists over handles.
 *
 * @module
 */

import type { Fault } from "./faults.ts";
import { portableWeight } from "./portable_math.ts";
import { Random } from "./random.ts";

/** A rule that says which episode goes when there is no room. */
export interface EvictionModel {
  created(handle: number): void;
  sampled(handles: readonly number[]): void;
  /** An episode has ended, with this number of picks. */
  ended?(handle: number, pickCount: number): void;
  /** An episode that has ended lost its oldest records, and has this number of picks now. */
  trimmed?(handle: number, pickCount: number): void;
  /** Priorities of picks of these episodes, as one call set them. */
  prioritized?(handles: readonly number[], priorities: readonly number[]): void;
  removed(handle: number): void;
  /** The episode to forget now: one that has ended, or undefined where there is none. */
  victim(): number | undefined;
  clone(): EvictionModel;
}

/** The kinds of rule; `custom` is the one that the test writes in TypeScript for the library. */
export type EvictionKind =
  | "fifo"
  | "secondChance"
  | "lru"
  | "lfu"
  | "lowestPriorityFirst"
  | "afterDraws"
  | "reservoir"
  | "custom";

export const EVICTION_KINDS: readonly EvictionKind[] = [
  "fifo",
  "secondChance",
  "lru",
  "lfu",
  "lowestPriorityFirst",
  "afterDraws",
  "reservoir",
  "custom",
];

/** `draws` is the option of `afterDraws`, `seed` that of the replay. */
export function evictionModel(
  kind: EvictionKind,
  draws: number,
  seed: number,
  fault?: Fault,
): EvictionModel {
  switch (kind) {
    case "lowestPriorityFirst":
      return new LowestPriorityFirstModel([], 1, fault);
    case "afterDraws":
      return new AfterDrawsModel(draws, [], [], fault);
    case "reservoir":
      return new ReservoirModel(new Random(seed, 0), [], fault);
    case "fifo":
      return new FifoModel([], new Set(), fault);
    case "secondChance":
      return new SecondChanceModel([], undefined, fault);
    case "lru":
      return new LruModel([], new Set(), fault);
    case "lfu":
      return new LfuModel([], 0, fault);
    case "custom":
      return new CustomModel([]);
  }
}

function without<T>(list: readonly T[], gone: T): T[] {
  return list.filter((member) => member !== gone);
}

/** The oldest goes. */
class FifoModel implements EvictionModel {
  constructor(
    private handles: readonly number[],
    private readonly endedOnes: Set<number>,
    private readonly fault?: Fault,
  ) {}
  created(handle: number): void {
    this.handles = [...this.handles, handle];
  }
  sampled(): void {}
  ended(handle: number): void {
    this.endedOnes.add(handle);
  }
  removed(handle: number): void {
    this.handles = without(this.handles, handle);
  }
  victim(): number | undefined {
    if (this.fault === "fifoByEnd") {
      return [...this.endedOnes].find((handle) => this.handles.includes(handle));
    }
    return this.handles.find((handle) => this.endedOnes.has(handle));
  }
  clone(): EvictionModel {
    return new FifoModel(this.handles, new Set(this.endedOnes), this.fault);
  }
}

/** The one that was created or drawn longest ago goes. */
class LruModel implements EvictionModel {
  constructor(
    private handles: readonly number[],
    private readonly endedOnes: Set<number>,
    private readonly fault?: Fault,
  ) {}
  created(handle: number): void {
    this.handles = [...this.handles, handle];
  }
  sampled(handles: readonly number[]): void {
    for (const handle of this.fault === "lruBackwards" ? handles.toReversed() : handles) {
      this.handles = [...without(this.handles, handle), handle];
    }
  }
  ended(handle: number): void {
    this.endedOnes.add(handle);
  }
  removed(handle: number): void {
    this.handles = without(this.handles, handle);
  }
  victim(): number | undefined {
    return this.handles.find((handle) => this.endedOnes.has(handle));
  }
  clone(): EvictionModel {
    return new LruModel(this.handles, new Set(this.endedOnes), this.fault);
  }
}

interface Flagged {
  readonly handle: number;
  flag: boolean;
  ended: boolean;
}

/**
 * The clock of Chen and Wang: a hand goes over the episodes by age. It spares once an episode that was drawn since it
 * last passed. It leaves open episodes as they are.
 */
class SecondChanceModel implements EvictionModel {
  constructor(
    private readonly episodes: Flagged[],
    private hand: number | undefined,
    private readonly fault?: Fault,
  ) {}
  created(handle: number): void {
    this.episodes.push({ handle, flag: false, ended: false });
    this.hand ??= handle;
  }
  sampled(handles: readonly number[]): void {
    for (const episode of this.episodes) {
      if (handles.includes(episode.handle)) episode.flag = true;
    }
  }
  ended(handle: number): void {
    for (const episode of this.episodes) if (episode.handle === handle) episode.ended = true;
  }
  removed(handle: number): void {
    if (this.hand === handle) {
      const next = this.fault === "handToOldest" ? this.episodes[0]?.handle : this.#after(handle);
      this.hand = next === handle ? undefined : next;
    }
    this.episodes.splice(this.episodes.findIndex((episode) => episode.handle === handle), 1);
  }
  victim(): number | undefined {
    if (this.episodes.every((episode) => !episode.ended)) return undefined;
    for (;;) {
      const at = this.episodes.find((episode) => episode.handle === this.hand);
      if (at === undefined) throw new Error("the model's hand points nowhere");
      if (at.ended && !at.flag) return at.handle;
      if (at.ended || this.fault === "handClearsOpen") at.flag = false;
      this.hand = this.#after(at.handle);
    }
  }
  clone(): EvictionModel {
    return new SecondChanceModel(
      this.episodes.map((episode) => ({ ...episode })),
      this.hand,
      this.fault,
    );
  }
  #after(handle: number): number | undefined {
    const index = this.episodes.findIndex((episode) => episode.handle === handle);
    return this.episodes[(index + 1) % this.episodes.length]?.handle;
  }
}

interface Used {
  readonly handle: number;
  count: number;
  time: number;
  ended: boolean;
}

/** The one drawn least often goes; of several, the one that was drawn or created longest ago. */
class LfuModel implements EvictionModel {
  constructor(private episodes: Used[], private now: number, private readonly fault?: Fault) {}
  created(handle: number): void {
    this.episodes.push({ handle, count: 0, time: this.now++, ended: false });
  }
  sampled(handles: readonly number[]): void {
    for (const handle of handles) {
      const used = this.episodes.find((episode) => episode.handle === handle);
      if (used === undefined) {
        throw new Error(`the model drew from episode ${handle}, which is gone`);
      }
      used.count++;
      if (this.fault !== "lfuTiesByAge") used.time = this.now++;
    }
  }
  ended(handle: number): void {
    for (const episode of this.episodes) if (episode.handle === handle) episode.ended = true;
  }
  removed(handle: number): void {
    this.episodes = this.episodes.filter((episode) => episode.handle !== handle);
  }
  victim(): number | undefined {
    return this.episodes.toSorted((a, b) => a.count - b.count || a.time - b.time)
      .find(({ ended }) => ended)?.handle;
  }
  clone(): EvictionModel {
    return new LfuModel(this.episodes.map((episode) => ({ ...episode })), this.now, this.fault);
  }
}

interface Prioritized {
  readonly handle: number;
  readonly priority: number;
}

/** The lowest priority goes; of several, the one that was created or given its priority first. */
class LowestPriorityFirstModel implements EvictionModel {
  /** `episodes` in order of when they were created or given a priority. */
  constructor(
    private episodes: readonly Prioritized[],
    private largest: number,
    private readonly fault?: Fault,
    private readonly endedOnes: Set<number> = new Set(),
  ) {}
  created(handle: number): void {
    this.#set(handle, this.fault === "newEpisodesLowest" ? 0 : this.largest);
  }
  sampled(): void {}
  ended(handle: number, pickCount: number): void {
    this.endedOnes.add(handle);
    if (pickCount === 0 && this.fault !== "pickless") this.#set(handle, 0);
  }
  prioritized(handles: readonly number[], priorities: readonly number[]): void {
    for (const handle of new Set(handles)) {
      const own = priorities.filter((_, k) => handles[k] === handle);
      const sum = own.reduce((total, priority) => total + priority, 0);
      this.#set(
        handle,
        portableWeight(this.fault === "lastPickDecides" ? own.at(-1) ?? NaN : sum / own.length),
      );
    }
  }
  removed(handle: number): void {
    this.episodes = this.episodes.filter((episode) => episode.handle !== handle);
  }
  victim(): number | undefined {
    return this.episodes.toSorted((a, b) => a.priority - b.priority)
      .find(({ handle }) => this.endedOnes.has(handle))?.handle;
  }
  clone(): EvictionModel {
    const forgets = this.fault === "snapshotForgetsMaximum";
    return new LowestPriorityFirstModel(
      this.episodes,
      forgets ? 1 : this.largest,
      this.fault,
      new Set(this.endedOnes),
    );
  }
  #set(handle: number, priority: number): void {
    this.removed(handle);
    this.episodes = [...this.episodes, { handle, priority }];
    this.largest = Math.max(this.largest, priority);
  }
}

interface Counted {
  readonly handle: number;
  draws: number;
  /** Undefined while it is open. */
  pickCount?: number;
}

/** The one that was first to be drawn `draws` times a pick goes; while there is none, the oldest that has ended. */
class AfterDrawsModel implements EvictionModel {
  constructor(
    private readonly draws: number,
    private episodes: readonly Counted[],
    private spent: readonly number[],
    private readonly fault?: Fault,
  ) {}
  created(handle: number): void {
    this.episodes = [...this.episodes, { handle, draws: 0 }];
  }
  sampled(handles: readonly number[]): void {
    for (const handle of handles) {
      const episode = this.episodes.find((one) => one.handle === handle);
      if (episode === undefined) throw new Error(`the model drew from ${handle}, which is gone`);
      episode.draws++;
      this.#look(episode);
    }
  }
  ended(handle: number, pickCount: number): void {
    const episode = this.episodes.find((one) => one.handle === handle);
    if (episode === undefined) throw new Error(`the model ended ${handle}, which is gone`);
    episode.pickCount = pickCount;
    this.#look(episode);
  }
  trimmed(handle: number, pickCount: number): void {
    this.ended(handle, pickCount);
  }
  removed(handle: number): void {
    this.episodes = this.episodes.filter((episode) => episode.handle !== handle);
    this.spent = without(this.spent, handle);
  }
  victim(): number | undefined {
    return this.spent[0] ??
      this.episodes.find(({ pickCount }) => pickCount !== undefined)?.handle;
  }
  clone(): EvictionModel {
    const episodes = this.episodes.map((episode) => ({ ...episode }));
    return new AfterDrawsModel(this.draws, episodes, this.spent, this.fault);
  }
  #look({ handle, draws, pickCount }: Counted): void {
    if (pickCount === undefined || this.spent.includes(handle)) return;
    const picks = this.fault === "drawsOfEpisodes" ? 1 : pickCount;
    if (draws >= this.draws * picks) this.spent = [...this.spent, handle];
  }
}

interface Keyed {
  readonly handle: number;
  readonly key: bigint;
}

/** Each episode gets a random key when it ends; the lowest key goes. */
class ReservoirModel implements EvictionModel {
  constructor(
    private readonly random: Random,
    private keyed: readonly Keyed[],
    private readonly fault?: Fault,
  ) {}
  created(): void {}
  sampled(): void {}
  ended(handle: number): void {
    this.keyed = [...this.keyed, { handle, key: this.random.next() >> 32n }];
  }
  removed(handle: number): void {
    this.keyed = this.keyed.filter((episode) => episode.handle !== handle);
  }
  victim(): number | undefined {
    return this.keyed.toSorted((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0)[0]?.handle;
  }
  clone(): EvictionModel {
    const random = this.fault === "snapshotForgetsRandom" ? new Random(0, 0) : this.random.clone();
    return new ReservoirModel(random, this.keyed, this.fault);
  }
}

/** The order of the policy that the test gives to the library as a user would: nothing sensible, but all of it matters. */
export function customScore(handle: number, drawn: number): number {
  return (7 * handle + 3 * drawn) % 11;
}

/** The one of the least score goes; of several, the oldest. */
class CustomModel implements EvictionModel {
  constructor(private episodes: { readonly handle: number; drawn: number }[]) {}
  created(handle: number): void {
    this.episodes.push({ handle, drawn: 0 });
  }
  sampled(handles: readonly number[]): void {
    for (const episode of this.episodes) {
      episode.drawn += handles.filter((handle) => handle === episode.handle).length;
    }
  }
  removed(handle: number): void {
    this.episodes = this.episodes.filter((episode) => episode.handle !== handle);
  }
  victim(): number | undefined {
    const score = (episode: { handle: number; drawn: number }): number =>
      customScore(episode.handle, episode.drawn);
    return this.episodes.toSorted((a, b) => score(a) - score(b))[0]?.handle;
  }
  clone(): EvictionModel {
    return new CustomModel(this.episodes.map((episode) => ({ ...episode })));
  }
}
