/**
 * Writes the columns of items as chunks.
 *
 * @module
 */

import { MessageWriter } from "../wire/message_writer.ts";
import type { Key } from "../wire/keys.ts";
import type { TensorCodec } from "../wire/tensor_codec.ts";
import type { ColumnData } from "./_item_data.ts";

const STRING = 7;
const writer = new MessageWriter();

/** A chunk of columns that have equally many rows, as a `ChunkData`. */
export function chunkOf(
  codec: TensorCodec,
  key: Key,
  episode: Key,
  columns: readonly ColumnData[],
): Uint8Array<ArrayBuffer> {
  writer.reset();
  writer.key(1, key);
  writer.begin(2);
  writer.key(1, episode);
  writer.number(3, Math.max(0, (columns[0]?.rows ?? 1) - 1));
  writer.end();
  writer.begin(5);
  let bytesOfAll = 0;
  for (const { spec, rows, bytes, strings } of columns) {
    const shape = [rows, ...spec.shape];
    if (bytes === undefined) {
      bytesOfAll += strings?.reduce((sum, { length }) => sum + length, 0) ?? 0;
      writer.bytes(1, stringTensor(shape, strings ?? []));
    } else {
      bytesOfAll += bytes.length;
      writer.bytes(1, codec.encode(spec.dtype.number, shape, bytes));
    }
  }
  writer.end();
  writer.number(6, columns.length);
  writer.number(7, Math.min(bytesOfAll, 2 ** 31 - 1));
  return writer.message();
}

/** Strings are not packed. */
function stringTensor(shape: readonly number[], strings: readonly Uint8Array[]): Uint8Array {
  const tensor = new MessageWriter();
  tensor.number(1, STRING);
  tensor.begin(2);
  for (const size of shape) {
    tensor.begin(2);
    tensor.number(1, size);
    tensor.end();
  }
  tensor.end();
  for (const text of strings) tensor.bytes(8, text);
  return tensor.message();
}
