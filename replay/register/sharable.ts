/**
 * Which selectors a shared replay can have: those that each of its threads can make for itself.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { errorOfStatus } from "../../ffi/status_errors.ts";
import {
  EXRP_SHARE_NO_THREADS,
  EXRP_STATUS_LIMIT,
  EXRP_STATUS_NOT_SHARABLE,
} from "../../ffi/symbols.ts";

/** How many selectors a shared replay can have. */
export const SHARED_SELECTORS_MAX = 512;

/** The error for a rule with functions, which other threads can't call. */
export function notSharable(operation: string, what: string): ReplayError {
  return new ReplayError(
    "not-sharable",
    `${operation}: ${what} runs functions of this thread, which no other thread can call; a shared replay takes the library's rules without functions only`,
    { status: EXRP_STATUS_NOT_SHARABLE },
  );
}

/** The error for a replay of WebAssembly. `why` says why it has that kernel. */
export function notSharableWasm(operation: string, why: string): ReplayError {
  return new ReplayError(
    "not-sharable",
    `${operation}: a replay of WebAssembly can't be shared, as each thread has a memory of its own; a replay of the native kernel can, in Deno (why this one has WebAssembly: ${why})`,
    { status: EXRP_STATUS_NOT_SHARABLE, detail: [EXRP_SHARE_NO_THREADS] },
  );
}

/** Refuses more selectors than a shared replay can have. */
export function checkShareCount(operation: string, count: number): void {
  if (count <= SHARED_SELECTORS_MAX) return;
  throw errorOfStatus(operation, EXRP_STATUS_LIMIT, [SHARED_SELECTORS_MAX]);
}
