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
import { bytesOf } from "../base/typed_arrays.ts";
import { readAs, refused } from "./_message_bytes.ts";
import { type Message, MessageLayout } from "./message_layout.ts";

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
export const DRAW: MessageLayout<DrawRequest> = new MessageLayout<DrawRequest>(0x31574458, {
  ...{ id: "u32", schema: "u32", selector: "u32", count: "u32" },
});

/** Reads a request. */
export function readDraw(bytes: Uint8Array): DrawRequest {
  const request = readAs("draw", DRAW, bytes);
  const { count } = request;
  if (count === 0 || count > 2 ** 24) throw refused(`it asks for ${count} picks`);
  return request;
}

/** The most rows of a part, in bytes: over a slow network, nothing else comes while a part is on its way. */
export const PART_BYTES: number = 2 ** 15;

/** What comes before the rows in a part of an answer. */
export interface PicksHead {
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
}
export const PICKS: MessageLayout<PicksHead> = new MessageLayout<PicksHead>(0x314b5058, {
  ...{ id: "u32", status: "u32", count: "u32" },
  ...{ picks: "whole", sum: "f64", recorded: "whole", total: "whole", from: "u32" },
});
/** A part: its body is the rows. */
export type PicksPart = Message<PicksHead>;

/** Reads a part. */
export function readPicks(bytes: Uint8Array): PicksPart {
  const part = readAs("part of an answer", PICKS, bytes);
  const { sum, from, body, total } = part;
  if (!(sum >= 0 && sum < Infinity)) throw refused(`a sum of weights is ${sum}`);
  if (from + body.length > total) throw refused("its rows are more than it says");
  return part;
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

/** What comes before priorities of picks. */
interface PrioritiesHead {
  readonly schema: number;
  readonly incarnation: string;
  readonly selector: number;
  readonly count: number;
}
const PRIORITIES: MessageLayout<PrioritiesHead> = new MessageLayout<PrioritiesHead>(0x31525058, {
  ...{ schema: "u32", incarnation: "hex", selector: "u32", count: "u32" },
});

/** Priorities of picks. */
export interface Priorities extends Omit<PrioritiesHead, "count"> {
  readonly episodes: Float64Array<ArrayBuffer>;
  readonly positions: Int32Array<ArrayBuffer>;
  readonly priorities: Float64Array<ArrayBuffer>;
}

/** The bytes of priorities. */
export function writePriorities(
  { episodes, positions, priorities, ...head }: Priorities,
): Uint8Array<ArrayBuffer> {
  const arrays = [episodes, priorities, positions].map((array) => bytesOf<ArrayBuffer>(array));
  return PRIORITIES.write({ ...head, count: episodes.length }, arrays);
}

/** Reads priorities. */
export function readPriorities(bytes: Uint8Array): Priorities {
  const { count, body, ...head } = readAs("list of priorities", PRIORITIES, bytes);
  if (body.length !== 20 * count) throw refused(`it has ${body.length} bytes for ${count} picks`);
  const { buffer } = new Uint8Array(body);
  return {
    ...head,
    episodes: new Float64Array(buffer, 0, count),
    priorities: new Float64Array(buffer, 8 * count, count),
    positions: new Int32Array(buffer, 16 * count, count),
  };
}
