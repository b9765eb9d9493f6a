/**
 * HDF5 files by h5wasm. From a path, only what is asked for is read.
 *
 * @module
 */

import { filesOf } from "./_files.ts";
import { load } from "./packages.ts";
import { dataError, type FileDType, toNumbers, type Values } from "./_values.ts";

/** What is used of h5wasm. */
export interface H5Wasm {
  readonly ready: Promise<unknown>;
  readonly File: new (path: string, mode: "r" | "w") => H5File;
  readonly FS:
    | { writeFile(path: string, bytes: Uint8Array): void; unlink(path: string): void }
    | null;
}

/** What is known of a dataset. */
interface H5Metadata {
  readonly shape: readonly number[] | null;
  /** The class of its numbers: 0 integers, 1 floats, 8 names for integers. */
  readonly type: number;
  readonly size: number;
  readonly signed: boolean;
  readonly vlen: boolean;
  readonly chunks: readonly number[] | null;
}

/** A range of rows. */
type Range = [number, number];

/** An array in a file. */
export interface H5Dataset {
  readonly type: string;
  readonly path: string;
  readonly metadata: H5Metadata;
  slice(ranges: Range[]): unknown;
  write_slice(ranges: Range[], values: unknown): void;
  resize(shape: readonly number[]): unknown;
}

/** A folder of arrays in a file. */
export interface H5Group {
  readonly type: string;
  readonly path: string;
  readonly attrs: Readonly<Record<string, { readonly value: unknown }>>;
  keys(): string[];
  get(name: string): unknown;
  create_group(name: string): H5Group;
  create_attribute(name: string, value: unknown, shape?: number[] | null, dtype?: string): void;
  create_dataset(options: {
    readonly name: string;
    readonly data: unknown;
    readonly shape: readonly number[];
    readonly dtype: string;
    readonly maxshape?: readonly (number | null)[];
    readonly chunks?: readonly number[];
  }): H5Dataset;
}

/** A file. */
export interface H5File extends H5Group {
  readonly file_id: bigint;
  close(): unknown;
}

/** The types of number that h5wasm writes, as it calls them. It has none for float16. */
export const H5_DTYPES: Readonly<Partial<Record<FileDType, string>>> = {
  ...{ uint8: "<B", int8: "<b", int16: "<h", int32: "<i", int64: "<q", bool: "<B" },
  ...{ float32: "<f", float64: "<d" },
};

/** h5wasm that reads and writes the files of the system, or those that are in memory. */
async function loadH5(isInMemory: boolean): Promise<H5Wasm> {
  const module = isInMemory ? await load<H5Wasm>("h5wasm") : await load<H5Wasm>("h5wasm", "/node");
  await module.ready;
  return module;
}

let memoryFiles = 0;

/** An open file, and what closes it. */
export interface OpenH5 {
  readonly file: H5File;
  close(): void;
}

/** Opens a file, or bytes, to read them. */
export async function openH5(source: string | Uint8Array): Promise<OpenH5> {
  const isInMemory = typeof source !== "string";
  const h5 = await loadH5(isInMemory);
  const path = isInMemory ? `/exrp-${++memoryFiles}.hdf5` : source;
  if (isInMemory) h5.FS?.writeFile(path, source);
  else filesOf();
  const close = (): void => {
    if (isInMemory) h5.FS?.unlink(path);
  };
  try {
    const file = new h5.File(path, "r");
    if (file.file_id <= 0n) throw new Error("it is no HDF5 file, or not a whole one");
    return {
      file,
      close(): void {
        file.close();
        close();
      },
    };
  } catch (cause) {
    close();
    throw dataError(
      `can't read ${isInMemory ? "the bytes" : JSON.stringify(source)} as HDF5: ${
        String((cause as Error)?.message ?? cause).split("\n")[0]
      }`,
      cause,
    );
  }
}

/** Makes a file. */
export async function createH5(path: string): Promise<H5File> {
  const h5 = await loadH5(false);
  const file = new h5.File(path, "w");
  if (file.file_id <= 0n) throw dataError(`can't write ${JSON.stringify(path)} as HDF5`);
  return file;
}

/** Whether it is an array. */
export function isDataset(it: unknown): it is H5Dataset {
  return (it as { readonly type?: unknown } | null)?.type === "Dataset";
}

/** Whether it is a folder of arrays. */
export function isGroup(it: unknown): it is H5Group {
  return (it as { readonly type?: unknown } | null)?.type === "Group";
}

/** The type of an array's numbers; undefined if they are no numbers that are read here. */
export function h5DType(
  { metadata: { type, size, signed, vlen } }: H5Dataset,
): FileDType | undefined {
  if (vlen) return undefined;
  if (type === 8 && size === 1) return "bool";
  if (type === 0 && [1, 2, 4, 8].includes(size)) {
    return `${signed ? "" : "u"}int${8 * size}` as FileDType;
  }
  if (type === 1 && size === 4) return "float32";
  if (type === 1 && size === 8) return "float64";
  return undefined;
}

/** Why an array is not read, in words. */
export function h5Kind({ metadata: { type, size, vlen } }: H5Dataset): string {
  if (type === 3) return "text";
  if (vlen || type === 9) return "values of different lengths";
  if (type === 1 && size === 2) return "float16, which h5wasm does not read";
  return "no numbers";
}

/** All arrays below a folder, with their names from there. */
export function* arraysIn(
  group: H5Group,
  before = "",
): Generator<readonly [name: string, array: H5Dataset]> {
  for (const name of group.keys()) {
    const it = group.get(name);
    if (isDataset(it)) yield [`${before}${name}`, it];
    else if (isGroup(it)) yield* arraysIn(it, `${before}${name}/`);
  }
}

/** The rows `from` to `to` of an array. */
export function readRows(array: H5Dataset, name: string, from: number, to: number): Values {
  const rest = (array.metadata.shape ?? []).slice(1).map((size): Range => [0, size]);
  const values = array.slice([[from, to], ...rest]);
  if (!ArrayBuffer.isView(values)) throw dataError(`${name} can't be read from row ${from} on`);
  // Names for integers come as signed bytes.
  const numbers = h5DType(array) === "bool"
    ? new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength)
    : values as unknown as ArrayLike<number>;
  return toNumbers(numbers, name);
}
