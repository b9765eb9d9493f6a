/**
 * TFRecord files as RLDS has them: each record is an episode, as a `tf.train.Example` whose lists have the values of all steps, or a
 * `tf.train.SequenceExample` with a list for each step.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { type Kernel, openKernel } from "../ffi/library.ts";
import { type Feature, readExample, writeExample } from "./_tf_example.ts";
import type { DataFile, NewFile } from "./_files.ts";
import { NOTE, noted, noteOf } from "./_parquet.ts";
import type { Rows, Table, TableColumn } from "./_table.ts";
import { bytesOf, dataError, sizeOf, type Values, valuesIn } from "./_values.ts";

/** What RLDS and TensorFlow Datasets put before the names of steps. */
const STEPS = /^steps\//;

/** A record of more bytes is refused before memory is taken. */
const RECORD_BYTES_MAX = 2 ** 31 - 1;

/** The checksum that a TFRecord has: CRC-32C, turned and moved. */
function maskedSum(kernel: Kernel, bytes: Uint8Array<ArrayBuffer>): number {
  const sum = lengthOf(bytes) === 0
    ? 0
    : kernel.symbols.exrp_checksum(0, bytes, lengthOf(bytes)) >>> 0;
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}

/** All records of a file, each checked. */
async function* recordsIn(kernel: Kernel, file: DataFile): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let record = 0;
  for (let at = 0; at < file.size; record++) {
    const fail = (words: string): never => {
      throw dataError(`record ${record}, at byte ${at}, ${words}`);
    };
    const head = await file.read(at, 12);
    if (head.length < 12) fail("ends too soon");
    const view = new DataView(head.buffer);
    if (view.getUint32(8, true) !== maskedSum(kernel, head.slice(0, 8))) {
      fail(record === 0 ? "is no record: this is no TFRecord file" : "has a damaged head");
    }
    const bytes = Number(view.getBigUint64(0, true));
    if (bytes > RECORD_BYTES_MAX) {
      fail(`has ${bytes} bytes, and at most ${RECORD_BYTES_MAX} are read`);
    }
    if (at + 16 + bytes > file.size) fail("ends too soon");
    const whole = await file.read(at + 12, bytes + 4);
    const data = whole.slice(0, bytes);
    if (new DataView(whole.buffer).getUint32(bytes, true) !== maskedSum(kernel, data)) {
      fail("is damaged: its checksum is wrong");
    }
    yield data;
    at += 16 + bytes;
  }
}

/** How many numbers or texts a list has. */
function countOf({ floats, integers, bytes }: Feature): number {
  return floats?.length ?? integers?.length ?? bytes?.length ?? 0;
}

/** How many steps an episode has. */
function stepsOf(features: ReadonlyMap<string, Feature>, record: number): number {
  for (const name of ["is_last", "is_first", "is_terminal", "reward"]) {
    const feature = features.get(`steps/${name}`) ?? features.get(name);
    if (feature !== undefined) return feature.listCount ?? countOf(feature);
  }
  throw dataError(
    `record ${record} has no is_last, is_first or reward, so its steps can't be told; it has ${
      [...features.keys()].join(", ") || "nothing"
    }`,
  );
}

/** The table in a TFRecord file. */
export async function openTfrecord(file: DataFile): Promise<Table> {
  const kernel = await openKernel();
  const notes: string[] = [];
  const columns: TableColumn[] = [];
  /** The names of lists in the file. */
  const listNames = new Map<string, string>();
  let [rowCount, record] = [0, 0];
  for await (const bytes of recordsIn(kernel, file)) {
    const features = readExample(bytes);
    const steps = stepsOf(features, record);
    rowCount += steps;
    if (record++ > 0) continue;
    const [noteBytes] = features.get(NOTE)?.bytes ?? [];
    const note = noteBytes && new TextDecoder().decode(noteBytes);
    for (const [listName, feature] of features) {
      const name = listName.replace(STEPS, "");
      const width = countOf(feature) / steps;
      const isNumber = feature.bytes === undefined;
      if (!isNumber || !Number.isInteger(width) || width === 0) {
        if (listName !== NOTE) {
          notes.push(`${listName} has no numbers for each step, so it was left out.`);
        }
        continue;
      }
      listNames.set(name, listName);
      const dtype = feature.floats === undefined ? "int64" : "float32";
      const known = noted(note, name);
      const fits = known !== undefined && sizeOf(known.shape) === width;
      columns.push(fits ? known : { name, dtype, shape: width === 1 ? [] : [width] });
    }
  }
  if (rowCount === 0) throw dataError("the file has no steps");
  return {
    columns,
    rowCount,
    notes,
    async *rows(asked): AsyncGenerator<Rows> {
      let at = 0;
      for await (const bytes of recordsIn(kernel, file)) {
        const features = readExample(bytes);
        const count = stepsOf(features, at);
        const values = asked.map((column) => {
          const feature = features.get(listNames.get(column.name) ?? "");
          const found = feature?.floats ?? feature?.integers;
          const needed = count * sizeOf(column.shape);
          if (found?.length !== needed) {
            throw dataError(
              `record ${at}: ${column.name} has ${
                found?.length ?? "no"
              } numbers, and ${count} steps need ${needed}`,
            );
          }
          return typed(column, found);
        });
        if (count > 0) yield { count, values };
        at++;
      }
    },
    close: () => file.close(),
  };
}

/** Numbers as those of a column. */
function typed({ dtype }: TableColumn, values: Values): Values {
  if (dtype === "float32" || dtype === "int64") return values;
  const into = valuesIn(dtype, new Uint8Array(values.length * bytesOf(dtype)), "");
  into.set(values as never);
  return into;
}

/** Writes a TFRecord file: a record for each batch, which is one episode. */
export async function writeTfrecord(
  file: NewFile,
  columns: readonly TableColumn[],
  episodes: AsyncIterable<Rows>,
): Promise<void> {
  const kernel = await openKernel();
  const note = new TextEncoder().encode(noteOf(columns));
  for await (const { values } of episodes) {
    const features = new Map<string, Feature>([[NOTE, { bytes: [note] }]]);
    for (const [k, { name, dtype }] of columns.entries()) {
      const numbers = values[k] as Values;
      features.set(
        `steps/${name}`,
        dtype.startsWith("float")
          ? { floats: numbers instanceof Float32Array ? numbers : Float32Array.from(numbers) }
          : { integers: Float64Array.from(numbers) },
      );
    }
    const message = writeExample(features);
    const record = new Uint8Array(message.length + 16);
    const view = new DataView(record.buffer);
    view.setBigUint64(0, BigInt(message.length), true);
    view.setUint32(8, maskedSum(kernel, record.slice(0, 8)), true);
    record.set(message, 12);
    view.setUint32(12 + message.length, maskedSum(kernel, message.slice()), true);
    await file.write(record);
  }
}
