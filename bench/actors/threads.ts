/**
 * Workers that begin together and end together, for bench/actors.ts.
 *
 * @module
 */

/** They have so long to begin before anything is measured, in milliseconds. */
const BEGIN = 200;

/** What all of them are told. */
export interface ThreadOrder {
  /** The first number is 1 while they are to go on. */
  readonly flags: Int32Array;
  /** The place of this one in what they share. */
  readonly index: number;
}

/**
 * Starts a Worker for each order. It says "ready" and waits for its flag; it says "done" when the flag is 0 again.
 *
 * @returns What ends them.
 */
export async function startThreads(
  module: URL,
  flags: Int32Array,
  orders: readonly ThreadOrder[],
): Promise<() => Promise<void>> {
  const threads = orders.map(() => new Worker(module, { type: "module" }));
  const said = (thread: Worker): Promise<void> =>
    new Promise((resolve) => thread.onmessage = (): void => resolve());
  const ready = threads.map(said);
  for (const [index, thread] of threads.entries()) thread.postMessage(orders[index]);
  await Promise.all(ready);
  Atomics.store(flags, 0, 1);
  Atomics.notify(flags, 0);
  await new Promise((resolve) => setTimeout(resolve, BEGIN));
  return async () => {
    const left = threads.map(said);
    Atomics.store(flags, 0, 0);
    await Promise.all(left);
    for (const thread of threads) thread.terminate();
  };
}
