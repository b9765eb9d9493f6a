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
import { idBytes, MAGIC, Reader, refused, Writer } from "./_message_bytes.ts";
import { toHex } from "../base/bytes.ts";

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

/** The bytes before the calls of a chunk, and before the payload of a call. */
export const CHUNK_HEAD = 48;
const CALL_HEAD = 24;

/** Where in a chunk its actor, its number, and the round of its sending are. */
const ACTOR_AT = 8;
const NUMBER_AT = 24;
const SUM_AT = 36;
const ROUND_AT = 40;

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

/** A chunk, of which the checksum was right. */
export interface Chunk {
  readonly actor: string;
  readonly number: number;
  /** How often its sender has begun to send anew. */
  readonly round: number;
  readonly calls: readonly Call[];
  /** Records of all calls. */
  readonly recordCount: number;
}

function padded(bytes: number): number {
  return bytes + (8 - bytes % 8) % 8;
}

/** The bytes of a call as it stands in a chunk. */
export function callBytes(payload: number): number {
  return CALL_HEAD + padded(payload);
}

/** Writes a call; returns its bytes. */
export function writeCall({ kind, flags, count, stream, tag, payload }: Call): Uint8Array {
  return new Writer(callBytes(payload.length))
    .u32(kind).u32(flags).u32(count).u32(stream).i32(tag).u32(payload.length)
    .put(payload).bytes;
}

/** Puts a chunk together. */
export function writeChunk(
  symbols: KernelSymbols,
  schema: number,
  actor: string,
  number: number,
  calls: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const size = calls.reduce((sum, { length }) => sum + length, 0);
  const whole = new Writer(CHUNK_HEAD + size)
    .u32(MAGIC.chunk).u32(schema).put(idBytes(actor)).f64(number).u32(calls.length).u32(0)
    .u32(0).u32(0);
  for (const call of calls) whole.put(call);
  const body = whole.bytes.subarray(CHUNK_HEAD);
  new DataView(whole.bytes.buffer).setUint32(SUM_AT, symbols.exrp_checksum(0, body, size), true);
  return whole.bytes;
}

/** Says in a chunk which round of sending this is. */
export function setRound(chunk: Uint8Array<ArrayBuffer>, round: number): void {
  new DataView(chunk.buffer).setUint32(ROUND_AT, round, true);
}

/** Gives a chunk another actor and number. */
export function renameChunk(chunk: Uint8Array<ArrayBuffer>, actor: string, number: number): void {
  chunk.set(idBytes(actor), ACTOR_AT);
  new DataView(chunk.buffer).setFloat64(NUMBER_AT, number, true);
}

/** Reads a chunk, and checks what can be checked before the first call is made. */
export function readChunk(symbols: KernelSymbols, schema: number, data: Uint8Array): Chunk {
  const reader = new Reader(data);
  reader.magic("chunk");
  if (reader.u32() !== schema) throw refused("its rows are of another schema");
  const actor = toHex(reader.bytes(16));
  const number = reader.whole("its number");
  const callCount = reader.u32();
  const sum = reader.u32();
  const round = reader.u32();
  reader.u32();
  if (number === 0) throw refused("it has no number");
  if (callCount > reader.left / CALL_HEAD) throw refused(`it names ${callCount} calls`);
  // The kernel reads numbers where they belong in memory.
  const body = reader.copy(reader.left);
  if (symbols.exrp_checksum(0, body, body.length) >>> 0 !== sum) {
    throw refused("its checksum is wrong");
  }
  const rest = new Reader(body);
  const calls: Call[] = [];
  let recordCount = 0;
  for (let k = 0; k < callCount; k++) {
    const [kind, flags, count, stream] = [rest.u32(), rest.u32(), rest.u32(), rest.u32()];
    const tag = rest.i32();
    const payload = rest.bytes(rest.u32());
    rest.align();
    const most = RECORDS_MAX.get(kind & 0xff) ?? COUNT_MAX;
    if (count > most) throw refused(`a call ${kind} has ${count} records`);
    if ((kind & 0xff) < CALL.begin || (kind & 0xff) > CALL.leave || kind > (PACKED | 0xff)) {
      throw refused(`it has a call ${kind}`);
    }
    calls.push({ kind, flags, count, stream, tag, payload });
    recordCount += count;
  }
  if (rest.left > 0) throw refused(`${rest.left} bytes are left over`);
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
    const reader = new Reader(payload);
    const last = parts.at(-1);
    const end = last === undefined ? 0 : last.from + last.bytes;
    // A few bytes may stand for many equal rows.
    if (end > STEPS_BYTES_MAX) throw refused(`its rows would take ${end} bytes`);
    const pieces: { readonly from: number; readonly rows: Uint8Array }[] = [];
    const packed: { readonly part: Part; readonly bytes: Uint8Array }[] = [];
    for (const part of parts) {
      if (part.rowBytes === undefined) {
        pieces.push({ from: part.from, rows: reader.bytes(part.bytes) });
      } else {
        const bytes = reader.bytes(reader.u32());
        // Each sixteen rows have four bytes at least.
        if (bytes.length < 4 * Math.ceil(count / 16)) throw refused("a wide column is too short");
        packed.push({ part, bytes });
      }
    }
    const behind = reader.bytes(reader.left);
    const steps = new Uint8Array(end + behind.length);
    for (const { from, rows } of pieces) steps.set(rows, from);
    for (const { part: { from, bytes, rowBytes = 1 }, bytes: data } of packed) {
      const rows = steps.subarray(from, from + bytes);
      const status = symbols.exrp_rows_unpack(data, data.length, rowBytes, count, rows, bytes);
      if (status !== 0) throw refused("the rows of a wide column can't be unpacked");
    }
    steps.set(behind, end);
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
