/**
 * Errors for missing permissions. Their text is long, because it says what to do. Each also has a short reason, for `describe()`.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";

const reasons = new WeakMap<ReplayError, string>();

/** The error where permissions are missing; `flags` are those of Deno, such as `--allow-ffi`. */
export function missingPermission(
  message: string,
  flags: readonly string[],
  cause?: unknown,
): ReplayError {
  return withReason(new ReplayError("permission", message, { cause }), `no ${flags.join(", ")}`);
}

/** The error, with the reason of another one. */
export function withReason(error: ReplayError, reason: string): ReplayError {
  reasons.set(error, reason);
  return error;
}

/** Why no native kernel runs: the flags that are missing, or else the whole text. */
export function shortReason(error: ReplayError): string {
  return reasons.get(error) ?? error.message;
}
