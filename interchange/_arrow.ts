/**
 * Arrow files and streams: a batch of rows at a time. apache-arrow writes them.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import type { DataFile, NewFile } from "./_files.ts";
import { load } from "./packages.ts";
import {
  type ArrowBatch,
  type ArrowField,
  type ArrowFile,
  LISTS,
  openMessages,
} from "./_arrow_reader.ts";
import { NOTE, noted, noteOf } from "./_parquet.ts";
import type { Rows, Table, TableColumn } from "./_table.ts";
import { dataError, type FileDType, sizeOf, type Values } from "./_values.ts";

/** What is used of apache-arrow. */
export interface Arrow {
  readonly AsyncByteQueue: new () => { write(bytes: Uint8Array): void };
  readonly RecordBatchFileWriter: new () => {
    reset(sink: unknown, schema?: unknown): unknown;
    write(batch: unknown): void;
    finish(): unknown;
  };
  readonly RecordBatch: new (schema: unknown, data: unknown) => unknown;
  readonly Schema: new (fields: unknown[], metadata: Map<string, string>) => unknown;
  readonly Field: new (name: string, type: unknown, isNullable: boolean) => unknown;
  readonly Struct: new (fields: unknown[]) => unknown;
  readonly FixedSizeList: new (size: number, field: unknown) => unknown;
  makeData(options: object): unknown;
  readonly Bool: new () => unknown;
  readonly Uint8: new () => unknown;
  readonly Int8: new () => unknown;
  readonly Int16: new () => unknown;
  readonly Int32: new () => unknown;
  readonly Int64: new () => unknown;
  readonly Float16: new () => unknown;
  readonly Float32: new () => unknown;
  readonly Float64: new () => unknown;
}

/** The type of a column's numbers, also of those in lists; undefined if they are none. */
function dtypeOf(
  { dtype, type, isDictionary, children: [child] }: ArrowField,
): FileDType | undefined {
  const isList = !isDictionary && LISTS.includes(type);
  return isList && child !== undefined ? dtypeOf(child) : dtype;
}

/** The table in an Arrow file. */
export async function openArrow(file: DataFile): Promise<Table> {
  let source: ArrowFile;
  try {
    source = await openMessages(file);
  } catch (cause) {
    const reason = String((cause as Error)?.message);
    throw dataError(`it is no Arrow file, or not a whole one: ${reason}`, cause);
  }
  const damaged = (cause: unknown): unknown =>
    cause instanceof ReplayError
      ? cause
      : dataError(`the file is damaged: ${String((cause as Error)?.message)}`, cause);
  const { fields, notes: texts } = source.schema;
  const note = texts.get(NOTE);
  // Only the batches say how many rows there are, and how long lists are.
  let rowCount = 0;
  const notes: string[] = [];
  const unread = new Map<string, string>();
  const columns: TableColumn[] = [];
  try {
    let first: ArrowBatch | undefined;
    for await (const batch of source.batches()) {
      first ??= batch.rowCount > 0 ? batch : undefined;
      rowCount += batch.rowCount;
    }
    if (first === undefined) throw dataError("the file has no steps");
    for (const field of fields) {
      const { name, kind } = field;
      if (name === undefined) throw dataError("a column has no name");
      const dtype = dtypeOf(field);
      if (dtype === undefined) {
        unread.set(name, kind);
        notes.push(`${name} has ${kind}, so it was left out.`);
        continue;
      }
      const found = await first.shape(name);
      const known = noted(note, name);
      const isKnown = known !== undefined && sizeOf(known.shape) === sizeOf(found);
      columns.push({ name, dtype, shape: isKnown ? known.shape : found });
    }
  } catch (cause) {
    throw damaged(cause);
  }
  return {
    columns,
    rowCount,
    notes,
    unread,
    async *rows(asked): AsyncGenerator<Rows> {
      let from = 0;
      try {
        for await (const batch of source.batches()) {
          const { rowCount: count } = batch;
          if (count === 0) continue;
          const values: Values[] = [];
          for (const { name, shape } of asked) {
            const column = await batch.column(name, from);
            const width = sizeOf(shape);
            for (let k = 0; k < count; k++) {
              const own = (column.starts[k + 1] as number) - (column.starts[k] as number);
              if (own === width) continue;
              throw dataError(`row ${from + k}: ${name} has ${own} numbers, and ${width} before`);
            }
            values.push(column.values);
          }
          yield { count, values };
          from += count;
        }
      } catch (cause) {
        throw damaged(cause);
      }
    },
    close: () => file.close(),
  };
}

/** Writes an Arrow file. */
export async function writeArrow(
  file: NewFile,
  columns: readonly TableColumn[],
  batches: AsyncIterable<Rows>,
): Promise<void> {
  const arrow = await load<Arrow>("apache-arrow");
  const types = {
    ...{ bool: arrow.Bool, uint8: arrow.Uint8, int8: arrow.Int8, int16: arrow.Int16 },
    ...{ int32: arrow.Int32, int64: arrow.Int64 },
    ...{ float16: arrow.Float16, float32: arrow.Float32, float64: arrow.Float64 },
  };
  const elements = columns.map(({ dtype }) => new types[dtype as keyof typeof types]());
  const fields = columns.map(({ name, shape }, k) => {
    const type = shape.length === 0
      ? elements[k]
      : new arrow.FixedSizeList(sizeOf(shape), new arrow.Field("item", elements[k], false));
    return { name, type, field: new arrow.Field(name, type, false) };
  });
  const all = fields.map(({ field }) => field);
  const schema = new arrow.Schema(all, new Map([[NOTE, noteOf(columns)]]));
  let pending: Uint8Array[] = [];
  const sink = new arrow.AsyncByteQueue();
  sink.write = (bytes) => void pending.push(bytes);
  const flush = async (): Promise<void> => {
    for (const bytes of pending) await file.write(bytes);
    pending = [];
  };
  const writer = new arrow.RecordBatchFileWriter();
  writer.reset(sink, schema);
  for await (const { count, values } of batches) {
    const children = columns.map(({ dtype, shape }, k) => {
      const data = arrow.makeData({
        type: elements[k],
        length: count * sizeOf(shape),
        nullCount: 0,
        data: arrowValues(dtype, values[k] as Values),
      });
      return shape.length === 0
        ? data
        : arrow.makeData({ type: fields[k]?.type, length: count, nullCount: 0, child: data });
    });
    const struct = arrow.makeData({
      type: new arrow.Struct(all),
      length: count,
      nullCount: 0,
      children,
    });
    writer.write(new arrow.RecordBatch(schema, struct));
    await flush();
  }
  writer.finish();
  await flush();
}

/** Numbers as apache-arrow takes them. */
function arrowValues(dtype: FileDType, values: Values): unknown {
  if (dtype === "float16") {
    return new Uint16Array(values.buffer, values.byteOffset, values.length);
  }
  if (dtype === "int64") return BigInt64Array.from(values as ArrayLike<number> as number[], BigInt);
  if (dtype !== "bool") return values;
  const bits = new Uint8Array(Math.ceil(values.length / 64) * 8);
  for (let k = 0; k < values.length; k++) {
    if (values[k] !== 0) bits[k >> 3] = (bits[k >> 3] ?? 0) | 1 << (k & 7);
  }
  return bits;
}
