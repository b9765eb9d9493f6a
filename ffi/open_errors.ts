/**
 * Errors where no kernel can be opened. That for missing permissions is long, because it says what to do. It also has a short reason, for
 * `describe()`.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";

const reasons = new WeakMap<ReplayError, string>();

/** The error where a kernel is not there, or can't run. */
export function kernelMissing(message: string, cause?: unknown): ReplayError {
  return new ReplayError("kernel-missing", message, { cause });
}

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
