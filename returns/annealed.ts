/**
 * A schedule that changes a number linearly.
 *
 * @module
 */

import { checkInteger, checkNumber, show } from "../base/checks.ts";

/**
 * A schedule that goes linearly from `start` to `end` over `steps` steps, and stays at `end`. Use it for the `beta` of
 * prioritized replay, an exploration rate or a learning rate.
 *
 * Source: Schaul et al., "Prioritized Experience Replay" (ICLR 2016), section 3.4, where beta grows linearly to 1.
 *
 * @param steps The step at which the schedule reaches `end`: an integer of at least 1.
 * @returns A function of the step, any number of at least 0. It keeps no state, so you need not save it.
 * @throws {TypeError} For an argument that is not a number.
 * @throws {RangeError} For a number that is not finite, or `steps` that is not an integer of at least 1. The schedule
 *   itself throws for a negative step or NaN.
 * @example
 * ```ts
 * import { annealed } from "@exrp/replay/returns";
 *
 * const beta = annealed(0.4, 1, 1000);
 * console.log(beta(0)); // 0.4
 * console.log(beta(500).toFixed(2)); // 0.70
 * console.log(beta(5000)); // 1
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
