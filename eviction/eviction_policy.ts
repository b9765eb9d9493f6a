/**
 * An eviction policy written in TypeScript: what a rule has to do, and what it may rely on.
 *
 * @module
 */

import { show, showUnlike } from "../base/checks.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * A rule that chooses the episode to forget, written by the user: an object with these methods, given as the option
 * `eviction`. It knows episodes by their handles. One object serves one replay. Its methods may ask the replay how an
 * episode stands, but must not change it; and only `victim` and `load` may throw.
 *
 * @example A rule that forgets the youngest of two or more, in full
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
 * assertStrictEquals(replay.episode(first).state, "terminated");
 * assertStrictEquals(replay.episode(second).state, "evicted");
 * assertStrictEquals(replay.episode(third).state, "terminated");
 * ```
 */
export interface EvictionPolicy {
  /** The rule's name: in errors, in `describe()`, and in snapshots, which fit a rule of the same name only. */
  readonly name: string;
  /** A new episode, the youngest of all. */
  created(handle: number): void;
  /** The episodes of one batch's picks, in order of drawing; an episode may come many times. Read only. */
  sampled?(handles: Float64Array<ArrayBuffer>): void;
  /** An episode is gone: the victim, one that `evict()` named, or one older than `maxAge`. */
  removed(handle: number): void;
  /** The episode to forget now: one that was created and not removed. There is at least one. */
  victim(): number;
  /**
   * Everything that decides the future but which episodes there are, as bytes of the rule's own format. Without it,
   * a replay with this rule can't be saved.
   */
  save?(): Uint8Array;
  /**
   * Takes up what {@linkcode EvictionPolicy.save} gave. Before, the rule hears `removed` for all episodes it knew and
   * `created` for all that there are now, oldest first. A throw refuses the snapshot.
   */
  load?(bytes: Uint8Array): void;
}

/** What the option `eviction` takes: a rule of the library, or the user's own. */
export type EvictionRule = NativeEviction | EvictionPolicy;

const METHODS = ["created", "removed", "victim"] as const;

/** Whether it has neither a name nor a method of a policy, as a selector has not. */
function isNothingLikeIt(value: object): boolean {
  return !("name" in value) && METHODS.every((method) => !(method in value));
}

/** Refuses what is no rule. */
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
