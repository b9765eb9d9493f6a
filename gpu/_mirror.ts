/**
 * The rows of some columns on a device: those of each column in buffers, a row at the number of its slot. Of a compressed column, the buffers have blocks where there
 * is room for them, packed ones and those that get records.
 *
 * The buffers grow with what they hold. The last of them doubles up to 16 MiB, and then gets as much more at a time, until it is as large as the device lets a shader
 * reach. Then the next one begins.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { bytesText } from "../base/inspect.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import * as abi from "../ffi/symbols.ts";
import type { ReplayCore } from "../replay/core.ts";
import type { Column, NamedColumn } from "../schema/columns.ts";
import type { Allocator } from "./_allocator.ts";
import { BlockHeap, NO_PLACE } from "./_block_heap.ts";
import { type DeviceBuffer, USAGE } from "./device.ts";
import { strideOf } from "./_shader.ts";

/** Rows are read and uploaded in pieces of about so many bytes. */
const PIECE_BYTES = 4 * 2 ** 20;

/** Runs of rows in a piece. Each is one upload a column. */
const PIECE_RUNS = 4096;

/** Slots of the smallest buffer. */
const SLOTS_MIN = 1024;

/** Bytes of the smallest buffer of a compressed column. */
const HEAP_BYTES_MIN = 64 * 2 ** 10;

/** Up to so many bytes, the last buffer of a column doubles. */
const STEP_BYTES = 16 * 2 ** 20;

/** What stands before the rows of a block that are as they are. */
const PLAIN_HEAD = new Uint8Array(4);

/** The rows of one column. */
export interface MirroredColumn<B> {
  /** The column's number in the replay. */
  readonly index: number;
  /** The column. */
  readonly column: Column;
  /** Bytes of a row as it is. */
  readonly rowBytes: number;
  /** Bytes of what is counted in the buffers: of a row, or of a grain of a heap. */
  readonly unitBytes: number;
  /** Units of each buffer but the last. */
  readonly chunkUnits: number;
  /** Units of the smallest buffer. */
  readonly leastUnits: number;
  /** Where blocks stand, if they come packed. */
  readonly heap: BlockHeap | undefined;
  /** The buffers. */
  readonly chunks: B[];
}

/** The mirror of a column without rows. */
function newColumn<B>(
  index: number,
  { name, column }: NamedColumn,
  blockLength: number,
  comesPacked: boolean,
  most: number,
): MirroredColumn<B> {
  const rowBytes = 4 * strideOf(column);
  const blockBytes = comesPacked ? blockBytesMax(blockLength, rowBytes) : blockLength * rowBytes;
  const heap = comesPacked ? new BlockHeap(blockBytes / 4, most / 4) : undefined;
  const unitBytes = heap === undefined ? rowBytes : 4 * heap.grainWords;
  const chunkUnits = heap?.chunkGrains ?? 2 ** Math.floor(Math.log2(most / rowBytes));
  if (chunkUnits * unitBytes < blockBytes) {
    throw new ReplayError(
      "limit",
      `onDevice(): ${blockLength} rows of ${name}, a block, take ${
        bytesText(blockBytes)
      }, and the device takes buffers of ${bytesText(most)}`,
    );
  }
  const least = heap === undefined ? SLOTS_MIN : Math.ceil(HEAP_BYTES_MIN / unitBytes);
  const leastUnits = Math.min(least, chunkUnits);
  return { index, column, rowBytes, unitBytes, chunkUnits, leastUnits, heap, chunks: [] };
}

/** What a block takes at most: its rows packed with a key, and 8 bytes for each, or as they are. */
function blockBytesMax(blockLength: number, rowBytes: number): number {
  return (blockLength + 1) * (rowBytes + 8);
}

/** So many units for those that are needed: a power of two up to a step, and then steps. */
function unitsFor(units: number, step: number): number {
  return units > step
    ? Math.ceil(units / Math.max(1, step)) * Math.max(1, step)
    : Math.min(step, 2 ** Math.ceil(Math.log2(units)));
}

/** How many units the buffers of a column have. */
function unitsOf({ chunks, chunkUnits, unitBytes }: MirroredColumn<DeviceBuffer>): number {
  const last = chunks.at(-1);
  if (last === undefined) return 0;
  return (chunks.length - 1) * chunkUnits + Math.floor(last.size / unitBytes);
}

/** What was read of the replay and is to be uploaded. */
export interface Piece {
  /** How many runs of rows. */
  readonly runCount: number;
  /** Whether there are more that the device lacks. */
  readonly isMore: boolean;
}

