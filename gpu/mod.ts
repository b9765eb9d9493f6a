/**
 * Replay on a GPU: columns of a replay on a WebGPU device, and batches of them as its buffers. The guide `docs/gpu.md` says when it pays.
 *
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { onDevice } from "@exrp/replay/gpu";
 *
 * using replay = await ExperienceReplay.create({ capacity: 1000, state: uint8(4) });
 * const selector = replay.newPickSelector(uniform());
 * replay.record(replay.newEpisode(), [1, 2, 3, 4], 0, 1, { finalState: [5, 6, 7, 8] });
 * const adapter = await navigator.gpu?.requestAdapter();
 * if (adapter) {
 *   using gpu = onDevice(replay, await adapter.requestDevice(), { columns: ["state"] });
 *   using batch = await gpu.getBatch(1, selector);
 *   console.log(await batch.nextState.read()); // Uint8Array(4) [5, 6, 7, 8]
 * }
 * ```
 *
 * @module
 */

export type { Device, DeviceBuffer, DeviceCommands, DevicePass } from "./device.ts";
export type {
  DeviceArray,
  DeviceArraysOf,
  DeviceBatch,
  DeviceNStepPart,
  HostParts,
  PartOf,
} from "./device_batch.ts";
export {
  type DeviceBatchOptions,
  type DeviceColumn,
  type DeviceReplay,
  onDevice,
  type OnDeviceOptions,
} from "./on_device.ts";
