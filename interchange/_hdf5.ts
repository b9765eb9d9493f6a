/**
 * HDF5 files by h5wasm. From a path, only what is asked for is read.
 *
 * HDF5 prints on the standard error what failed, and h5wasm lets most of it pass: a read that failed gives whatever was in memory. So this file listens to
 * what is printed, and each call that HDF5 says something of is an error.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { lastName, openData } from "./_files.ts";
import { load } from "./packages.ts";
import { dataError, type FileDType, toNumbers, type Values } from "./_values.ts";

/** What is used of h5wasm. */
export interface H5Wasm {
  readonly ready: Promise<unknown>;
  readonly File: new (path: string, mode: "r" | "w") => H5File;
  readonly FS: H5Files | null;
}

/** Its files: those of the system, or those in memory. Both write to the standard error, too. */
export interface H5Files {
  readonly ErrnoError: new (errno: number) => Error;
  writeFile(path: string, bytes: Uint8Array): void;
  unlink(path: string): void;
  write(
    stream: { readonly fd: number },
    from: Int8Array<ArrayBuffer>,
    offset: number,
    length: number,
    ...rest: unknown[]
  ): number;
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
  listen(module);
  return module;
}

/** What HDF5 printed during the latest call, and the system's first error of a write. */
const heard = { said: "", system: undefined as unknown };
const listening = new WeakSet<H5Files>();

/** Takes what h5wasm prints on the standard error. */
function listen({ FS: files, File: Opened }: H5Wasm): void {
  if (files === null || listening.has(files)) return;
  const write = files.write;
  files.write = (stream, from, offset, length, ...rest) => {
    if (stream.fd === 2) {
      heard.said += new TextDecoder().decode(from.subarray(offset, offset + length));
      return length;
    }
    try {
      return write(stream, from, offset, length, ...rest);
    } catch (error) {
      heard.system ??= error;
      // An error that HDF5 does not know would leave it in the midst of a call, with its file open.
      throw (error as { readonly errno?: unknown }).errno === undefined
        ? new files.ErrnoError(EIO)
        : error;
    }
  };
  // No file has no name. Where that is not heard, no failure would be.
  heard.said = "";
  new Opened("", "r");
  if (heard.said === "") throw new Error("this version of h5wasm does not say what fails");
  listening.add(files);
}

/** An error of a disk, as h5wasm counts errors. */
const EIO = 29;

/** A call of HDF5. Where it throws, or HDF5 says something, `failed` makes the error. */
function hear<T>(call: () => T, failed: (reason: string, cause: unknown) => Error): T {
  Object.assign(heard, { said: "", system: undefined });
  let result: { readonly it: T } | undefined;
  let thrown: unknown;
  try {
    result = { it: call() };
  } catch (error) {
    thrown = error;
  }
  const { said, system } = heard;
  if (result !== undefined && said === "" && system === undefined) return result.it;
  if (system !== undefined) throw failed(reasonOf(system), system);
  throw failed(said === "" ? reasonOf(thrown) : reasonIn(said), thrown);
}

/** What went wrong, in what HDF5 printed: the last of its calls is the innermost one. It says much of folders of plugins, which nobody here has. */
function reasonIn(said: string): string {
  const lines = said.split("\n").filter((line) =>
    /^ *#\d+: /.test(line) && !/\/H5PL\w*\.c /.test(line)
  );
  const filter = /required filter '?(.*?)'? is not registered/.exec(said)?.[1];
  if (filter !== undefined) {
    return `it is packed by ${filter}, and only gzip and szip are unpacked here. Pack it anew: h5repack -f GZIP=4 OLD NEW`;
  }
  if (said.includes("filter returned failure during read")) {
    return "a packed part or a checksum of it is damaged";
  }
  return (lines.at(-1) ?? said).replace(/^.* in \w+\(\): /, "").trim();
}

/** A call that reads. */
function read<T>(name: string, call: () => T): T {
  return hear(call, (reason, cause) => dataError(`${name} can't be read: ${reason}`, cause));
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
  else await (await openData("", source)).close();
  const close = (): void => {
    if (isInMemory) h5.FS?.unlink(path);
  };
  try {
    const file = hear(
      () => new h5.File(path, "r"),
      (reason, cause) => dataError(`it is no HDF5 file, or not a whole one: ${reason}`, cause),
    );
    return {
      file,
      close(): void {
        file.close();
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** What a call that writes is made by. */
export type WriteH5 = <T>(call: () => T) => T;

/** Makes a file. */
export async function createH5<T>(
  path: string,
  fill: (file: H5File, write: WriteH5) => T | Promise<T>,
): Promise<T> {
  const h5 = await loadH5(false);
  const write: WriteH5 = (call) =>
    hear(
      call,
      (reason, cause) =>
        new ReplayError("file", `can't write ${JSON.stringify(lastName(path))}: ${reason}`, {
          cause,
        }),
    );
  const file = write(() => new h5.File(path, "w"));
  let made: T;
  try {
    made = await fill(file, write);
  } catch (error) {
    // What it says now follows from the first error.
    try {
      file.close();
    } catch { /* likewise */ }
    throw error;
  }
  write(() => file.close());
  return made;
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

/** The names in a folder. */
export function namesOf(group: H5Group): string[] {
  return read(group.path, () => group.keys());
}

/** What a folder has by a name: an array of which is known what it is, a folder, or something else; null where there is nothing. */
export function partOf(group: H5Group, name: string): unknown {
  return read(name, () => {
    const part = group.get(name);
    if (isDataset(part)) void part.metadata;
    return part;
  });
}

/** What a folder says of itself by a name; undefined where it says nothing. */
export function attributeOf(group: H5Group, name: string): unknown {
  return read(name, () => group.attrs[name]?.value);
}

/** Groups in groups, and groups in all: more than any file of episodes has. Links may lead around in circles. */
const DEPTH_MAX = 32;
const GROUPS_MAX = 1000;

/** All arrays below a folder, with their names from there. */
export function* arraysIn(
  group: H5Group,
  before = "",
  depth = 0,
  visited = { count: 0 },
): Generator<readonly [name: string, array: H5Dataset]> {
  if (depth > DEPTH_MAX || ++visited.count > GROUPS_MAX) {
    throw dataError(
      `${
        group.path.slice(0, 40)
      } has too many groups: ${DEPTH_MAX} in each other, and ${GROUPS_MAX} in all, are read`,
    );
  }
  for (const name of namesOf(group)) {
    const it = partOf(group, name);
    if (isDataset(it)) yield [`${before}${name}`, it];
    else if (isGroup(it)) yield* arraysIn(it, `${before}${name}/`, depth + 1, visited);
  }
}

/** The rows `from` to `to` of an array. */
export function readRows(array: H5Dataset, name: string, from: number, to: number): Values {
  const rest = (array.metadata.shape ?? []).slice(1).map((size): Range => [0, size]);
  const values = read(name, () => array.slice([[from, to], ...rest]));
  if (!ArrayBuffer.isView(values)) throw dataError(`${name} can't be read from row ${from} on`);
  // Names for integers come as signed bytes.
  const numbers = h5DType(array) === "bool"
    ? new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength)
    : values as unknown as ArrayLike<number>;
  return toNumbers(numbers, name);
}
