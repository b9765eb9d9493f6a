/**
 * Single fields of protobuf messages, for what is too rare for the kernel.
 *
 * @module
 */

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

/** The last number of one field; 0 where there is none. Above 2^53 it is not exact. */
export function numberOfField(message: Uint8Array, number: number): number {
  let found = 0;
  for (const reader of fieldsOf(message, number, 0)) {
    const { low, high } = reader.key();
    found = high * 2 ** 32 + low;
  }
  return found;
}

/** The last key of one field as text; keys have 64 bits. */
export function keyOfField(message: Uint8Array, number: number): string {
  let found = "0:0";
  for (const reader of fieldsOf(message, number, 0)) {
    const { low, high } = reader.key();
    found = `${high}:${low}`;
  }
  return found;
}
