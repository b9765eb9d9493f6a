/**
 * The messages of TensorFlow's `tf.train.Example` and `tf.train.SequenceExample`: lists of numbers or bytes, by name.
 *
 * @module
 */

import { joinBytes, joinInto, lengthOfAll } from "../base/bytes.ts";
import { dataError } from "./_values.ts";

/** A list by its name. Of a `SequenceExample` it is all lists of a name, one after the other. */
export interface Feature {
  readonly floats?: Float32Array<ArrayBuffer>;
  /** Exact up to 2^53. */
  readonly integers?: Float64Array<ArrayBuffer>;
  readonly bytes?: readonly Uint8Array<ArrayBuffer>[];
  /** How many lists these were; undefined for one list of an `Example`. */
  readonly listCount?: number;
}

const VARINT = 0;
const FIXED32 = 5;
const FIXED64 = 1;
const BYTES = 2;

/** Reads a message field by field. */
class Fields {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** A number of up to 64 bits, with its sign. */
  varint(): number {
    let [low, high, shift] = [0, 0, 0];
    for (;; shift += 7) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined || shift > 63) throw dataError("a message ends too soon");
      const part = byte & 0x7f;
      if (shift < 28) low |= part << shift;
      else if (shift === 28) {
        low |= part << 28;
        high |= part >>> 4;
      } else high |= part << (shift - 32);
      if (byte < 0x80) break;
    }
    return (high | 0) * 2 ** 32 + (low >>> 0);
  }

  take(count: number): Uint8Array<ArrayBuffer> {
    if (count < 0 || count > this.#bytes.length - this.#at) {
      throw dataError("a message ends too soon");
    }
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  /** The next field. A number of fixed size comes as its bytes. */
  next(): {
    readonly field: number;
    readonly kind: number;
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly number: number;
  } {
    const key = this.varint();
    const [field, kind] = [key >>> 3, key & 7];
    const none = new Uint8Array();
    if (kind === VARINT) return { field, kind, bytes: none, number: this.varint() };
    const size = kind === BYTES ? this.varint() : kind === FIXED32 ? 4 : kind === FIXED64 ? 8 : -1;
    return { field, kind, bytes: this.take(size), number: NaN };
  }
}

function readFeature(bytes: Uint8Array<ArrayBuffer>): Feature {
  const fields = new Fields(bytes);
  let feature: Feature = {};
  while (!fields.isAtEnd) {
    const { field, bytes: list } = fields.next();
    if (field === 1) feature = { bytes: readBytes(list) };
    else if (field === 2) feature = { floats: readFloats(list) };
    else if (field === 3) feature = { integers: readIntegers(list) };
  }
  return feature;
}

function readBytes(list: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const fields = new Fields(list);
  const values: Uint8Array<ArrayBuffer>[] = [];
  while (!fields.isAtEnd) values.push(fields.next().bytes);
  return values;
}

function readFloats(list: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const fields = new Fields(list);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  while (!fields.isAtEnd) parts.push(fields.next().bytes);
  const all = joinBytes(parts);
  if (all.length % 4 !== 0) throw dataError("a list of floats has no whole number of them");
  return new Float32Array(all.slice().buffer);
}

function readIntegers(list: Uint8Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const fields = new Fields(list);
  const values: number[] = [];
  while (!fields.isAtEnd) {
    const { kind, bytes, number } = fields.next();
    if (kind === VARINT) {
      values.push(number);
      continue;
    }
    const packed = new Fields(bytes);
    while (!packed.isAtEnd) values.push(packed.varint());
  }
  return Float64Array.from(values);
}

/** The entries of a map whose values are messages. */
function* readMap(bytes: Uint8Array<ArrayBuffer>): Generator<[string, Uint8Array<ArrayBuffer>]> {
  const fields = new Fields(bytes);
  while (!fields.isAtEnd) {
    const { field, bytes: entry } = fields.next();
    if (field !== 1) continue;
    const parts = new Fields(entry);
    let [name, value]: [string, Uint8Array<ArrayBuffer>] = ["", new Uint8Array()];
    while (!parts.isAtEnd) {
      const part = parts.next();
      if (part.field === 1) name = new TextDecoder().decode(part.bytes);
      else if (part.field === 2) value = part.bytes;
    }
    yield [name, value];
  }
}

/** Puts the lists of a `FeatureList` one behind the other. */
function readFeatureList(bytes: Uint8Array<ArrayBuffer>): Feature {
  const fields = new Fields(bytes);
  const lists: Feature[] = [];
  while (!fields.isAtEnd) lists.push(readFeature(fields.next().bytes));
  const listCount = lists.length;
  const join = <A extends Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(
    of: (feature: Feature) => A | undefined,
    make: (count: number) => A,
  ): A => {
    const parts = lists.map((list) => of(list) ?? make(0));
    return joinInto(make(lengthOfAll(parts)), parts);
  };
  const [first] = lists;
  if (first?.floats !== undefined) {
    return { listCount, floats: join((each) => each.floats, (n) => new Float32Array(n)) };
  }
  if (first?.integers !== undefined) {
    return { listCount, integers: join((each) => each.integers, (n) => new Float64Array(n)) };
  }
  return { listCount, bytes: lists.flatMap((each) => [...each.bytes ?? []]) };
}

/** Reads an `Example` or a `SequenceExample`. */
export function readExample(message: Uint8Array<ArrayBuffer>): Map<string, Feature> {
  const features = new Map<string, Feature>();
  const fields = new Fields(message);
  while (!fields.isAtEnd) {
    const { field, bytes } = fields.next();
    if (field === 1) {
      for (const [name, value] of readMap(bytes)) features.set(name, readFeature(value));
    }
    if (field !== 2) continue;
    for (const [name, value] of readMap(bytes)) features.set(name, readFeatureList(value));
  }
  return features;
}

// ---- writing ----

function varintBytes(value: number): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return bytes;
}

/** A field that has bytes. */
function field(
  number: number,
  ...parts: readonly Uint8Array<ArrayBuffer>[]
): Uint8Array<ArrayBuffer> {
  const head = Uint8Array.from([number << 3 | BYTES, ...varintBytes(lengthOfAll(parts))]);
  return joinBytes([head, ...parts]);
}

function writeIntegers(values: ArrayLike<number>): Uint8Array<ArrayBuffer> {
  let bytes = new Uint8Array(values.length + 16);
  let at = 0;
  for (let k = 0; k < values.length; k++) {
    if (at + 10 > bytes.length) {
      const more = new Uint8Array(2 * bytes.length);
      more.set(bytes);
      bytes = more;
    }
    const value = values[k] as number;
    if (value >= 0 && value < 128) bytes[at++] = value;
    else for (const byte of varintBytes(value)) bytes[at++] = byte;
  }
  return bytes.subarray(0, at);
}

function writeFeature({ floats, integers, bytes }: Feature): Uint8Array<ArrayBuffer> {
  if (floats !== undefined) {
    const list = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
    return field(2, field(1, list));
  }
  if (integers !== undefined) return field(3, field(1, writeIntegers(integers)));
  return field(1, ...(bytes ?? []).map((each) => field(1, each)));
}

/** Writes an `Example`. */
export function writeExample(features: ReadonlyMap<string, Feature>): Uint8Array<ArrayBuffer> {
  const entries = [...features].map(([name, feature]) =>
    field(1, field(1, new TextEncoder().encode(name)), field(2, writeFeature(feature)))
  );
  return field(1, ...entries);
}
