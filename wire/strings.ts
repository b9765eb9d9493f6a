/**
 * Tensors of strings, and columns of strings in samples. Reverb doesn't pack strings, and its strings are bytes.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { bytesOfField, keyOfField, numberOfField } from "./fields.ts";
import * as fields from "./reverb_fields.ts";

/** The strings of a `TensorProto`, whether they stand in `string_val` or, after their lengths, in `tensor_content`. */
export function stringsOfTensor(tensor: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const values = bytesOfField(tensor, fields.TensorProto.stringVal).map((text) => text.slice());
  const count = elementCount(tensor);
  const content = bytesOfField(tensor, fields.TensorProto.tensorContent).at(-1);
  if (content === undefined || content.length === 0) {
    if (values.length === count) return values;
    // A single value stands for all, as in TensorFlow; none stands for empty strings.
    const rest = values.at(-1) ?? new Uint8Array(0);
    return Array.from({ length: count }, (_, k) => values[k] ?? rest.slice());
  }
  return splitContent(content, count);
}

function shapeOf(tensor: Uint8Array): number[] {
  const shape = bytesOfField(tensor, fields.TensorProto.tensorShape).at(-1) ?? new Uint8Array(0);
  return bytesOfField(shape, fields.TensorShapeProto.dim)
    .map((dim) => numberOfField(dim, fields.Dim.size));
}

function elementCount(tensor: Uint8Array): number {
  const count = shapeOf(tensor).reduce((product, size) => product * size, 1);
  // No string is shorter than the byte of its length, except where all are left out.
  if (count > 2 ** 24 && count > tensor.length) throw damaged(`it says ${count} strings`);
  return count;
}

/** All lengths come first, then all bytes. */
function splitContent(content: Uint8Array, count: number): Uint8Array<ArrayBuffer>[] {
  let at = 0;
  const lengths = Array.from({ length: count }, () => {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = content[at++];
      if (byte === undefined) throw damaged("it ends within the lengths");
      value += (byte & 0x7F) * scale;
      if (byte < 0x80) return value;
    }
    throw damaged("a length is no number");
  });
  return lengths.map((length) => {
    if (length > content.length - at) throw damaged("it ends within a string");
    at += length;
    return content.slice(at - length, at) as Uint8Array<ArrayBuffer>;
  });
}

function damaged(why: string): ReplayError {
  return new ReplayError("message-damaged", `read a tensor of strings: ${why}`);
}

/** A slice of a chunk. The key is text, because it has 64 bits. */
interface Slice {
  readonly chunk: string;
  readonly offset: number;
  readonly length: number;
  readonly index: number;
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
    if (numberOfField(entry, fields.SampleEntry.endOfSequence) === 0) continue;
    found.push(...stringsOfSample(entries, column));
    entries = [];
  }
  return found;
}

function stringsOfSample(
  entries: readonly Uint8Array[],
  column: number,
): Uint8Array<ArrayBuffer>[] {
  const chunks = new Map<string, Uint8Array>();
  let trajectory: Uint8Array = new Uint8Array(0);
  for (const entry of entries) {
    for (const chunk of bytesOfField(entry, fields.SampleEntry.data)) {
      chunks.set(keyOfField(chunk, fields.ChunkData.chunkKey), chunk);
    }
    for (const info of bytesOfField(entry, fields.SampleEntry.info)) {
      for (const item of bytesOfField(info, fields.SampleInfo.item)) {
        trajectory = bytesOfField(item, fields.PrioritizedItem.flatTrajectory).at(-1) ?? trajectory;
      }
    }
  }
  const columns = bytesOfField(trajectory, fields.FlatTrajectory.columns);
  const slices = bytesOfField(columns[column] ?? new Uint8Array(0), fields.Column.chunkSlices);
  return slices.map(sliceOf).flatMap(({ chunk, offset, length, index }) => {
    const data = bytesOfField(chunks.get(chunk) ?? new Uint8Array(0), fields.ChunkData.data).at(-1);
    const tensor = bytesOfField(data ?? new Uint8Array(0), fields.Data.tensors)[index];
    if (tensor === undefined) throw damaged("its chunk is not there");
    const strings = stringsOfTensor(tensor);
    const [rows = 0] = shapeOf(tensor);
    const rowCount = rows === 0 ? 0 : strings.length / rows;
    return strings.slice(offset * rowCount, (offset + length) * rowCount);
  });
}

function sliceOf(message: Uint8Array): Slice {
  return {
    chunk: keyOfField(message, fields.ChunkSlice.chunkKey),
    offset: numberOfField(message, fields.ChunkSlice.offset),
    length: numberOfField(message, fields.ChunkSlice.length),
    index: numberOfField(message, fields.ChunkSlice.index),
  };
}
