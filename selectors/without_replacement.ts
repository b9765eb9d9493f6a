/**
 * Uniform draws, no pick twice in a batch.
 *
 * @module
 */

import { EXRP_SELECTOR_WITHOUT_REPLACEMENT } from "../ffi/symbols.ts";
import { NativeSelector } from "./native_selector.ts";

/**
 * Draws uniformly without replacement: the picks of one batch are all different, each set of them as likely as any other, in
 * random order. The next batch draws from all again.
 *
 * Each draw on its own has `probability` 1/N; importance weights are 1. Priorities are ignored. A batch of more picks than there
 * are is a `ReplayError` with code `batch-size`, and changes nothing.
 *
 * Cost: O(1) a draw (Floyd's algorithm); a bit a pick.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, withoutReplacement } from "@exrp/replay";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(withoutReplacement());
 * let episode = replay.newEpisode();
 * for (const state of [10, 20]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [30], 1, 1, { finalState: [40] });
 * assertEquals([...replay.getBatch(3, selector).state].sort(), [10, 20, 30]);
 * assertThrows(() => replay.getBatch(4, selector), Error, "a batch must have 1 to 3 picks");
 * ```
 */
export function withoutReplacement(): NativeSelector {
  return new NativeSelector("withoutReplacement", EXRP_SELECTOR_WITHOUT_REPLACEMENT, {}, []);
}
