/**
 * Parquet files by hyparquet and hyparquet-writer: a group of rows at a time. Lists are flat in a file, so the shapes of what this library wrote stand
 * beside them.
 *
 * @module
 */

import { builtinModule } from "../base/platform.ts";
import type { DataFile, NewFile } from "./_files.ts";
import { load } from "./packages.ts";
import {
  checkMetadata,
  checkMetadataBytes,
  checkPages,
  type Group,
  type Metadata,
  type SchemaElement,
  type Unpack,
} from "./_parquet_checks.ts";
import type { Rows, Table, TableColumn } from "./_table.ts";
import {
  bytesOf,
  dataError,
  type FileDType,
  isDType,
  sizeOf,
  toNumbers,
  type Values,
  valuesIn,
} from "./_values.ts";

/** What is used of hyparquet. */
export interface Hyparquet {
  parquetMetadata(bytes: ArrayBuffer, options: { readonly geoparquet: boolean }): Metadata;
  parquetSchema(metadata: Metadata): SchemaNode;
  parquetRead(options: {
    readonly file: Buffered;
    readonly metadata: Metadata;
    readonly columns: string[];
    readonly compressors: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>>;
    onChunk(chunk: { readonly columnData: ArrayLike<unknown>; readonly rowStart: number }): void;
  }): Promise<void>;
  snappyUncompress(from: Uint8Array, into: Uint8Array): void;
}

/** A file as hyparquet reads it. */
interface Buffered {
  readonly byteLength: number;
  slice(from: number, to?: number): Promise<ArrayBuffer>;
}

interface SchemaNode {
  readonly children: SchemaNode[];
  readonly element: SchemaElement;
}

/** What is used of hyparquet-writer. */
export interface HyparquetWriter {
  readonly ByteWriter: new () => {
    index: number;
    offset: number;
    getBytes(): Uint8Array;
  };
  readonly ParquetWriter: new (options: {
    readonly writer: unknown;
    readonly schema: object[];
    readonly kvMetadata: { readonly key: string; readonly value: string }[];
  }) => {
    write(options: {
      readonly columnData: { readonly name: string; readonly data: unknown }[];
      readonly rowGroupSize: number;
    }): void | Promise<void>;
    finish(): void | Promise<void>;
  };
}

/** What this library notes in files of others: the type and the shape of each column, by its name. */
export const NOTE = "exrp";

/** The note of some columns. */
export function noteOf(columns: readonly TableColumn[]): string {
  return JSON.stringify(
    Object.fromEntries(columns.map(({ name, dtype, shape }) => [name, [dtype, ...shape]])),
  );
}

