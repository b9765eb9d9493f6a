/**
 * Single fields of protobuf messages, for what is too rare for the kernel.
 *
 * @module
 */

import { toBigInt } from "./keys.ts";
import { MessageReader } from "./message_reader.ts";

/** Stands at each field of this number in turn that is written in this way. */
function* fieldsOf(
  message: Uint8Array,
  number: number,
  kind: number,
): Generator<MessageReader, void, undefined> {
  const reader = new MessageReader(message);
  while (reader.next()) {
    if (reader.field === number && reader.kind === kind) yield reader;
    else reader.skip();
  }
}

/** The messages or texts of one field, as views. Many of them take less memory one by one: a view is larger than a short field. */
export function* eachOfField(
  message: Uint8Array,
  number: number,
): Generator<Uint8Array, void, undefined> {
  for (const reader of fieldsOf(message, number, 2)) yield reader.bytes();
}

/** All messages or texts of one field at once, as views. */
export function bytesOfField(message: Uint8Array, number: number): Uint8Array[] {
  return [...eachOfField(message, number)];
}

/** The last number of one field, all its 64 bits; 0 where there is none. */
export function numberOfField(message: Uint8Array, number: number): bigint {
  let found = 0n;
  for (const reader of fieldsOf(message, number, 0)) found = toBigInt(reader.key());
  return found;
}