/** Rows of a column in a piece, or a block that has gone, which has no slots. */
interface Run<B> {
  readonly column: MirroredColumn<B>;
  readonly slot: number;
  readonly slots: number;
  /** Where its bytes begin. */
  readonly byte: number;
  /** How many there are, if they are packed; else 0. */
  readonly packed: number;
}

/** The mirror of some columns of a replay. */
export class Mirror<B extends DeviceBuffer> {
  readonly columns: readonly MirroredColumn<B>[];
  /** Slots of a block. */
  readonly blockLength: number;
  readonly #byIndex: ReadonlyMap<number, MirroredColumn<B>>;
  readonly #allocator: Allocator<B>;
  readonly #core: ReplayCore;
  readonly #indices: Uint32Array<ArrayBuffer>;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #runs = new Uint32Array(PIECE_RUNS * abi.EXRP_MIRROR_RUN_COUNT);
  /** Whether each column comes packed. */
  readonly #packed: Uint32Array<ArrayBuffer>;
  readonly #hostCopy: boolean;
  /** Places of blocks whose rows are as they are, since the piece was read. */
  #plainPlaces: [column: MirroredColumn<B>, word: number][] = [];
  /** Rows of the batch that is made. */
  #scratch: B | undefined;
  #slotCount = 0;
  #uploadedBytes = 0;
  /** The replay's number in the kernel for which the kernel keeps a mirror; another one after a snapshot was loaded. */
  #id: number | undefined;

