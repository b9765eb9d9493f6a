/**
 * A replay some of whose columns are mirrored on a device, so that batches of them need not be sent there.
 *
 * @module
 */

import { checkNumber, show } from "../base/checks.ts";
import { bytesText, showAs } from "../base/inspect.ts";
import { checkOptions } from "../base/option_names.ts";
import { dispose } from "../base/platform.ts";
import type { ReplayCore } from "../replay/core.ts";
import type { Drawer } from "../replay/draw/drawer.ts";
import { type ExperienceReplay, insideOf } from "../replay/experience_replay.ts";
import type { Selector } from "../replay/register/selector.ts";
import { coreOf } from "../replay/replay_view.ts";
import type { Batch } from "../schema/batch.ts";
import type { NamedColumn } from "../schema/columns.ts";
import type { AnySchema, Schema } from "../schema/schema.ts";
import { Allocator } from "./_allocator.ts";
import { Mirror, type Piece } from "./_mirror.ts";
import { OwnedDeviceBatch } from "./_owned_batch.ts";
import { makeReady, Plan } from "./_plan.ts";
import type { Device, DeviceBuffer } from "./device.ts";
import type { DeviceBatch } from "./device_batch.ts";

const GET = "getBatch()";

/** After so many batches, the next one waits until the device has made those before them. So it has at most twice as many to make. */
const MARK_EVERY = 8;

/** How many plans are kept: one for each pick view and size. */
const PLANS_MAX = 32;

/** After so many pieces more than all rows are, a draw uploads what others write without a pause. */
const ROUNDS_MORE = 16;

/** The columns that a device may have: `state` with all its leaves, `action`, `reward`, and `extras.` with a name. {@linkcode OnDeviceOptions} has them. */
export type DeviceColumn<S extends Schema = AnySchema> =
  | "state"
  | "action"
  | "reward"
  | `extras.${keyof Batch<S>["extras"] & string}`;

/** The options of {@linkcode onDevice}. */
export interface OnDeviceOptions<Names extends string = string> {
  /** The columns that are mirrored. Take the large ones: an address takes 4 bytes, so a column of a few numbers gains nothing. */
  readonly columns: readonly Names[];
  /**
   * Whether the program keeps its rows in memory, too; true by default. With `false`, they leave memory once they are on the disk and on the device. This needs a
   * durable replay that was opened with `resident`, and all columns of more than 128 bytes a record on the device, but those of `every()`. Who reads rows without the device reads them
   * from the disk. After `close`, `resident` is the limit again.
   */
  readonly hostCopy?: boolean;
}

/** The options of `getBatch` of what {@linkcode onDevice} makes. */
export interface DeviceBatchOptions {
  /** The exponent of importance weights, as `getBatch` of a replay takes it. 1 by default. */
  readonly beta?: number;
}

/**
 * A replay whose chosen columns are on a device. {@linkcode onDevice} makes it.
 */
export interface DeviceReplay<
  S extends Schema = AnySchema,
  Names extends string = string,
  B extends DeviceBuffer = DeviceBuffer,
> extends Disposable {
  /** The names of the columns. */
  readonly columns: readonly Names[];
  /** The option `hostCopy`. */
  readonly hostCopy: boolean;
  /** The bytes on the device: rows, and batches that were not handed back or are kept for later ones. `memoryBytes` of the replay has them, too. */
  readonly deviceBytes: number;
  /** How many bytes were uploaded until now: new rows, and for each batch the addresses of its rows. */
  readonly uploadedBytes: number;
  /**
   * Draws a batch. The selector picks what `getBatch` of the replay would pick. What was recorded since the last batch is uploaded before, and then 4 bytes for
   * each row or frame that the batch shows, or 28 where pictures are cropped; 4 more where the column is compressed. The device gathers the rows and transforms
   * them.
   *
   * It resolves once the commands are with the device, which runs them in order: your own commands that follow see the batch. Calls draw in their order.
   *
   * @throws {TypeError} For an unknown option or one of the wrong kind, or a selector that looks at the columns of candidates.
   * @throws {RangeError} For a number out of its range.
   * @throws {ReplayError} `device` if the device was lost: the replay goes on without it. `limit` if an array is larger than the device takes. `memory` if memory
   * runs out. `empty`, `foreign-selector`, `rate-limiter` and others as `getBatch` of a replay.
   */
  getBatch<P extends Schema>(
    size: number,
    selector: Selector<P>,
    options?: DeviceBatchOptions,
  ): Promise<DeviceBatch<P, Names, B>>;
  /** Frees all buffers, those of batches that were not handed back, too. The replay goes on. A second call does nothing. */
  close(): void;
  /** The same as {@linkcode DeviceReplay.close}. */
  [Symbol.dispose](): void;
}

