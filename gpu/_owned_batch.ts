/**
 * The object behind a {@linkcode DeviceBatch}: its arrays, and where they go back to.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { showAs } from "../base/inspect.ts";
import { dispose } from "../base/platform.ts";
import type { OwnedBatch } from "../replay/draw/owned_batch.ts";
import type { BatchPart } from "../replay/draw/batch_layout.ts";
import { type AnyColumnArray, type DType, viewOf } from "../schema/columns.ts";
import { arrange } from "../schema/state.ts";
import type { Allocator } from "./_allocator.ts";
import type { Plan } from "./_plan.ts";
import { type DeviceBuffer, MAP_READ, USAGE } from "./device.ts";
import type { DeviceArray, DeviceBatch } from "./device_batch.ts";

/** The object behind a {@linkcode DeviceArray}. */
class OwnedArray<B extends DeviceBuffer> implements DeviceArray<B> {
  /** You see it under this name. */
  static readonly name = "DeviceArray";
  readonly buffer: B;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly byteLength: number;
  readonly #count: number;
  readonly #allocator: Allocator<B>;

  constructor(allocator: Allocator<B>, buffer: B, part: BatchPart, byteLength: number) {
    this.buffer = buffer;
    this.dtype = part.dtype;
    this.shape = part.shape;
    this.byteLength = byteLength;
    this.#count = part.count;
    this.#allocator = allocator;
    Object.freeze(this);
  }

  async read(): Promise<AnyColumnArray> {
    const allocator = this.#allocator;
    allocator.check("read()");
    const { device } = allocator;
    const { size } = this.buffer;
    const usage = USAGE.mapRead | USAGE.copyTo;
    const [copy] = await allocator.make("read()", [size], usage, "a copy") as [B];
    try {
      const commands = device.createCommandEncoder();
      commands.copyBufferToBuffer(this.buffer as never, 0, copy as never, 0, size);
      device.queue.submit([commands.finish() as never]);
      await copy.mapAsync(MAP_READ);
      const bytes = copy.getMappedRange().slice(0, this.byteLength);
      copy.unmap();
      return viewOf(this.dtype, bytes, 0, this.#count);
    } catch (error) {
      allocator.check("read()");
      throw new ReplayError("device", `read(): the device gives no copy (${reasonOf(error)})`);
    } finally {
      allocator.free([copy]);
    }
  }
}

showAs(
  OwnedArray,
  ({ dtype, shape, byteLength }) =>
    `DeviceArray ${dtype}(${shape.join(", ")}) of ${byteLength} bytes`,
);

/** The parts that are in the memory of the program, as a batch has them. */
const HOST_PARTS = [
  ...["size", "length", "seqLen", "nextSeqLen", "pickEpisode", "pickPosition"],
  ...["probability", "importanceWeight", "discount", "learnMask", "contextMask"],
  ...["terminated", "truncated", "returnToGo"],
] as const;

/** The constructor gives the class these fields. */
export interface OwnedDeviceBatch extends DeviceBatch {}

/** A batch with arrays on a device. */
export class OwnedDeviceBatch implements DeviceBatch {
  /** You see it under this name. */
  static readonly name = "DeviceBatch";
  readonly #end: () => void;

  /** The batch that the kernel made, with its arrays on the device in place of addresses. */
  constructor(
    allocator: Allocator<DeviceBuffer>,
    plan: Plan<DeviceBuffer>,
    buffers: readonly DeviceBuffer[],
    batch: OwnedBatch,
    end: () => void,
  ) {
    this.#end = end;
    const arrays = new Map(plan.parts.map(({ addresses, shown, byteLength }, k) => [
      addresses,
      new OwnedArray(allocator, buffers[k] as DeviceBuffer, shown, byteLength),
    ]));
    const own: Record<string, unknown> = this as never;
    const memory = batch.bytes.buffer;
    const of = (part: BatchPart): unknown =>
      arrays.get(part) ?? viewOf(part.dtype, memory, part.offset, part.count);
    const { layout, plain } = plan;
    for (const name of HOST_PARTS) own[name] = batch[name as keyof OwnedBatch];
    own.state = arrange(layout.tree, layout.state.map(of));
    own.nextState = arrange(layout.tree, layout.nextState.map(of));
    own.action = of(layout.parts.action);
    own.reward = of(layout.parts.reward);
    own.extras = Object.freeze(
      Object.fromEntries(layout.extras.map(([name, part]) => [name, of(part)])),
    );
    own.nStep = Object.freeze(layout.nStep.map(({ nextState }, k) =>
      Object.freeze({
        n: batch.nStep[k]?.n,
        reward: batch.nStep[k]?.reward,
        nextState: arrange(layout.tree, nextState.map(of)),
        discount: batch.nStep[k]?.discount,
        shape: plain.nStepShapes[k],
      })
    ));
    own.shape = plain.shape;
    Object.freeze(this);
  }

  /** See {@linkcode DeviceBatch}. */
  [dispose](): void {
    this.#end();
  }
}

showAs(OwnedDeviceBatch, ({ size, length }) => `DeviceBatch ${size}×${length}`);
