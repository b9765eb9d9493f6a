/**
 * NumPy's files `.npz`: a zip file with an array for each column, named as in D4RL's files. A column is read and written from its beginning to its end, and
 * never as a whole.
 *
 * @module
 */

import { release } from "../base/bytes.ts";
import type { DataFile, NewFile } from "./_files.ts";
import { NPY_BEGIN_BYTES, type NpyHead, npyHeadBytes, readNpyHead, writeNpyHead } from "./_npy.ts";
import { load } from "./packages.ts";
import { columnsIn, type Rows, rowsFor, type Table, type TableColumn } from "./_table.ts";
import { bytesOf, dataError, type FileDType, sizeOf, type Values, valuesIn } from "./_values.ts";

/** What is used of zip.js. */
export interface Zip {
  configure(options: { readonly useWebWorkers: boolean; readonly maxWorkers: number }): unknown;
  // deno-lint-ignore no-explicit-any -- a class that is extended
  readonly Reader: new (value: any) => { size: number; init?(): Promise<void> | void };
  readonly ZipReader: new (reader: unknown) => {
    getEntries(): Promise<ZipEntry[]>;
    close(): Promise<void>;
  };
  readonly ZipWriter: new (
    writable: WritableStream<Uint8Array>,
    options: { readonly zip64: boolean; readonly level: number; readonly keepOrder: boolean },
  ) => {
    add(name: string, data: ReadableStream<Uint8Array>): Promise<unknown>;
    close(): Promise<unknown>;
  };
}

interface ZipEntry {
  readonly filename: string;
  getData?(
    into: WritableStream<Uint8Array>,
    options: { readonly checkSignature: boolean },
  ): Promise<unknown>;
}

const READ_BYTES = 2 ** 20;

/** More columns than a replay may have. */
const COLUMNS_MAX = 1024;

async function loadZip(): Promise<Zip> {
  const zip = await load<Zip>("@zip.js/zip.js");
  // All columns are read at once, and it reads only so many at a time as there may be workers, though none is used.
  zip.configure({ useWebWorkers: false, maxWorkers: COLUMNS_MAX });
  return zip;
}

/** Bytes of an array, which come one after the other. */
class Bytes {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #name: string;
  readonly #done: Promise<void>;
  #failed: unknown;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array();

  constructor(entry: ZipEntry) {
    const { readable, writable } = new TransformStream<
      Uint8Array<ArrayBuffer>,
      Uint8Array<ArrayBuffer>
    >();
    this.#name = entry.filename.replace(/\.npy$/, "");
    this.#reader = readable.getReader();
    this.#done =
      (entry.getData?.(writable as WritableStream<Uint8Array>, { checkSignature: true }) ??
        Promise.resolve()).then(() => {}, async (error) => {
          this.#failed = error;
          await writable.abort(error).catch(() => {});
        });
  }

