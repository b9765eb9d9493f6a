/**
 * The rate limiter of one replay. The kernel counts, and decides which calls may go ahead; here is what sets, saves and shows it.
 *
 * @module
 */

import { lengthOf } from "../../base/typed_arrays.ts";
import {
  EXRP_RATE_LIMITER_COUNT,
  EXRP_RATE_LIMITER_MIN_SIZE,
  EXRP_RATE_LIMITER_SAVED_COUNT,
} from "../../ffi/symbols.ts";
import {
  kernelNumbers,
  type RateLimiter,
  type RateLimiterState,
} from "../../rate_limiters/rate_limiter.ts";
import type { ReplayCore } from "../core.ts";

/** The count of a rate limiter's numbers in snapshots. */
export const SAVED_NUMBERS = EXRP_RATE_LIMITER_SAVED_COUNT;

/** Keeps the rate limiter of one replay. */
export class ReplayRateLimiter {
  readonly #core: ReplayCore;
  /** Records that `drain` has not returned. */
  readonly #undrained: () => number;
  #rateLimiter: RateLimiter | undefined;
  /** What the folder of a durable replay had, until it is opened as a whole. */
  #found: readonly number[] = [];

  /** Keeps that of the replay of `core`. `undrained` counts the records that `drain` has not returned. */
  constructor(core: ReplayCore, undrained: () => number) {
    this.#core = core;
    this.#undrained = undrained;
  }

  /** Sets a rate limiter, whose counts begin anew, or takes it away. */
  set(operation: string, rateLimiter: RateLimiter | undefined): void {
    const core = this.#core;
    core.together(operation, () => {
      const numbers = rateLimiter === undefined ? [] : kernelNumbers(rateLimiter.numbers);
      // What `drain` returns counts for a queue, so it begins with the records that were not drained yet.
      const counts = rateLimiter?.name === "queue" ? [this.#undrained(), 0] : [];
      this.#give(operation, [...numbers, ...counts]);
    });
    this.#rateLimiter = rateLimiter;
    core.changed();
  }

  /** The rule and its counts as numbers, for a snapshot; none without a rate limiter. */
  save(): readonly number[] {
    const info = infoOf(this.#core, "serialize()");
    return info[EXRP_RATE_LIMITER_MIN_SIZE] === 0 ? [] : [...info.subarray(0, SAVED_NUMBERS)];
  }

  /**
   * Goes on with the replay's own rate limiter after a snapshot was loaded, which had these numbers. The counts go on if the rule is the same,
   * and else they begin anew.
   */
  goOn(saved: readonly number[]): void {
    this.#found = saved;
    const rateLimiter = this.#rateLimiter;
    if (rateLimiter !== undefined) this.#goOn("unserialize()", rateLimiter, saved);
  }

  /** Goes on with the rate limiter that a folder had, or with another one, if one is given. */
  open(operation: string, given: RateLimiter | undefined): void {
    const found = this.#found;
    if (given !== undefined) this.#goOn(operation, given, found);
    else if (found.length > 0) this.#give(operation, found);
    this.#rateLimiter = given;
  }

  #goOn(operation: string, rateLimiter: RateLimiter, saved: readonly number[]): void {
    const own = kernelNumbers(rateLimiter.numbers);
    const isSame = saved.length === SAVED_NUMBERS && own.every((number, k) => number === saved[k]);
    if (isSame) this.#give(operation, saved);
    else this.set(operation, rateLimiter);
  }

  #give(operation: string, numbers: readonly number[]): void {
    const { kernel: { symbols }, occupiedId } = this.#core;
    // The kernel takes no null, and an empty array may be one.
    const array = Float64Array.from(numbers.length === 0 ? [0] : numbers);
    this.#core.check(
      operation,
      symbols.exrp_rate_limiter_set(occupiedId, array, numbers.length),
    );
  }
}

/** The rate limiter of a replay and its counts; undefined without one. */
export function rateLimiterState(
  core: ReplayCore,
  operation: string,
): RateLimiterState | undefined {
  const info = infoOf(core, operation);
  // In the order of EXRP_RATE_LIMITER_*.
  const [ratio = 0, minSize = 0, differenceMin = 0, differenceMax = 0, ...counts] = info;
  const [recorded = 0, drawn = 0, recordsAllowed = 0, picksAllowed = 0] = counts;
  if (minSize === 0) return undefined;
  return Object.freeze({
    ...{ ratio, minSize, differenceMin, differenceMax },
    ...{ recorded, drawn, difference: recorded * ratio - drawn },
    ...{ recordsAllowed, picksAllowed },
  });
}

function infoOf(core: ReplayCore, operation: string): Float64Array {
  const info = new Float64Array(EXRP_RATE_LIMITER_COUNT);
  const { kernel: { symbols }, occupiedId } = core;
  core.check(operation, symbols.exrp_rate_limiter_info(occupiedId, info, lengthOf(info)));
  return info;
}
