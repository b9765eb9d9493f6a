/**
 * The head of an array in NumPy's format `.npy`: what its numbers are, and its shape.
 *
 * @module
 */

import { dataError, type FileDType } from "./_values.ts";

/** What the head of an array says. */
export interface NpyHead {
  /** The type of its numbers; undefined if they are none that are read here. */
  readonly dtype: FileDType | undefined;
  /** What NumPy calls the type. */
  readonly descr: string;
  readonly isBigEndian: boolean;
  readonly isFortran: boolean;
  readonly shape: readonly number[];
  /** Bytes of the head. */
  readonly bytes: number;
}

/** NumPy's codes of the types. */
const CODES: Readonly<Record<string, FileDType>> = {
  ...{ b1: "bool", u1: "uint8", u2: "uint16", u4: "uint32", u8: "uint64" },
  ...{ i1: "int8", i2: "int16", i4: "int32", i8: "int64" },
  ...{ f2: "float16", f4: "float32", f8: "float64" },
};

/** As many bytes as tell how long the head is. */
export const NPY_BEGIN_BYTES = 12;

/** How long the head is, by its first {@linkcode NPY_BEGIN_BYTES} bytes. */
export function npyHeadBytes(begin: Uint8Array<ArrayBuffer>, name: string): number {
  const magic = String.fromCharCode(...begin.subarray(1, 6));
  if (begin.length < NPY_BEGIN_BYTES || begin[0] !== 0x93 || magic !== "NUMPY") {
    throw dataError(`${name} is no array of NumPy's`);
  }
  const view = new DataView(begin.buffer, begin.byteOffset);
  const bytes = begin[6] === 1 ? 10 + view.getUint16(8, true) : 12 + view.getUint32(8, true);
  if (bytes < NPY_BEGIN_BYTES) throw dataError(`${name}: its head is damaged: it has no text`);
  return bytes;
}

/** Reads a head. */
export function readNpyHead(head: Uint8Array, name: string): NpyHead {
  const text = new TextDecoder().decode(head.subarray(head[6] === 1 ? 10 : 12));
  const descr = /'descr': *'([^']*)'/.exec(text)?.[1];
  const shape = /'shape': *\(([^)]*)\)/.exec(text)?.[1];
  if (shape === undefined) throw dataError(`${name}: its head is damaged: ${text.trim()}`);
  return {
    dtype: CODES[descr?.slice(1) ?? ""],
    descr: descr ?? "values of several parts",
    isBigEndian: descr?.startsWith(">") ?? false,
    isFortran: /'fortran_order': *True/.test(text),
    shape: shape.split(",").map((each) => each.trim()).filter((each) => each !== "").map(Number),
    bytes: head.length,
  };
}

/** Writes a head. */
export function writeNpyHead(dtype: FileDType, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const code = Object.entries(CODES).find(([, name]) => name === dtype)?.[0] ?? "";
  const order = code.endsWith("1") ? "|" : "<";
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const bytes = Math.ceil((10 + text.length + 1) / 64) * 64;
  const head = new Uint8Array(bytes).fill(0x20);
  head.set([0x93, ...new TextEncoder().encode("NUMPY"), 1, 0]);
  new DataView(head.buffer).setUint16(8, bytes - 10, true);
  head.set(new TextEncoder().encode(text), 10);
  head[bytes - 1] = 0x0a;
  return head;
}
