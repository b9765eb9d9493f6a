/**
 * What the first versions of Reverb wrote otherwise: an item named whole chunks and a range of their steps, and a chunk had its columns in
 * another field. Here they become what later versions write.
 *
 * @module
 */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  ChunkData_DataSchema,
  ChunkDataSchema,
  FlatTrajectory_ChunkSliceSchema,
  FlatTrajectory_ColumnSchema,
  FlatTrajectorySchema,
  PrioritizedItemSchema,
} from "../messages/reverb_pb.ts";

/** What is to be known of the chunks of old items. */
export class OldRecords {
  readonly #chunks = new Map<bigint, { readonly steps: number; readonly columns: number }>();

  /** A chunk as later versions write it. One that can't be read stays as it is, for the kernel to refuse. */
  chunk(record: Uint8Array): Uint8Array {
    return orAsItIs(record, () => this.#chunk(record));
  }

  /** An item as later versions write it. One that can't be read, or whose chunks are not known, stays as it is. */
  item(record: Uint8Array): Uint8Array {
    return orAsItIs(record, () => this.#item(record));
  }

  #chunk(record: Uint8Array): Uint8Array {
    const chunk = fromBinary(ChunkDataSchema, record);
    const { start = 0, end = 0 } = chunk.sequenceRange ?? {};
    if (chunk.data === undefined || chunk.data.tensors.length === 0) {
      chunk.data = create(ChunkData_DataSchema, { tensors: chunk.deprecatedData });
      chunk.deprecatedData = [];
    }
    const columns = chunk.data.tensors.length;
    chunk.dataTensorsLen = columns;
    this.#chunks.set(chunk.chunkKey, { steps: end - start + 1, columns });
    return toBinary(ChunkDataSchema, chunk);
  }

  #item(record: Uint8Array): Uint8Array {
    const item = fromBinary(PrioritizedItemSchema, record);
    const { deprecatedSequenceRange: range, deprecatedChunkKeys: keys } = item;
    if (item.flatTrajectory !== undefined || range === undefined) return record;
    const [first] = keys;
    const columns = first === undefined ? 0 : this.#chunks.get(first)?.columns ?? 0;
    item.flatTrajectory = create(FlatTrajectorySchema, {
      columns: Array.from({ length: columns }, (_, index) => {
        let [offset, left] = [range.offset, range.length];
        const chunkSlices = keys.map((chunkKey) => {
          const steps = this.#chunks.get(chunkKey)?.steps ?? 0;
          const length = Math.min(left, steps - offset);
          const slice = create(FlatTrajectory_ChunkSliceSchema, {
            chunkKey,
            offset,
            length,
            index,
          });
          [offset, left] = [0, left - length];
          return slice;
        });
        return create(FlatTrajectory_ColumnSchema, { chunkSlices });
      }),
    });
    item.deprecatedChunkKeys = [];
    delete item.deprecatedSequenceRange;
    return toBinary(PrioritizedItemSchema, item);
  }
}

function orAsItIs(record: Uint8Array, change: () => Uint8Array): Uint8Array {
  try {
    return change();
  } catch {
    return record;
  }
}