/** Forgets the buffers of batches that nothing refers to any more. */
const forgotten = new FinalizationRegistry<() => void>((forget) => forget());

/** The object behind a {@linkcode DeviceReplay}. */
class OwnedDeviceReplay<B extends DeviceBuffer> implements DeviceReplay<AnySchema, string, B> {
  /** You see it under this name. */
  static readonly name = "DeviceReplay";
  readonly columns: readonly string[];
  readonly hostCopy: boolean;
  readonly #core: ReplayCore;
  readonly #plain: Drawer;
  readonly #drawer: Drawer;
  readonly #allocator: Allocator<B>;
  readonly #mirror: Mirror<B>;
  readonly #plans = new Map<string, Plan<B>>();
  /** Shaders that were made ready, by their code, which is the same for all sizes of batches. */
  readonly #pipelines = new Map<string, ReturnType<Device["createComputePipeline"]>>();
  readonly #uncount: () => void;
  #drawnCount = 0;
  /** Done when the device has made the batches before a multiple of `MARK_EVERY`. */
  #mark: Promise<unknown> = Promise.resolve();
  #uploadedBytes = 0;
  #isClosed = false;
  /** Done when the draw before is. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(
    core: ReplayCore,
    drawer: Drawer,
    device: Device<B>,
    names: readonly string[],
    columns: ReadonlyMap<number, NamedColumn>,
    hostCopy: boolean,
  ) {
    this.hostCopy = hostCopy;
    this.columns = Object.freeze([...names]);
    this.#core = core;
    this.#plain = drawer;
    this.#drawer = drawer.withAddresses(new Set(columns.keys()));
    this.#allocator = new Allocator(device);
    this.#mirror = core.together(
      "onDevice()",
      () => new Mirror(core, this.#allocator, columns, hostCopy),
    );
    const host = core.countBuffers(() => {
      const plans = [...this.#plans.values()];
      return this.#mirror.hostBytes + plans.reduce((sum, { hostBytes }) => sum + hostBytes, 0);
    });
    const onDevice = core.countDevice(() => this.deviceBytes);
    this.#uncount = () => {
      this.#drawer.uncount();
      host();
      onDevice();
    };
  }

  get deviceBytes(): number {
    return this.#allocator.bytes;
  }

  get uploadedBytes(): number {
    return this.#uploadedBytes + this.#mirror.uploadedBytes;
  }

  // The interface says what batches are.
  async getBatch(
    size: number,
    selector: Selector,
    options?: DeviceBatchOptions,
    // deno-lint-ignore no-explicit-any
  ): Promise<any> {
    if (options !== undefined) checkOptions(GET, options, ["beta"]);
    const { beta = 1 } = options ?? {};
    checkNumber(`${GET}: beta`, beta, 0, 2 ** 53);
    const drawn = this.#before.then(() => this.#draw(size, selector, beta));
    // Not the batch: what forgets its buffers holds on to this object, so it would never be forgotten.
    this.#before = drawn.then(() => {}, () => {});
    return await drawn;
  }

  /** Throws where nothing can be drawn any more. */
  #check(): void {
    this.#allocator.check(GET);
    this.#core.checkUsable(GET);
  }

  async #draw(size: number, selector: Selector, beta: number): Promise<OwnedDeviceBatch> {
    this.#check();
    const plan = await this.#plan(size, selector);
    if (++this.#drawnCount % MARK_EVERY === 0) {
      await this.#mark;
      this.#mark = this.#allocator.idle();
    }
    for (let round = 0;; round++) {
      const buffers = await plan.prepare(GET);
      try {
        this.#check();
        const isUrgent = round > this.#mirror.pieceCount + ROUNDS_MORE;
        const piece = this.#core.together(GET, () => {
          const last = this.#catchUp(isUrgent);
          if (last !== undefined) return last;
          return this.#fill(plan, buffers, size, selector, beta);
        });
        if (piece instanceof OwnedDeviceBatch) return piece;
        await this.#mirror.take(GET, piece);
        if (piece.isMore) await this.#allocator.idle();
        plan.give(buffers);
      } catch (error) {
        plan.give(buffers);
        throw error;
      }
    }
  }

  /** Uploads a piece of the new rows, which most often is all of them. Returns one that has to wait. The caller holds the replay. */
  #catchUp(isUrgent: boolean): Piece | undefined {
    while (true) {
      const piece = this.#mirror.read(GET);
      if (!this.#mirror.hasRoom() || (piece.isMore && !isUrgent)) return piece;
      this.#mirror.upload(piece);
      if (!piece.isMore) return undefined;
    }
  }

  /** Draws into these arrays. The device has all rows, and the caller holds the replay. */
  #fill(
    plan: Plan<B>,
    buffers: B[],
    size: number,
    selector: Selector,
    beta: number,
  ): OwnedDeviceBatch {
    const batch = this.#drawer.getBatch(size, selector, { beta });
    plan.fill(GET, buffers, batch.bytes);
    this.#uploadedBytes += plan.hostBytes;
    const token = {};
    let isHeld = true;
    const made = new OwnedDeviceBatch(
      this.#allocator as Allocator<DeviceBuffer>,
      plan as Plan<DeviceBuffer>,
      buffers,
      batch,
      () => {
        if (!isHeld) return;
        isHeld = false;
        forgotten.unregister(token);
        plan.give(buffers);
        batch[Symbol.dispose]();
      },
    );
    // Someone may have its buffers still, so they are not freed.
    forgotten.register(made, () => this.#allocator.forget(buffers), token);
    return made;
  }

  /** How batches of this size of the selector's view are made. */
  async #plan(size: number, selector: Selector): Promise<Plan<B>> {
    const core = this.#core;
    const [plain, layout] = core.together(GET, () => {
      // After a snapshot was loaded, the kernel has no mirror until it is asked for one.
      this.#mirror.begin();
      return [this.#plain.layoutOf(selector, size), this.#drawer.layoutOf(selector, size)];
    });
    const key = `${selector.view} ${size}`;
    const there = this.#plans.get(key);
    if (there !== undefined) return there;
    const made = await makeReady(
      this.#allocator,
      () =>
        new Plan(core, this.#allocator, this.#mirror, selector.view, { layout, plain }, (code) => {
          const there = this.#pipelines.get(code);
          if (there !== undefined) return there;
          const { device } = this.#allocator;
          const module = device.createShaderModule({ code, label: "replay" });
          const compute = { module };
          const pipeline = device.createComputePipeline({ layout: "auto", compute } as never);
          this.#pipelines.set(code, pipeline);
          return pipeline;
        }),
    ).catch((error: unknown) => {
      // Some of them were refused.
      this.#pipelines.clear();
      throw error;
    });
    if (this.#plans.size >= PLANS_MAX) {
      for (const plan of this.#plans.values()) plan.retire();
      this.#plans.clear();
    }
    this.#plans.set(key, made);
    return made;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const plan of this.#plans.values()) plan.retire();
    this.#plans.clear();
    this.#mirror.end();
    this.#allocator.close();
    this.#uncount();
  }

  [dispose](): void {
    this.close();
  }
}

