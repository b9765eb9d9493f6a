/** Makes of a checkpoint what the first versions of Reverb would have written. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { joinBytes } from "../../base/bytes.ts";
import {
  ChunkDataSchema,
  type PrioritizedItem,
  PrioritizedItemSchema,
  PriorityTableCheckpointSchema,
} from "../../reverb/messages/reverb_pb.ts";
import { readRecords, writeRecords } from "./_tfrecords.ts";

/** One field of bytes. */
export function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  const head = [number << 3 | 2];
  let left = bytes.length;
  for (; left > 127; left >>>= 7) head.push(left & 127 | 128);
  return joinBytes([Uint8Array.from([...head, left]), bytes]);
}

/** An item whose columns are the same steps of all columns of its chunks gets chunk keys and a range instead. */
function oldItem(item: PrioritizedItem): boolean {
  const columns = item.flatTrajectory?.columns ?? [];
  const [first] = columns;
  const shown = ({ chunkSlices, squeeze }: NonNullable<typeof first>, index: number): string =>
    [
      squeeze,
      ...chunkSlices.map((slice) =>
        `${slice.chunkKey}/${slice.offset}/${slice.length}/${slice.index - index}`
      ),
    ].join();
  if (first === undefined || first.squeeze || first.chunkSlices.some(({ index }) => index !== 0)) {
    return false;
  }
  if (columns.some((column, index) => shown(column, index) !== shown(first, 0))) return false;
  const lengths = first.chunkSlices.map(({ length }) => length);
  item.deprecatedChunkKeys = first.chunkSlices.map(({ chunkKey }) => chunkKey);
  item.deprecatedSequenceRange = {
    $typeName: "deepmind.reverb.SliceRange",
    offset: first.chunkSlices[0]?.offset ?? 0,
    length: lengths.reduce((sum, length) => sum + length, 0),
  };
  delete item.flatTrajectory;
  return true;
}

/** The files of an old checkpoint with the same content, and how many of its items have no trajectory. */
export function oldCheckpoint(
  files: Readonly<Record<string, Uint8Array>>,
): { files: Record<string, Uint8Array<ArrayBuffer>>; changed: number } {
  const records = (name: string): Uint8Array<ArrayBuffer>[] =>
    readRecords(files[`${name}.tfrecord`] ?? new Uint8Array());
  let changed = 0;
  const items = records("items").map((record) => fromBinary(PrioritizedItemSchema, record));
  // Only what single chunks with as many columns as the item has can be said in the old way.
  const columnsOf = new Map<bigint, number>();
  const chunks = records("chunks").map((record) => {
    const chunk = fromBinary(ChunkDataSchema, record);
    columnsOf.set(chunk.chunkKey, chunk.data?.tensors.length ?? 0);
    chunk.deprecatedData = chunk.data?.tensors ?? [];
    chunk.dataTensorsLen = 0;
    delete chunk.data;
    return toBinary(ChunkDataSchema, chunk);
  });
  for (const item of items) {
    const columns = item.flatTrajectory?.columns ?? [];
    const key = columns[0]?.chunkSlices[0]?.chunkKey ?? 0n;
    if (columnsOf.get(key) === columns.length && oldItem(item)) changed++;
  }
  const tables = records("tables").map((record) => {
    const { tableName } = fromBinary(PriorityTableCheckpointSchema, record);
    const own = items.filter(({ table }) => table === tableName);
    return joinBytes([
      record,
      ...own.map((item) => bytesField(2, toBinary(PrioritizedItemSchema, item))),
    ]);
  });
  return {
    files: {
      "tables.tfrecord": writeRecords(tables),
      "chunks.tfrecord": writeRecords(chunks),
      DONE: new Uint8Array(),
    },
    changed,
  };
}
