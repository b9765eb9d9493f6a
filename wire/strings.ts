/**
 * Tensors of strings, and columns of strings in samples. Reverb doesn't pack strings, and its strings are bytes.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { bytesOfField, keyOfField, numberOfField } from "./fields.ts";

/** The strings of a `TensorProto`, whether they stand in `string_val` or, after their lengths, in `tensor_content`. */
export function stringsOfTensor(tensor: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const values = bytesOfField(tensor, 8).map((text) => text.slice());
  const count = elementCount(tensor);
  const content = bytesOfField(tensor, 4).at(-1);
  if (content === undefined || content.length === 0) {
    if (values.length === count) return values;
    // A single value stands for all, as in TensorFlow; none stands for empty strings.
    const rest = values.at(-1) ?? new Uint8Array(0);
    return Array.from({ length: count }, (_, k) => values[k] ?? rest.slice());
  }
  return splitContent(content, count);
}

function elementCount(tensor: Uint8Array): number {
  const shape = bytesOfField(tensor, 2).at(-1) ?? new Uint8Array(0);
  const count = bytesOfField(shape, 2).reduce((product, dim) => product * numberOfField(dim, 1), 1);
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
  for (const entry of bytesOfField(message, 1)) {
    entries.push(entry);
    if (numberOfField(entry, 3) === 0) continue;
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
    for (const chunk of bytesOfField(entry, 2)) chunks.set(keyOfField(chunk, 1), chunk);
    for (const info of bytesOfField(entry, 1)) {
      for (const item of bytesOfField(info, 1)) {
        trajectory = bytesOfField(item, 8).at(-1) ?? trajectory;
      }
    }
  }
  const slices = bytesOfField(bytesOfField(trajectory, 1)[column] ?? new Uint8Array(0), 1);
  return slices.map(sliceOf).flatMap(({ chunk, offset, length, index }) => {
    const data = bytesOfField(chunks.get(chunk) ?? new Uint8Array(0), 5).at(-1);
    const tensor = bytesOfField(data ?? new Uint8Array(0), 1)[index];
    if (tensor === undefined) throw damaged("its chunk is not there");
    const strings = stringsOfTensor(tensor);
    const shape = bytesOfField(bytesOfField(tensor, 2).at(-1) ?? new Uint8Array(0), 2);
    const rows = numberOfField(shape[0] ?? new Uint8Array(0), 1);
    const rowCount = rows === 0 ? 0 : strings.length / rows;
    return strings.slice(offset * rowCount, (offset + length) * rowCount);
  });
}

function sliceOf(message: Uint8Array): Slice {
  return {
    chunk: keyOfField(message, 1),
    offset: numberOfField(message, 2),
    length: numberOfField(message, 3),
    index: numberOfField(message, 4),
  };
}
