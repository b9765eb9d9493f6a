/**
 * Reads protobuf fields, for what is too rare for the kernel.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";

/** One field of a message. */
export interface Field {
  /** Its number. */
  readonly number: number;
  /** Whether it is a number, not a text, a message or packed numbers. */
  readonly isNumber: boolean;
  /** The number. Above 2^53 it is not exact, but its bytes are. */
  readonly value: number;
  /** The bytes of a text, a message or packed numbers; of a number, those of its varint. */
  readonly bytes: Uint8Array;
}

/** The error for a message that ends too early, or is none. */
function damage(at: number): ReplayError {
  return new ReplayError("message-damaged", `a message is damaged at its byte ${at}`);
}

/** The fields of a message in order. Numbers of fixed size have the value 0. */
export function* fieldsOf(message: Uint8Array): Generator<Field, void, undefined> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw damage(at);
      value += (byte & 0x7F) * scale;
      if (byte < 0x80) return value;
    }
    throw damage(at);
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0: {
        const begin = at;
        yield { number, isNumber: true, value: varint(), bytes: message.subarray(begin, at) };
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const size = varint();
        if (size > message.length - at) throw damage(at);
        at += size;
        yield { number, isNumber: false, value: 0, bytes: message.subarray(at - size, at) };
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        throw damage(at);
    }
    if (at > message.length) throw damage(at);
  }
}

/** The messages or texts of one field. */
export function bytesOfField(message: Uint8Array, number: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (const field of fieldsOf(message)) {
    if (field.number === number && !field.isNumber) found.push(field.bytes);
  }
  return found;
}

/** The last number of one field; 0 where there is none. */
export function numberOfField(message: Uint8Array, number: number): number {
  let found = 0;
  for (const field of fieldsOf(message)) {
    if (field.number === number && field.isNumber) found = field.value;
  }
  return found;
}

/** The last number of one field as text, exact for all 64 bits. The same number always gives the same text. */
export function exactNumberOfField(message: Uint8Array, number: number): string {
  let found = "0";
  for (const field of fieldsOf(message)) {
    if (field.number !== number || !field.isNumber) continue;
    found = field.bytes.reduceRight((sum, byte) => sum << 7n | BigInt(byte & 0x7F), 0n).toString();
  }
  return found;
}
