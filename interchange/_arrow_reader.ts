/**
 * Reads the messages of an Arrow file or stream: its columns, and batches of numbers and lists of numbers. It is no part of apache-arrow's, which believes what
 * a file says of lengths.
 *
 * Invariants: 1. Messages lie one after the other in the file, and buffers in the body of their message. So all of them together have no more bytes than the
 * file. 2. A column has a buffer as long as its rows need, before anything is made of them. 3. A description has at most as many tables and elements as
 * bytes: else a few that refer to each other would be without end.
 *
 * @module
 */

import type { DataFile } from "./_files.ts";
import { bytesOf, dataError, type FileDType, type Values, valuesIn } from "./_values.ts";

/** How deep lists may lie in each other. */
const MAX_DEPTH = 32;
/** The kinds of messages. */
const MESSAGE = { schema: 1, dictionary: 2, batch: 3 };
/** The numbers of the types that are read. */
const TYPE = { int: 2, float: 3, bool: 6, list: 12, union: 14, fixedSizeList: 16, largeList: 21 };
/** Types whose elements are one after the other in those of another column. */
export const LISTS: readonly number[] = [TYPE.list, TYPE.fixedSizeList, TYPE.largeList];
/** Types by their numbers: a name, and how many buffers they have. */
const TYPES: readonly (readonly [string, number])[] = [
  ...[["None", 0], ["Null", 0], ["Int", 2], ["Float", 2], ["Binary", 3], ["Utf8", 3]] as const,
  ...[["Bool", 2], ["Decimal", 2], ["Date", 2], ["Time", 2], ["Timestamp", 2]] as const,
  ...[["Interval", 2], ["List", 2], ["Struct", 1], ["Union", 1], ["FixedSizeBinary", 2]] as const,
  ...[["FixedSizeList", 1], ["Map", 2], ["Duration", 2], ["LargeBinary", 3]] as const,
  ...[["LargeUtf8", 3], ["LargeList", 2], ["RunEndEncoded", 0], ["BinaryView", 2]] as const,
  ...[["Utf8View", 2], ["ListView", 3], ["LargeListView", 3]] as const,
];
const VIEWS = [23, 24];

function need(isTrue: boolean, words: string): asserts isTrue {
  if (!isTrue) throw dataError(words);
}

/** A table of a FlatBuffer. Its fields have numbers from 0 on. `view` refuses places that are not in it. */
class Flat {
  readonly #view: DataView;
  readonly #at: number;
  /** How many tables and elements of lists may still be read. */
  readonly #left: { count: number };

  private constructor(view: DataView, at: number, left: { count: number }) {
    this.#view = view;
    this.#at = at;
    this.#left = left;
    this.#spend(1);
  }

  #spend(count: number): void {
    this.#left.count -= count;
    need(this.#left.count >= 0, "its tables refer to each other without end");
  }

  static root(bytes: Uint8Array): Flat {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return new Flat(view, view.getUint32(0, true), { count: bytes.length });
  }

  #place(field: number): number | undefined {
    const fields = this.#at - this.#view.getInt32(this.#at, true);
    const at = 4 + 2 * field;
    if (at >= this.#view.getUint16(fields, true)) return undefined;
    const offset = this.#view.getUint16(fields + at, true);
    return offset === 0 ? undefined : this.#at + offset;
  }

  /** A number of some bytes, which is 0 where it is left out. */
  number(field: number, bytes: 1 | 2 | 4 | 8): number {
    const at = this.#place(field);
    if (at === undefined) return 0;
    if (bytes === 1) return this.#view.getUint8(at);
    if (bytes === 2) return this.#view.getInt16(at, true);
    return bytes === 4 ? this.#view.getInt32(at, true) : long(this.#view, at);
  }

  table(field: number): Flat | undefined {
    const at = this.#place(field);
    return at === undefined ? undefined : this.#tableAt(at);
  }

  #tableAt(at: number): Flat {
    return new Flat(this.#view, at + this.#view.getUint32(at, true), this.#left);
  }

