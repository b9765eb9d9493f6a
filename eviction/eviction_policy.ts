/**
 * The interface of an eviction policy written in TypeScript.
 *
 * @module
 */

import { show, showUnlike } from "../base/checks.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * An eviction policy of your own: an object with these methods, given as the option `eviction`. It chooses the episode to
 * evict, and knows episodes by their handles. One object serves one replay. Its methods may call `replay.episode()`, but must not
 * change the replay. Only `victim` and `load` may throw.
 *
 * @example A complete policy that keeps the first episode
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import type { EvictionPolicy } from "@exrp/replay/eviction";
 * import { assertStrictEquals } from "@std/assert";
 *
 * function keepFirst(): EvictionPolicy {
 *   const handles: number[] = [];
 *   return {
 *     name: "keepFirst",
 *     created: (handle) => void handles.push(handle),
 *     removed: (handle) => void handles.splice(handles.indexOf(handle), 1),
 *     victim: () => handles[1] ?? handles[0] ?? -1,
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
 * assertStrictEquals(replay.episode(first).ending, "terminated");
 * assertStrictEquals(replay.episode(second).ending, "evicted");
 * assertStrictEquals(replay.episode(third).ending, "terminated");
 * ```
 */
export interface EvictionPolicy {
  /** The policy's name, for errors, `describe()` and snapshots. A snapshot loads only with a policy of the same name. */
  readonly name: string;
  /** The replay has a new episode, the youngest of all. */
  created(handle: number): void;
  /** A batch was drawn: the episode of each pick, in order of drawing. An episode may occur many times. Do not change the array. */
  sampled?(handles: Float64Array<ArrayBuffer>): void;
  /** An episode is gone: the victim, the argument of `evict()`, or an episode older than `maxAge`. */
  removed(handle: number): void;
  /** Returns the episode to evict now: one that was created and not yet removed. There is at least one. */
  victim(): number;
  /**
   * Returns the policy's state, except which episodes exist, as bytes in a format of your own. Without this method, a replay
   * with this policy can't be saved.
   */
  save?(): Uint8Array;
  /**
   * Restores what {@linkcode EvictionPolicy.save} returned. The replay first calls `removed` for all old episodes and `created`
   * for all loaded ones, oldest first. If this method throws, the snapshot is refused.
   */
  load?(bytes: Uint8Array): void;
}

/** A value of the option `eviction`: a policy of the library, or one of your own. */
export type EvictionRule = NativeEviction | EvictionPolicy;

const METHODS = ["created", "removed", "victim"] as const;

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
  if (typeof rule.name !== "string" || rule.name === "") {
    throw new TypeError(`${where}: the policy has no name, got ${show(rule.name)}`);
  }
  for (const method of METHODS) {
    if (typeof rule[method] !== "function") {
      throw new TypeError(`${where}: the policy ${rule.name} has no method ${method}()`);
    }
  }
  if ((typeof rule.save === "function") !== (typeof rule.load === "function")) {
    throw new TypeError(`${where}: the policy ${rule.name} needs both save() and load(), or none`);
  }
  return value as EvictionPolicy;
}
