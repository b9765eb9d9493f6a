/**
 * Waits with an end: by a time or by a signal.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { checkWait } from "../base/waits.ts";

/** How long a call such as {@linkcode Table.getBatch} may wait, and what ends it early. */
export interface TableWaitOptions {
  /** The most milliseconds, 0 to 2^31 - 1. Without it, the call waits for as long as it takes. */
  readonly timeoutMs?: number;
  /** Ends the wait with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The names of the options. */
export const WAIT_NAMES = ["timeoutMs", "signal"] as const;

/** Checks how long to wait. The reason of an aborted signal is thrown. */
export function beginWait(where: string, options: TableWaitOptions): void {
  checkWait(where, options);
  options.signal?.throwIfAborted();
}

/** The error of a wait for tables that are no more. */
export function disposedMeanwhile(): ReplayError {
  return new ReplayError("disposed", "the tables were disposed while the call waited");
}