  #list(at: number, bytes: number): { readonly start: number; readonly count: number } {
    const start = at + this.#view.getUint32(at, true) + 4;
    const count = this.#view.getUint32(start - 4, true);
    const left = this.#view.byteLength - start;
    need(count * bytes <= left, `a list has ${count * bytes} bytes, and ${left} are left`);
    this.#spend(count);
    return { start, count };
  }

  /** Where the elements of a list are, of some bytes each. */
  #places(field: number, bytes: number): number[] {
    const at = this.#place(field);
    if (at === undefined) return [];
    const { start, count } = this.#list(at, bytes);
    return Array.from({ length: count }, (_, k) => start + k * bytes);
  }

  tables(field: number): Flat[] {
    return this.#places(field, 4).map((at) => this.#tableAt(at));
  }

  /** A list of numbers of 64 bits, so many in each element. */
  numbers(field: number, each: number): number[][] {
    return this.#places(field, 8 * each).map((at) =>
      Array.from({ length: each }, (_, k) => long(this.#view, at + 8 * k))
    );
  }

  text(field: number): string | undefined {
    const at = this.#place(field);
    if (at === undefined) return undefined;
    const { start, count } = this.#list(at, 1);
    const { buffer, byteOffset } = this.#view;
    return new TextDecoder().decode(new Uint8Array(buffer, byteOffset + start, count));
  }
}

/** A number of 64 bits. One that no length can have becomes one that no file is as long as. */
function long(view: DataView, at: number): number {
  return Number(view.getBigInt64(at, true));
}

/** A column of a file. */
export interface ArrowField {
  readonly name: string | undefined;
  /** What it is called. */
  readonly kind: string;
  readonly type: number;
  /** Whether it has numbers that stand for values elsewhere. */
  readonly isDictionary: boolean;
  /** The type of a number; undefined if it is none. */
  readonly dtype: FileDType | undefined;
  /** How many elements a fixed list has. */
  readonly size: number;
  readonly isDense: boolean;
  readonly children: readonly ArrowField[];
}

function intKind(int: Flat | undefined): string {
  return int === undefined
    ? "Int32"
    : `${int.number(1, 1) !== 0 ? "I" : "Ui"}nt${int.number(0, 4)}`;
}

function fieldOf(flat: Flat, depth = 0): ArrowField {
  need(depth < MAX_DEPTH, `it has more than ${MAX_DEPTH} lists in each other`);
  const type = flat.number(2, 1);
  const [name] = TYPES[type] ?? [];
  need(name !== undefined, `it has a type of the number ${type}`);
  const own = flat.table(3);
  const children = flat.tables(5).map((child) => fieldOf(child, depth + 1));
  const dictionary = flat.table(4);
  const inner = children.length > 0 ? `<${children.map(({ kind }) => kind).join(", ")}>` : "";
  let kind = `${name}${inner}`;
  let dtype: FileDType | undefined;
  if (type === TYPE.int) {
    kind = intKind(own);
    if (/^(I|Ui)nt(8|16|32|64)$/.test(kind)) dtype = kind.toLowerCase() as FileDType;
  }
  if (type === TYPE.float) {
    dtype = (["float16", "float32", "float64"] as const)[own?.number(0, 2) ?? 0];
  }
  if (type === TYPE.bool) dtype = "bool";
  need(
    !LISTS.includes(type) || children.length === 1,
    `a list has ${children.length} types of elements`,
  );
  if (dictionary !== undefined) kind = `Dictionary<${intKind(dictionary.table(1))}, ${kind}>`;
  return {
    name: flat.text(0),
    ...{ kind, type, dtype: dictionary === undefined ? dtype : undefined },
    isDictionary: dictionary !== undefined,
    size: type === TYPE.fixedSizeList ? own?.number(0, 4) ?? 0 : 0,
    isDense: type === TYPE.union && own?.number(0, 2) === 1,
    children,
  };
}

/** What an Arrow file is. */
export interface ArrowSchema {
  readonly fields: readonly ArrowField[];
  /** Texts beside it, by their names. */
  readonly notes: ReadonlyMap<string, string>;
}

