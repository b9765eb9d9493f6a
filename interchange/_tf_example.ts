/**
 * The messages of TensorFlow's `tf.train.Example` and `tf.train.SequenceExample`: lists of numbers or bytes, by name.
 *
 * @module
 */

import { joinBytes, joinInto, lengthOfAll } from "../base/bytes.ts";
import { bytesOf } from "../base/typed_arrays.ts";
import { bytesOfField, eachOfField } from "../wire/fields.ts";
import { DamagedMessage, MessageReader } from "../wire/message_reader.ts";
import { eachKey, MessageWriter } from "../wire/message_writer.ts";
import { dataError } from "./_values.ts";

/** A list by its name. Of a `SequenceExample` it is all lists of a name, one after the other. */
export interface Feature {
  readonly floats?: Float32Array<ArrayBuffer>;
  /** Exact up to 2^53. */
  readonly integers?: Float64Array<ArrayBuffer>;
  readonly bytes?: readonly Uint8Array[];
  /** How many lists these were; undefined for one list of an `Example`. */
  readonly listCount?: number;
}

/** The entries of a map in a field, whose values are messages. */
function* mapOf(message: Uint8Array, field: number): Generator<readonly [string, Uint8Array]> {
  for (const map of eachOfField(message, field)) {
    for (const entry of eachOfField(map, 1)) {
      const [[name], [value]] = [bytesOfField(entry, 1), bytesOfField(entry, 2)];
      yield [new TextDecoder().decode(name), value ?? new Uint8Array()];
    }
  }
}

function readFeature(message: Uint8Array): Feature {
  for (const list of eachOfField(message, 2)) return { floats: readFloats(list) };
  for (const list of eachOfField(message, 3)) return { integers: readIntegers(list) };
  for (const list of eachOfField(message, 1)) return { bytes: bytesOfField(list, 1) };
  return {};
}

/** Floats, packed or each by itself. */
function readFloats(list: Uint8Array): Float32Array<ArrayBuffer> {
  const reader = new MessageReader(list);
  const parts: Uint8Array[] = [];
  while (reader.next()) {
    const { field, kind, position } = reader;
    if (field === 1 && kind === 2) parts.push(reader.bytes());
    else {
      reader.skip();
      if (field === 1 && kind === 5) parts.push(list.subarray(position, reader.position));
    }
  }
  const all = joinBytes(parts);
  if (all.length % 4 !== 0) throw dataError("a list of floats has no whole number of them");
  return new Float32Array(all.buffer);
}

/** Integers of 64 bits with their signs, packed or each by itself. */
function readIntegers(list: Uint8Array): Float64Array<ArrayBuffer> {
  const values: number[] = [];
  eachKey(list, 1, ({ low, high }) => values.push((high | 0) * 2 ** 32 + low));
  return Float64Array.from(values);
}

/** Puts the lists of a `FeatureList` one behind the other. */
function readFeatureList(message: Uint8Array): Feature {
  const lists = Array.from(eachOfField(message, 1), readFeature);
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
export function readExample(message: Uint8Array): Map<string, Feature> {
  const features = new Map<string, Feature>();
  try {
    for (const [name, value] of mapOf(message, 1)) features.set(name, readFeature(value));
    for (const [name, value] of mapOf(message, 2)) features.set(name, readFeatureList(value));
  } catch (error) {
    throw error instanceof DamagedMessage ? dataError(error.message, error) : error;
  }
  return features;
}

/** Writes an `Example`. */
export function writeExample(features: ReadonlyMap<string, Feature>): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  writer.begin(1);
  for (const [name, { floats, integers, bytes = [] }] of features) {
    writer.begin(1);
    writer.text(1, name);
    writer.begin(2);
    writer.begin(floats !== undefined ? 2 : integers !== undefined ? 3 : 1);
    if (floats !== undefined) writer.bytes(1, bytesOf(floats));
    else if (integers !== undefined) writer.integers(1, integers);
    else for (const each of bytes) writer.bytes(1, each);
    for (let k = 0; k < 3; k++) writer.end();
  }
  writer.end();
  return writer.message();
}