  /** The next bytes: exactly so many. */
  async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const taken = new Uint8Array(count);
    for (let have = 0; have < count;) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const part = this.#rest.subarray(0, count - have);
      taken.set(part, have);
      have += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return taken;
  }

  async #next(): Promise<Uint8Array<ArrayBuffer>> {
    try {
      const { done, value } = await this.#reader.read();
      if (!done) return value;
    } catch (cause) {
      throw dataError(
        `${this.#name} is damaged: ${String((cause as Error)?.message ?? cause)}`,
        cause,
      );
    }
    throw dataError(`${this.#name} ends too soon`);
  }

  /** Reads to the end, where the checksum is. */
  async end(): Promise<void> {
    if (this.#rest.length > 0) throw dataError(`${this.#name} is longer than its shape says`);
    const { done } = await this.#reader.read().catch(() => ({ done: true }));
    await this.#done;
    if (!done) throw dataError(`${this.#name} is longer than its shape says`);
    if (this.#failed !== undefined) {
      throw dataError(`${this.#name} is damaged: ${this.#failed}`, this.#failed);
    }
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    await this.#done;
  }
}

/** The table in a npz file. */
export async function openNpz(file: DataFile): Promise<Table> {
  const zip = await loadZip();
  class Source extends zip.Reader {
    constructor() {
      super(undefined);
      this.size = file.size;
    }
    readUint8Array(at: number, count: number): Promise<Uint8Array> {
      return file.read(at, count);
    }
  }
  const reader = new zip.ZipReader(new Source());
  const entries = new Map<string, ZipEntry>();
  try {
    for (const entry of await reader.getEntries()) {
      if (entry.filename.endsWith(".npy")) entries.set(entry.filename.slice(0, -4), entry);
    }
  } catch (cause) {
    throw dataError(`it is no zip file, or not a whole one: ${(cause as Error)?.message}`, cause);
  }
  const heads = new Map<string, NpyHead>();
  for (const [name, entry] of entries) {
    const bytes = new Bytes(entry);
    const begin = await bytes.take(NPY_BEGIN_BYTES);
    const rest = await bytes.take(npyHeadBytes(begin, name) - NPY_BEGIN_BYTES);
    await bytes.cancel();
    const head = new Uint8Array(begin.length + rest.length);
    head.set(begin);
    head.set(rest, begin.length);
    heads.set(name, readNpyHead(head, name));
  }
  const table = columnsIn(Array.from(heads, ([name, { dtype, descr, shape, isFortran }]) => {
    const isTurned = isFortran && shape.length > 1;
    if (!isTurned || dtype === undefined) return { name, shape, dtype, why: `has ${descr}` };
    const needed = `; write np.ascontiguousarray(${name})`;
    return { name, shape, dtype: undefined, why: "is in Fortran's order", needed };
  }));
  const { rowCount } = table;
  for (const { name } of table.columns) {
    const { descr = "", isBigEndian } = heads.get(name) ?? {};
    if (isBigEndian !== true) continue;
    throw dataError(
      `${name} is ${descr}: its bytes are in the other order; write ${name}.astype("${
        descr.replace(">", "<")
      }")`,
    );
  }
  return {
    ...table,
    async *rows(asked): AsyncGenerator<Rows> {
      const sized = asked.map(({ dtype, shape }) => ({ bytes: bytesOf(dtype) * sizeOf(shape) }));
      const step = rowsFor(sized, READ_BYTES);
      const streams = asked.map(({ name }) => new Bytes(entries.get(name) as ZipEntry));
      try {
        for (const [k, { name }] of asked.entries()) {
          await streams[k]?.take(heads.get(name)?.bytes ?? 0);
        }
        for (let from = 0; from < rowCount; from += step) {
          const count = Math.min(step, rowCount - from);
          const values: Values[] = [];
          for (const [k, { name, dtype }] of asked.entries()) {
            const bytes = await (streams[k] as Bytes).take(count * (sized[k]?.bytes ?? 0));
            values.push(valuesIn(dtype, bytes, name));
          }
          // What is damaged must not be recorded, and its checksum stands at the end.
          if (from + count === rowCount) { for (const stream of streams) await stream.end(); }
          yield { count, values, release: () => release(values) };
        }
      } finally {
        for (const stream of streams) await stream.cancel();
      }
    },
    async close(): Promise<void> {
      await reader.close();
      await file.close();
    },
  };
}

/** Writes a npz file: all rows once for each column. */
export async function writeNpz(
  file: NewFile,
  columns: readonly TableColumn[],
  rowCount: number,
  batches: () => AsyncIterable<Rows>,
): Promise<void> {
  const zip = await loadZip();
  const writer = new zip.ZipWriter(
    new WritableStream({ write: (bytes) => file.write(bytes) }),
    { zip64: true, level: 0, keepOrder: true },
  );
  for (const [k, { name, dtype, shape }] of columns.entries()) {
    const bytes = bytesOfColumn(k, dtype, [rowCount, ...shape], batches);
    await writer.add(`${name}.npy`, streamOf(bytes));
  }
  await writer.close();
}

/** What a generator gives, as a stream. */
function streamOf(from: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller): Promise<void> {
      const { done, value } = await from.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(): Promise<void> {
      await from.return(undefined);
    },
  });
}

async function* bytesOfColumn(
  k: number,
  dtype: FileDType,
  shape: readonly number[],
  batches: () => AsyncIterable<Rows>,
): AsyncGenerator<Uint8Array> {
  yield writeNpyHead(dtype, shape);
  for await (const { values } of batches()) {
    const { buffer, byteOffset, byteLength } = values[k] as Values;
    yield new Uint8Array(buffer, byteOffset, byteLength);
  }
}