function schemaOf(flat: Flat | undefined): ArrowSchema {
  need(flat !== undefined, "it has no schema");
  need(flat.number(0, 2) === 0, "its numbers are big-endian");
  return {
    fields: flat.tables(1).map((field) => fieldOf(field)),
    notes: new Map(flat.tables(2).map((note) => [note.text(0) ?? "", note.text(1) ?? ""])),
  };
}

interface Message {
  readonly kind: number;
  readonly version: number;
  readonly header: Flat | undefined;
  /** Where the body is in the file. */
  readonly from: number;
  readonly to: number;
}

/** The message at a place; undefined where there are no more. */
async function messageAt(file: DataFile, at: number): Promise<Message | undefined> {
  need(at >= 0 && at <= file.size, `byte ${at} is no place for a part`);
  const head = await file.read(at, 8);
  if (head.length === 0) return undefined;
  const view = new DataView(head.buffer);
  // Before version 0.15, there was no -1 before a length.
  const isNew = view.getInt32(0, true) === -1;
  const length = view.getInt32(isNew ? 4 : 0, true);
  if (length === 0) return undefined;
  const start = at + (isNew ? 8 : 4);
  const left = file.size - start;
  need(length > 0 && length <= left, `a message has ${length} bytes, and ${left} are left`);
  const flat = Flat.root(await file.read(start, length));
  const from = start + length;
  const size = flat.number(3, 8);
  const most = file.size - from;
  need(size >= 0 && size <= most, `a message has a body of ${size} bytes, and ${most} are left`);
  return {
    kind: flat.number(1, 1),
    version: flat.number(0, 2),
    header: flat.table(2),
    ...{ from, to: from + size },
  };
}

const MAGIC = "ARROW1";

/** The footer of a file; undefined if it is a stream, which has none. */
async function footerOf(file: DataFile): Promise<Flat | undefined> {
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  if (text(await file.read(0, MAGIC.length)) !== MAGIC) return undefined;
  const place = Math.max(0, file.size - MAGIC.length - 4);
  const end = await file.read(place, MAGIC.length + 4);
  need(text(end.subarray(4)) === MAGIC, `it does not end with ${MAGIC}`);
  const length = new DataView(end.buffer).getInt32(0, true);
  need(length > 0 && length <= place, `its footer has ${length} bytes, and it has ${place} before`);
  return Flat.root(await file.read(place - length, length));
}

/** An Arrow file or stream. */
export interface ArrowFile {
  readonly schema: ArrowSchema;
  /** Its batches of rows, from the first on. */
  batches(): AsyncGenerator<ArrowBatch>;
}

/** Opens an Arrow file or stream. */
export async function openMessages(file: DataFile): Promise<ArrowFile> {
  const footer = await footerOf(file);
  const first = footer === undefined ? await messageAt(file, 0) : undefined;
  need(footer !== undefined || first?.kind === MESSAGE.schema, "it has no schema");
  const schema = schemaOf(footer === undefined ? first?.header : footer.table(1));
  // A block has its place, the length of its message, and that of its body.
  const places = footer?.numbers(3, 3).map(([place = 0]) => place);
  return {
    schema,
    async *batches(): AsyncGenerator<ArrowBatch> {
      let at = first?.to ?? 0;
      for (let k = 0; places === undefined || k < places.length; k++) {
        const place = places?.[k] ?? at;
        need(place >= at, `byte ${place} is no place for a part`);
        const message = await messageAt(file, place);
        if (message === undefined && places === undefined) return;
        const { kind, header, to } = message ?? {};
        if (places === undefined && kind === MESSAGE.dictionary) {
          at = to ?? 0;
          continue;
        }
        need(
          message !== undefined && kind === MESSAGE.batch && header !== undefined,
          `byte ${place} is no place for a part`,
        );
        at = message.to;
        yield new ArrowBatch(file, schema.fields, message, header);
      }
    },
  };
}

/** A buffer of a batch: where it is in the body. */
interface Region {
  readonly from: number;
  readonly to: number;
}

