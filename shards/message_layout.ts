/**
 * How messages lie in bytes: the numbers of a head one behind the other, little-endian, and bytes behind them.
 *
 * A {@linkcode MessageLayout} says which fields a head has. So each field stands in one list, and whatever comes from a connection is checked in one place.
 *
 * @module
 */

import { joinInto, lengthOfAll, toHex } from "../base/bytes.ts";

/** A field of a head. `get` gives undefined for what the field can't be. */
export interface Field<T> {
  readonly bytes: number;
  get(view: DataView, at: number): T | undefined;
  set(view: DataView, at: number, value: T): void;
}

/** An unsigned number of 32 bits. */
export const u32: Field<number> = {
  bytes: 4,
  get: (view, at) => view.getUint32(at, true),
  set: (view, at, value) => view.setUint32(at, value, true),
};

/** A signed one. */
export const i32: Field<number> = {
  bytes: 4,
  get: (view, at) => view.getInt32(at, true),
  set: (view, at, value) => view.setInt32(at, value, true),
};

/** A number of 64 bits. */
export const f64: Field<number> = {
  bytes: 8,
  get: (view, at) => view.getFloat64(at, true),
  set: (view, at, value) => view.setFloat64(at, value, true),
};

/** A whole number from 0 to 2^53, of 64 bits. */
export const whole: Field<number> = {
  ...f64,
  get(view, at): number | undefined {
    const value = view.getFloat64(at, true);
    return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  },
};

/** A random name of 16 bytes, as hex. */
export const hexName: Field<string> = {
  bytes: 16,
  get: (view, at) => toHex(new Uint8Array(view.buffer, view.byteOffset + at, 16)),
  set(view, at, value): void {
    for (let k = 0; k < 16; k++) view.setUint8(at + k, parseInt(value.slice(2 * k, 2 * k + 2), 16));
  },
};

/** A head, and what is behind it. */
export type Message<T> = T & { readonly body: Uint8Array };

/** The fields of one kind of message, in order. */
export class MessageLayout<T extends object> {
  /** The bytes of the head: a multiple of 8, so that arrays may lie behind it. */
  readonly bytes: number;
  readonly #magic: number | undefined;
  readonly #places: readonly (readonly [name: keyof T, field: Field<unknown>, at: number])[];

  /** @param magic The number in the first four bytes; undefined for a part of a message, which has none. */
  constructor(magic: number | undefined, fields: { readonly [K in keyof T]: Field<T[K]> }) {
    let at = magic === undefined ? 0 : 4;
    this.#magic = magic;
    this.#places = Object.entries<Field<unknown>>(fields).map(([name, field]) => {
      at += field.bytes;
      return [name as keyof T, field, at - field.bytes] as const;
    });
    this.bytes = 8 * Math.ceil(at / 8);
  }

  /** A message: the head, and these bytes behind it. */
  write(values: T, ...body: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
    const message = new Uint8Array(this.bytes + lengthOfAll(body));
    this.set(message, values);
    joinInto(message.subarray(this.bytes), body);
    return message;
  }

  /** Writes the head of a message, or some fields of it. */
  set(message: Uint8Array, values: Partial<T>): void {
    const view = new DataView(message.buffer, message.byteOffset, this.bytes);
    if (this.#magic !== undefined) view.setUint32(0, this.#magic, true);
    for (const [name, field, at] of this.#places) {
      const value = values[name];
      if (value !== undefined) field.set(view, at, value);
    }
  }

  /** Reads a message. Undefined if it is too short, begins otherwise, or has what a field can't be. What is behind the head is not copied. */
  read(message: Uint8Array): Message<T> | undefined {
    if (message.length < this.bytes) return undefined;
    const view = new DataView(message.buffer, message.byteOffset, this.bytes);
    if (this.#magic !== undefined && view.getUint32(0, true) !== this.#magic) return undefined;
    const values: Record<PropertyKey, unknown> = {};
    for (const [name, field, at] of this.#places) {
      const value = field.get(view, at);
      if (value === undefined) return undefined;
      values[name] = value;
    }
    values["body"] = message.subarray(this.bytes);
    return values as Message<T>;
  }
}
