/**
 * The calls of an actor, as a chunk has them: the functions of the C ABI that record, with the bytes that they take.
 *
 * An actor's replay notes them instead of making them, and a shard makes them. So no row is taken apart on the way, but for wide columns: those are packed, as a
 * replay with compression packs them.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import * as abi from "../ffi/symbols.ts";
import type { KernelSymbols } from "../ffi/symbols.ts";
import type { ReplayCore } from "../replay/core.ts";
import { readAs, refused } from "./_message_bytes.ts";
import { MessageLayout } from "./message_layout.ts";

/** What a call does. */
export const CALL = {
  /** Begins an episode, with a tag. */
  begin: 1,
  /** One record: its row. */
  row: 2,
  /** Records of one episode. */
  many: 3,
  /** One record of each of several episodes. */
  batch: 4,
  /** Records of one episode after the other. */
  flat: 5,
  /** Ends an episode with a final state. */
  end: 6,
  /** The actor goes on elsewhere: the episode ends as truncated, if its last next state is known. */
  leave: 7,
} as const;

/** The payload is packed. */
const PACKED = 0x100;

/** Columns of more bytes are packed. */
const WIDE_BYTES = 128;

/** The most records of a call, so that no chunk can ask for more memory than its sender had. */
const COUNT_MAX = 2 ** 20;

/** The most records of a call that is not of many. */
const RECORDS_MAX: ReadonlyMap<number, number> = new Map(
  [[CALL.begin, 0], [CALL.row, 1], [CALL.end, 0], [CALL.leave, 0]],
);

/** The most bytes of the steps of one call, before they are packed. */
export const STEPS_BYTES_MAX = 2 ** 28;

/** One call. */
export interface Call {
  readonly kind: number;
  readonly flags: number;
  /** Records. */
  readonly count: number;
  /** The number of the actor's stream of steps: of an environment. */
  readonly stream: number;
  readonly tag: number;
  readonly payload: Uint8Array;
}

/** The bytes before the payload of a call: the other numbers, and the bytes of the payload. */
const CALL_HEAD = 24;

/** What stands before the calls of a chunk. */
interface ChunkHead {
  /** The checksum of the columns. */
  readonly schema: number;
  readonly actor: string;
  readonly number: number;
  readonly callCount: number;
  /** CRC-32C of all calls. */
  readonly sum: number;
  /** How often its sender has begun to send anew. */
  readonly round: number;
}
const HEAD: MessageLayout<ChunkHead> = new MessageLayout<ChunkHead>(0x314b4358, {
  ...{ schema: "u32", actor: "hex", number: "whole", callCount: "u32", sum: "u32", round: "u32" },
});
/** The bytes before the calls of a chunk. */
export const CHUNK_HEAD: number = HEAD.bytes;

/** A chunk, of which the checksum was right. */
export interface Chunk extends Pick<ChunkHead, "actor" | "number" | "round"> {
  readonly calls: readonly Call[];
  /** Records of all calls. */
  readonly recordCount: number;
}

/** The bytes of a call as it stands in a chunk: to a multiple of 8. */
export function callBytes(payload: number): number {
  return CALL_HEAD + 8 * Math.ceil(payload / 8);
}

/** Writes a call; returns its bytes. */
export function writeCall({ kind, flags, count, stream, tag, payload }: Call): Uint8Array {
  const call = new Uint8Array(callBytes(payload.length));
  const view = new DataView(call.buffer);
  view.setUint32(0, kind, true);
  view.setUint32(4, flags, true);
  view.setUint32(8, count, true);
  view.setUint32(12, stream, true);
  view.setInt32(16, tag, true);
  view.setUint32(20, payload.length, true);
  call.set(payload, CALL_HEAD);
  return call;
}

