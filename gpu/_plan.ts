/**
 * How batches of one size and one pick view are made on a device: the buffers that they need, and what runs to fill them.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import * as abi from "../ffi/symbols.ts";
import type { ReplayCore } from "../replay/core.ts";
import type { BatchLayout, BatchPart } from "../replay/draw/batch_layout.ts";
import { type NamedColumn, VIEWS } from "../schema/columns.ts";
import { kernelTransforms, shownColumns } from "../schema/pick_transforms.ts";
import type { Allocator } from "./_allocator.ts";
import type { Mirror, MirroredColumn } from "./_mirror.ts";
import { GROUP_SIZE, PARAMETER_COUNT, shaderOf } from "./_shader.ts";
import { type DeviceBuffer, USAGE } from "./device.ts";

/** Offsets of what is bound are multiples of this, on every device. */
const ALIGNMENT = 256;

/** Free sets of buffers that a plan keeps. */
const SPARE_MAX = 4;

/** One array of a batch that is on the device. */
export interface PlannedPart {
  /** Its addresses, in the batch that the kernel makes. */
  readonly addresses: BatchPart;
  /** The array. */
  readonly shown: BatchPart;
  /** Its bytes. */
  readonly byteLength: number;
}

/** A column on the device, and the shader that gathers it. */
interface Gathered<B> {
  readonly mirrored: MirroredColumn<B>;
  readonly pipeline: { getBindGroupLayout(index: number): unknown };
  /** Bytes of its means and factors; 0 where it is not normalized. */
  readonly scaleBytes: number;
  /** Where they stand in what is uploaded. */
  readonly scalesAt: number;
}

/** A part, and where its addresses stand in what is uploaded. */
interface Filled<B> extends PlannedPart {
  readonly column: Gathered<B>;
  readonly at: number;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** The bytes of an array. */
export function bytesOf({ dtype, count }: BatchPart): number {
  return count * VIEWS[dtype].BYTES_PER_ELEMENT;
}

/** The parts of the columns at these indices, each with the column's index. */
function partsOf(
  layout: BatchLayout,
  leafCount: number,
  isMirrored: (index: number) => boolean,
): [index: number, part: BatchPart][] {
  const leaves = (parts: readonly BatchPart[]) =>
    parts.map((part, k): [number, BatchPart] => [k, part]);
  const { action, reward } = layout.parts;
  const others = [action, reward, ...layout.extras.map(([, part]) => part)];
  return [
    ...leaves(layout.state),
    ...leaves(layout.nextState),
    ...others.map((part, k): [number, BatchPart] => [leafCount + k, part]),
    ...layout.nStep.flatMap(({ nextState }) => leaves(nextState)),
  ].filter(([index]) => isMirrored(index));
}

/** How batches of one size and one pick view are made. */
export class Plan<B extends DeviceBuffer> {
  /** What the kernel makes. */
  readonly layout: BatchLayout;
  /** What a batch in the memory of the program would be. */
  readonly plain: BatchLayout;
  /** The arrays on the device. */
  readonly parts: readonly Filled<B>[];
  readonly #view: number;
  readonly #core: ReplayCore;
  readonly #allocator: Allocator<B>;
  readonly #columns: readonly Gathered<B>[];
  /** Addresses, means and factors. */
  readonly #staged: Uint8Array<ArrayBuffer>;
  #uploaded: B | undefined;
  #parameters: B | undefined;
  /** How many buffers the columns had when the parameters were written. */
  #chunkCounts = "";
  readonly #spare: B[][] = [];
  #isRetired = false;

