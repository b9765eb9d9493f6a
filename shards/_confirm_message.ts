/**
 * What a shard answers to an actor's chunks.
 *
 * @module
 */

import { toHex } from "../base/bytes.ts";
import { idBytes, MAGIC, Reader, refused, Writer } from "./_message_bytes.ts";

/** What became of chunks. */
export const CONFIRM = {
  /** All up to `number` are on the disk. */
  stored: 0,
  /** The one after `expected` came before it: send from `expected` on. */
  gap: 1,
  /** All up to `number` are on the disk, but a call of the chunk `expected` was refused. It would be refused again. */
  refused: 2,
} as const;

/** An answer. */
export interface Confirm {
  readonly kind: (typeof CONFIRM)[keyof typeof CONFIRM];
  readonly shard: string;
  readonly incarnation: string;
  readonly actor: string;
  /** All chunks up to this one are stored. */
  readonly number: number;
  /** The number that should come next; of a refusal: the latest chunk that was refused. */
  readonly expected: number;
  /** The round of the chunk that this answers. */
  readonly round: number;
  /** Why a chunk was refused. */
  readonly text: string;
}

/** The bytes of an answer. */
export function writeConfirm(confirm: Confirm): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(confirm.text.slice(0, 4096));
  const shard = new TextEncoder().encode(confirm.shard);
  return new Writer(72 + shard.length + text.length)
    .u32(MAGIC.confirm).u32(confirm.kind)
    .put(idBytes(confirm.incarnation)).put(idBytes(confirm.actor))
    .f64(confirm.number).f64(confirm.expected)
    .u32(confirm.round).u32(shard.length).u32(text.length).u32(0)
    .put(shard).put(text).bytes;
}

/** Reads an answer. */
export function readConfirm(bytes: Uint8Array): Confirm {
  const reader = new Reader(bytes);
  reader.magic("confirm");
  const kind = reader.u32();
  if (kind !== CONFIRM.stored && kind !== CONFIRM.gap && kind !== CONFIRM.refused) {
    throw refused(`an answer has kind ${kind}`);
  }
  const [incarnation, actor] = [toHex(reader.bytes(16)), toHex(reader.bytes(16))];
  const [number, expected] = [reader.whole("a number"), reader.whole("a number")];
  const round = reader.u32();
  const [shardBytes, textBytes] = [reader.u32(), reader.u32()];
  reader.u32();
  const decoder = new TextDecoder();
  const shard = decoder.decode(reader.bytes(shardBytes));
  const text = decoder.decode(reader.bytes(textBytes));
  return { kind, shard, incarnation, actor, number, expected, round, text };
}