/** Reads the call at a place. */
function callAt(
  bytes: Uint8Array<ArrayBuffer>,
  view: DataView,
  at: number,
): readonly [Call, end: number] {
  if (at + CALL_HEAD > bytes.length) throw refused("it ends within a call");
  const size = view.getUint32(at + 20, true);
  const from = at + CALL_HEAD;
  const end = at + callBytes(size);
  if (end > bytes.length) throw refused(`a call has ${size} bytes`);
  const call = {
    kind: view.getUint32(at, true),
    flags: view.getUint32(at + 4, true),
    count: view.getUint32(at + 8, true),
    stream: view.getUint32(at + 12, true),
    tag: view.getInt32(at + 16, true),
    payload: bytes.subarray(from, from + size),
  };
  return [call, end];
}

/** Puts a chunk together. */
export function writeChunk(
  symbols: KernelSymbols,
  schema: number,
  actor: string,
  number: number,
  calls: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const head = { schema, actor, number, callCount: calls.length, sum: 0, round: 0 };
  const chunk = HEAD.write(head, calls);
  const body = chunk.subarray(CHUNK_HEAD);
  changeChunk(chunk, { sum: symbols.exrp_checksum(0, body, body.length) });
  return chunk;
}

/** Changes what stands before the calls of a chunk. */
export function changeChunk(
  chunk: Uint8Array,
  values: Partial<ChunkHead>,
): void {
  HEAD.set(chunk, values);
}

/** Reads a chunk, and checks what can be checked before the first call is made. */
export function readChunk(symbols: KernelSymbols, schema: number, data: Uint8Array): Chunk {
  const { body, callCount, sum, ...head } = readAs("chunk", HEAD, data);
  const { actor, number, round } = head;
  if (head.schema !== schema) throw refused("its rows are of another schema");
  if (number === 0) throw refused("it has no number");
  // The kernel reads numbers where they belong in memory.
  const copy = new Uint8Array(body);
  if (symbols.exrp_checksum(0, copy, copy.length) >>> 0 !== sum) {
    throw refused("its checksum is wrong");
  }
  const view = new DataView(copy.buffer);
  const calls: Call[] = [];
  let recordCount = 0;
  for (let at = 0; at < copy.length;) {
    const [call, end] = callAt(copy, view, at);
    const { kind, count } = call;
    const most = RECORDS_MAX.get(kind & 0xff) ?? COUNT_MAX;
    if (count > most) throw refused(`a call ${kind} has ${count} records`);
    if ((kind & 0xff) < CALL.begin || (kind & 0xff) > CALL.leave || kind > (PACKED | 0xff)) {
      throw refused(`it has a call ${kind}`);
    }
    calls.push(call);
    recordCount += count;
    at = end;
  }
  if (calls.length !== callCount) throw refused(`it has ${calls.length} of ${callCount} calls`);
  return { actor, number, round, calls, recordCount };
}

/** A part of the kernel's steps: as it is, or a wide column that is packed. */
interface Part {
  readonly from: number;
  readonly bytes: number;
  /** Bytes of a row of a wide column. */
  readonly rowBytes: number | undefined;
}

/** How the kernel lays out steps, and which parts of them are packed. */
export class StepsPacking {
  readonly #core: ReplayCore;
  readonly #rowBytes: readonly number[];
  readonly #layouts = new Map<number, readonly Part[]>();

