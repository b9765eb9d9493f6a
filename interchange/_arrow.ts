/**
 * Arrow files and streams by apache-arrow: a batch of rows at a time.
 *
 * @module
 */

import type { DataFile, NewFile } from "./_files.ts";
import { load } from "./packages.ts";
import { flatten, NOTE, noted, noteOf } from "./_parquet.ts";
import type { Rows, Table, TableColumn } from "./_table.ts";
import { dataError, type FileDType, sizeOf, toNumbers, type Values } from "./_values.ts";

/** What is used of apache-arrow. */
export interface Arrow {
  // deno-lint-ignore no-explicit-any -- one of several readers
  readonly RecordBatchReader: { from(source: any): any };
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

/** What is used of a batch that was read. */
interface Batch {
  readonly numRows: number;
  getChild(name: string): Vector | null;
}

interface Vector {
  readonly length: number;
  readonly nullCount: number;
  readonly type: Type;
  readonly data: readonly Data[];
  get(k: number): unknown;
}

interface Type {
  readonly typeId: number;
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly listSize?: number;
  readonly children?: readonly { readonly type: Type }[];
}

interface Data {
  readonly type: Type;
  readonly length: number;
  readonly offset: number;
  readonly nullCount: number;
  readonly values?: ArrayLike<number> | ArrayLike<bigint>;
  readonly valueOffsets?: ArrayLike<number>;
  readonly children?: readonly Data[];
}

/** The numbers of the types that are read, as `Type` of apache-arrow has them. */
const TYPE = { int: 2, float: 3, bool: 6, list: 12, fixedSizeList: 16 };

/** What a reader may read again, such as the head of a file. */
const SLACK_BYTES = 2 ** 16;

function dtypeOf({ typeId, bitWidth, isSigned, precision }: Type): FileDType | undefined {
  if (typeId === TYPE.bool) return "bool";
  if (typeId === TYPE.int) return `${isSigned ? "" : "u"}int${bitWidth}` as FileDType;
  if (typeId === TYPE.float) return (["float16", "float32", "float64"] as const)[precision ?? -1];
  return undefined;
}

function isListType({ typeId }: Type): boolean {
  return typeId === TYPE.list || typeId === TYPE.fixedSizeList;
}

/** The shape of a row of fixed lists, and the type of their numbers. A size of 0 stands for lists of any size. */
function shapeOf(type: Type): { readonly shape: number[]; readonly element: Type } {
  const [child] = type.children ?? [];
  if (!isListType(type) || child === undefined) return { shape: [], element: type };
  const { shape, element } = shapeOf(child.type);
  return { shape: [type.listSize ?? 0, ...shape], element };
}

/** The table in an Arrow file. */
export async function openArrow(file: DataFile): Promise<Table> {
  const arrow = await load<Arrow>("apache-arrow");
  /** It looks like a file of Node's, so it is read at any place. Places that are damaged may lead around in circles, so it gives each byte twice at most. */
  const newHandle = (): object => {
    let left = 2 * file.size + SLACK_BYTES;
    return {
      fd: 0,
      stat: () => Promise.resolve({ size: file.size }),
      async read(
        into: Uint8Array,
        offset: number,
        length: number,
        at: number,
      ): Promise<object> {
        const bytes = at < 0 ? new Uint8Array() : await file.read(at, length);
        left -= bytes.length;
        if (bytes.length === 0 || left < 0) throw new Error(`byte ${at} is no place for a part`);
        into.set(bytes, offset);
        return { bytesRead: bytes.length, buffer: into };
      },
      close: () => Promise.resolve(),
    };
  };
  // deno-lint-ignore no-explicit-any -- one of several readers
  const open = async (): Promise<any> => {
    try {
      const reader = await arrow.RecordBatchReader.from(newHandle());
      await reader.open();
      if (reader.schema === undefined) throw new Error("it has no schema");
      return reader;
    } catch (cause) {
      const reason = String((cause as Error)?.message);
      throw dataError(
        reason.startsWith("Unrecognized type")
          ? `it has columns of a type that is not read: ${reason}`
          : `it is no Arrow file, or not a whole one: ${reason}`,
        cause,
      );
    }
  };
  const batches = async function* (): AsyncGenerator<Batch> {
    const reader = await open();
    try {
      for await (const batch of reader) yield batch;
    } catch (cause) {
      const reason = String((cause as Error)?.message);
      throw dataError(
        /compress/.test(reason)
          ? "its batches are compressed, and only plain ones are read: write it anew without a compression"
          : `the file is damaged: ${reason}`,
        cause,
      );
    }
  };
  const { schema } = await open();
  const note = schema.metadata.get(NOTE) as string | undefined;
  // Only the batches say how many rows there are, and how long lists are.
  let rowCount = 0;
  let first: Batch | undefined;
  for await (const batch of batches()) {
    first ??= batch.numRows > 0 ? batch : undefined;
    rowCount += batch.numRows;
  }
  if (first === undefined) throw dataError("the file has no steps");
  const notes: string[] = [];
  const unread = new Map<string, string>();
  const columns: TableColumn[] = [];
  for (const { name, type } of schema.fields as { name: string | null; type: Type }[]) {
    if (name === null) throw dataError("a column has no name");
    const { shape, element } = shapeOf(type);
    const dtype = dtypeOf(element);
    if (dtype === undefined) {
      unread.set(name, String(type));
      notes.push(`${name} has ${type}, so it was left out.`);
      continue;
    }
    const found = shape.includes(0) ? sizesIn(first.getChild(name)?.get(0)) : shape;
    columns.push({ name, dtype, shape: noted(note, name)?.shape ?? found });
  }
  return {
    columns,
    rowCount,
    notes,
    unread,
    async *rows(asked): AsyncGenerator<Rows> {
      let from = 0;
      for await (const batch of batches()) {
        const values = asked.map((column) => {
          const vector = batch.getChild(column.name);
          if (vector === null) throw dataError(`${column.name} is missing in a batch`);
          return valuesOf(vector, column, from);
        });
        if (batch.numRows > 0) yield { count: batch.numRows, values };
        from += batch.numRows;
      }
    },
    close: () => file.close(),
  };
}

/** The sizes of lists in a row. */
function sizesIn(value: unknown): number[] {
  const { length } = (value ?? {}) as { readonly length?: number };
  if (typeof value !== "object" || length === undefined) return [];
  const [inner] = value as Iterable<unknown>;
  return [length, ...sizesIn(inner)];
}

/** The numbers of a column in a batch: as they lie there, where that is possible. */
function valuesOf(vector: Vector, column: TableColumn, first: number): Values {
  const width = sizeOf(column.shape);
  const [data] = vector.data;
  if (vector.data.length === 1 && data !== undefined) {
    const plain = plainValues(data, vector.length * width, column);
    if (plain !== undefined) return plain;
  }
  return flatten(
    Array.from({ length: vector.length }, (_, k) => listOf(vector.get(k))),
    column,
    first,
  );
}

/** A value as plain lists. */
function listOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Array.from(value as Iterable<unknown>, listOf);
}

/** The numbers of fixed lists or of no lists, without a copy; undefined where they don't lie side by side. */
function plainValues(
  { type, offset, nullCount, values, children }: Data,
  count: number,
  column: TableColumn,
): Values | undefined {
  if (nullCount > 0) return undefined;
  if (type.typeId === TYPE.fixedSizeList && offset === 0 && children?.[0] !== undefined) {
    return plainValues(children[0], count, column);
  }
  // Booleans are bits, and halves are bits of another kind.
  if (isListType(type) || type.typeId === TYPE.bool || values === undefined) return undefined;
  const half = dtypeOf(type) === "float16";
  if (values.length < count) return undefined;
  const view = values as unknown as { subarray(from: number, to: number): ArrayLike<number> };
  const part = view.subarray(0, count);
  if (!half) return toNumbers(part, column.name);
  const { buffer, byteOffset } = part as unknown as Uint16Array<ArrayBuffer>;
  return new Float16Array(buffer, byteOffset, count);
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
