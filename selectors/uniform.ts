/**
 * Uniform draws.
 *
 * @module
 */

import { EXRP_SELECTOR_UNIFORM } from "../ffi/symbols.ts";
import { nativeRule } from "./_native_options.ts";
import type { NativeSelector, NoOptions } from "./native_selector.ts";

/**
 * Draws each of N picks with the same probability 1/N, with replacement. Priorities are ignored, and importance weights are 1.
 *
 * Cost: O(1) for a draw, and no memory.
 *
 * @throws {TypeError} For any option: it has none.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, uniform } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2) });
 * const selector = replay.newPickSelector(uniform());
 * const episode = replay.newEpisode();
 * replay.record(episode, [0, 1], 1, 0.5, { finalState: [2, 3] });
 * const batch = replay.getBatch(4, selector);
 * console.log(batch.probability[0]); // 1
 * ```
 */
export function uniform(options: NoOptions = {}): NativeSelector {
  return nativeRule("uniform", EXRP_SELECTOR_UNIFORM, options, {});
}