/** A column of a batch: of lists, or of numbers. */
interface Part {
  readonly length: number;
  readonly nullCount: number;
  /** A bit for each element that is there. */
  readonly valid: Region | undefined;
  /** The numbers, or where lists begin. */
  readonly data: Region | undefined;
  /** What is in the lists. */
  readonly child: Part | undefined;
  readonly field: ArrowField;
}

/** A part whose buffers were checked. */
interface Level {
  readonly field: ArrowField;
  readonly offsets: Float64Array | undefined;
  readonly valid: Uint8Array | undefined;
  readonly numbers: Uint8Array<ArrayBuffer> | undefined;
}

/** A batch of rows. */
export class ArrowBatch {
  readonly rowCount: number;
  readonly #file: DataFile;
  readonly #message: Message;
  readonly #columns = new Map<string, Part>();
  #body: Uint8Array<ArrayBuffer> | undefined;

  constructor(
    file: DataFile,
    fields: readonly ArrowField[],
    message: Message,
    header: Flat,
  ) {
    this.#file = file;
    this.#message = message;
    this.rowCount = header.number(0, 8);
    need(message.version >= 3, "it was written by Arrow before version 0.8");
    need(
      Number.isSafeInteger(this.rowCount) && this.rowCount >= 0,
      `a batch has ${this.rowCount} rows`,
    );
    need(
      header.table(3) === undefined,
      "its batches are compressed, and only plain ones are read: write it anew without a compression",
    );
    const nodes = header.numbers(1, 2);
    const size = message.to - message.from;
    let sum = 0;
    const regions = header.numbers(2, 2).map(([from = 0, length = 0]): Region => {
      need(
        from >= 0 && length >= 0 && from + length <= size,
        `a buffer has ${length} bytes from ${from} on, and its batch has ${size}`,
      );
      sum += length;
      return { from, to: from + length };
    });
    need(sum <= size, `buffers have ${sum} bytes, and their batch has ${size}`);
    const viewCounts = header.numbers(4, 1);
    const region = (): Region => {
      const next = regions.shift();
      need(next !== undefined, "a batch has too few buffers");
      return next;
    };
    const take = (field: ArrowField): Part => {
      const node = nodes.shift();
      need(node !== undefined, "a batch has too few columns");
      const [length = 0, nullCount = 0] = node;
      need(Number.isSafeInteger(length) && length >= 0, `a column has ${length} rows`);
      const { type, isDictionary } = field;
      const hasValidity = type === TYPE.union && message.version < 4 ? 1 : 0;
      let count = isDictionary ? 2 : (TYPES[type]?.[1] ?? 0) + Number(field.isDense) + hasValidity;
      if (VIEWS.includes(type) && !isDictionary) {
        const more = viewCounts.shift()?.[0] ?? 0;
        need(more >= 0 && more <= regions.length, `a column has ${more} buffers`);
        count += more;
      }
      const own = Array.from({ length: count }, region);
      const children = isDictionary ? [] : field.children.map(take);
      return { length, nullCount, valid: own[0], data: own[1], child: children[0], field };
    };
    for (const field of fields) {
      const part = take(field);
      need(
        part.length === this.rowCount,
        `${field.name} has ${part.length} rows, and its batch has ${this.rowCount}`,
      );
      this.#columns.set(field.name ?? "", part);
    }
  }

