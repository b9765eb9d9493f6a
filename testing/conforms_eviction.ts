/**
 * Checks the whole contract of an eviction policy, of the library or of your own.
 *
 * @module
 */

import { checkEviction } from "../eviction/eviction_policy.ts";
import { type Selector, uniform } from "../mod.ts";
import { type EvictionRule, NativeEviction } from "../eviction/mod.ts";
import { RandomStream } from "../selectors/mod.ts";
import {
  checkCase,
  checkFresh,
  type ConformanceCheck,
  type ConformsOptions,
  kernelOf,
  listChecks,
  type Plan,
  type Progress,
  runChecks,
} from "./conformance.ts";
import {
  expect,
  expectSame,
  expectSameBatch,
  expectSameNumbers,
  expectSoundCounts,
} from "./_expect.ts";
import {
  recordEpisode,
  type SmallOptions,
  type SmallReplay,
  smallReplay,
} from "./_small_replay.ts";

/** An eviction policy for {@linkcode conformsEviction} to check. */
export interface EvictionCase {
  /** Makes the policy. For a policy of your own, return a new object each time, because one object serves one replay. */
  readonly make: () => EvictionRule;
  /** The name in errors; the policy's own name by default. */
  readonly name?: string;
  /** False when the policy has no `save` and `load`, so that a replay with it can't be saved; true by default. */
  readonly savable?: boolean;
  /**
   * True when `victim` may name an open episode on purpose; false by default. Only ended episodes are evicted: where an open one is
   * named, open ones lose their oldest records instead.
   */
  readonly namesOpen?: boolean;
}

const CAPACITY = 40;

/**
 * Checks that an eviction policy keeps its contract. `victim()` must always return a stored episode that has ended, after any records,
 * draws and evictions. The same operations must evict the same episodes, also after `unserialize`. All checks run, even
 * after one has failed. Takes less than a second. Test yourself that the policy evicts the right episode.
 *
 * @param rule The policy to check.
 * @param options The kernel and the first seed.
 * @throws {ConformanceError} When the policy breaks a promise. It lists every broken promise.
 * @throws {TypeError} When `rule` is not a case.
 * @throws {RangeError} When the seed is not a whole number 0 to 2^32.
 * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission` when no replay can be made here.
 * @example
 * ```ts
 * import type { EvictionPolicy } from "@exrp/replay/eviction";
 * import { conformsEviction } from "@exrp/replay/testing";
 *
 * function youngestFirst(): EvictionPolicy {
 *   const ended = new Set<number>();
 *   return {
 *     name: "youngestFirst",
 *     created: () => {},
 *     ended: (handle) => void ended.add(handle),
 *     removed: (handle) => void ended.delete(handle),
 *     victim: () => Math.max(...ended),
 *     save: () => new Uint8Array(0), // load() needs nothing: the replay calls created() and ended() first
 *     load: () => {},
 *   };
 * }
 *
 * await conformsEviction({ make: youngestFirst });
 * ```
 */
export async function conformsEviction(
  rule: EvictionCase,
  options: ConformsOptions = {},
): Promise<void> {
  const checks = evictionChecks(rule, options);
  await runChecks(rule.name ?? rule.make().name, checks);
}

/**
 * The checks of {@linkcode conformsEviction} one by one, so that a test runner can show each.
 *
 * @param rule The policy to check.
 * @param options The kernel and the first seed.
 * @throws {TypeError} When `rule` is not a case.
 * @throws {RangeError} When the seed is not a whole number 0 to 2^32.
 * @example
 * ```ts
 * import { fifo } from "@exrp/replay";
 * import { evictionChecks } from "@exrp/replay/testing";
 *
 * const checks = evictionChecks({ make: fifo });
 * // In a test file: for (const { name, run } of checks) Deno.test(name, run);
 * console.log(checks[3]?.name); // fifo: a single open episode can grow without end
 * await checks[3]?.run();
 * ```
 */
