/**
 * jax-js on a device of WebGPU, and arrays of a replay's batches as arrays of jax-js.
 *
 * @module
 */
import { defaultDevice, getWebGPUDevice, init, numpy as np } from "@jax-js/jax";
import type { DeviceArray } from "@exrp/replay/gpu";

/** Starts jax-js on a device, and returns the device; undefined where there is no driver. */
export async function startOnDevice(): Promise<GPUDevice | undefined> {
  const started = await init("webgpu");
  if (!started.includes("webgpu")) return undefined;
  defaultDevice("webgpu");
  return getWebGPUDevice();
}

/**
 * The numbers of an array on jax-js's device, float32, as an array of jax-js. jax-js takes no buffer, so the device copies the bytes into the buffer of a new
 * array. Nothing goes through the memory of the program, and the batch may be handed back at once.
 */
export function toJax(
  { buffer, byteLength, dtype }: DeviceArray<GPUBuffer>,
  shape: number[],
): np.Array {
  if (dtype !== "float32") throw new TypeError(`jax-js gets float32 here, not ${dtype}`);
  const array = np.zeros(shape); // no number of it is sent
  const device = getWebGPUDevice();
  const commands = device.createCommandEncoder();
  commands.copyBufferToBuffer(buffer, 0, array.ref.gpuBufferSync(), 0, byteLength);
  device.queue.submit([commands.finish()]);
  return array;
}
