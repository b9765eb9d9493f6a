/**
 * The rows of some columns on a device: those of each column in buffers, a row at the number of its slot.
 *
 * The buffers grow with the slots that the replay has used. The last of them doubles until it is as large as the device lets a shader reach at a time, and then the
 * next one begins.
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
import { type DeviceBuffer, USAGE } from "./device.ts";
import { strideOf } from "./_shader.ts";

/** Rows are read and uploaded in pieces of about so many bytes. */
const PIECE_BYTES = 4 * 2 ** 20;

/** Runs of rows in a piece. Each is one upload a column. */
const PIECE_RUNS = 4096;

/** Slots of the smallest buffer. */
const SLOTS_MIN = 1024;

/** The rows of one column. */
export interface MirroredColumn<B> {
  /** The column's number in the replay. */
  readonly index: number;
  /** The column. */
  readonly column: Column;
  /** Bytes of a row in the buffers. */
  readonly rowBytes: number;
  /** Slots of each buffer but the last, a power of two. */
  readonly chunkSlots: number;
  /** The buffers. */
  readonly chunks: B[];
}

/** What was read of the replay and is to be uploaded. */
export interface Piece {
  /** How many runs of rows. */
  readonly runCount: number;
  /** Whether there are more that the device lacks. */
  readonly isMore: boolean;
  /** The buffers have to have so many slots before it is uploaded. */
  readonly slotCount: number;
}

/** The mirror of some columns of a replay. */
export class Mirror<B extends DeviceBuffer> {
  readonly columns: readonly MirroredColumn<B>[];
  readonly #allocator: Allocator<B>;
  readonly #core: ReplayCore;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #runs = new Uint32Array(PIECE_RUNS * abi.EXRP_MIRROR_RUN_COUNT);
  #slotCount = 0;
  #uploadedBytes = 0;
  /** The replay's number in the kernel for which the kernel keeps a mirror; another one after a snapshot was loaded. */
  #id: number | undefined;

  /**
   * Begins the mirror of these columns, which has no row yet.
   *
   * @throws {ReplayError} `limit` if another mirror of the replay is there, or a block of rows is too large for the device.
   */
  constructor(
    core: ReplayCore,
    allocator: Allocator<B>,
    columns: ReadonlyMap<number, NamedColumn>,
  ) {
    this.#core = core;
    this.#allocator = allocator;
    const { maxBufferSize, maxStorageBufferBindingSize } = allocator.device.limits;
    const most = Math.min(maxBufferSize, maxStorageBufferBindingSize);
    const blockLength = core.info("onDevice()")[abi.EXRP_INFO_BLOCK_LENGTH] ?? 0;
    this.columns = [...columns].sort(([a], [b]) => a - b).map(([index, { name, column }]) => {
      const rowBytes = 4 * strideOf(column);
      const chunkSlots = 2 ** Math.floor(Math.log2(most / rowBytes));
      if (chunkSlots >= blockLength) return { index, column, rowBytes, chunkSlots, chunks: [] };
      throw new ReplayError(
        "limit",
        `onDevice(): ${blockLength} rows of ${name}, a block, take ${
          bytesText(blockLength * rowBytes)
        }, and the device takes buffers of ${bytesText(most)}`,
      );
    });
    const blockBytes = blockLength * this.columns.reduce((sum, { rowBytes }) => sum + rowBytes, 0);
    this.#bytes = new Uint8Array(Math.max(PIECE_BYTES, blockBytes));
    this.begin();
  }

  /** Tells the kernel that there is a mirror. A snapshot that was loaded is another replay of the kernel, which has to be told again. The caller holds it. */
  begin(): void {
    const core = this.#core;
    if (core.id === this.#id) return;
    const indices = Uint32Array.from(this.columns, ({ index }) => index);
    const status = core.kernel.symbols.exrp_mirror_begin(core.id, indices, lengthOf(indices));
    if (status === abi.EXRP_STATUS_LIMIT) {
      throw new ReplayError(
        "limit",
        "onDevice(): the replay is on a device already; close that one first",
      );
    }
    core.check("onDevice()", status);
    this.#id = core.id;
  }

  /** The bytes of its memory outside the device. */
  get hostBytes(): number {
    return this.#bytes.byteLength + this.#runs.byteLength;
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
    return {
      runCount: info[abi.EXRP_MIRROR_RUNS] ?? 0,
      isMore: info[abi.EXRP_MIRROR_MORE] === 1,
      slotCount: info[abi.EXRP_MIRROR_SLOTS] ?? 0,
    };
  }

  /** Whether the buffers have room for a piece. */
  hasRoom({ slotCount }: Piece): boolean {
    return slotCount <= this.#slotCount;
  }

  /** Makes room for the piece that was read last, and uploads it. */
  async take(operation: string, piece: Piece): Promise<void> {
    const { slotCount } = piece;
    try {
      if (!this.hasRoom(piece)) {
        for (const column of this.columns) await this.#growColumn(operation, column, slotCount);
        this.#slotCount = slotCount;
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
    { rowBytes, chunkSlots, chunks }: MirroredColumn<B>,
    slotCount: number,
  ): Promise<void> {
    const { device } = this.#allocator;
    const count = Math.ceil(slotCount / chunkSlots);
    for (let k = Math.max(0, chunks.length - 1); k < count; k++) {
      const slots = Math.min(chunkSlots, slotCount - k * chunkSlots);
      const before = chunks[k];
      const needed = 2 ** Math.ceil(Math.log2(Math.max(slots, Math.min(SLOTS_MIN, chunkSlots))));
      const size = (k < count - 1 ? chunkSlots : needed) * rowBytes;
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
    const { queue } = this.#allocator.device;
    for (let k = 0; k < runCount; k++) {
      const at = k * abi.EXRP_MIRROR_RUN_COUNT;
      const slot = this.#runs[at + abi.EXRP_MIRROR_RUN_SLOT] ?? 0;
      const slots = this.#runs[at + abi.EXRP_MIRROR_RUN_SLOTS] ?? 0;
      let from = this.#runs[at + abi.EXRP_MIRROR_RUN_BYTE] ?? 0;
      for (const { rowBytes, chunkSlots, chunks } of this.columns) {
        const chunk = chunks[Math.floor(slot / chunkSlots)];
        const size = slots * rowBytes;
        queue.writeBuffer(chunk as never, slot % chunkSlots * rowBytes, this.#bytes, from, size);
        from += size;
        this.#uploadedBytes += size;
      }
    }
  }

  /** Tells the kernel that there is none any more. The next {@linkcode begin} begins anew. */
  end(): void {
    const { id, kernel: { symbols } } = this.#core;
    // Where the replay has gone, its mirror has, too.
    if (id === this.#id) symbols.exrp_mirror_end(id);
    this.#id = undefined;
  }
}