  /**
   * Begins the mirror of these columns, which has no row yet. Without `hostCopy`, rows leave memory once they are here and on the disk.
   *
   * @throws {ReplayError} `limit` if another mirror of the replay is there, or a block of rows is too large for the device. Without `hostCopy`, `file` if the
   * replay is in memory only.
   * @throws {TypeError} Without `hostCopy`, if no row of the replay can leave memory, or rows of another column would.
   */
  constructor(
    core: ReplayCore,
    allocator: Allocator<B>,
    columns: ReadonlyMap<number, NamedColumn>,
    hostCopy: boolean,
  ) {
    this.#core = core;
    this.#hostCopy = hostCopy;
    this.#allocator = allocator;
    const most = allocator.bufferBytesMax;
    this.blockLength = core.info("onDevice()")[abi.EXRP_INFO_BLOCK_LENGTH] ?? 0;
    const sorted = [...columns].sort(([a], [b]) => a - b);
    this.#indices = Uint32Array.from(sorted, ([index]) => index);
    this.#packed = new Uint32Array(sorted.length);
    this.#beginInKernel();
    try {
      this.columns = sorted.map(([index, column], k) =>
        newColumn(index, column, this.blockLength, this.#packed[k] === 1, most)
      );
    } catch (error) {
      this.end();
      throw error;
    }
    this.#byIndex = new Map(this.columns.map((column) => [column.index, column]));
    const blockBytes = this.columns.reduce(
      (sum, { rowBytes }) => sum + blockBytesMax(this.blockLength, rowBytes),
      0,
    );
    this.#bytes = new Uint8Array(Math.max(PIECE_BYTES, blockBytes));
  }

  /** Tells the kernel that there is a mirror. A snapshot that was loaded is another replay of the kernel, which has to be told again. The caller holds it. */
  begin(): void {
    if (this.#core.id === this.#id) return;
    this.#beginInKernel();
    for (const { heap } of this.columns) heap?.clear();
    this.#plainPlaces = [];
  }

  #beginInKernel(): void {
    const core = this.#core;
    const status = core.kernel.symbols.exrp_mirror_begin(
      core.id,
      this.#indices,
      lengthOf(this.#indices),
      this.#packed,
      this.#hostCopy ? 1 : 0,
    );
    if (status === abi.EXRP_STATUS_LIMIT) {
      throw new ReplayError(
        "limit",
        "onDevice(): the replay is on a device already; close that one first",
      );
    }
    if (status === abi.EXRP_STATUS_ARGUMENT && !this.#hostCopy) throw this.#needsHostCopy();
    core.check("onDevice()", status);
    this.#id = core.id;
  }

  /** Why rows can't leave memory: what the kernel has just refused. */
  #needsHostCopy(): Error {
    const { config, kernel: { symbols } } = this.#core;
    const detail = new Float64Array(4);
    symbols.exrp_error_detail(detail, lengthOf(detail));
    const [, index = -1] = detail;
    if (index >= 0) {
      const name = index < config.leaves.length ? "state" : config.columns[index]?.name;
      return new TypeError(
        `onDevice(): with hostCopy: false, all columns of more than 128 bytes leave memory, but those made by every(), and columns lacks ${name}: each batch would read it from the disk; add it`,
      );
    }
    if (this.#core.durableInfo("onDevice()")[abi.EXRP_DURABLE_INFO_OPEN] === 1) {
      return new TypeError(
        "onDevice(): hostCopy: false lets rows leave memory, and this replay was opened without the option resident; give ExperienceReplay.open() one, which is the limit while no device has the rows",
      );
    }
    return new ReplayError(
      "file",
      "onDevice(): hostCopy: false lets rows leave memory, and this replay is in memory only: with the device, they would be lost; make it by ExperienceReplay.open(directory, { resident, … })",
    );
  }

  /** The bytes of its memory outside the device. */
  get hostBytes(): number {
    const heaps = this.columns.reduce((sum, { heap }) => sum + (heap?.bytes ?? 0), 0);
    return this.#bytes.byteLength + this.#runs.byteLength + heaps;
  }

  /** How many bytes of rows were uploaded. */
  get uploadedBytes(): number {
    return this.#uploadedBytes;
  }

  /** How many pieces all rows are, at most. */
  get pieceCount(): number {
    const bytes = this.columns.reduce((sum, { rowBytes }) => sum + rowBytes, 0) * this.#slotCount;
    return Math.ceil(bytes / PIECE_BYTES);
  }

  /** Reads a piece of what the device lacks. {@linkcode upload} or {@linkcode take} has to follow before the next one is read. The caller holds the replay. */
  read(operation: string): Piece {
    const core = this.#core;
    this.begin();
    const info = new Uint32Array(abi.EXRP_MIRROR_COUNT);
    const status = core.kernel.symbols.exrp_mirror_read(
      core.id,
      this.#bytes,
      lengthOf(this.#bytes),
      this.#runs,
      PIECE_RUNS,
      info,
    );
    core.check(operation, status);
    const runCount = info[abi.EXRP_MIRROR_RUNS] ?? 0;
    this.#slotCount = info[abi.EXRP_MIRROR_SLOTS] ?? 0;
    for (let k = 0; k < runCount; k++) this.#placeRun(this.#run(k));
    return { runCount, isMore: info[abi.EXRP_MIRROR_MORE] === 1 };
  }

  /** A run of the piece that was read last. */
  #run(k: number): Run<B> {
    const at = k * abi.EXRP_MIRROR_RUN_COUNT;
    const number = (index: number): number => this.#runs[at + index] ?? 0;
    return {
      column: this.#byIndex.get(number(abi.EXRP_MIRROR_RUN_COLUMN)) as MirroredColumn<B>,
      slot: number(abi.EXRP_MIRROR_RUN_SLOT),
      slots: number(abi.EXRP_MIRROR_RUN_SLOTS),
      byte: number(abi.EXRP_MIRROR_RUN_BYTE),
      packed: number(abi.EXRP_MIRROR_RUN_PACKED),
    };
  }

  /** Finds a place for the block of a run. */
  #placeRun({ column, slot, slots, packed }: Run<B>): void {
    const { heap, rowBytes } = column;
    if (heap === undefined) return;
    const block = Math.floor(slot / this.blockLength);
    if (slots === 0) heap.free(block);
    else if (packed > 0) heap.take(block, packed / 4, false);
    else if (!heap.isPlain(block)) {
      const word = heap.take(block, 1 + this.blockLength * rowBytes / 4, true);
      this.#plainPlaces.push([column, word]);
    }
  }

  /** Units that a column needs. */
  #unitsNeeded({ heap }: MirroredColumn<B>): number {
    return heap === undefined ? this.#slotCount : heap.end;
  }

