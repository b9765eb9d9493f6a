/** A Worker that only reads the clock, for `longestGapOf()` of bench/actors/clock.ts. */
import { type ClockOrder, longestGap } from "./clock.ts";

/** It does not count for so long: the code is compiled meanwhile, and the other threads begin. In milliseconds. */
const WARM = 200;

// The types of a Worker's global scope are not those of the main thread's.
const worker = globalThis as unknown as {
  onmessage: (message: MessageEvent<ClockOrder>) => void;
  postMessage(message: unknown): void;
};

worker.onmessage = ({ data: { flags, gaps, index } }): void => {
  worker.postMessage("ready");
  Atomics.wait(flags, 0, 0);
  const begin = performance.now() + WARM;
  longestGap((now) => now < begin);
  gaps[index] = longestGap(() => Atomics.load(flags, 0) === 1);
  worker.postMessage("done");
};
