/**
 * The pick of the highest priority, or of the lowest.
 *
 * @module
 */

import { EXRP_SELECTOR_PRIORITY_END } from "../ffi/symbols.ts";
import { nativeRule, numberFrom } from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";

/**
 * The options of {@linkcode highestPriority} and {@linkcode lowestPriority}.
 *
 * @example
 * ```ts
 * import { highestPriority } from "@exrp/replay";
 *
 * console.log(highestPriority({ initialPriority: 5 }).options.initialPriority); // 5
 * ```
 */
export interface PriorityEndOptions {
  /** The priority of new picks until one is set: at least 0, 1 by default. */
  readonly initialPriority?: number;
}

/**
 * Always draws the pick with the highest priority. Reverb calls this a MaxHeap sampler. Of equal priorities, it draws the pick whose
 * priority was set least recently.
 *
 * A draw takes nothing out and changes no priority. So all draws are the same pick until `setPriority` lowers its priority. A new pick
 * has the largest priority set so far. Draws are certain, so `probability` and importance weights are 1.
 *
 * Cost: O(1) for a draw and O(log N) for a change; 28 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, highestPriority } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(highestPriority());
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * replay.setPriority(selector, [episode, episode], [0, 1], [2, 5]);
 * console.log([...replay.getBatch(2, selector).state]); // [20, 20]
 * ```
 */
export function highestPriority(options: PriorityEndOptions = {}): NativeSelector {
  return priorityEnd("highestPriority", options, 0);
}

/**
 * Always draws the pick with the lowest priority. Reverb calls this a MinHeap sampler. Of equal priorities, it draws the pick whose
 * priority was set least recently.
 *
 * A draw takes nothing out and changes no priority. So all draws are the same pick until `setPriority` raises its priority. A new pick
 * has the largest priority set so far, as in all rules of this library, so it comes last. Draws are certain, so `probability` and
 * importance weights are 1.
 *
 * Cost: O(1) for a draw and O(log N) for a change; 28 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, lowestPriority } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(lowestPriority());
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 * replay.setPriority(selector, [episode, episode], [0, 1], [2, 5]);
 * console.log([...replay.getBatch(2, selector).state]); // [10, 10]
 * ```
 */
export function lowestPriority(options: PriorityEndOptions = {}): NativeSelector {
  return priorityEnd("lowestPriority", options, 1);
}

function priorityEnd(name: string, options: PriorityEndOptions, end: number): NativeSelector {
  const kinds = { initialPriority: numberFrom(1, 0) };
  return nativeRule(name, EXRP_SELECTOR_PRIORITY_END, options, kinds, [end]);
}
