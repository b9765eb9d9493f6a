/**
 * Tensors of strings, and columns of strings in samples. Reverb doesn't pack strings, and its strings are bytes.
 *
 * @module
 */

import { bytesOfField, numberOfField } from "./fields.ts";
import { DamagedMessage, MessageReader } from "./message_reader.ts";
import * as fields from "./reverb_fields.ts";

const NOTHING = new Uint8Array(0);

/** The last message or text at the end of a way of fields; empty where there is none. */
function lastOf(message: Uint8Array, ...way: readonly number[]): Uint8Array {
  return way.reduce((part, field) => bytesOfField(part, field).at(-1) ?? NOTHING, message);
}

/** The strings of a `TensorProto`, whether they stand in `string_val` or, after their lengths, in `tensor_content`. */
export function stringsOfTensor(tensor: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const values = bytesOfField(tensor, fields.TensorProto.stringVal).map((text) => text.slice());
  const count = elementCount(tensor);
  const content = lastOf(tensor, fields.TensorProto.tensorContent);
  if (content.length > 0) return splitContent(content, count);
  if (values.length === count) return values;
  // A single value stands for all, as in TensorFlow; none stands for empty strings.
  const rest = values.at(-1) ?? NOTHING;
  return Array.from({ length: count }, (_, k) => values[k] ?? rest.slice());
}

function shapeOf(tensor: Uint8Array): number[] {
  return bytesOfField(lastOf(tensor, fields.TensorProto.tensorShape), fields.TensorShapeProto.dim)
    .map((dim) => Number(numberOfField(dim, fields.Dim.size)));
}

function elementCount(tensor: Uint8Array): number {
  const count = shapeOf(tensor).reduce((product, size) => product * size, 1);
  // No string is shorter than the byte of its length, except where all are left out.
  if (count > 2 ** 24 && count > tensor.length) throw damaged(`it says ${count} strings`);
  return count;
}

/** All lengths come first, then all bytes. */
function splitContent(content: Uint8Array, count: number): Uint8Array<ArrayBuffer>[] {
  const reader = new MessageReader(content);
  const lengths = Array.from({ length: count }, () => reader.number());
  let at = reader.position;
  return lengths.map((length) => {
    if (length > content.length - at) throw damaged("it ends within a string");
    at += length;
    return content.slice(at - length, at) as Uint8Array<ArrayBuffer>;
  });
}

function damaged(why: string): DamagedMessage {
  return new DamagedMessage(`read a tensor of strings: ${why}`);
}

/**
 * The strings of one column of samples, all rows of one sample after those of another. The kernel has looked at the message before, so all that
 * slices name is there.
 */
export function stringsOfColumn(message: Uint8Array, column: number): Uint8Array<ArrayBuffer>[] {
  const found: Uint8Array<ArrayBuffer>[] = [];
  let entries: Uint8Array[] = [];
  for (const entry of bytesOfField(message, fields.SampleStreamResponse.entries)) {
    entries.push(entry);
    if (numberOfField(entry, fields.SampleEntry.endOfSequence) === 0n) continue;
    found.push(...stringsOfSample(entries, column));
    entries = [];
  }
  return found;
}

function stringsOfSample(
  entries: readonly Uint8Array[],
  column: number,
): Uint8Array<ArrayBuffer>[] {
  const { SampleEntry, SampleInfo, PrioritizedItem, ChunkSlice } = fields;
  const chunks = new Map<bigint, Uint8Array>();
  let trajectory: Uint8Array = NOTHING;
  for (const entry of entries) {
    for (const chunk of bytesOfField(entry, SampleEntry.data)) {
      chunks.set(numberOfField(chunk, fields.ChunkData.chunkKey), chunk);
    }
    const own = lastOf(entry, SampleEntry.info, SampleInfo.item, PrioritizedItem.flatTrajectory);
    if (own.length > 0) trajectory = own;
  }
  const columns = bytesOfField(trajectory, fields.FlatTrajectory.columns);
  const slices = bytesOfField(columns[column] ?? NOTHING, fields.Column.chunkSlices);
  return slices.flatMap((slice) => {
    const number = (field: number): number => Number(numberOfField(slice, field));
    const chunk = chunks.get(numberOfField(slice, ChunkSlice.chunkKey)) ?? NOTHING;
    const tensors = bytesOfField(lastOf(chunk, fields.ChunkData.data), fields.Data.tensors);
    const tensor = tensors[number(ChunkSlice.index)];
    if (tensor === undefined) throw damaged("its chunk is not there");
    const strings = stringsOfTensor(tensor);
    const [rows = 0] = shapeOf(tensor);
    const rowCount = rows === 0 ? 0 : strings.length / rows;
    const offset = number(ChunkSlice.offset);
    return strings.slice(offset * rowCount, (offset + number(ChunkSlice.length)) * rowCount);
  });
}
