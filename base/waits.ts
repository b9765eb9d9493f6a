/**
 * How long a call may wait.
 *
 * @module
 */

import { checkNumber, show } from "./checks.ts";

/** The largest time that timers take, in ms. */
const TIMEOUT_MAX = 2 ** 31 - 1;

/** Checks the options of a wait. Whether the signal has aborted is not looked at. */
export function checkWait(
  where: string,
  { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`${where}: signal must be an AbortSignal, got ${show(signal)}`);
  }
  if (timeoutMs !== undefined) checkNumber(`${where}: timeoutMs`, timeoutMs, 0, TIMEOUT_MAX);
}
