/**
 * The checks that all calls that record share.
 *
 * @module
 */

import { checkBoolean, show } from "../../base/checks.ts";
import { type OptionHints, unknownOption } from "../../base/option_names.ts";
import { ReplayError } from "../../base/errors.ts";
import { EXRP_STATUS_PRIORITY_INVALID } from "../../ffi/symbols.ts";

const ENDS_BY_FINAL_STATE =
  "finalState alone means that the episode terminated; add truncated: true only if it was cut off";

/** What to write where `finalState` ends an episode. */
export const FINAL_STATE_HINTS: OptionHints = {
  terminated: ENDS_BY_FINAL_STATE,
  done: ENDS_BY_FINAL_STATE,
};

/** What to write where flags of the environment end an episode. */
export const FLAG_HINTS: OptionHints = { done: "use terminated and truncated" };

/** Refuses a value that is not a handle. */
export function checkEpisode(operation: string, episode: unknown): asserts episode is number {
  if (typeof episode === "number") return;
  throw new TypeError(
    `${operation}: episode must be the number that newEpisode() or record() gave, got ${
      show(episode)
    }`,
  );
}

/** A priority, checked: finite, and 0 or more. */
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

/** A flag of an environment, checked: true, false, 1 or 0. */
export function checkFlag(where: string, value: unknown): boolean {
  if (value === true || value === 1) return true;
  if (value === false || value === 0) return false;
  throw flagError(where, value);
}

/** The error for a value that is not a flag. */
export function flagError(where: string, value: unknown): Error {
  const message = `${where} must be true, false, 1 or 0, got ${show(value)}`;
  return typeof value === "number" ? new RangeError(message) : new TypeError(message);
}

/** Whether the episode was cut off, which needs a final state. */
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

/** The extras by name. Refuses a value that is not an object, and any extras if the schema has none. */
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

/** The value of one extra, which must be there. */
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
