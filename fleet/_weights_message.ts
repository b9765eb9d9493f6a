/**
 * The messages that carry weights: a head, and a chunk of the bytes of one version.
 *
 * Each message says which version of which sender it is of, so no receiver mixes two. A message without a chunk only says which version is the newest.
 *
 * @module
 */

import type { BroadcastArray, BroadcastArrays } from "../actors/broadcast.ts";
import { viewOf, VIEWS } from "../schema/columns.ts";
import { MessageLayout } from "../shards/message_layout.ts";

/** "EXW2", as the first four bytes. */
const MAGIC = 0x32575845;
/** The index of a message without a chunk. */
const NO_CHUNK = 2 ** 32 - 1;

/** The largest chunk. Over loopback, larger messages took longer: sockets read 64 KiB at a time, and clients copy what comes in pieces. */
export const CHUNK_BYTES = 60 * 1024;

/** The most bytes that one version may have. */
export const WEIGHTS_BYTES_MAX = 2 ** 31;

/** Which version a message is of, and which chunk of it. */
export interface WeightsHead {
  /** Which sender it came from: a random number. */
  readonly sender: number;
  /** When the sender began, in ms since 1970. */
  readonly began: number;
  /** The number of the version. */
  readonly version: number;
  /** The bytes of the whole version. */
  readonly bytes: number;
  /** The bytes of each chunk but the last one. */
  readonly chunkBytes: number;
  /** The CRC-32C of the whole version. */
  readonly checksum: number;
  /** The CRC-32C of the names, dtypes and lengths of the arrays. */
  readonly layout: number;
  /** Which chunk it is; undefined where it has none. */
  readonly chunk: number | undefined;
}

/** What a sender says of its arrays. */
export interface WeightsDescription {
  /** Which sender this is. */
  readonly sender: number;
  /** When it began, in ms since 1970. */
  readonly began: number;
  /** The arrays, in their order. */
  readonly arrays: readonly BroadcastArray[];
}

const WEIGHTS: MessageLayout<WeightsHead & { readonly chunk: number }> = new MessageLayout<
  WeightsHead & { readonly chunk: number }
>(MAGIC, {
  ...{ chunk: "u32", version: "whole", sender: "u32", bytes: "u32", chunkBytes: "u32" },
  ...{ checksum: "u32", layout: "u32", began: "f64" },
});

/** A message with a chunk, or with no bytes. */
export function encodeWeights(head: WeightsHead, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  return WEIGHTS.write({ ...head, chunk: head.chunk ?? NO_CHUNK }, [chunk]);
}

/** The head of a message and its chunk; undefined if it is none of ours, or its parts contradict each other. */
export function decodeWeights(
  message: Uint8Array,
): { readonly head: WeightsHead; readonly chunk: Uint8Array } | undefined {
  const read = WEIGHTS.read(message);
  if (read === undefined) return undefined;
  const { body: chunk, ...head } = read;
  const index = head.chunk === NO_CHUNK ? undefined : head.chunk;
  const isWhole = head.version >= 1 && head.chunkBytes >= 1 && Number.isFinite(head.began);
  if (!isWhole || chunk.length !== lengthOfChunk(head, index)) return undefined;
  return { head: { ...head, chunk: index }, chunk };
}

/** How many chunks a version has. */
export function chunkCount(
  { bytes, chunkBytes }: Pick<WeightsHead, "bytes" | "chunkBytes">,
): number {
  return Math.ceil(bytes / chunkBytes);
}

/** The bytes of a chunk; NaN for one that the version does not have. */
function lengthOfChunk(head: WeightsHead, chunk: number | undefined): number {
  if (chunk === undefined) return 0;
  if (chunk >= chunkCount(head)) return NaN;
  return Math.min(head.chunkBytes, head.bytes - chunk * head.chunkBytes);
}

/** What a receiver asks for: a chunk of a version. Without bytes, a request asks for the description. */
export interface Ask extends Pick<WeightsHead, "sender" | "version"> {
  readonly chunk: number;
}
export const ASK: MessageLayout<Ask> = new MessageLayout<Ask>(MAGIC, {
  ...{ chunk: "u32", version: "f64", sender: "u32" },
});

/** The bytes that a description is sent as. */
export function encodeDescription(description: WeightsDescription): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(description));
}

/** A description; undefined if it is none. */
export function decodeDescription(message: Uint8Array): WeightsDescription | undefined {
  try {
    const { sender, began, arrays } = JSON.parse(new TextDecoder().decode(message));
    const isOne = Number.isInteger(sender) && Number.isFinite(began) && Array.isArray(arrays) &&
      arrays.length > 0 &&
      arrays.every(isArray) && bytesOfArrays(arrays) <= WEIGHTS_BYTES_MAX;
    return isOne ? { sender, began, arrays } : undefined;
  } catch {
    return undefined;
  }
}

function isArray(array: unknown): array is BroadcastArray {
  const { name, dtype, length } = Object(array);
  return typeof name === "string" && dtype !== "bool" && Object.hasOwn(VIEWS, String(dtype)) &&
    Number.isInteger(length) && length >= 0;
}

/** The arrays as text, which two senders of the same arrays have in common. */
export function layoutText(arrays: readonly BroadcastArray[]): Uint8Array<ArrayBuffer> {
  const parts = arrays.map(({ name, dtype, length }) => [name, dtype, length]);
  return new TextEncoder().encode(JSON.stringify(parts));
}

/** The bytes of one version. */
export function bytesOfArrays(arrays: readonly BroadcastArray[]): number {
  return arrays.reduce((sum, array) => sum + alignedBytes(array), 0);
}

/** The arrays in the bytes of a version. */
export function arraysIn(
  buffer: ArrayBuffer,
  arrays: readonly BroadcastArray[],
): BroadcastArrays {
  let at = 0;
  return Object.fromEntries(arrays.map((array) => {
    const view = viewOf(array.dtype, buffer, at, array.length);
    at += alignedBytes(array);
    return [array.name, view];
  }));
}

/** Each array begins where any element may lie. */
function alignedBytes({ dtype, length }: BroadcastArray): number {
  return Math.ceil(VIEWS[dtype].BYTES_PER_ELEMENT * length / 8) * 8;
}