/** The type and the shape of a column, by a note. */
export function noted(note: string | undefined, name: string): TableColumn | undefined {
  let found: unknown;
  try {
    found = note === undefined ? undefined : (JSON.parse(note) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
  if (!Array.isArray(found)) return undefined;
  const [dtype, ...shape] = found;
  const isShape = shape.every((size) => Number.isSafeInteger(size) && size > 0);
  return typeof dtype === "string" && isDType(dtype) && isShape
    ? { name, dtype, shape }
    : undefined;
}

/** The type of an element's numbers; undefined if they are none. */
function dtypeOf(
  { type, type_length, converted_type, logical_type }: SchemaElement,
): FileDType | undefined {
  if (type === "BOOLEAN") return "bool";
  if (type === "FLOAT") return "float32";
  if (type === "DOUBLE") return "float64";
  if (type === "INT32" || type === "INT64") {
    const [, sign, bits] = /^(U?)INT_(\d+)$/.exec(converted_type ?? "") ?? [];
    if (bits !== undefined) return `${sign === "U" ? "uint" : "int"}${bits}` as FileDType;
    if (converted_type !== undefined) return undefined;
    return type === "INT32" ? "int32" : "int64";
  }
  return logical_type?.type === "FLOAT16" && type_length === 2 ? "float16" : undefined;
}

/** What is no number, as Parquet calls it. */
function kindOf(element: SchemaElement | undefined): string {
  if (element === undefined) return "several parts";
  const { type, converted_type, logical_type } = element;
  return converted_type ?? logical_type?.type ?? type ?? "several parts";
}

/** The element of a column: that of its lists, if it has lists. */
function elementOf({ element, children }: SchemaNode): SchemaElement | undefined {
  if (children.length === 0) return element;
  return children.length === 1 ? elementOf(children[0] as SchemaNode) : undefined;
}

/** Unpacks what a file may be packed by. */
function unpackers({ snappyUncompress }: Hyparquet): Readonly<Record<string, Unpack>> {
  type Sync = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array;
  const zlib = builtinModule<Readonly<Record<string, Sync>>>("node:zlib");
  const ways = { GZIP: "gunzipSync", ZSTD: "zstdDecompressSync", BROTLI: "brotliDecompressSync" };
  const known: Record<string, Unpack> = {
    SNAPPY(bytes, most): Uint8Array {
      const into = new Uint8Array(most);
      snappyUncompress(bytes, into);
      return into;
    },
  };
  for (const [codec, name] of Object.entries(ways)) {
    const unpack = zlib?.[name];
    if (unpack === undefined) continue;
    known[codec] = (bytes, most) => unpack(bytes, { maxOutputLength: most });
  }
  return known;
}

/** The end of a Parquet file: the metadata, its size, and "PAR1". */
async function endOf(file: DataFile): Promise<Uint8Array<ArrayBuffer>> {
  const last = await file.read(Math.max(0, file.size - 8), 8);
  const magic = last.length < 8 ? "" : new TextDecoder().decode(last.subarray(4));
  if (magic === "PARE") throw dataError("it ends with PARE, so it is encrypted");
  if (magic !== "PAR1") throw dataError("it does not end with PAR1");
  const length = new DataView(last.buffer).getUint32(0, true);
  const most = file.size - 8;
  if (length > most) throw dataError(`its metadata has ${length} bytes, and it has ${most} before`);
  return await file.read(file.size - 8 - length, length + 8);
}

/** A table in a Parquet file. */
export interface ParquetTable extends Table {
  /** The names of the texts beside it. */
  readonly keys: readonly string[];
}

/** The table in a Parquet file. */
export async function openParquet(file: DataFile): Promise<ParquetTable> {
  const hyparquet = await load<Hyparquet>("hyparquet");
  let metadata: Metadata;
  let groups: readonly Group[];
  let nodes: readonly SchemaNode[];
  try {
    const end = await endOf(file);
    checkMetadataBytes(end.subarray(0, -8));
    metadata = hyparquet.parquetMetadata(end.buffer, { geoparquet: false });
    groups = checkMetadata(metadata, file.size);
    nodes = hyparquet.parquetSchema(metadata).children;
  } catch (cause) {
    throw dataError(
      `it is no Parquet file, or not a whole one: ${(cause as Error)?.message}`,
      cause,
    );
  }
  const ways = unpackers(hyparquet);
  /** The rows of a column in a group. */
  const read = async ({ rowCount, places }: Group, name: string): Promise<unknown[]> => {
    const rows = new Array<unknown>(rowCount);
    try {
      const place = places.get(name);
      if (place === undefined) throw dataError("it has several parts");
      const pages = checkPages(await file.read(place.from, place.to - place.from), place);
      const { buffer } = pages.bytes;
      await hyparquet.parquetRead({
        file: {
          byteLength: file.size,
          slice: (from, to = file.size) => {
            const isWhole = from === place.from && to === place.to;
            return Promise.resolve(
              isWhole ? buffer : buffer.slice(from - place.from, to - place.from),
            );
          },
        },
        // Of one column and one group only: hyparquet goes over all that there are, each time.
        metadata: {
          ...metadata,
          row_groups: [{ num_rows: BigInt(rowCount), columns: [place.chunk] }],
        },
        columns: [name],
        compressors: Object.fromEntries(
          Object.entries(ways).map(([codec, way]) => [codec, (bytes) => pages.unpack(bytes, way)]),
        ),
        onChunk({ columnData, rowStart }): void {
          for (let k = 0; k < columnData.length && rowStart + k < rowCount; k++) {
            rows[rowStart + k] = columnData[k];
          }
        },
      });
    } catch (cause) {
      const reason = String((cause as Error)?.message);
      const codec = /unsupported compression codec: (\w+)/.exec(reason)?.[1];
      throw dataError(
        codec === undefined
          ? `${name} is damaged: ${reason}`
          : `${name} is packed by ${codec}, and only Snappy, gzip, zstd and Brotli are unpacked: write the file anew by one of them`,
        cause,
      );
    }
    return rows;
  };
  const note = metadata.key_value_metadata?.find(({ key }) => key === NOTE)?.value;
  const rowCount = Number(metadata.num_rows);
  if (rowCount === 0) throw dataError("the file has no steps");
  const notes: string[] = [];
  const unread = new Map<string, string>();
  const columns: TableColumn[] = [];
  const filled = groups.find((group) => group.rowCount > 0) as Group;
  for (const node of nodes) {
    const { name } = node.element;
    const element = elementOf(node);
    const dtype = element && dtypeOf(element);
    const isEncrypted = filled.places.get(name)?.chunk.crypto_metadata !== undefined;
    if (dtype === undefined || isEncrypted) {
      const kind = isEncrypted ? "encrypted values" : kindOf(element);
      unread.set(name, kind);
      notes.push(`${name} has ${kind}, so it was left out.`);
      continue;
    }
    const known = noted(note, name);
    if (node.children.length === 0) {
      columns.push({
        name,
        dtype,
        shape: sizeOf(known?.shape ?? []) === 1 ? known?.shape ?? [] : [],
      });
    } else {
      const [first] = await read(filled, name);
      const shape = shapeOf(first);
      const isKnown = known !== undefined && sizeOf(known.shape) === sizeOf(shape);
      columns.push({ name, dtype, shape: isKnown ? known.shape : shape });
    }
  }
  return {
    keys: (metadata.key_value_metadata ?? []).map(({ key }) => key),
    columns,
    rowCount,
    notes,
    unread,
    async *rows(asked): AsyncGenerator<Rows> {
      let from = 0;
      for (const group of groups) {
        const values: Values[] = [];
        if (group.rowCount === 0) continue;
        for (const column of asked) {
          const most = group.places.get(column.name)?.valueCount ?? 0;
          values.push(flatten(await read(group, column.name), column, from, most));
        }
        yield { count: group.rowCount, values };
        from += group.rowCount;
      }
    },
    close: () => file.close(),
  };
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && "length" in value);
}

/** The shape of a row, by the lists in it. */
function shapeOf(value: unknown): number[] {
  return isList(value) ? [value.length, ...shapeOf(value[0])] : [];
}

/** An empty array for the numbers of a column. */
function arrayFor(dtype: FileDType, count: number): Values {
  if (dtype === "int64" || dtype === "uint64") return new Float64Array(count);
  return valuesIn(dtype, new Uint8Array(count * bytesOf(dtype)), "");
}

/** Rows of lists as one array. */
function flatten(
  rows: readonly unknown[],
  { name, dtype, shape }: TableColumn,
  first: number,
  /** How many numbers they have at most: one row may be far longer than the others. */
  most: number,
): Values {
  const width = sizeOf(shape);
  const into = arrayFor(dtype, Math.min(rows.length * width, most));
  let at = 0;
  const put = (value: unknown, row: number): void => {
    if (isList(value)) {
      for (let k = 0; k < value.length; k++) put(value[k], row);
      return;
    }
    const number = typeof value === "bigint" ? toNumbers([value], name)[0] : Number(value);
    if (value === null || value === undefined || number === undefined) {
      throw dataError(`row ${first + row}: ${name} is missing`);
    }
    into[at++] = number;
  };
  for (const [row, value] of rows.entries()) {
    const end = (row + 1) * width;
    put(value, row);
    if (at !== end) {
      throw dataError(
        `row ${first + row}: ${name} has ${width - (end - at)} numbers, and ${width} before`,
      );
    }
  }
  return into;
}

/** What Parquet calls the types. */
const TYPES: Readonly<Record<FileDType, object>> = {
  bool: { type: "BOOLEAN" },
  uint8: { type: "INT32", converted_type: "UINT_8" },
  int8: { type: "INT32", converted_type: "INT_8" },
  uint16: { type: "INT32", converted_type: "UINT_16" },
  int16: { type: "INT32", converted_type: "INT_16" },
  uint32: { type: "INT32", converted_type: "UINT_32" },
  int32: { type: "INT32" },
  uint64: { type: "INT64", converted_type: "UINT_64" },
  int64: { type: "INT64" },
  float16: { type: "FLOAT" },
  float32: { type: "FLOAT" },
  float64: { type: "DOUBLE" },
};

/** How rows of several numbers are written: as flat lists; or as lists of lists, and where there is one number only, as no list. */
export type Lists = "flat" | "nested";

/** How many elements the lists of a column have, from the outermost on. */
function sizesOf({ shape }: TableColumn, lists: Lists): readonly number[] {
  const size = sizeOf(shape);
  if (lists === "nested") return size === 1 ? [] : shape;
  return shape.length === 0 ? [] : [size];
}

/** What Parquet knows of a column: lists within lists, and the type of a number. */
export function elementsOf(name: string, type: object, depth: number): object[] {
  const required = { name, repetition_type: "REQUIRED" };
  return depth === 0 ? [{ ...required, ...type }] : [
    { ...required, num_children: 1, converted_type: "LIST" },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    ...elementsOf("element", type, depth - 1),
  ];
}

/** Numbers as hyparquet-writer takes them. */
function dataOf(column: TableColumn, values: Values, lists: Lists): unknown[] {
  const isBool = column.dtype === "bool";
  const is64 = column.dtype === "int64";
  const one = (value: number): unknown => isBool ? value !== 0 : is64 ? BigInt(value) : value;
  let data: unknown[] = Array.from(values as ArrayLike<number>, one);
  for (const size of sizesOf(column, lists).toReversed()) {
    const parts = data;
    data = Array.from(
      { length: parts.length / size },
      (_, k) => parts.slice(k * size, (k + 1) * size),
    );
  }
  return data;
}

/** A text beside a table, by its name. */
export interface KeyValue {
  readonly key: string;
  readonly value: string;
}

/** A Parquet file that grows by groups of rows. */
export interface ParquetFile {
  /** Appends a group of rows: an array for each column. */
  write(data: readonly { readonly name: string; readonly data: unknown[] }[]): Promise<void>;
  /** Writes the end. Without it, nobody can read the file. */
  finish(): Promise<void>;
}

/** Begins a Parquet file with any columns. */
export async function newParquet(
  file: NewFile,
  elements: readonly (readonly object[])[],
  notes: readonly KeyValue[],
): Promise<ParquetFile> {
  const { ByteWriter, ParquetWriter } = await load<HyparquetWriter>("hyparquet-writer");
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: "root", num_children: elements.length }, ...elements.flat()],
    kvMetadata: [...notes],
  });
  const flush = async (): Promise<void> => {
    await file.write(bytes.getBytes());
    bytes.index = 0;
  };
  return {
    async write(data): Promise<void> {
      await writer.write({ columnData: [...data], rowGroupSize: data[0]?.data.length ?? 0 });
      await flush();
    },
    async finish(): Promise<void> {
      await writer.finish();
      await flush();
    },
  };
}

/** Begins a Parquet file with columns of numbers, whose rows `write` takes. */
export async function newTable(
  file: NewFile,
  columns: readonly TableColumn[],
  lists: Lists,
  notes: readonly KeyValue[] = [],
): Promise<{ write(rows: Rows): Promise<void>; finish(): Promise<void> }> {
  const parquet = await newParquet(
    file,
    columns.map((column) =>
      elementsOf(column.name, TYPES[column.dtype], sizesOf(column, lists).length)
    ),
    [{ key: NOTE, value: noteOf(columns) }, ...notes],
  );
  return {
    write: ({ values }) =>
      parquet.write(columns.map((column, k) => ({
        name: column.name,
        data: dataOf(column, values[k] as Values, lists),
      }))),
    finish: () => parquet.finish(),
  };
}

/** Writes a Parquet file: each batch is a group of rows. */
export async function writeParquet(
  file: NewFile,
  columns: readonly TableColumn[],
  batches: AsyncIterable<Rows>,
): Promise<void> {
  const table = await newTable(file, columns, "flat");
  for await (const rows of batches) await table.write(rows);
  await table.finish();
}
