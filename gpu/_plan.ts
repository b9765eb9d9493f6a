/**
 * How batches of one size and one pick view are made on a device: the buffers that they need, and what runs to fill them.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import type { ReplayCore } from "../replay/core.ts";
import type { BatchLayout, BatchPart } from "../replay/draw/batch_layout.ts";
import { type NamedColumn, VIEWS } from "../schema/columns.ts";
import { kernelTransforms, shownColumns } from "../schema/pick_transforms.ts";
import type { Allocator } from "./_allocator.ts";
import type { Mirror, MirroredColumn } from "./_mirror.ts";
import { GROUP_SIZE, PARAMETER_COUNT, shaderOf } from "./_shader.ts";
import { unpackShaderOf } from "./_unpack_shader.ts";
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

/** A shader that is ready. */
type Pipeline = { getBindGroupLayout(index: number): unknown };

/** A column on the device, and the shader that gathers it. */
interface Gathered<B> {
  readonly mirrored: MirroredColumn<B>;
  readonly pipeline: Pipeline;
  /** The shader that unpacks its rows before, if they are packed. */
  readonly unpacks: Pipeline | undefined;
  /** Words of an address. */
  readonly addressWords: number;
  /** Bytes of its means and factors; 0 where it is not normalized. */
  readonly scaleBytes: number;
  /** Where they stand in what is uploaded. */
  readonly scalesAt: number;
}

/** A part, and where its addresses stand in what is uploaded, and the places that they lead to. */
interface Filled<B> extends PlannedPart {
  readonly column: Gathered<B>;
  readonly at: number;
  readonly placesAt: number;
  readonly addressCount: number;
}

/** What is bound to a shader. */
interface Bound<B> {
  readonly buffer: B | undefined;
  readonly offset?: number;
  readonly size?: number;
}