export function evictionChecks(
  rule: EvictionCase,
  options: ConformsOptions = {},
): ConformanceCheck[] {
  const first = checkCase("conformsEviction()", rule, ["savable", "namesOpen"], options);
  const [one, other] = [rule.make(), rule.make()];
  checkEviction("conformsEviction(): what make() gives", one);
  if (!(one instanceof NativeEviction)) checkFresh("conformsEviction()", one, other);
  const kernel = kernelOf(options);
  const make = (
    sizes: SmallOptions,
    watch: (made: EvictionRule) => EvictionRule = (made) => made,
  ): Promise<SmallReplay> => smallReplay({ kernel, eviction: watch(rule.make()), ...sizes });
  const plans: Plan[] = [
    [
      "nothing is evicted below the capacity, and the replay never exceeds it",
      (at) => keepsCapacity(make, at),
    ],
    [
      "the replay stays sound after any records, draws and evictions",
      (at) => staysSound(make, at),
    ],
    [
      "episodes may be removed in any order, even the last one",
      (at) => bearsRemoval(make, at),
    ],
    [
      "a single open episode can grow without end",
      (at) => givesUpOpen(make, at),
    ],
    [
      "the same operations evict the same episodes",
      (at) => decidesAlike(make, at),
    ],
  ];
  if (rule.savable !== false) {
    plans.push([
      "after saving and loading, it evicts the same episodes",
      (at) => savesAll(make, at),
    ]);
  }
  if (!(one instanceof NativeEviction) && rule.namesOpen !== true) {
    plans.push([
      "it names episodes that have ended",
      (at) => namesEnded(make, at),
    ]);
  }
  return listChecks(rule.name ?? one.name, plans, first);
}

/** Makes a replay with the policy, or with what `watch` makes of it. */
type Make = (
  sizes: SmallOptions,
  watch?: (made: EvictionRule) => EvictionRule,
) => Promise<SmallReplay>;

/** A policy that does what another does, and notes each open episode that the other names. */
function watched(rule: EvictionRule, named: number[]): EvictionRule {
  if (rule instanceof NativeEviction) return rule;
  const open = new Set<number>();
  return {
    name: rule.name,
    created(handle): void {
      open.add(handle);
      rule.created(handle);
    },
    sampled: (handles): void => rule.sampled?.(handles),
    ended(handle): void {
      open.delete(handle);
      rule.ended?.(handle);
    },
    trimmed: (handle, first): void => rule.trimmed?.(handle, first),
    removed(handle): void {
      open.delete(handle);
      rule.removed(handle);
    },
    victim(): number {
      const victim = rule.victim();
      if (open.has(victim)) named.push(victim);
      return victim;
    },
  };
}

/** A replay driven by seeded operations, and the list of evicted episodes in order. */
class DrivenEviction {
  readonly replay: SmallReplay;
  readonly selector: Selector;
  readonly evicted: number[] = [];
  readonly #at: Progress;
  readonly #random: RandomStream;
  readonly #open: number[] = [];
  #live: number[] = [];
  #next = 0;

  private constructor(at: Progress, replay: SmallReplay) {
    this.#at = at;
    this.replay = replay;
    this.selector = replay.newPickSelector(uniform());
    this.#random = new RandomStream(at.seed, 1);
  }

  static async start(make: Make, at: Progress): Promise<DrivenEviction> {
    const { seed } = at;
    return new DrivenEviction(at, await make({ capacity: CAPACITY, seed }));
  }

  /** Makes `count` random operations, and checks the counts after each. */
  run(count: number): void {
    for (const _ of this.#at.rounds(count)) {
      this.#step();
      this.#check();
    }
  }

  #step(): void {
    const { replay } = this;
    const random = this.#random;
    const choice = random.below(16);
    if (this.#open.length === 0 || (choice === 0 && this.#open.length < 5)) {
      this.#open.push(replay.newEpisode());
    } else if (choice < 11) {
      const place = random.below(this.#open.length);
      const ends = random.below(6) === 0;
      const options = ends ? { finalState: [-1] } : undefined;
      const handle = replay.record(this.#open[place] ?? NaN, [this.#next++], 0, 0, options);
      const { recordCount } = replay.episode(handle);
      expect(recordCount >= 1, () => `episode ${handle} lost the record just written`);
      if (ends) this.#open.splice(place, 1);
      else this.#open[place] = handle;
    } else if (choice === 11) {
      const live = replay.episodes().handle;
      if (live.length > 0) replay.evict(live[random.below(live.length)] ?? NaN);
    } else if (replay.pickCount > 0) {
      const { pickEpisode } = replay.getBatch(1 + random.below(10), this.selector);
      for (const handle of pickEpisode) {
        expect(
          this.#live.includes(handle),
          () => `a batch says that a pick is of episode ${handle}, which is not there`,
        );
      }
    }
  }

  #check(): void {
    const live = [...this.replay.episodes().handle];
    for (const handle of this.#live) if (!live.includes(handle)) this.evicted.push(handle);
    this.#live = live;
    expectSoundCounts(this.replay, CAPACITY);
  }
}

async function keepsCapacity(make: Make, at: Progress): Promise<void> {
  using replay = await make({ capacity: 12, seed: at.seed });
  for (const k of at.rounds(50)) {
    recordEpisode(replay, 1, k);
    expectSame("the number of records", replay.recordCount, Math.min(12, k + 1));
    expectSame("the number of episodes", replay.episodeCount, Math.min(12, k + 1));
  }
}

async function staysSound(make: Make, at: Progress): Promise<void> {
  for (const _ of at.seeds(6)) {
    const driven = await DrivenEviction.start(make, at);
    using _replay = driven.replay;
    driven.run(600);
    const { evicted } = driven;
    expect(evicted.length > 10, () => `only ${evicted.length} episodes were evicted`);
    expectSame("the number of different episodes evicted", new Set(evicted).size, evicted.length);
  }
}

async function bearsRemoval(make: Make, at: Progress): Promise<void> {
  const orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]];
  for (const k of at.rounds(orders.length)) {
    using replay = await make({ capacity: 12, seed: at.seed });
    for (let episode = 0; episode < 4; episode++) recordEpisode(replay, 3, 10 * episode);
    for (const handle of orders[k] ?? []) replay.evict(handle);
    expectSameNumbers(
      "episodes, records and picks after all were removed",
      [replay.episodeCount, replay.recordCount, replay.pickCount],
      [0, 0, 0],
    );
    for (let episode = 0; episode < 10; episode++) recordEpisode(replay, 3, 10 * episode);
    expectSameNumbers(
      "episodes and records after ten more of three",
      [replay.episodeCount, replay.recordCount],
      [4, 12],
    );
  }
}

