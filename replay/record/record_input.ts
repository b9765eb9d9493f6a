/**
 * What all calls that record check alike.
 *
 * @module
 */

import { checkBoolean, show, unknownOption } from "../../base/checks.ts";
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

/** Whether the episode is cut off; refuses that without a final state. */
export function checkTruncated(
  operation: string,
  truncated: unknown,
  finalState: unknown,
): boolean {
  if (truncated === undefined || !checkBoolean(`${operation}: truncated`, truncated)) return false;
  if (finalState !== undefined) return true;
  throw new TypeError(
    `${operation}: truncated needs finalState, the state after the last step, to bootstrap from`,
  );
}

/** The extras by name, of a schema with extras of these names; refuses what is no object of values. */
export function checkExtras(
  operation: string,
  extras: unknown,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (names.length === 0) {
    throw new TypeError(`${operation}: extras were given, but the schema of this replay has none`);
  }
  if (extras === undefined) {
    throw new TypeError(
      `${operation}: extras are missing; the schema of this replay has ${names.join(", ")}`,
    );
  }
  if (typeof extras === "object" && extras !== null) return extras as Record<string, unknown>;
  throw new TypeError(
    `${operation}: extras must be an object with ${names.join(", ")}, got ${show(extras)}`,
  );
}

/** The value of one extra; refuses that there is none. */
export function extraOf(
  operation: string,
  extras: Readonly<Record<string, unknown>>,
  name: string,
): unknown {
  const value = extras[name];
  if (value !== undefined) return value;
  throw new TypeError(
    `${operation}: extras.${name} is missing; every extra of the schema must be given`,
  );
}

/** Refuses extras that the schema does not have. */
export function refuseUnknownExtras(
  operation: string,
  extras: Readonly<Record<string, unknown>>,
  names: readonly string[],
): void {
  for (const key in extras) {
    if (!names.includes(key)) throw unknownOption(`${operation}: extras`, key, names);
  }
}
