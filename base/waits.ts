/**
 * How long a call may wait.
 *
 * @module
 */

import { checkNumber, show } from "./checks.ts";

/** The longest time that timers take, in milliseconds: 24 days. A longer one would end at once. */
export const TIMER_MAX_MS: number = 2 ** 31 - 1;

/** Checks the options of a wait. Whether the signal has aborted is not looked at. */
export function checkWait(
  where: string,
  { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError(`${where}: signal must be an AbortSignal, got ${show(signal)}`);
  }
  if (timeoutMs !== undefined) checkNumber(`${where}: timeoutMs`, timeoutMs, 0, TIMER_MAX_MS);
}