  /** Plans batches of a view, by their layouts with and without addresses. `make` makes a shader ready. */
  constructor(
    core: ReplayCore,
    allocator: Allocator<B>,
    mirror: Mirror<B>,
    view: number,
    layouts: { readonly layout: BatchLayout; readonly plain: BatchLayout },
    make: (code: string) => Gathered<B>["pipeline"],
  ) {
    const { layout, plain } = layouts;
    const { columns, leaves } = core.config;
    const { transform } = layout.policy;
    const shown = shownColumns("transform", columns, transform);
    const lists = kernelTransforms(columns, transform);
    let end = 0;
    const place = (bytes: number): number => {
      const at = end;
      end += aligned(bytes);
      return at;
    };
    const byIndex = new Map(mirror.columns.map((mirrored): [number, Gathered<B>] => {
      const { index, column: stored } = mirrored;
      const { name, column } = shown[index] as NamedColumn;
      const transforms = lists[index] ?? [];
      const isChanged = transforms.some(([kind]) => kind !== abi.EXRP_TRANSFORM_CROP);
      if (stored.dtype === "float64" && isChanged) {
        throw new TypeError(
          `getBatch(): ${name} is float64, which a device can't transform; leave it out of the columns of onDevice(), or out of the transforms`,
        );
      }
      const { code, normalizes } = shaderOf({ stored, shown: column, transforms });
      const scaleBytes = normalizes ? 3 * 4 * stored.elementCount : 0;
      return [index, { mirrored, pipeline: make(code), scaleBytes, scalesAt: place(scaleBytes) }];
    }));
    const isMirrored = (index: number): boolean => byIndex.has(index);
    const shownParts = partsOf(plain, leaves.length, isMirrored);
    this.parts = partsOf(layout, leaves.length, isMirrored).map(([index, addresses], k) => {
      const [, part] = shownParts[k] as [number, BatchPart];
      const at = place(bytesOf(addresses));
      const column = byIndex.get(index) as Gathered<B>;
      return { addresses, shown: part, byteLength: bytesOf(part), column, at };
    });
    this.layout = layout;
    this.plain = plain;
    this.#view = view;
    this.#core = core;
    this.#allocator = allocator;
    this.#columns = [...byIndex.values()];
    this.#staged = new Uint8Array(end);
  }

  /** The bytes of its memory outside the device. */
  get hostBytes(): number {
    return this.#staged.byteLength;
  }

  /** What is uploaded for a batch. */
  get uploadBytes(): number {
    return this.#staged.byteLength;
  }