  /** The layout of the replay of `core`. */
  constructor(core: ReplayCore) {
    this.#core = core;
    this.#rowBytes = core.config.columns.map(({ column }) =>
      column.elementCount * column.elementBytes
    );
  }

  /** Whether any column is packed. */
  get isNeeded(): boolean {
    return this.#rowBytes.some((bytes) => bytes > WIDE_BYTES);
  }

  /** The parts of `count` steps up to the end of the last wide column; all behind stays as it is. */
  #partsOf(count: number): readonly Part[] {
    const known = this.#layouts.get(count);
    if (known !== undefined) return known;
    const core = this.#core;
    const offsets = new Float64Array(abi.EXRP_STEPS_COLUMN + this.#rowBytes.length);
    const { symbols } = core.kernel;
    const status = symbols.exrp_steps_layout(core.id, count, offsets, lengthOf(offsets));
    core.check("a chunk", status);
    const wide = this.#rowBytes
      .map((rowBytes, k) => ({ from: offsets[abi.EXRP_STEPS_COLUMN + k] ?? 0, rowBytes }))
      .filter(({ rowBytes }) => rowBytes > WIDE_BYTES)
      .sort((a, b) => a.from - b.from);
    const parts: Part[] = [];
    let at = 0;
    for (const { from, rowBytes } of wide) {
      if (from > at) parts.push({ from: at, bytes: from - at, rowBytes: undefined });
      parts.push({ from, bytes: rowBytes * count, rowBytes });
      at = from + rowBytes * count;
    }
    if (this.#layouts.size >= 64) this.#layouts.clear();
    this.#layouts.set(count, parts);
    return parts;
  }

  /** Steps as they are sent. */
  pack(steps: Uint8Array, count: number): Uint8Array {
    const { symbols } = this.#core.kernel;
    const parts = this.#partsOf(count);
    const most = Math.max(...this.#rowBytes);
    const room = new Uint8Array(steps.length + 40 * most + 4 * count + 65_536);
    const view = new DataView(room.buffer);
    const packedBytes = new Float64Array(1);
    let at = 0;
    let from = 0;
    for (const part of parts) {
      from = part.from + part.bytes;
      const rows = steps.subarray(part.from, from);
      if (part.rowBytes === undefined) {
        room.set(rows, at);
        at += part.bytes;
        continue;
      }
      const to = room.subarray(at + 4);
      const { rowBytes, bytes } = part;
      const status = symbols.exrp_rows_pack(
        rows,
        bytes,
        rowBytes,
        count,
        to,
        to.length,
        packedBytes,
      );
      this.#core.check("a chunk", status);
      const [size = 0] = packedBytes;
      if (size === 0) throw new RangeError("a wide column has more room than it needs");
      view.setUint32(at, size, true);
      at += 4 + size;
    }
    room.set(steps.subarray(from), at);
    return room.slice(0, at + steps.length - from);
  }

  /** Steps as the kernel takes them. */
  unpack(payload: Uint8Array, count: number): Uint8Array<ArrayBuffer> {
    const { symbols } = this.#core.kernel;
    const parts = this.#partsOf(Math.max(count, 1));
    let left = payload;
    const take = (bytes: number): Uint8Array => {
      if (bytes > left.length) throw refused(`${bytes} bytes are needed, and ${left.length} left`);
      const taken = left.subarray(0, bytes);
      left = left.subarray(bytes);
      return taken;
    };
    const last = parts.at(-1);
    const end = last === undefined ? 0 : last.from + last.bytes;
    // A few bytes may stand for many equal rows.
    if (end > STEPS_BYTES_MAX) throw refused(`its rows would take ${end} bytes`);
    // All is there before memory is taken for it.
    const data = parts.map(({ bytes, rowBytes }) => {
      if (rowBytes === undefined) return take(bytes);
      const [a = 0, b = 0, c = 0, d = 0] = take(4);
      const packed = take((a | b << 8 | c << 16 | d << 24) >>> 0);
      // Each sixteen rows have four bytes at least.
      if (packed.length < 4 * Math.ceil(count / 16)) throw refused("a wide column is too short");
      return packed;
    });
    const steps = new Uint8Array(end + left.length);
    for (const [k, { from, bytes, rowBytes }] of parts.entries()) {
      const part = data[k] as Uint8Array;
      if (rowBytes === undefined) {
        steps.set(part, from);
        continue;
      }
      const rows = steps.subarray(from, from + bytes);
      const status = symbols.exrp_rows_unpack(part, part.length, rowBytes, count, rows, bytes);
      if (status !== 0) throw refused("the rows of a wide column can't be unpacked");
    }
    steps.set(left, end);
    return steps;
  }
}

/** The kind of a call whose payload is packed. */
export function packedKind(kind: number): number {
  return kind | PACKED;
}

/** The kind of a call, and whether its payload is packed. */
export function kindOf(kind: number): readonly [kind: number, isPacked: boolean] {
  return [kind & 0xff, (kind & PACKED) !== 0];
}