async function givesUpOpen(make: Make, at: Progress): Promise<void> {
  // An episode cut into segments, most of them ended; one that is not cut; and one beside others that end.
  for (const kind of ["cut", "open", "beside"] as const) {
    using replay = await make({
      capacity: 12,
      seed: at.seed,
      ...(kind === "cut" ? { segmentLength: 5 } : {}),
    });
    let episode = replay.newEpisode();
    for (const step of at.rounds(200)) {
      const before = episode;
      episode = replay.record(episode, [step], 0, 0);
      expectSame("the episode's state", replay.episode(episode).ending, "open");
      if (kind !== "cut") expectSame("its handle", episode, before);
      if (kind === "beside" && step % 3 === 0) recordEpisode(replay, 2, step);
      expectSoundCounts(replay, 12);
    }
  }
}

async function decidesAlike(make: Make, at: Progress): Promise<void> {
  const run = async (): Promise<number[]> => {
    const driven = await DrivenEviction.start(make, at);
    using _replay = driven.replay;
    driven.run(500);
    return driven.evicted;
  };
  const evicted = await run();
  const again = await run();
  at.operation = undefined;
  expectSameNumbers("the episodes evicted by the same operations", again, evicted);
}

async function namesEnded(make: Make, at: Progress): Promise<void> {
  for (const _ of at.seeds(6)) {
    const named: number[] = [];
    const driven = await DrivenEviction.start(
      (sizes) => make(sizes, (it) => watched(it, named)),
      at,
    );
    using _replay = driven.replay;
    for (const step of at.rounds(600)) {
      driven.run(1);
      at.operation = step;
      expect(
        named.length === 0,
        () =>
          `victim() named episode ${
            named[0]
          }, which is open. Only ended episodes are evicted, so open ones lost records instead. Choose among those that ended() told of; if the policy means it, say namesOpen: true`,
      );
    }
  }
}

async function savesAll(make: Make, at: Progress): Promise<void> {
  for (const k of at.seeds(4)) {
    const driven = await DrivenEviction.start(make, at);
    using replay = driven.replay;
    driven.run(300);
    // Several ended episodes, in an order that the draws change.
    for (let episode = 0; episode < 8; episode++) {
      recordEpisode(replay, 3);
      replay.getBatch(3, driven.selector);
    }
    using loaded = await make({ capacity: CAPACITY, seed: at.seed + 100 });
    const selector = loaded.newPickSelector(uniform());
    if (k % 2 === 0) { for (let episode = 0; episode < 20; episode++) recordEpisode(loaded, 3); }
    await loaded.unserialize(await replay.serialize());
    for (const round of at.rounds(150)) {
      const [one, other] = [replay.getBatch(6, driven.selector), loaded.getBatch(6, selector)];
      expectSameBatch("a batch after loading", other, one);
      for (const each of [replay, loaded]) recordEpisode(each, 1 + round % 4, round);
      expectSameNumbers(
        "the episodes after loading",
        loaded.episodes().handle,
        replay.episodes().handle,
      );
    }
  }
}
