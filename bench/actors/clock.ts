/**
 * How long the machine itself stops threads: loops that only read the clock. No call is shorter than the gap that it falls into.
 *
 * @module
 */
import { startThreads, type ThreadOrder } from "./threads.ts";

/** What a Worker of `clock_worker.ts` is told. */
export interface ClockOrder extends ThreadOrder {
  /** Its longest gap, in milliseconds, at its index. */
  readonly gaps: Float64Array;
}

/** Reads the clock as long as it is to go on. Returns the longest time between two readings, in milliseconds. */
export function longestGap(goesOn: (now: number) => boolean): number {
  let longest = 0;
  let last = performance.now();
  while (goesOn(last)) {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}

/**
 * The longest gap of this thread and of so many Workers, all of which only read the clock for so many seconds. In milliseconds.
 *
 * It is the largest of all, because a learner waits for itself, and for whoever has the lock.
 */
export async function longestGapOf(workers: number, seconds: number): Promise<number> {
  const flags = new Int32Array(new SharedArrayBuffer(4));
  const gaps = new Float64Array(new SharedArrayBuffer(8 * (workers + 1)));
  const orders = Array.from(
    { length: workers },
    (_, index): ClockOrder => ({ flags, gaps, index }),
  );
  const stop = await startThreads(new URL("clock_worker.ts", import.meta.url), flags, orders);
  const end = performance.now() + seconds * 1e3;
  gaps[workers] = longestGap((now) => now < end);
  await stop();
  return Math.max(...gaps);
}
