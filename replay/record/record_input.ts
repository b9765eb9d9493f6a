/**
 * What all calls that record check alike.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { EXRP_STATUS_PRIORITY_INVALID } from "../../ffi/symbols.ts";

/** Refuses what is no handle. */
export function checkEpisode(operation: string, episode: unknown): asserts episode is number {
  if (typeof episode === "number") return;
  throw new TypeError(
    `${operation}: episode must be the number that newEpisode() or record() gave, got ${
      show(episode)
    }`,
  );
}

/** The priority, when it may be one: finite, and 0 or more. */
export function checkPriority(name: string, value: unknown): number {
  if (typeof value !== "number") {
    throw new TypeError(`${name} must be a number, got ${show(value)}`);
  }
  if (value >= 0 && value < Infinity) return value;
  throw new ReplayError(
    "invalid-priority",
    `${name} must be finite and not negative, got ${value}`,
    {
      status: EXRP_STATUS_PRIORITY_INVALID,
    },
  );
}

/** True or false, also as the 1 and 0 of environments that give bytes. */
export function checkTruth(where: string, value: unknown): boolean {
  if (value === true || value === 1) return true;
  if (value === false || value === 0) return false;
  throw truthError(where, value);
}

/** The error for what is no truth. */
export function truthError(where: string, value: unknown): Error {
  const message = `${where} must be true, false, 1 or 0, got ${show(value)}`;
  return typeof value === "number" ? new RangeError(message) : new TypeError(message);
}
