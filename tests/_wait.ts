/**
 * Waiting in tests: for an event, never for a time, so that no test fails because a machine is slow.
 * `tests/tools/no_timed_assertions_test.ts` holds the tests to it.
 *
 * @module
 */

/** A time that only ends what hangs: what works needs a small part of it, on the slowest machine too. In ms. */
export const PATIENCE_MS = 120_000;

/** So long one turn of a wait may count. */
const STEP_MAX_MS = 200;

/** Waits until something is so; throws after {@linkcode PATIENCE_MS}, or what is given. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  let [left, last] = [patienceMs, performance.now()];
  while (!await isSo()) {
    const now = performance.now();
    // While the whole machine stands still, patience does not run out.
    left -= Math.min(now - last, STEP_MAX_MS);
    last = now;
    if (left < 0) throw new Error(`it never came to this: ${what}`);
    await pause(5);
  }
}

/** The result of a promise; throws after {@linkcode PATIENCE_MS}. */
export async function inTime<Result>(what: string, promise: Promise<Result>): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it never came to this: ${what}`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lets a time pass. What must not happen has the time to happen meanwhile, and a timer the time to end. After it, nothing may be asserted
 * that a slow machine has not done yet: {@linkcode until} waits for that.
 */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
