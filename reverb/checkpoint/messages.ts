/**
 * The messages of a checkpoint as plain objects.
 *
 * @module
 */

import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { bytesOfField } from "../../wire/fields.ts";
import {
  ChunkDataSchema,
  PrioritizedItemSchema,
  PriorityTableCheckpointSchema,
} from "../messages/reverb_pb.ts";
import { StructuredValueSchema } from "../messages/tensorflow_pb.ts";
import { decodeSignature, type Signature } from "../signature.ts";
import { type SelectorInfo, selectorOf } from "../table_info.ts";

/** The number of the field in which the first versions had a table's items. */
const OLD_ITEMS = 2;

/** What a checkpoint says of a table. Its whole numbers are as they were written, and perhaps not possible. */
export interface CheckpointTable {
  readonly name: string;
  readonly sampler: SelectorInfo;
  readonly remover: SelectorInfo;
  readonly maxSize: bigint;
  /** 0 or less without limit. */
  readonly maxTimesSampled: number;
  /** Undefined where the record has none. */
  readonly limiter: CheckpointLimiter | undefined;
  readonly signature: Signature | undefined;
  readonly uniqueSamples: bigint;
  readonly episodesDeleted: bigint;
  /** Its items, as the first versions have them. */
  readonly oldItems: readonly Uint8Array[];
}

/** A rate limiter, and what it has counted since the last reset. */
export interface CheckpointLimiter {
  readonly samplesPerInsert: number;
  readonly minDiff: number;
  readonly maxDiff: number;
  readonly minSize: bigint;
  readonly inserts: bigint;
  readonly samples: bigint;
  readonly deletes: bigint;
}

/**
 * Reads a record of `tables.tfrecord`.
 *
 * @throws {Error} If it is no such message, or its signature is of a kind that is not known.
 */
export function readTable(record: Uint8Array): CheckpointTable {
  const table = fromBinary(PriorityTableCheckpointSchema, record, { readUnknownFields: false });
  const { rateLimiter: limiter, signature } = table;
  return {
    name: table.tableName,
    sampler: selectorOf(table.sampler),
    remover: selectorOf(table.remover),
    maxSize: table.maxSize,
    maxTimesSampled: table.maxTimesSampled,
    limiter: limiter && {
      samplesPerInsert: limiter.samplesPerInsert,
      minDiff: limiter.minDiff,
      maxDiff: limiter.maxDiff,
      minSize: limiter.minSizeToSample,
      inserts: limiter.insertCount,
      samples: limiter.sampleCount,
      deletes: limiter.deleteCount,
    },
    signature: signature && decodeSignature(toBinary(StructuredValueSchema, signature)),
    uniqueSamples: table.numUniqueSamples,
    episodesDeleted: table.numDeletedEpisodes,
    oldItems: bytesOfField(record, OLD_ITEMS),
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
