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

/**
 * Waits until `begin`, or what it has started, calls back: with a value or with an error. Whatever ends the wait, what `begin` returned is called then, and no
 * timer or listener is left behind.
 *
 * @param late The error after `timeoutMs`, needed where there is one. It is made before anything is given back, so its words may say what was reached.
 */
export function waitUntil<T>(
  { timeoutMs = Infinity, signal }: {
    readonly timeoutMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  },
  begin: (done: (value: T) => void, fail: (error: unknown) => void) => () => void,
  late?: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    signal?.throwIfAborted();
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
    const fail = (error: unknown): void => end(() => reject(error));
    const abort = (): void => fail(signal?.reason);
    signal?.addEventListener("abort", abort);
    if (timeoutMs !== Infinity) {
      timer = setTimeout(() => fail(late?.()), Math.min(timeoutMs, TIMER_MAX_MS));
    }
    try {
      leave = begin((value) => end(() => resolve(value)), fail);
    } catch (error) {
      fail(error);
    }
    if (isOver) leave();
  });
}

/** Waits for a time. Throws the signal's reason where that ends it. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return waitUntil<void>({ signal }, (done) => {
    const timer = setTimeout(done, Math.min(ms, TIMER_MAX_MS));
    return () => clearTimeout(timer);
  });
}

/** Makes a call in the next turn of the event loop, once all that has come in by now was heard. */
export function nextTurn(call: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (call: () => void) => void };
  if (setImmediate === undefined) setTimeout(call, 0);
  else setImmediate(call);
}
