/**
 * The eviction policies, as obvious lists over handles.
 *
 * @module
 */

import type { Fault } from "./faults.ts";

/** A rule that says which episode goes when there is no room. */
export interface EvictionModel {
  created(handle: number): void;
  sampled(handles: readonly number[]): void;
  removed(handle: number): void;
  /** `spared`, the episode being recorded, goes only when it is the last. */
  victim(spared?: number): number;
  clone(): EvictionModel;
}

/** The kinds of rule; `custom` is the one that the test writes in TypeScript for the library. */
export type EvictionKind = "fifo" | "secondChance" | "lru" | "lfu" | "custom";

export const EVICTION_KINDS: readonly EvictionKind[] = [
  "fifo",
  "secondChance",
  "lru",
  "lfu",
  "custom",
];

export function evictionModel(kind: EvictionKind, fault?: Fault): EvictionModel {
  switch (kind) {
    case "fifo":
      return new FifoModel([]);
    case "secondChance":
      return new SecondChanceModel([], undefined, fault);
    case "lru":
      return new LruModel([], fault);
    case "lfu":
      return new LfuModel([], 0, fault);
    case "custom":
      return new CustomModel([]);
  }
}

function without<T>(list: readonly T[], gone: T): T[] {
  return list.filter((member) => member !== gone);
}

/** The first, but for the one spared while there is another. */
function firstBut(handles: readonly number[], spared: number | undefined): number {
  return handles.length > 1
    ? firstOf(handles.filter((handle) => handle !== spared))
    : firstOf(handles);
}

function firstOf<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined) throw new Error("the model has no episode to evict");
  return first;
}

/** The oldest goes. */
class FifoModel implements EvictionModel {
  constructor(private handles: readonly number[]) {}
  created(handle: number): void {
    this.handles = [...this.handles, handle];
  }
  sampled(): void {}
  removed(handle: number): void {
    this.handles = without(this.handles, handle);
  }
  victim(spared?: number): number {
    return firstBut(this.handles, spared);
  }
  clone(): EvictionModel {
    return new FifoModel(this.handles);
  }
}

/** The one that was created or drawn longest ago goes. */
class LruModel implements EvictionModel {
  constructor(private handles: readonly number[], private readonly fault?: Fault) {}
  created(handle: number): void {
    this.handles = [...this.handles, handle];
  }
  sampled(handles: readonly number[]): void {
    for (const handle of this.fault === "lruBackwards" ? handles.toReversed() : handles) {
      this.handles = [...without(this.handles, handle), handle];
    }
  }
  removed(handle: number): void {
    this.handles = without(this.handles, handle);
  }
  victim(spared?: number): number {
    return firstBut(this.handles, spared);
  }
  clone(): EvictionModel {
    return new LruModel(this.handles, this.fault);
  }
}

interface Spared {
  readonly handle: number;
  flag: boolean;
}

/** The clock of Chen and Wang: a hand over the episodes by age; who was drawn since it last passed is spared once. */
class SecondChanceModel implements EvictionModel {
  constructor(
    private readonly episodes: Spared[],
    private hand: number | undefined,
    private readonly fault?: Fault,
  ) {}
  created(handle: number): void {
    this.episodes.push({ handle, flag: false });
    this.hand ??= handle;
  }
  sampled(handles: readonly number[]): void {
    for (const episode of this.episodes) {
      if (handles.includes(episode.handle)) episode.flag = true;
    }
  }
  removed(handle: number): void {
    if (this.hand === handle) {
      const next = this.fault === "handToOldest" ? this.episodes[0]?.handle : this.#after(handle);
      this.hand = next === handle ? undefined : next;
    }
    this.episodes.splice(this.episodes.findIndex((episode) => episode.handle === handle), 1);
  }
  victim(spared?: number): number {
    for (;;) {
      const at = this.episodes.find((episode) => episode.handle === this.hand);
      if (at === undefined) throw new Error("the model's hand points nowhere");
      const passed = at.handle === spared && this.episodes.length > 1;
      if (!at.flag && !passed) return at.handle;
      if (!passed) at.flag = false;
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
}

/** The one drawn least often goes; of several, the one that was drawn or created longest ago. */
class LfuModel implements EvictionModel {
  constructor(private episodes: Used[], private now: number, private readonly fault?: Fault) {}
  created(handle: number): void {
    this.episodes.push({ handle, count: 0, time: this.now++ });
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
  removed(handle: number): void {
    this.episodes = this.episodes.filter((episode) => episode.handle !== handle);
  }
  victim(spared?: number): number {
    const order = this.episodes.toSorted((a, b) => a.count - b.count || a.time - b.time);
    return firstBut(order.map(({ handle }) => handle), spared);
  }
  clone(): EvictionModel {
    return new LfuModel(this.episodes.map((episode) => ({ ...episode })), this.now, this.fault);
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
  victim(): number {
    const score = (episode: { handle: number; drawn: number }): number =>
      customScore(episode.handle, episode.drawn);
    return firstOf(this.episodes.toSorted((a, b) => score(a) - score(b))).handle;
  }
  clone(): EvictionModel {
    return new CustomModel(this.episodes.map((episode) => ({ ...episode })));
  }
}
