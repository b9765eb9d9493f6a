/**
 * Errors where no kernel can be opened. That for missing permissions is long, because it says what to do. It also has a short reason, for
 * `describe()`.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { EXRP_ABI_VERSION } from "./symbols.ts";

const reasons = new WeakMap<ReplayError, string>();

/** The error where a kernel is not there, or can't run. */
export function kernelMissing(message: string, cause?: unknown): ReplayError {
  return new ReplayError("kernel-missing", message, { cause });
}

/** Throws unless a kernel is of the version that this library needs. `hint` says what to do. */
export function checkVersion(kernel: string, version: number, hint: string): void {
  if (version === EXRP_ABI_VERSION) return;
  throw new ReplayError(
    "kernel-version",
    `${kernel} has version ${version} of the interface, but this library needs ${EXRP_ABI_VERSION}; ${hint}`,
    { detail: [version, EXRP_ABI_VERSION] },
  );
}

/** The error where permissions are missing; `flags` are those of Deno, such as `--allow-ffi`. */
export function missingPermission(
  message: string,
  flags: readonly string[],
  cause?: unknown,
): ReplayError {
  const error = new ReplayError("permission", message, { cause });
  reasons.set(error, `no ${flags.join(", ")}`);
  return error;
}

/** Why no native kernel runs: the flags that are missing, or else the whole text. */
export function shortReason(error: ReplayError): string {
  return reasons.get(error) ?? error.message;
}
