/**
 * Whether a device is still there, and errors of its memory.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { bytesText } from "../base/inspect.ts";
import type { Device, DeviceBuffer } from "./device.ts";

/** Larger buffers are not made, as shaders count bytes in 32 bits. */
const BUFFER_BYTES_MAX = 2 ** 31;

/** Makes buffers of a device until it is closed, and hears when the device has gone. */
export class Allocator<B extends DeviceBuffer> {
  readonly device: Device<B>;
  #lost: string | undefined;
  #isClosed = false;
  /** Ends the waits for the device. */
  readonly #waiting = new Set<() => void>();
  /** Those that were made, and neither freed nor forgotten. */
  readonly #buffers = new Set<B>();

  /** Makes buffers of `device`. */
  constructor(device: Device<B>) {
    this.device = device;
    // A device may live longer than what nobody closed, so it holds on to nothing.
    const weak = new WeakRef(this);
    device.lost.then(({ reason, message }) => {
      const allocator = weak.deref();
      if (allocator === undefined) return;
      allocator.#lost = message === "" ? reason : `${reason}: ${message}`;
      for (const end of allocator.#waiting) end();
    });
  }

  /** The bytes of the largest buffer that a shader can reach. */
  get bufferBytesMax(): number {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.device.limits;
    return Math.min(maxBufferSize, maxStorageBufferBindingSize, BUFFER_BYTES_MAX);
  }

  /** The bytes of all buffers that were made and not freed. */
  get bytes(): number {
    let bytes = 0;
    for (const { size } of this.#buffers) bytes += size;
    return bytes;
  }

  /** Throws where it was closed, or the device has gone. */
  check(operation: string): void {
    if (this.#isClosed) {
      throw new ReplayError(
        "disposed",
        `${operation}: close() has freed the columns on the device`,
      );
    }
    if (this.#lost === undefined) return;
    throw new ReplayError(
      "device",
      `${operation}: the device was lost (${this.#lost}); the replay itself goes on: ask for another device, and call onDevice() with it`,
    );
  }

  /** Waits until the device has done what it was asked, or is lost. */
  async idle(): Promise<void> {
    if (this.#lost !== undefined) return;
    // A race with `device.lost` would leave something at that promise for each wait.
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        resolve();
      };
      this.#waiting.add(end);
      this.device.queue.onSubmittedWorkDone().then(end, end);
    });
  }

  /**
   * Makes buffers.
   *
   * @throws {ReplayError} `limit` if the device takes no buffer of a size. `memory` if it has no memory for them. `device` if it was lost. `disposed` if this was
   * closed, while it waited for the device, too.
   */
  async make(
    operation: string,
    sizes: readonly number[],
    usage: number,
    what: string,
  ): Promise<B[]> {
    const { device, bufferBytesMax: most } = this;
    for (const size of sizes) {
      if (size <= most) continue;
      const isOwn = most === BUFFER_BYTES_MAX;
      const advice = isOwn
        ? ""
        : ", or for a device with more: requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } })";
      throw new ReplayError(
        "limit",
        `${operation}: ${what} needs a buffer of ${bytesText(size)}, and ${
          isOwn ? "none is made above" : "the device takes"
        } ${bytesText(most)}; ask for fewer picks${advice}`,
      );
    }
    device.pushErrorScope("out-of-memory");
    const made = sizes.map((size) =>
      device.createBuffer({ size, usage, label: `replay: ${what}` })
    );
    const error = await device.popErrorScope();
    if (!error && !this.#isClosed && this.#lost === undefined) {
      for (const buffer of made) this.#buffers.add(buffer);
      return made;
    }
    for (const buffer of made) buffer.destroy();
    this.check(operation);
    const bytes = bytesText(sizes.reduce((sum, size) => sum + size, 0));
    throw new ReplayError(
      "memory",
      `${operation}: the device has no memory for ${what}, ${bytes} (${error?.message})`,
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

  /** Frees all buffers, and makes none any more. */
  close(): void {
    this.#isClosed = true;
    this.free([...this.#buffers]);
  }
}