/** Slots of no end. */
const ALL_SLOTS = 0xffffffff;

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
  readonly #mirror: Mirror<B>;
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
    make: (code: string) => Pipeline,
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
      const { column } = shown[index] as NamedColumn;
      const transforms = lists[index] ?? [];
      const isUnpacked = mirrored.heap !== undefined;
      const shader = shaderOf({ stored, shown: column, transforms, isUnpacked });
      const { code, normalizes, addressWords } = shader;
      const scaleBytes = normalizes ? 3 * 4 * stored.elementCount : 0;
      const unpacks = isUnpacked
        ? make(unpackShaderOf(stored, mirror.blockLength, addressWords))
        : undefined;
      const scalesAt = place(scaleBytes);
      const pipeline = make(code);
      return [index, { mirrored, pipeline, unpacks, addressWords, scaleBytes, scalesAt }];
    }));
    const isMirrored = (index: number): boolean => byIndex.has(index);
    const shownParts = partsOf(plain, leaves.length, isMirrored);
    this.parts = partsOf(layout, leaves.length, isMirrored).map(([index, addresses], k) => {
      const [, part] = shownParts[k] as [number, BatchPart];
      const at = place(bytesOf(addresses));
      const column = byIndex.get(index) as Gathered<B>;
      const addressCount = bytesOf(addresses) / 4 / column.addressWords;
      const placesAt = column.unpacks === undefined ? 0 : place(4 * addressCount);
      const byteLength = bytesOf(part);
      return { addresses, shown: part, byteLength, column, at, placesAt, addressCount };
    });
    this.#mirror = mirror;
    this.layout = layout;
    this.plain = plain;
    this.#view = view;
    this.#core = core;
    this.#allocator = allocator;
    this.#columns = [...byIndex.values()];
    this.#staged = new Uint8Array(end);
  }

  /** The bytes of its memory outside the device, which are uploaded for a batch. */
  get hostBytes(): number {
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
    const unpacked = this.parts.map(({ column: { unpacks, mirrored }, addressCount }) =>
      unpacks === undefined ? 0 : addressCount * mirrored.rowBytes
    );
    await this.#mirror.makeScratch(operation, Math.max(0, ...unpacked));
    const spare = this.#spare.pop();
    if (spare !== undefined) return spare;
    const sizes = this.parts.map(({ byteLength }) => Math.max(4, Math.ceil(byteLength / 4) * 4));
    const usage = USAGE.storage | USAGE.copyFrom | USAGE.copyTo;
    return await allocator.make(operation, sizes, usage, "a batch");
  }

  /** The parameters of each run of a shader: of each part, one for each buffer of its column. Where rows are unpacked there, one more gathers them. */
  #parameterNumbers(): Uint8Array<ArrayBuffer> {
    const runs = this.parts.flatMap(({ byteLength, addressCount, column }) => {
      const { mirrored: { chunks, chunkUnits, heap }, unpacks } = column;
      const words = Math.ceil(byteLength / 4);
      if (unpacks === undefined) {
        return chunks.map((_, k) => [words, k * chunkUnits, chunkUnits, k === 0 ? 1 : 0, 0]);
      }
      const chunkWords = chunkUnits * (heap?.grainWords ?? 0);
      const unpacking = chunks.map((_, k) => [addressCount, k * chunkWords, chunkWords, 0, 0]);
      return [...unpacking, [words, 0, ALL_SLOTS, 1, 0]];
    });
    const numbers = new Uint32Array(Math.max(1, runs.length) * ALIGNMENT / 4);
    for (const [k, run] of runs.entries()) numbers.set(run, k * ALIGNMENT / 4);
    return new Uint8Array(numbers.buffer);
  }

  /** Fills the arrays of a batch that was just drawn, whose bytes hold addresses. The caller holds the replay. */
  fill(operation: string, buffers: readonly B[], batch: Uint8Array<ArrayBuffer>): void {
    const { device } = this.#allocator;
    const staged = this.#staged;
    for (const { addresses, at, placesAt, addressCount, column } of this.parts) {
      staged.set(batch.subarray(addresses.offset, addresses.offset + bytesOf(addresses)), at);
      if (column.unpacks === undefined) continue;
      const { mirrored, addressWords } = column;
      const words = new Uint32Array(staged.buffer, at, addressCount * addressWords);
      const places = new Uint32Array(staged.buffer, placesAt, addressCount);
      this.#mirror.findPlaces(mirrored, words, addressWords, places);
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
    const buffer = this.#uploaded;
    const dispatch = (pipeline: Pipeline, groups: number, bound: readonly Bound<B>[]): void => {
      const parameters = { buffer: this.#parameters, offset: run++ * ALIGNMENT };
      const first = { ...parameters, size: PARAMETER_COUNT * 4 };
      if (groups > 0) this.#dispatch(pass, pipeline, groups, [first, ...bound]);
    };
    for (const [k, part] of this.parts.entries()) {
      const { addresses, byteLength, addressCount, at, placesAt, column } = part;
      const { pipeline, unpacks, scaleBytes, scalesAt, mirrored: { chunks } } = column;
      const ofPicks = { buffer, offset: at, size: bytesOf(addresses) };
      const scales = scaleBytes === 0 ? [] : [{ buffer, offset: scalesAt, size: scaleBytes }];
      const gather = (rows: B | undefined): void => {
        const groups = Math.ceil(byteLength / 4 / GROUP_SIZE);
        const bound = [ofPicks, { buffer: rows }, { buffer: buffers[k] }, ...scales];
        dispatch(pipeline, groups, bound);
      };
      if (unpacks === undefined) {
        for (const chunk of chunks) gather(chunk);
        continue;
      }
      const { scratch } = this.#mirror;
      const places = { buffer, offset: placesAt, size: 4 * addressCount };
      for (const chunk of chunks) {
        dispatch(unpacks, addressCount, [ofPicks, places, { buffer: chunk }, { buffer: scratch }]);
      }
      gather(scratch);
    }
    pass.end();
    device.queue.submit([commands.finish() as never]);
  }

  #dispatch(
    pass: ReturnType<
      ReturnType<Allocator<B>["device"]["createCommandEncoder"]>["beginComputePass"]
    >,
    pipeline: Pipeline,
    groups: number,
    resources: readonly Bound<B>[],
  ): void {
    const { device } = this.#allocator;
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    const layout = pipeline.getBindGroupLayout(0);
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
