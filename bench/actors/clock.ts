/**
 * How long the machine itself stops threads: loops that only read the clock. No call is shorter than the gap that it falls into.
 *
 * @module
 */

/** What a Worker of `clock_worker.ts` is told. */
export interface ClockOrder {
  /** The first number is 1 while it is to read the clock. */
  readonly flags: Int32Array;
  /** Its longest gap, in milliseconds, at its index. */
  readonly gaps: Float64Array;
  readonly index: number;
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
  const threads = Array.from(
    { length: workers },
    () => new Worker(new URL("clock_worker.ts", import.meta.url), { type: "module" }),
  );
  const said = (thread: Worker): Promise<void> =>
    new Promise((resolve) => thread.onmessage = (): void => resolve());
  const ready = threads.map(said);
  for (const [index, thread] of threads.entries()) {
    thread.postMessage({ flags, gaps, index } satisfies ClockOrder);
  }
  await Promise.all(ready);
  Atomics.store(flags, 0, 1);
  Atomics.notify(flags, 0);
  // Until all run.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const end = performance.now() + seconds * 1e3;
  gaps[workers] = longestGap((now) => now < end);
  const left = threads.map(said);
  Atomics.store(flags, 0, 0);
  await Promise.all(left);
  for (const thread of threads) thread.terminate();
  return Math.max(...gaps);
}
