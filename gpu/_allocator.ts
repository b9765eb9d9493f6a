/**
 * Whether a device is still there, and errors of its memory.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { bytesText } from "../base/inspect.ts";
import type { Device, DeviceBuffer } from "./device.ts";

/** Makes buffers of a device, and hears when it has gone. */
export class Allocator<B extends DeviceBuffer> {
  readonly device: Device<B>;
  #lost: string | undefined;
  /** Those that were made, and neither freed nor forgotten. */
  readonly #buffers = new Set<B>();

  /** Makes buffers of `device`. */
  constructor(device: Device<B>) {
    this.device = device;
    device.lost.then(({ reason, message }) => {
      this.#lost = message === "" ? reason : `${reason}: ${message}`;
    });
  }

  /** The bytes of all buffers that were made and not freed. */
  get bytes(): number {
    let bytes = 0;
    for (const { size } of this.#buffers) bytes += size;
    return bytes;
  }

  /** Throws where the device has gone. */
  check(operation: string): void {
    if (this.#lost === undefined) return;
    throw new ReplayError(
      "device",
      `${operation}: the device was lost (${this.#lost}); the replay itself goes on: ask for another device, and call onDevice() with it`,
    );
  }

  /**
   * Makes buffers.
   *
   * @throws {ReplayError} `limit` if the device takes no buffer of a size. `memory` if it has no memory for them. `device` if it was lost.
   */
  async make(
    operation: string,
    sizes: readonly number[],
    usage: number,
    what: string,
  ): Promise<B[]> {
    const { device } = this;
    const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
    const most = Math.min(maxBufferSize, maxStorageBufferBindingSize);
    for (const size of sizes) {
      if (size <= most) continue;
      throw new ReplayError(
        "limit",
        `${operation}: ${what} needs a buffer of ${bytesText(size)}, and the device takes ${
          bytesText(most)
        }; ask for fewer picks, or for a device with more: requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } })`,
      );
    }
    device.pushErrorScope("out-of-memory");
    const made = sizes.map((size) =>
      device.createBuffer({ size, usage, label: `replay: ${what}` })
    );
    const error = await device.popErrorScope();
    this.check(operation);
    if (!error) {
      for (const buffer of made) this.#buffers.add(buffer);
      return made;
    }
    for (const buffer of made) buffer.destroy();
    const bytes = bytesText(sizes.reduce((sum, size) => sum + size, 0));
    throw new ReplayError(
      "memory",
      `${operation}: the device has no memory for ${what}, ${bytes} (${error.message})`,
    );
  }

  /** Counts buffers no more, to which nothing of the library refers. */
  forget(buffers: readonly B[]): void {
    for (const buffer of buffers) this.#buffers.delete(buffer);
  }

  /** Frees buffers; those that were freed already stay so. */
  free(buffers: readonly B[]): void {
    this.forget(buffers);
    for (const buffer of buffers) buffer.destroy();
  }

  /** Frees all buffers. */
  close(): void {
    this.free([...this.#buffers]);
  }
}
