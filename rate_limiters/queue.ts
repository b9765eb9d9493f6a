/**
 * A rate limiter for learners that take each record once.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { RateLimiter } from "./rate_limiter.ts";

/**
 * At most `size` records wait that nobody has had yet: actors wait for the learner, so no record is lost. It is for learners that take each
 * step once, in order, with `drain`; what `drain` returns counts as drawn.
 *
 * With `getBatch` it holds that as many picks are drawn as records come, at most `size` fewer and never more. Which ones is up to the
 * selector, and a pick may come again. Reverb's `Queue` and `Stack` are this rate limiter, with selectors that delete what they gave.
 *
 * @param size A whole number from 1 to the capacity.
 * @throws {RangeError} If `size` is no such number.
 * @example An actor that waits for an on-policy learner
 * ```ts
 * import { ExperienceReplay, float32, queue } from "@exrp/replay";
 *
 * using replay = await ExperienceReplay.create({ capacity: 100, state: float32(), rateLimiter: queue(8) });
 * const act = async (): Promise<void> => {
 *   let episode = replay.newEpisode();
 *   for (let t = 0; t < 20; t++) {
 *     const step = { state: t, action: 0, reward: 0, terminated: false, nextState: t + 1 };
 *     episode = await replay.whenReady(() => replay.recordStep(episode, step));
 *   }
 * };
 * const acting = act();
 * const steps: number[] = [];
 * while (steps.length < 20) {
 *   const drained = await replay.whenReady(() => replay.drain({ steps: 4 }));
 *   steps.push(...drained.state);
 * }
 * await acting;
 * console.log(steps); // [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]: each once, in order
 * ```
 */
export function queue(size: number): RateLimiter {
  const checked = checkInteger("queue(): size", size, 1, Number.MAX_SAFE_INTEGER);
  return new RateLimiter("queue", { size: checked }, {
    ratio: 1,
    minSize: 1,
    differenceMin: 0,
    differenceMax: checked,
  });
}