showAs(
  OwnedDeviceReplay,
  ({ columns, deviceBytes, hostCopy }) =>
    `DeviceReplay of ${columns.join(", ")}, ${bytesText(deviceBytes)} on the device${
      hostCopy ? "" : ", without a host copy"
    }`,
);

/** The columns of these names, by their numbers. */
function columnsNamed(
  { config }: ReplayCore,
  names: readonly unknown[],
): ReadonlyMap<number, NamedColumn> {
  const { columns, leaves } = config;
  const known = ["state", ...columns.slice(leaves.length).map(({ name }) => name)];
  const chosen = new Map<number, NamedColumn>();
  for (const name of names) {
    if (typeof name !== "string" || !known.includes(name)) {
      throw new TypeError(
        `onDevice(): columns has ${show(name)}, which is no column; there are ${known.join(", ")}`,
      );
    }
    for (const [k, column] of columns.entries()) {
      if (name === "state" ? k < leaves.length : column.name === name) chosen.set(k, column);
    }
  }
  for (const { name, column } of chosen.values()) {
    if (column.every === 1) continue;
    throw new TypeError(
      `onDevice(): ${name} is kept by one record in ${column.every}, so it stays in memory; only columns of all records can be on a device`,
    );
  }
  return chosen;
}

/**
 * Mirrors columns of a replay on a WebGPU device, in Deno, in a browser, or in Node with a package for WebGPU. From then on, `getBatch` of the result gives their
 * parts of a batch as buffers of the device. Rows go up once, when they are new. A batch needs only the addresses of its rows, which are 4 bytes for each.
 *
 * The replay stays what it is: you record into it, and you may still draw from it without the device. The picks are the same with the same seeds.
 *
 * A device has what you asked for, and by default buffers of up to 256 MiB, of which a shader reaches 128 MiB at a time. Larger columns are in several buffers.
 * Larger batches need a device that you asked for more. No buffer is larger than 2 GiB.
 *
 * @throws {TypeError} For an unknown option or column, no device, or a column that only some records keep. With `hostCopy: false`, if the replay was opened without
 * `resident`, or a column of more than 128 bytes a record is missing.
 * @throws {ReplayError} `limit` if the replay is on a device already, or a block of its rows is too large for the device's buffers. `file` with `hostCopy: false` if
 * the replay is in memory only. `disposed` or `busy`.
 * @example
 * ```ts
 * import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
 * import { toFloat32 } from "@exrp/replay/transforms";
 * import { onDevice } from "@exrp/replay/gpu";
 *
 * using replay = await ExperienceReplay.create({
 *   capacity: 1000,
 *   state: uint8(2, 2),
 *   pick: { transform: { state: [toFloat32({ scale: 1 / 255 })] } },
 * });
 * const selector = replay.newPickSelector(uniform());
 * replay.record(replay.newEpisode(), [0, 51, 102, 255], 0, 1, { finalState: [255, 0, 0, 0] });
 *
 * const adapter = await navigator.gpu?.requestAdapter(); // none without a driver
 * if (adapter) {
 *   using gpu = onDevice(replay, await adapter.requestDevice(), { columns: ["state"] });
 *   using batch = await gpu.getBatch(1, selector, { beta: 0.4 });
 *   const { buffer, shape } = batch.state; // a GPUBuffer, for your own shaders
 *   console.log(shape, buffer.size); // [1, 1, 2, 2] 16
 *   console.log([...batch.reward]); // [1]: not on the device
 *   const state = await batch.state.read();
 *   console.log(Math.round(Number(state[1]) * 10)); // 2
 * }
 * ```
 */
