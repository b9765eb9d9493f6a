/** Reverb's messages for the tests of tables, by the generated code of `reverb/`. */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  InsertStreamRequestSchema,
  InsertStreamResponseSchema,
  MutatePrioritiesRequestSchema,
  type SampleStreamResponse_SampleEntry,
  SampleStreamResponseSchema,
} from "../../reverb/messages/reverb_pb.ts";

/** An item on chunks. */
export interface TestItem {
  readonly key: bigint;
  readonly table: string;
  readonly priority: number;
  readonly chunks: readonly bigint[];
}

/** A chunk with `size` bytes of content. */
export function chunk(key: bigint, episode: bigint, size = 20): ChunkInit {
  const tensorContent = new Uint8Array(size).fill(Number(key % 251n));
  return {
    chunkKey: key,
    sequenceRange: { episodeId: episode, start: 3, end: 3 },
    data: { tensors: [{ tensorContent }] },
  };
}

type ChunkInit = NonNullable<
  MessageInitShape<typeof InsertStreamRequestSchema>["chunks"]
>[number];

/** An `InsertStreamRequest`. */
export function insertMessage(
  chunks: readonly ChunkInit[],
  items: readonly TestItem[],
  keepChunkKeys: readonly bigint[] = [],
): Uint8Array {
  return toBinary(
    InsertStreamRequestSchema,
    create(InsertStreamRequestSchema, {
      chunks: [...chunks],
      items: items.map(({ key, table, priority, chunks }) => ({
        key,
        table,
        priority,
        flatTrajectory: {
          columns: chunks.map((chunkKey) => ({ chunkSlices: [{ chunkKey, length: 1 }] })),
        },
      })),
      keepChunkKeys: [...keepChunkKeys],
    }),
  );
}

/** A `MutatePrioritiesRequest`. */
export function mutateMessage(
  table: string,
  updates: readonly (readonly [key: bigint, priority: number])[],
  deleteKeys: readonly bigint[] = [],
): Uint8Array {
  return toBinary(
    MutatePrioritiesRequestSchema,
    create(MutatePrioritiesRequestSchema, {
      table,
      updates: updates.map(([key, priority]) => ({ key, priority })),
      deleteKeys: [...deleteKeys],
    }),
  );
}

/** The keys of an `InsertStreamResponse`. */
export function confirmedKeys(message: Uint8Array): bigint[] {
  return fromBinary(InsertStreamResponseSchema, message).keys;
}

/** The samples of a `SampleStreamResponse`. */
export function samplesOf(message: Uint8Array): SampleStreamResponse_SampleEntry[] {
  return fromBinary(SampleStreamResponseSchema, message).entries;
}