  /** The bytes of a buffer that must have so many. */
  async #bytes(region: Region | undefined, count: number): Promise<Uint8Array<ArrayBuffer>> {
    const size = region === undefined ? 0 : region.to - region.from;
    need(count <= size, `a buffer has ${size} bytes, and ${count} are needed`);
    const { from, to } = this.#message;
    this.#body ??= await this.#file.read(from, to - from);
    return this.#body.subarray(region?.from ?? 0, (region?.from ?? 0) + count);
  }

  /** The parts of a column from the outermost on. Each is as long as it must be, before something is made of any. */
  async #levels(name: string): Promise<Level[]> {
    const levels: Level[] = [];
    for (let part = this.#columns.get(name); part !== undefined; part = part.child) {
      const { length, nullCount, valid, field: { type, dtype } } = part;
      if (type === TYPE.fixedSizeList) checkFixed(part);
      const bits = Math.ceil(length / 8);
      levels.push({
        field: part.field,
        offsets: hasOffsets(type) ? await this.#offsets(part) : undefined,
        valid: nullCount === 0 ? undefined : await this.#bytes(valid, bits),
        numbers: dtype === undefined
          ? undefined
          : await this.#bytes(part.data, dtype === "bool" ? bits : length * bytesOf(dtype)),
      });
    }
    need(levels.length > 0, `${name} is missing in a batch`);
    return levels;
  }

  /** Where lists begin, and where the last one ends. */
  async #offsets({ length, data, child, field: { name, type } }: Part): Promise<Float64Array> {
    const width = type === TYPE.largeList ? 8 : 4;
    const count = length === 0 ? 0 : length + 1;
    const { buffer } = (await this.#bytes(data, width * count)).slice();
    const offsets = width === 8
      ? Float64Array.from(new BigInt64Array(buffer), Number)
      : Float64Array.from(new Int32Array(buffer));
    const most = child?.length ?? 0;
    let last = 0;
    for (const offset of offsets) {
      need(
        offset >= last && offset <= most,
        `${name}: a list ends at ${offset}, after ${last} of ${most}`,
      );
      last = offset;
    }
    return offsets;
  }

  /** The numbers of a column, and where in them each row begins. The last place is where they end. */
  async column(name: string, firstRow: number): Promise<{ values: Values; starts: Float64Array }> {
    const levels = await this.#levels(name);
    const { field: { dtype, kind }, numbers } = levels.at(-1) as Level;
    need(dtype !== undefined && numbers !== undefined, `${name} has ${kind}`);
    let starts = Float64Array.from({ length: this.rowCount + 1 }, (_, k) => k);
    for (const { field: { type, size }, offsets, valid } of levels) {
      const to = starts.at(-1) as number;
      for (let k = starts[0] as number; valid !== undefined && k < to; k++) {
        if (isSet(valid, k)) continue;
        const row = starts.findLastIndex((start) => start <= k);
        throw dataError(`row ${firstRow + row}: ${name} is missing`);
      }
      if (hasOffsets(type)) starts = starts.map((at) => offsets?.[at] ?? 0);
      if (type === TYPE.fixedSizeList) starts = starts.map((at) => at * size);
    }
    const from = starts[0] as number;
    const to = starts.at(-1) as number;
    const width = bytesOf(dtype);
    const values = dtype === "bool"
      ? Uint8Array.from({ length: to - from }, (_, k) => Number(isSet(numbers, from + k)))
      : valuesIn(dtype, numbers.slice(from * width, to * width), name);
    return { values, starts: starts.map((at) => at - from) };
  }

  /** The shape of the first row of a column, by the lists in it. */
  async shape(name: string): Promise<number[]> {
    const shape: number[] = [];
    let at = 0;
    for (const { field: { type, size }, offsets, valid } of await this.#levels(name)) {
      const isThere = valid === undefined || isSet(valid, at);
      if (!isThere || shape.at(-1) === 0 || !LISTS.includes(type)) break;
      const begin = offsets === undefined ? at * size : offsets[at] ?? 0;
      shape.push(offsets === undefined ? size : (offsets[at + 1] ?? 0) - begin);
      at = begin;
    }
    return shape;
  }
}

/** Checks that fixed lists have all of their elements. */
function checkFixed({ length, child, field: { name, size } }: Part): void {
  const there = child?.length ?? 0;
  need(
    size >= 0 && length * size <= there,
    `${name}: lists have ${length * size} elements, and ${there} are there`,
  );
}

/** Whether lists have places where they begin. */
function hasOffsets(type: number): boolean {
  return type === TYPE.list || type === TYPE.largeList;
}

function isSet(bits: Uint8Array, k: number): boolean {
  return ((bits[k >> 3] ?? 0) & 1 << (k & 7)) !== 0;
}
