/**
 * The checks that all calls that record share.
 *
 * @module
 */

import { checkBoolean, show } from "../../base/checks.ts";
import { type OptionHints, unknownOption } from "../../base/option_names.ts";
import { ReplayError } from "../../base/errors.ts";
import {
  EXRP_RECORD_ENDS,
  EXRP_RECORD_TRUNCATED,
  EXRP_STATUS_FULL,
  EXRP_STATUS_PRIORITY_INVALID,
} from "../../ffi/symbols.ts";
import type { ReplayCore } from "../core.ts";
import type { UserRules } from "../rules/user_rules.ts";

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
    { status: EXRP_STATUS_PRIORITY_INVALID },
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

/** Writes the final state that ends an episode, if there is one; returns the flags of that end. */
export function writeEnd(
  operation: string,
  column: { write(value: unknown): void },
  finalState: unknown,
  truncated: unknown,
): number {
  const isTruncated = truncated !== undefined &&
    checkBoolean(`${operation}: truncated`, truncated);
  if (finalState !== undefined) {
    column.write(finalState);
    return isTruncated ? EXRP_RECORD_ENDS | EXRP_RECORD_TRUNCATED : EXRP_RECORD_ENDS;
  }
  if (!isTruncated) return 0;
  throw new TypeError(
    `${operation}: truncated needs finalState, the state after the last step, to bootstrap from`,
  );
}

/** Writes the extras into their columns. Refuses extras that are missing, unknown, or not an object. */
export function writeExtras(
  operation: string,
  extras: unknown,
  names: readonly string[],
  columns: readonly { write(value: unknown): void }[],
): void {
  if (names.length === 0) {
    if (extras === undefined) return;
    throw new TypeError(`${operation}: extras were given, but the schema of this replay has none`);
  }
  if (extras === undefined) {
    throw new TypeError(
      `${operation}: extras are missing; the schema of this replay has ${names.join(", ")}`,
    );
  }
  if (typeof extras !== "object" || extras === null) {
    throw new TypeError(
      `${operation}: extras must be an object with ${names.join(", ")}, got ${show(extras)}`,
    );
  }
  for (let k = 0; k < names.length; k++) {
    const name = names[k] as string;
    const value = (extras as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) {
      throw new TypeError(
        `${operation}: extras.${name} is missing; every extra of the schema must be given`,
      );
    }
    columns[k]?.write(value);
  }
  for (const key in extras) {
    if (!names.includes(key)) throw unknownOption(`${operation}: extras`, key, names);
  }
}

/** Calls the kernel, and again each time that a policy in TypeScript has made room; returns the last status. */
export function callWithRoom(
  core: ReplayCore,
  { eviction }: UserRules,
  call: () => number,
): number {
  let status = call();
  while (status === EXRP_STATUS_FULL && eviction !== undefined) {
    eviction.makeRoom(core.id);
    status = call();
  }
  return status;
}
