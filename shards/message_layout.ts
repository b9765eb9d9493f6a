/**
 * How messages lie in bytes: the numbers of a head one behind the other, little-endian, and bytes behind them.
 *
 * A {@linkcode MessageLayout} says which fields a head has. So each field stands in one list, and whatever comes from a connection is checked in one place.
 *
 * @module
 */

import { joinInto, lengthOfAll, toHex } from "../base/bytes.ts";

/**
 * How a field lies in bytes: an unsigned number of 32 bits, a number of 64 bits, a whole one of these from 0 to 2^53, or a random name of 16 bytes, which is text
 * in hex.
 */
type Kind = "u32" | "f64" | "whole" | "hex";

const BYTES: Readonly<Record<Kind, number>> = { u32: 4, f64: 8, whole: 8, hex: 16 };

/** How the fields of a head lie in bytes. */
type Kinds<T> = { readonly [K in keyof T]: T[K] extends string ? "hex" : Exclude<Kind, "hex"> };

/** A head, and what is behind it. */
export type Message<T> = T & { readonly body: Uint8Array };

/** The fields of one kind of message, in order. */
export class MessageLayout<T extends object> {
  /** The bytes of the head: a multiple of 8, so that arrays may lie behind it. */
  readonly bytes: number;
  readonly #magic: number | undefined;
  readonly #places: readonly { readonly name: keyof T; readonly kind: Kind; readonly at: number }[];

  /** @param magic The number in the first four bytes; undefined for a part of a message, which has none. */
  constructor(magic: number | undefined, fields: Kinds<T>) {
    let at = magic === undefined ? 0 : 4;
    this.#magic = magic;
    this.#places = Object.entries<Kind>(fields).map(([name, kind]) => {
      at += BYTES[kind];
      return { name: name as keyof T, kind, at: at - BYTES[kind] };
    });
    this.bytes = 8 * Math.ceil(at / 8);
  }

  /** A message: the head, and these bytes behind it. */
  write(values: T, body: readonly Uint8Array[] = []): Uint8Array<ArrayBuffer> {
    const message = new Uint8Array(this.bytes + lengthOfAll(body));
    this.set(message, values);
    return joinInto(message, body, this.bytes);
  }

  /** Writes the head of a message, or some fields of it. */
  set(message: Uint8Array, values: Partial<T>): void {
    const view = new DataView(message.buffer, message.byteOffset, this.bytes);
    if (this.#magic !== undefined) view.setUint32(0, this.#magic, true);
    for (const { name, kind, at } of this.#places) {
      const value = values[name] as number | string | undefined;
      if (typeof value === "string") {
        for (let k = 0; k < 16; k++) {
          view.setUint8(at + k, parseInt(value.slice(2 * k, 2 * k + 2), 16));
        }
      } else if (value !== undefined) {
        if (kind === "u32") view.setUint32(at, value, true);
        else view.setFloat64(at, value, true);
      }
    }
  }

  /** Reads a message. Undefined if it is too short, begins otherwise, or has what a field can't be. What is behind the head is not copied. */
  read(message: Uint8Array): Message<T> | undefined {
    if (message.length < this.bytes) return undefined;
    const view = new DataView(message.buffer, message.byteOffset, this.bytes);
    if (this.#magic !== undefined && view.getUint32(0, true) !== this.#magic) return undefined;
    const values: Record<PropertyKey, unknown> = {};
    for (const { name, kind, at } of this.#places) {
      if (kind === "u32") values[name] = view.getUint32(at, true);
      else if (kind === "hex") values[name] = toHex(message.subarray(at, at + 16));
      else {
        const value = values[name] = view.getFloat64(at, true);
        if (kind === "whole" && !(Number.isSafeInteger(value) && value >= 0)) return undefined;
      }
    }
    values["body"] = message.subarray(this.bytes);
    return values as Message<T>;
  }
}
