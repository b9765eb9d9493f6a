/**
 * The page of gpu_test.ts: it compares batches on the browser's device with those of the replay.
 *
 * @module
 */

import { drawEqual } from "../gpu/_twins.ts";

Object.assign(globalThis, {
  /** How many arrays were on the device, and what the device had to say; or that there is no device. */
  compare: async (seed: number, batchCount: number) => {
    const adapter = await navigator.gpu?.requestAdapter();
    if (!adapter) return "no adapter";
    const device = await adapter.requestDevice();
    const errors: string[] = [];
    device.addEventListener("uncapturederror", (event) => {
      errors.push((event as GPUUncapturedErrorEvent).error.message);
    });
    const { arrays } = await drawEqual(device, seed, batchCount);
    device.destroy();
    return { arrays, errors };
  },
});
