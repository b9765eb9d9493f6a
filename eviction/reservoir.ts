/**
 * A random sample of everything.
 *
 * @module
 */

import { EXRP_EVICTION_RESERVOIR } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Keeps a random sample of all episodes that ever ended, so that old experience stays as likely as new: Vitter's
 * Algorithm R (1985, known here from descriptions of it), as neural fictitious self-play and continual learning use it,
 * for whole episodes.
 *
 * Each episode is given a random number when it ends, once; when room is needed, the ended episode with the lowest goes.
 * The numbers follow from the replay's seed. What holds: where all episodes are of one length, those stored, but for
 * those that came since room was last needed, are at any time a uniform random sample, without replacement, of all that
 * ended until then. While one actor records, the exception is the episode being recorded. Where lengths differ, how many
 * episodes there is room for depends on which they are; which ones stay still hangs on the random numbers alone, never
 * on an episode's age, content or draws. Open episodes count once they have ended and stay while there is an ended one;
 * episodes that `evict()` or `maxAge` took are out of the sample.
 *
 * Cost: O(log E) an episode that ends or goes, of E.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, reservoir } from "@exrp/replay";
 * import { assertLess, assertStrictEquals } from "@std/assert";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 100,
 *   state: float32(1),
 *   eviction: reservoir(),
 *   seed: 1,
 * });
 * for (let k = 0; k < 10_000; k++) {
 *   replay.record(replay.newEpisode(), [k], 0, 0, { finalState: [0] });
 * }
 * const early = replay.episodes().filter((handle) => handle < 5_000).length;
 * assertStrictEquals(replay.episodeCount, 100);
 * assertLess(Math.abs(early - 50), 25); // about half are of the first half
 * ```
 */
export function reservoir(): NativeEviction {
  return new NativeEviction("reservoir", EXRP_EVICTION_RESERVOIR);
}
