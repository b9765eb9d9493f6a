/**
 * The messages of a draw: what a learner asks for, and the rows that a shard answers.
 *
 * The rows are the arrays of a batch, one behind the other without gaps, in the order of `BatchLayout.all`. An answer that is larger than a message may be
 * comes in several parts.
 *
 * @module
 */

import type { BatchLayout } from "../replay/draw/batch_layout.ts";
import { VIEWS } from "../schema/columns.ts";
import { MAGIC, Reader, refused, Writer } from "./_message_bytes.ts";

/** How a draw went. */
export const DRAWN = {
  /** Here are the rows. */
  rows: 0,
  /** There is nothing to draw. */
  empty: 1,
  /** A rate limiter holds it back. */
  limited: 2,
  /** It can't be done; the rows are a text that says why. */
  refused: 3,
} as const;

/** A request for picks. */
export interface DrawRequest {
  /** A number of the learner's, which the answer has. */
  readonly id: number;
  readonly schema: number;
  readonly selector: number;
  readonly count: number;
}

/** The bytes of a request. */
export function writeDraw({ id, schema, selector, count }: DrawRequest): Uint8Array<ArrayBuffer> {
  return new Writer(24).u32(MAGIC.draw).u32(id).u32(schema).u32(selector).u32(count).u32(0).bytes;
}

/** Reads a request. */
export function readDraw(bytes: Uint8Array): DrawRequest {
  const reader = new Reader(bytes);
  reader.magic("draw");
  const [id, schema, selector] = [reader.u32(), reader.u32(), reader.u32()];
  const count = reader.u32();
  if (count === 0 || count > 2 ** 24) throw refused(`it asks for ${count} picks`);
  return { id, schema, selector, count };
}

/** What comes before the rows in a part. */
export const PICKS_HEAD = 56;

/** The most rows of a part, in bytes: over a slow network, nothing else comes while a part is on its way. */
export const PART_BYTES: number = 2 ** 15;

/** A part of an answer. */
export interface PicksPart {
  readonly id: number;
  readonly status: number;
  readonly count: number;
  /** Picks of the shard, and the sum of their weights, at the draw. */
  readonly picks: number;
  readonly sum: number;
  /** Records that were ever written. */
  readonly recorded: number;
  /** All bytes of the rows, and where these begin. */
  readonly total: number;
  readonly from: number;
  readonly rows: Uint8Array;
}

/** The bytes of a part. */
export function writePicks(part: PicksPart): Uint8Array<ArrayBuffer> {
  return new Writer(PICKS_HEAD + part.rows.length)
    .u32(MAGIC.picks).u32(part.id).u32(part.status).u32(part.count)
    .f64(part.picks).f64(part.sum).f64(part.recorded)
    .f64(part.total).u32(part.from).u32(0)
    .put(part.rows).bytes;
}

/** Reads a part. */
export function readPicks(bytes: Uint8Array): PicksPart {
  const reader = new Reader(bytes);
  reader.magic("picks");
  const [id, status, count] = [reader.u32(), reader.u32(), reader.u32()];
  const picks = reader.whole("a count of picks");
  const sum = reader.f64();
  if (!(sum >= 0 && sum < Infinity)) throw refused(`a sum of weights is ${sum}`);
  const recorded = reader.whole("a count of records");
  const total = reader.whole("a count of bytes");
  const from = reader.u32();
  reader.u32();
  const rows = reader.bytes(reader.left);
  if (from + rows.length > total) throw refused("its rows are more than it says");
  return { id, status, count, picks, sum, recorded, total, from, rows };
}

/** Of each array of a batch: where it begins, and its bytes for one pick. */
export interface Strides {
  readonly parts: readonly { readonly offset: number; readonly bytes: number }[];
  /** Bytes of one pick. */
  readonly pickBytes: number;
}

/** The strides of a layout. */
export function stridesOf(layout: BatchLayout): Strides {
  const parts = layout.all.filter(({ count }) => count > 0).map(({ dtype, offset, count }) => ({
    offset,
    bytes: count / layout.size * VIEWS[dtype].BYTES_PER_ELEMENT,
  }));
  return { parts, pickBytes: parts.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** The rows of a batch without gaps. */
export function rowsOf(
  batch: Uint8Array,
  { parts, pickBytes }: Strides,
  count: number,
): Uint8Array {
  const rows = new Uint8Array(pickBytes * count);
  let at = 0;
  for (const { offset, bytes } of parts) {
    rows.set(batch.subarray(offset, offset + bytes * count), at);
    at += bytes * count;
  }
  return rows;
}

/** Puts rows of a shard at the places of a batch from `first` on. */
export function putRows(
  batch: Uint8Array,
  { parts }: Strides,
  rows: Uint8Array,
  first: number,
  count: number,
): void {
  let at = 0;
  for (const { offset, bytes } of parts) {
    batch.set(rows.subarray(at, at + bytes * count), offset + first * bytes);
    at += bytes * count;
  }
}

/** Priorities of picks. */
export interface Priorities {
  readonly schema: number;
  readonly incarnation: Uint8Array;
  readonly selector: number;
  readonly episodes: Float64Array<ArrayBuffer>;
  readonly positions: Int32Array<ArrayBuffer>;
  readonly priorities: Float64Array<ArrayBuffer>;
}

/** The bytes of priorities. */
export function writePriorities(
  { schema, incarnation, selector, episodes, positions, priorities }: Priorities,
): Uint8Array<ArrayBuffer> {
  const { length } = episodes;
  const raw = (array: ArrayBufferView): Uint8Array =>
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return new Writer(32 + 20 * length)
    .u32(MAGIC.priorities).u32(schema).put(incarnation).u32(selector).u32(length)
    .put(raw(episodes)).put(raw(priorities)).put(raw(positions)).bytes;
}

/** Reads priorities. */
export function readPriorities(bytes: Uint8Array): Priorities {
  const reader = new Reader(bytes);
  reader.magic("priorities");
  const schema = reader.u32();
  const incarnation = reader.bytes(16);
  const [selector, count] = [reader.u32(), reader.u32()];
  if (reader.left !== 20 * count) throw refused(`it has ${reader.left} bytes for ${count} picks`);
  return {
    schema,
    incarnation,
    selector,
    episodes: new Float64Array(reader.copy(8 * count).buffer),
    priorities: new Float64Array(reader.copy(8 * count).buffer),
    positions: new Int32Array(reader.copy(4 * count).buffer),
  };
}