  /** Whether the buffers have room for the piece that was read last. */
  hasRoom(): boolean {
    return this.columns.every((column) => this.#unitsNeeded(column) <= unitsOf(column));
  }

  /** Makes room for the piece that was read last, and uploads it. */
  async take(operation: string, piece: Piece): Promise<void> {
    try {
      for (const column of this.columns) {
        if (this.#unitsNeeded(column) <= unitsOf(column)) continue;
        await this.#growColumn(operation, column, this.#unitsNeeded(column));
      }
      this.#allocator.check(operation);
    } catch (error) {
      // The kernel takes the rows of the piece for uploaded. So all of them go up again, if there is a next time.
      this.end();
      throw error;
    }
    this.upload(piece);
  }

  async #growColumn(
    operation: string,
    { unitBytes, chunkUnits, leastUnits, heap, chunks }: MirroredColumn<B>,
    unitCount: number,
  ): Promise<void> {
    const { device } = this.#allocator;
    if (heap !== undefined && unitCount * heap.grainWords > NO_PLACE) {
      throw new ReplayError(
        "limit",
        `${operation}: a compressed column takes at most 16 GiB of a device`,
      );
    }
    const count = Math.ceil(unitCount / chunkUnits);
    for (let k = Math.max(0, chunks.length - 1); k < count; k++) {
      const units = Math.min(chunkUnits, unitCount - k * chunkUnits);
      const before = chunks[k];
      const needed = unitsFor(Math.max(units, leastUnits), Math.floor(STEP_BYTES / unitBytes));
      const size = (k < count - 1 ? chunkUnits : Math.min(needed, chunkUnits)) * unitBytes;
      if (before !== undefined && before.size >= size) continue;
      const usage = USAGE.storage | USAGE.copyFrom | USAGE.copyTo;
      const [made] = await this.#allocator.make(operation, [size], usage, "the rows of a column");
      this.#allocator.check(operation); // it may have been closed meanwhile
      if (made === undefined) return;
      if (before !== undefined) {
        const commands = device.createCommandEncoder();
        commands.copyBufferToBuffer(before as never, 0, made as never, 0, before.size);
        device.queue.submit([commands.finish() as never]);
        this.#allocator.free([before]);
      }
      chunks[k] = made;
    }
  }

  /** Uploads the piece that was read last. */
  upload({ runCount }: Piece): void {
    for (const [column, word] of this.#plainPlaces.splice(0)) {
      this.#write(column, 4 * word, PLAIN_HEAD, 0, PLAIN_HEAD.byteLength);
    }
    for (let k = 0; k < runCount; k++) {
      const { column, slot, slots, byte, packed } = this.#run(k);
      if (slots > 0) {
        const size = packed > 0 ? packed : slots * column.rowBytes;
        this.#write(column, this.#byteOf(column, slot, packed > 0), this.#bytes, byte, size);
      }
    }
  }

  /** Where the bytes of a run stand in the buffers of its column. */
  #byteOf({ heap, rowBytes }: MirroredColumn<B>, slot: number, isPacked: boolean): number {
    if (heap === undefined) return slot * rowBytes;
    const begin = 4 * heap.wordOf(Math.floor(slot / this.blockLength));
    return isPacked ? begin : begin + PLAIN_HEAD.byteLength + slot % this.blockLength * rowBytes;
  }

  /** Writes bytes into the buffers of a column. */
  #write(
    { chunks, unitBytes, chunkUnits }: MirroredColumn<B>,
    to: number,
    bytes: Uint8Array<ArrayBuffer>,
    from: number,
    size: number,
  ): void {
    const chunkBytes = chunkUnits * unitBytes;
    const chunk = chunks[Math.floor(to / chunkBytes)];
    const { queue } = this.#allocator.device;
    queue.writeBuffer(chunk as never, to % chunkBytes, bytes, from, size);
    this.#uploadedBytes += size;
  }

  /** The first word of the block of each address in the buffers of a compressed column; `places` gets them. An address has so many words. */
  findPlaces(
    { heap }: MirroredColumn<B>,
    addresses: Uint32Array,
    addressWords: number,
    places: Uint32Array,
  ): void {
    for (let k = 0; k < places.length; k++) {
      const address = addresses[k * addressWords] ?? 0;
      const isRow = address !== 0 && address !== abi.EXRP_ADDRESS_ZEROS;
      const block = Math.floor((address - abi.EXRP_ADDRESS_SLOT) / this.blockLength);
      places[k] = isRow ? heap?.wordOf(block) ?? NO_PLACE : NO_PLACE;
    }
  }

  /** Makes the buffer for the unpacked rows of an array large enough. */
  async makeScratch(operation: string, bytes: number): Promise<void> {
    if (bytes <= (this.#scratch?.size ?? 0)) return;
    const [made] = await this.#allocator.make(operation, [bytes], USAGE.storage, "unpacked rows");
    if (this.#scratch !== undefined) this.#allocator.free([this.#scratch]);
    this.#scratch = made;
  }

  /** The buffer for the unpacked rows of an array. */
  get scratch(): B | undefined {
    return this.#scratch;
  }

  /** Tells the kernel that there is none any more. The next {@linkcode begin} begins anew. */
  end(): void {
    const { id, kernel: { symbols } } = this.#core;
    // Where the replay has gone, its mirror has, too.
    if (id === this.#id) symbols.exrp_mirror_end(id);
    this.#id = undefined;
  }
}
