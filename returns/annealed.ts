/**
 * A number that changes in a straight line.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";

/**
 * A schedule that goes from `start` to `end` in a straight line over `steps` steps, and stays there: for the `beta` of
 * prioritized replay, an exploration rate, a learning rate.
 *
 * Source: Schaul et al., "Prioritized Experience Replay" (ICLR 2016), section 3.4, where beta goes linearly to 1.
 *
 * @param steps At which step `end` is reached: an integer of at least 1.
 * @returns A function of the step, any number of at least 0; it keeps no state, so nothing of it needs saving.
 * @throws {TypeError} For an argument that is no number.
 * @throws {RangeError} For a number that is not finite, or `steps` that is no integer of at least 1; the schedule throws for
 *   a negative step or NaN.
 * @example
 * ```ts
 * import { annealed } from "@exrp/replay/returns";
 * import { assertAlmostEquals, assertStrictEquals } from "@std/assert";
 *
 * const beta = annealed(0.4, 1, 1000);
 * assertStrictEquals(beta(0), 0.4);
 * assertAlmostEquals(beta(500), 0.7);
 * assertStrictEquals(beta(5000), 1);
 * ```
 */
export function annealed(start: number, end: number, steps: number): (step: number) => number {
  checkNumber("annealed(): start", start);
  checkNumber("annealed(): end", end);
  checkInteger("annealed(): steps", steps, 1, Number.MAX_SAFE_INTEGER);
  return (step) => {
    if (typeof step !== "number") {
      throw new TypeError(`the schedule takes a step, got ${show(step)}`);
    }
    if (!(step >= 0)) {
      throw new RangeError(`the schedule takes a step of at least 0, got ${step}`);
    }
    if (step >= steps) return end;
    const share = step / steps;
    return start * (1 - share) + end * share;
  };
}
