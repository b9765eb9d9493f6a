/**
 * D4RL's HDF5 files: `observations`, `actions`, `rewards`, `terminals`, `timeouts` and `next_observations`, each with a row for a step.
 *
 * @module
 */

import { release } from "../base/bytes.ts";
import {
  arraysIn,
  createH5,
  H5_DTYPES,
  type H5Dataset,
  h5DType,
  type H5File,
  h5Kind,
  isGroup,
  namesOf,
  openH5,
  readRows,
} from "./_hdf5.ts";
import { bytesOf, dataError, sizeOf, type Values } from "./_values.ts";
import { columnsIn, type Rows, type Table, type TableColumn } from "./_table.ts";

/** Bytes that are read at once, unless the chunks of the file are larger. */
const READ_BYTES = 2 ** 20;
/** Chunks of more than this are read again and again instead. */
const READ_BYTES_MAX = 2 ** 26;

/** What has no row for each step, or does not matter. */
const ASIDE = /^metadata\//;

/** The table in an HDF5 file. */
export async function openD4rl(source: string | Uint8Array): Promise<Table> {
  const { file, close } = await openH5(source);
  try {
    if (namesOf(file).includes("episode_0")) {
      throw dataError(
        'it has a group for each episode, as Minari lays files out: read it as "minari"',
      );
    }
    const arrays = new Map([...arraysIn(file)].filter(([name]) => !ASIDE.test(name)));
    const table = columnsIn(Array.from(arrays, ([name, array]) => ({
      ...{ name, shape: array.metadata.shape ?? [] },
      ...{ dtype: h5DType(array), why: `has ${h5Kind(array)}` },
    })));
    return {
      ...table,
      rows: (asked) => rowsOf(arrays, asked, table.rowCount),
      close: () => Promise.resolve(close()),
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** How many rows are read at once: whole chunks of the file, as each of them is unpacked as a whole. */
function rowsAtOnce(arrays: readonly H5Dataset[]): number {
  let [rowBytes, chunkRows] = [0, 1];
  for (const { metadata: { shape, size, chunks } } of arrays) {
    rowBytes += size * sizeOf((shape ?? []).slice(1));
    chunkRows = Math.max(chunkRows, chunks?.[0] ?? 1);
  }
  const few = Math.max(1, Math.floor(READ_BYTES / rowBytes));
  const whole = Math.ceil(few / chunkRows) * chunkRows;
  return whole * rowBytes <= READ_BYTES_MAX ? whole : few;
}

async function* rowsOf(
  arrays: ReadonlyMap<string, H5Dataset>,
  asked: readonly TableColumn[],
  rowCount: number,
): AsyncGenerator<Rows> {
  const read = asked.map(({ name }) => arrays.get(name) as H5Dataset);
  const step = rowsAtOnce(read);
  for (let from = 0; from < rowCount; from += step) {
    const to = Math.min(rowCount, from + step);
    const values = read.map((array, k) => readRows(array, asked[k]?.name ?? "", from, to));
    yield { count: to - from, values, release: () => release(values) };
  }
}

/** Bytes of a chunk in a file that is written. */
const CHUNK_BYTES = 2 ** 20;

/** Writes a table into a new HDF5 file. */
export async function writeD4rl(
  path: string,
  columns: readonly TableColumn[],
  batches: AsyncIterable<Rows>,
): Promise<void> {
  await createH5(path, async (file, write) => {
    const arrays: H5Dataset[] = [];
    let rowCount = 0;
    for await (const { count, values } of batches) {
      write(() => {
        for (const [k, { name, dtype, shape }] of columns.entries()) {
          const data = h5Values(values[k] as Values);
          const array = arrays[k];
          if (array === undefined) {
            const most = Math.floor(CHUNK_BYTES / (bytesOf(dtype) * sizeOf(shape)));
            const rows = Math.max(1, Math.min(count, most));
            arrays.push(file.create_dataset({
              name: inGroup(file, name),
              data,
              shape: [count, ...shape],
              dtype: H5_DTYPES[dtype] ?? "<f",
              maxshape: [null, ...shape],
              chunks: [rows, ...shape],
            }));
            continue;
          }
          array.resize([rowCount + count, ...shape]);
          const rest = shape.map((size): [number, number] => [0, size]);
          array.write_slice([[rowCount, rowCount + count], ...rest], data);
        }
      });
      rowCount += count;
    }
  });
}

/** Makes the groups that a name is in, and returns the name. */
function inGroup(file: H5File, name: string): string {
  const parts = name.split("/");
  for (let k = 1; k < parts.length; k++) {
    const path = parts.slice(0, k).join("/");
    if (!isGroup(file.get(path))) file.create_group(path);
  }
  return name;
}

/** Numbers as h5wasm takes them: it has no float16. */
export function h5Values(values: Values): Values {
  return typeof Float16Array === "function" && values instanceof Float16Array
    ? Float32Array.from(values)
    : values;
}
