/**
 * The messages of a checkpoint as plain objects.
 *
 * @module
 */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { eachOfField } from "../../wire/fields.ts";
import { MessageReader } from "../../wire/message_reader.ts";
import {
  ChunkDataSchema,
  PrioritizedItemSchema,
  type PriorityTableCheckpoint,
  PriorityTableCheckpointSchema,
} from "../messages/reverb_pb.ts";
import { type Signature, signatureOf } from "../signature.ts";
import { type SelectorInfo, selectorOf } from "../table_info.ts";

/** The number of the field in which the first versions had a table's items. */
const OLD_ITEMS = 2;

/** The most bytes of a table's record without its items. Read, a signature of two bytes takes hundreds of them. */
const HEAD_BYTES_MAX = 1 << 20;

/** The items in a table's record, as the first versions have them. They stay in one copy of the record and take no other memory. */
export class OldItems {
  readonly #record: Uint8Array;
  /** How many there are. */
  readonly count: number;

  /**
   * Counts the items of a record, and keeps a copy of the record if there are any.
   *
   * @throws {Error} If the record can't be read, has an empty item, or has much besides its items.
   */
  constructor(record: Uint8Array) {
    const reader = new MessageReader(record);
    let [count, bytes] = [0, 0];
    for (let from = 0; reader.next(); from = reader.position) {
      if (reader.field !== OLD_ITEMS || reader.kind !== 2) {
        reader.skip();
        continue;
      }
      count++;
      const end = reader.length();
      if (end === reader.position) throw new Error(`its item ${count} has no bytes`);
      reader.goTo(end);
      bytes += end - from;
    }
    const others = record.length - bytes;
    if (others > HEAD_BYTES_MAX) {
      throw new Error(
        `it has ${others} bytes besides its items, and at most ${HEAD_BYTES_MAX} can be`,
      );
    }
    this.count = count;
    this.#record = count > 0 ? record.slice() : new Uint8Array();
  }

  /** Gives one item after another, as views. */
  [Symbol.iterator](): Generator<Uint8Array, void, undefined> {
    return eachOfField(this.#record, OLD_ITEMS);
  }
}

/** What a checkpoint says of a table. */
export interface CheckpointTable {
  /** The message as it was written, without its items. Its whole numbers are perhaps not possible. */
  readonly message: PriorityTableCheckpoint;
  readonly sampler: SelectorInfo;
  readonly remover: SelectorInfo;
  readonly signature: Signature | undefined;
  readonly oldItems: OldItems;
}

/**
 * Reads a record of `tables.tfrecord`.
 *
 * @throws {Error} If it is no such message, or its signature is of a kind that is not known.
 */
export function readTable(record: Uint8Array): CheckpointTable {
  const oldItems = new OldItems(record);
  const message = fromBinary(PriorityTableCheckpointSchema, record, { readUnknownFields: false });
  const { signature } = message;
  return {
    message,
    sampler: selectorOf(message.sampler),
    remover: selectorOf(message.remover),
    signature: signature && signatureOf(signature),
    oldItems,
  };
}

/** The key of a chunk; undefined where it can't be read. */
export function keyOfChunk(record: Uint8Array): bigint | undefined {
  return tryRead(ChunkDataSchema, record)?.chunkKey;
}

/** What errors say of an item; undefined where it can't be read. */
export function headOfItem(
  record: Uint8Array,
): { readonly key: bigint; readonly table: string; readonly priority: number } | undefined {
  return tryRead(PrioritizedItemSchema, record);
}

function tryRead<S extends DescMessage>(
  schema: S,
  record: Uint8Array,
): MessageShape<S> | undefined {
  try {
    return fromBinary(schema, record);
  } catch {
    return undefined;
  }
}
