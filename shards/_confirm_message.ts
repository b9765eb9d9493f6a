/**
 * What a shard answers to an actor's chunks.
 *
 * @module
 */

import { readAs, refused } from "./_message_bytes.ts";
import { MessageLayout } from "./message_layout.ts";

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
  readonly kind: number;
  readonly incarnation: string;
  readonly actor: string;
  /** All chunks up to this one are stored. */
  readonly number: number;
  /** The number that should come next; of a refusal: the latest chunk that was refused. */
  readonly expected: number;
  /** The round of the chunk that this answers. */
  readonly round: number;
  readonly shard: string;
  /** Why a chunk was refused. */
  readonly text: string;
}

/** Behind the head are the shard's name and the text. */
type Head = Omit<Confirm, "shard" | "text"> & { readonly shardBytes: number };
const HEAD: MessageLayout<Head> = new MessageLayout<Head>(0x31464358, {
  ...{ kind: "u32", incarnation: "hex", actor: "hex" },
  ...{ number: "whole", expected: "whole", round: "u32", shardBytes: "u32" },
});

/** The bytes of an answer. */
export function writeConfirm({ shard, text, ...head }: Confirm): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode(shard);
  const reason = new TextEncoder().encode(text.slice(0, 4096));
  return HEAD.write({ ...head, shardBytes: name.length }, [name, reason]);
}

/** Reads an answer. */
export function readConfirm(bytes: Uint8Array): Confirm {
  const { shardBytes, body, ...head } = readAs("confirmation", HEAD, bytes);
  if (!Object.values<number>(CONFIRM).includes(head.kind) || shardBytes > body.length) {
    throw refused(`an answer has kind ${head.kind} and ${shardBytes} bytes of a name`);
  }
  const text = (from: number, to?: number): string =>
    new TextDecoder().decode(body.subarray(from, to));
  return { ...head, shard: text(0, shardBytes), text: text(shardBytes) };
}
