/**
 * Uniform draws, no pick twice in a batch. In views, no item twice in an epoch.
 *
 * @module
 */

import { EXRP_SELECTOR_WITHOUT_REPLACEMENT } from "../ffi/symbols.ts";
import { nativeRule } from "./_native_options.ts";
import type { NativeSelector, NoOptions } from "./native_selector.ts";

/**
 * Draws uniformly without replacement: all picks of one batch are different, in random order. Each set of picks has the same
 * probability. The next batch draws from all picks again.
 *
 * `probability` is 1/N, which is that of a single draw. Importance weights are 1, and priorities are ignored. If you ask for more picks
 * than the view has, `getBatch` throws a `ReplayError` with code `batch-size`, and nothing changes.
 *
 * As the sampler of a table (`@exrp/replay/tables`), it draws in epochs: each item once, in random order, before any again, by however many calls. A call for more items
 * than the view has goes on in the next epoch. That takes 8 bytes for each item.
 *
 * Cost: O(1) for a draw (Floyd's algorithm), and one bit for each pick.
 *
 * @throws {TypeError} For any option: it has none.
 * @example
 * ```ts
 * import { ExperienceReplay, float32, type ReplayError, withoutReplacement } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(1) });
 * const selector = replay.newPickSelector(withoutReplacement());
 * let episode = replay.newEpisode();
 * for (const state of [10, 20]) episode = replay.record(episode, [state], 0, 0);
 * replay.record(episode, [30], 1, 1, { finalState: [40] });
 * console.log([...replay.getBatch(3, selector).state].sort()); // [10, 20, 30]
 * try { replay.getBatch(4, selector); } catch (error) { console.log((error as ReplayError).code); } // batch-size
 * ```
 */
export function withoutReplacement(options: NoOptions = {}): NativeSelector {
  return nativeRule("withoutReplacement", EXRP_SELECTOR_WITHOUT_REPLACEMENT, options, {});
}
