/**
 * Draws in proportion to powers of priorities, as Reverb does.
 *
 * @module
 */

import { EXRP_SELECTOR_POWER } from "../ffi/symbols.ts";
import { INITIAL_PRIORITY, nativeRule, numberFrom } from "./_native_options.ts";
import type { NativeSelector } from "./native_selector.ts";

/** The options of {@linkcode power}. */
export interface PowerOptions {
  /** The exponent of priorities, at least 0. With 0 all picks of a positive priority are alike; 1 by default. */
  readonly exponent?: number;
  /** The priority of new picks until one is set: more than 0, 1 by default. */
  readonly initialPriority?: number;
}

/**
 * Draws pick i with probability P(i) = priority_i^exponent / sum of all, each draw on its own: the selector `Prioritized` of Reverb.
 *
 * A pick of priority 0 is never drawn, even if the exponent is 0. While all priorities are 0, draws are uniform. Weights are float64, from
 * 2^-960 to 2^960; one outside this range counts as the nearest number in it.
 *
 * {@linkcode prioritized} is smaller and faster, and draws in strata. Take this one where draws must be those of Reverb. A new pick has the largest
 * priority set so far. Importance weights are (N · P(i))^-beta, scaled so that the largest of the batch is 1.
 *
 * Cost: O(log N) for each draw and each update; about 9 bytes for each pick.
 *
 * @throws {TypeError} For an unknown option or one of the wrong kind.
 * @throws {RangeError} For a number out of its range.
 * @example
 * ```ts
 * import { ExperienceReplay, float32 } from "@exrp/replay";
 * import { power } from "@exrp/replay/selectors";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1), seed: 1 });
 * const selector = replay.newPickSelector(power({ exponent: 0.5 }));
 * let episode = replay.newEpisode();
 * episode = replay.record(episode, [10], 0, 0);
 * replay.record(episode, [20], 1, 1, { finalState: [30] });
 *
 * replay.setPriority(selector, [episode, episode], [0, 1], [0, 5]);
 * console.log([...replay.getBatch(3, selector).state]); // [20, 20, 20]
 * ```
 */
export function power(options: PowerOptions = {}): NativeSelector {
  return nativeRule("power", EXRP_SELECTOR_POWER, options, {
    exponent: numberFrom(1, 0, 2 ** 40),
    initialPriority: INITIAL_PRIORITY,
  });
}
