/**
 * Keeps a random sample of all episodes.
 *
 * @module
 */

import { EXRP_EVICTION_RESERVOIR } from "../ffi/symbols.ts";
import { NativeEviction } from "./native_eviction.ts";

/**
 * Keeps a random sample of all episodes that ever ended, so old experience stays as likely as new. This is reservoir sampling (Vitter,
 * "Random Sampling with a Reservoir", 1985) of whole episodes. Neural fictitious self-play and continual learning use it.
 *
 * Each episode gets one random number when it ends. When room is needed, the ended episode with the lowest number is evicted. The
 * numbers follow from the replay's seed.
 *
 * If all episodes have the same length, the stored episodes are a uniform random sample without replacement. It is drawn from all that had
 * ended when room was last needed. Episodes that came since then are the exception; with one actor, that is the episode being
 * recorded. If lengths differ, the number of episodes that fit depends on their lengths. But the random numbers alone decide
 * which episodes stay, never their age, content or draws.
 *
 * Episodes that `evict()` or `maxAge` removed are not in the sample.
 *
 * Cost: O(log E) per episode that ends or goes, where E is the number of episodes.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, float32, reservoir } from "@exrp/replay";
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
 * const early = replay.episodes().handle.filter((handle) => handle < 5_000).length;
 * console.log(replay.episodeCount); // 100
 * console.log(Math.abs(early - 50) < 25); // true: about half of them are from the first 5,000
 * ```
 */
export function reservoir(): NativeEviction {
  return new NativeEviction("reservoir", EXRP_EVICTION_RESERVOIR);
}
