/**
 * Waits with an end: by a time or by a signal.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { checkWait } from "../base/waits.ts";

/** How long a call such as {@linkcode Table.sample} may wait, and what ends it early. */
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

/** How a wait ends. */
export interface Settle {
  /** Well. */
  done(): void;
  /** By an error. */
  fail(error: unknown): void;
}

/**
 * Waits until `begin` or what it has started settles the wait. `begin` returns what is to be done at the end, however it comes.
 * No timer or listener is left behind.
 */
export function waitUntil(
  { timeoutMs, signal }: TableWaitOptions,
  begin: (settle: Settle) => () => void,
  late: () => ReplayError,
): Promise<void> {
  // Node 20 has no Promise.withResolvers.
  let resolve = (): void => {};
  let reject = (_: unknown): void => {};
  const promise = new Promise<void>((done, fail) => [resolve, reject] = [done, fail]);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let leave = (): void => {};
  let isOver = false;
  const end = (settle: () => void): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    leave();
    settle();
  };
  const abort = (): void => end(() => reject(signal?.reason));
  const left = begin({
    done: () => end(resolve),
    fail: (error) => end(() => reject(error)),
  });
  if (isOver) left();
  else {
    leave = left;
    signal?.addEventListener("abort", abort);
    // What is late has words for what was reached until then: they are made before anything is given back.
    if (timeoutMs !== undefined) {
      timer = setTimeout(() => {
        const error = late();
        end(() => reject(error));
      }, timeoutMs);
    }
  }
  return promise;
}