export function onDevice<S extends Schema, D extends Device, const Names extends DeviceColumn<S>>(
  replay: ExperienceReplay<S>,
  device: D,
  options: OnDeviceOptions<Names>,
): DeviceReplay<S, Names, ReturnType<D["createBuffer"]>> {
  const core = coreOf("onDevice()", replay);
  core.checkUsable("onDevice()");
  checkOptions("onDevice()", options, ["columns", "hostCopy"]);
  if (typeof device?.createBuffer !== "function") {
    throw new TypeError(
      `onDevice() takes a GPUDevice, got ${
        show(device)
      }; navigator.gpu.requestAdapter() gives null where there is no driver for one`,
    );
  }
  const names: unknown = options.columns;
  if (!Array.isArray(names) || names.length === 0) {
    throw new TypeError(
      `onDevice(): columns must be a list of names, such as ["state"], got ${show(names)}`,
    );
  }
  const hostCopy: unknown = options.hostCopy === undefined ? true : options.hostCopy;
  if (typeof hostCopy !== "boolean") {
    throw new TypeError(`onDevice(): hostCopy must be true or false, got ${show(hostCopy)}`);
  }
  const chosen = columnsNamed(core, names);
  const { drawer } = insideOf(replay as unknown as ExperienceReplay);
  const made = new OwnedDeviceReplay(core, drawer, device, options.columns, chosen, hostCopy);
  return made as unknown as DeviceReplay<S, Names, ReturnType<D["createBuffer"]>>;
}