  /** Takes the memory that the next batch needs; returns its arrays, in the order of the parts. */
  async prepare(operation: string): Promise<B[]> {
    const allocator = this.#allocator;
    if (this.#uploaded === undefined) {
      const usage = USAGE.storage | USAGE.copyTo;
      const size = Math.max(ALIGNMENT, lengthOf(this.#staged));
      [this.#uploaded] = await allocator.make(operation, [size], usage, "addresses");
    }
    const counts = String(this.#columns.map(({ mirrored }) => mirrored.chunks.length));
    if (counts !== this.#chunkCounts) {
      const numbers = this.#parameterNumbers();
      const usage = USAGE.uniform | USAGE.copyTo;
      const [made] = await allocator.make(operation, [numbers.byteLength], usage, "parameters");
      if (this.#parameters !== undefined) allocator.free([this.#parameters]);
      this.#parameters = made;
      allocator.check(operation); // it may have been closed meanwhile
      allocator.device.queue.writeBuffer(made as never, 0, numbers);
      this.#chunkCounts = counts;
    }
    const spare = this.#spare.pop();
    if (spare !== undefined) return spare;
    const sizes = this.parts.map(({ byteLength }) => Math.max(4, Math.ceil(byteLength / 4) * 4));
    const usage = USAGE.storage | USAGE.copyFrom | USAGE.copyTo;
    return await allocator.make(operation, sizes, usage, "a batch");
  }

  /** The parameters of each run of a shader: of each part, one for each buffer of its column. */
  #parameterNumbers(): Uint8Array<ArrayBuffer> {
    const runs = this.parts.flatMap(({ byteLength, column: { mirrored } }) =>
      mirrored.chunks.map((_, k) => [
        Math.ceil(byteLength / 4),
        k * mirrored.chunkSlots,
        mirrored.chunkSlots,
        k === 0 ? 1 : 0,
        0,
      ])
    );
    const numbers = new Uint32Array(Math.max(1, runs.length) * ALIGNMENT / 4);
    for (const [k, run] of runs.entries()) numbers.set(run, k * ALIGNMENT / 4);
    return new Uint8Array(numbers.buffer);
  }

  /** Fills the arrays of a batch that was just drawn, whose bytes hold addresses. The caller holds the replay. */
  fill(operation: string, buffers: readonly B[], batch: Uint8Array<ArrayBuffer>): void {
    const { device } = this.#allocator;
    const staged = this.#staged;
    for (const { addresses, at } of this.parts) {
      staged.set(batch.subarray(addresses.offset, addresses.offset + bytesOf(addresses)), at);
    }
    for (const { mirrored: { index }, scaleBytes, scalesAt } of this.#columns) {
      if (scaleBytes === 0) continue;
      const { id, kernel: { symbols } } = this.#core;
      const scales = new Float32Array(scaleBytes / 4);
      const count = lengthOf(scales);
      this.#core.check(
        operation,
        symbols.exrp_mirror_scales(id, this.#view, index, scales, count),
      );
      staged.set(new Uint8Array(scales.buffer), scalesAt);
    }
    device.queue.writeBuffer(this.#uploaded as never, 0, staged);
    const commands = device.createCommandEncoder();
    const pass = commands.beginComputePass();
    let run = 0;
    for (const [k, part] of this.parts.entries()) {
      for (const chunk of part.column.mirrored.chunks) {
        if (part.byteLength > 0) this.#dispatch(pass, part, run, chunk, buffers[k] as B);
        run++;
      }
    }
    pass.end();
    device.queue.submit([commands.finish() as never]);
  }

  #dispatch(
    pass: ReturnType<
      ReturnType<Allocator<B>["device"]["createCommandEncoder"]>["beginComputePass"]
    >,
    { addresses, byteLength, at, column: { pipeline, scaleBytes, scalesAt } }: Filled<B>,
    run: number,
    chunk: B,
    result: B,
  ): void {
    const { device } = this.#allocator;
    const uploaded = this.#uploaded;
    const resources = [
      { buffer: this.#parameters, offset: run * ALIGNMENT, size: PARAMETER_COUNT * 4 },
      { buffer: uploaded, offset: at, size: bytesOf(addresses) },
      { buffer: chunk },
      { buffer: result },
      ...(scaleBytes === 0 ? [] : [{ buffer: uploaded, offset: scalesAt, size: scaleBytes }]),
    ];
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const layout = pipeline.getBindGroupLayout(0);
    const groups = Math.ceil(byteLength / 4 / GROUP_SIZE);
    const x = Math.min(groups, device.limits.maxComputeWorkgroupsPerDimension);
    pass.setPipeline(pipeline as never);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries } as never) as never);
    pass.dispatchWorkgroups(x, Math.ceil(groups / x));
  }

  /** Takes back the arrays of a batch, for a later one. */
  give(buffers: B[]): void {
    if (this.#isRetired || this.#spare.length >= SPARE_MAX) this.#allocator.free(buffers);
    else this.#spare.push(buffers);
  }

  /** Frees what is for later batches. */
  retire(): void {
    this.#isRetired = true;
    const own = [this.#uploaded, this.#parameters].filter((buffer) => buffer !== undefined);
    for (const set of [own, ...this.#spare.splice(0)]) this.#allocator.free(set);
  }
}

/** Makes a shader ready. */
export async function makeReady<B extends DeviceBuffer, T>(
  { device }: Allocator<B>,
  make: () => T,
): Promise<T> {
  device.pushErrorScope("validation");
  let error: { readonly message: string } | null | undefined;
  let made: T;
  try {
    made = make();
  } finally {
    error = await device.popErrorScope();
  }
  if (!error) return made;
  throw new ReplayError("device", `getBatch(): the device refuses a shader: ${error.message}`);
}
