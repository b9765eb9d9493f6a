/**
 * The interface of an eviction policy written in TypeScript.
 *
 * @module
 */

import { show, showUnlike } from "../base/checks.ts";
import { checkUserRule } from "../base/user_rule.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * An eviction policy of your own: an object with these methods, given as the option `eviction`. It chooses the episode to
 * evict, and knows episodes by their handles. One object serves one replay. Its methods may call `replay.episode()`, but must not
 * change the replay. Only `victim` and `load` may throw.
 *
 * The replay asks the policy when an ended episode has to go. It trims open episodes by itself, whatever the policy: one loses its
 * oldest records if they are too old for their share of the replay, or if no episode has ended. The policy hears of changes after
 * the call that made them: first of new episodes, then of open ones that were trimmed, ended or are gone.
 *
 * Cost: each call that records also looks at all open episodes, about 20 ns each.
 *
 * @example A complete policy that keeps the first episode
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { EvictionPolicy } from "@exrp/replay/eviction";
 *
 * function keepFirst(): EvictionPolicy {
 *   const ended = new Set<number>(); // only an ended episode can be evicted
 *   return {
 *     name: "keepFirst",
 *     created: () => {},
 *     ended: (handle) => void ended.add(handle),
 *     removed: (handle) => void ended.delete(handle),
 *     victim: () => {
 *       const [first = -1, second = first] = ended;
 *       return second;
 *     },
 *   };
 * }
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 2,
 *   state: float32(1),
 *   eviction: keepFirst(),
 * });
 * const [first, second, third] = [0, 1, 2].map((value) => {
 *   const episode = replay.newEpisode();
 *   return replay.record(episode, [value], 0, 0, { finalState: [0] });
 * }) as [number, number, number];
 * console.log(replay.episode(first).ending); // terminated
 * console.log(replay.episode(second).ending); // evicted
 * console.log(replay.episode(third).ending); // terminated
 * ```
 */
export interface EvictionPolicy {
  /** The policy's name, for errors, `describe()` and snapshots. A snapshot loads only with a policy of the same name. */
  readonly name: string;
  /** The replay has a new episode, the youngest of all. */
  created(handle: number): void;
  /** A batch was drawn: the episode of each pick, in order of drawing. An episode may occur many times. Do not change the array. */
  sampled?(handles: Float64Array<ArrayBuffer>): void;
  /** An episode has ended: terminated, truncated, or cut at `segmentLength`. It will not be trimmed any more. */
  ended?(handle: number): void;
  /**
   * An open episode has lost its oldest records. `firstPosition` is the position of the oldest that is left, or of its next record if
   * none is left. Several losses in one call are told as one.
   */
  trimmed?(handle: number, firstPosition: number): void;
  /** An episode is gone: the victim, the argument of `evict()`, an ended episode older than `maxAge`, or an open one without a record. */
  removed(handle: number): void;
  /**
   * Returns an episode that was created and not yet removed. At least one has ended. An ended episode is evicted. If you name an open
   * episode, the open episodes are trimmed: the one with the oldest record loses some, whichever you named. If none of them holds a
   * record, the ended episode that began first is evicted. The replay asks again until there is room.
   */
  victim(): number;
  /**
   * Returns the policy's state, except which episodes exist, as bytes in a format of your own. Without this method, a replay
   * with this policy can't be saved.
   */
  save?(): Uint8Array;
  /**
   * Restores what {@linkcode EvictionPolicy.save} returned. The replay first calls `removed` for all old episodes and `created`
   * for all loaded ones, oldest first, then `trimmed` and `ended` where they apply. If this method throws, the snapshot is refused.
   */
  load?(bytes: Uint8Array): void;
}

/**
 * A value of the option `eviction` of {@linkcode ExperienceReplay.create}: a policy of the library, or an {@linkcode EvictionPolicy} of
 * your own.
 */
export type EvictionRule = NativeEviction | EvictionPolicy;

const METHODS = ["created", "removed", "victim"] as const;

const HOOKS = ["sampled", "ended", "trimmed"] as const;

/** True for an object that has neither a name nor a method of a policy. */
function isNothingLikeIt(value: object): boolean {
  return !("name" in value) && METHODS.every((method) => !(method in value));
}

/** Throws unless `value` is an eviction policy. */
export function checkEviction(where: string, value: unknown): EvictionRule {
  const isNative = value instanceof NativeEviction;
  if (isNative && Object.hasOwn(value, "native")) return value;
  if (isNative || typeof value !== "object" || value === null || isNothingLikeIt(value)) {
    throw new TypeError(
      `${where} must be fifo(), secondChance(), lru(), lfu(), lowestPriorityFirst(), afterDraws(), reservoir() or an object like EvictionPolicy, got ${
        showUnlike(value, NativeEviction)
      }`,
    );
  }
  const rule = value as Partial<Record<string, unknown>>;
  checkUserRule(where, "policy", rule, METHODS);
  for (const hook of HOOKS) {
    if (rule[hook] !== undefined && typeof rule[hook] !== "function") {
      throw new TypeError(
        `${where}: ${hook} of the policy ${rule.name} must be a function, got ${show(rule[hook])}`,
      );
    }
  }
  return value as EvictionPolicy;
}
