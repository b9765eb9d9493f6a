/**
 * Checks the whole contract of an eviction policy, of the library or of your own.
 *
 * @module
 */

import { checkEviction } from "../eviction/eviction_policy.ts";
import { uniform } from "../mod.ts";
import { type EvictionRule, NativeEviction } from "../eviction/mod.ts";
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
import { type Drive, Driven, goesOnWhenLoaded, repeatsItself } from "./_driven.ts";
import { expect, expectSame, expectSameNumbers, expectSoundCounts } from "./_expect.ts";
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

/** The policy under test. */
interface Subject extends Drive {
  /** Makes a replay with the policy, or with what `watch` makes of it. */
  readonly make: (
    sizes: SmallOptions,
    watch?: (made: EvictionRule) => EvictionRule,
  ) => Promise<SmallReplay>;
}

/** What every policy must keep. */
const CONTRACT: readonly Plan<Subject>[] = [
  ["nothing is evicted below the capacity, and the replay never exceeds it", keepsCapacity],
  ["the replay stays sound after any records, draws and evictions", staysSound],
  ["episodes may be removed in any order, even the last one", bearsRemoval],
  ["a single open episode can grow without end", givesUpOpen],
  ["the same operations evict the same episodes", repeatsItself],
];

const SAVABLE: Plan<Subject> = [
  "after saving and loading, it evicts the same episodes",
  goesOnWhenLoaded,
];
const NAMES_ENDED: Plan<Subject> = ["it names episodes that have ended", namesEnded];

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
  await runChecks(evictionChecks(rule, options));
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
  const make: Subject["make"] = (sizes, watch = (made) => made) =>
    smallReplay({ kernel, eviction: watch(rule.make()), ...sizes });
  const subject = {
    make,
    replay: (seed: number) => make({ capacity: CAPACITY, seed }),
    rule: uniform,
  };
  const isAsked = !(one instanceof NativeEviction) && rule.namesOpen !== true;
  const plans = [
    ...CONTRACT,
    ...rule.savable === false ? [] : [SAVABLE],
    ...isAsked ? [NAMES_ENDED] : [],
  ];
  return listChecks(rule.name ?? one.name, plans, subject, first);
}

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

async function keepsCapacity({ make }: Subject, at: Progress): Promise<void> {
  using replay = await make({ capacity: 12, seed: at.seed });
  for (const k of at.rounds(50)) {
    recordEpisode(replay, 1, k);
    expectSame("the number of records", replay.recordCount, Math.min(12, k + 1));
    expectSame("the number of episodes", replay.episodeCount, Math.min(12, k + 1));
  }
}

async function staysSound(subject: Subject, at: Progress): Promise<void> {
  for (const _ of at.seeds(6)) {
    const driven = await Driven.start(subject, at);
    using replay = driven.replay;
    driven.run(600, () => expectSoundCounts(replay, CAPACITY));
    const { evicted } = driven;
    expect(evicted.length > 10, () => `only ${evicted.length} episodes were evicted`);
    expectSame("the number of different episodes evicted", new Set(evicted).size, evicted.length);
  }
}

async function bearsRemoval({ make }: Subject, at: Progress): Promise<void> {
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

async function givesUpOpen({ make }: Subject, at: Progress): Promise<void> {
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

async function namesEnded(subject: Subject, at: Progress): Promise<void> {
  for (const _ of at.seeds(6)) {
    const named: number[] = [];
    const replay = (seed: number): Promise<SmallReplay> =>
      subject.make({ capacity: CAPACITY, seed }, (made) => watched(made, named));
    const driven = await Driven.start({ ...subject, replay }, at);
    using _replay = driven.replay;
    driven.run(600, () =>
      expect(
        named.length === 0,
        () =>
          `victim() named episode ${
            named[0]
          }, which is open. Only ended episodes are evicted, so open ones lost records instead. Choose among those that ended() told of; if the policy means it, say namesOpen: true`,
      ));
  }
}
