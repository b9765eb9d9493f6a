/**
 * Checks of what a Parquet file says of lengths, before hyparquet believes it. A file that lies is an error, and takes neither memory nor time.
 *
 * Invariants: 1. hyparquet gets only pages that were checked, and as many values as the metadata says. 2. The number
 * of values is bounded by the number of bytes, apart from a fixed number of equal ones. 3. A page is unpacked into as many bytes as its values can take, and no more.
 *
 * The checks follow hyparquet 1.31.5 step by step: they must come to the same places in a page as it does. So look at both when its version changes. The
 * file is long because hyparquet believes lengths in many places.
 *
 * @module
 */

import { dataError } from "./_values.ts";

/** Values for each byte of a group of rows. Frames of Atari games have 50 to 100 in zstd. */
const VALUES_PER_BYTE = 256;
/** Values that a group may have beyond those, because equal ones in a row take next to no bytes, as black frames do. */
const GROUP_FREE_VALUES = 2 ** 23;
/** And so many in all groups together. */
const FILE_FREE_VALUES = 2 ** 26;
/** Values that take as much memory as a list, or as a number of 16 bits, which hyparquet makes an object of: about 1 KB. */
const LIST_VALUES = 16;
/** Bytes that a value takes at most before it is packed: 8, its levels and what counts them. */
const VALUE_BYTES = 16;
/** Bytes of a page without a value. */
const PAGE_BYTES = 4096;
/** Values by which a run may go beyond the last one: some writers fill it up. */
const SLACK_VALUES = 512;
/** Differences of one width, and such parts of a block. */
const DELTA_VALUES = 4096;
const DELTA_PARTS = 4096;
/** How deep structures may lie in each other. */
const MAX_DEPTH = 32;
/** Bytes that the statistics of a decimal number have at most. */
const DECIMAL_BYTES = 64;

/** The numbers of encodings. */
const ENCODING = { plain: 0, oldDictionary: 2, rle: 3, delta: 5, dictionary: 8, split: 9 };
const DICTIONARIES = [ENCODING.oldDictionary, ENCODING.dictionary];
/** The numbers of pages. */
const PAGE = { data: 0, dictionary: 2, data2: 3 };

/** What is used of a column's description. */
export interface SchemaElement {
  readonly name: string;
  readonly type?: string;
  readonly type_length?: number;
  readonly repetition_type?: string;
  readonly num_children?: number;
  readonly converted_type?: string;
  readonly logical_type?: { readonly type: string };
}

/** What is used of a column in a group of rows. */
export interface Chunk {
  /** What an encrypted column has. */
  readonly crypto_metadata?: unknown;
  readonly meta_data?: {
    readonly type?: string;
    readonly path_in_schema: readonly string[];
    readonly codec: string;
    readonly num_values: bigint;
    readonly total_compressed_size: bigint;
    readonly data_page_offset: bigint;
    readonly dictionary_page_offset?: bigint;
  };
}

/** What is used of a file's metadata. */
export interface Metadata {
  readonly num_rows: bigint;
  readonly schema: readonly SchemaElement[];
  readonly row_groups: { readonly num_rows: bigint; readonly columns: readonly Chunk[] }[];
  readonly key_value_metadata?: { readonly key: string; readonly value?: string }[];
}

/** Where the values of a column are in a group of rows. */
export interface Place {
  readonly chunk: Chunk;
  readonly codec: string;
  readonly isBoolean: boolean;
  readonly rowCount: number;
  /** How many values there are, with missing ones and empty lists. */
  readonly valueCount: number;
  readonly from: number;
  readonly to: number;
  /** The largest levels of repetition and definition. */
  readonly repetition: number;
  readonly definition: number;
}

/** A group of rows: where each column is, by its name at the top. Columns of several parts have no place. */
export interface Group {
  readonly rowCount: number;
  readonly places: ReadonlyMap<string, Place>;
}

function need(isTrue: boolean, words: string): asserts isTrue {
  if (!isTrue) throw dataError(words);
}

/** A count or a place. */
function whole(value: unknown, what: string): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  need(Number.isSafeInteger(number) && (number as number) >= 0, `${what} is ${value}`);
  return number as number;
}

/** What a structure of Thrift's has, by its numbers. Long integers are left out: nobody asks for them here. */
type Fields = ReadonlyMap<number, unknown>;

/** Reads bytes from a place on. Beyond the end is an error. */
class Reader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const byte = this.bytes[this.at++];
    need(byte !== undefined, `byte ${this.at - 1} is needed, and there are ${this.bytes.length}`);
    return byte;
  }

  skip(count: number): number {
    const left = this.bytes.length - this.at;
    need(count <= left, `${count} bytes are needed, and ${left} are left`);
    this.at += count;
    return this.at;
  }

  /** A number of 32 bits without a sign. */
  varint(): number {
    let value = 0;
    for (let k = 0; k < 5; k++) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** (7 * k);
      if (byte < 128 && value < 2 ** 32) return value;
    }
    throw dataError("a number of 32 bits has more");
  }

  skipLong(): void {
    for (let k = 0; k < 10; k++) if (this.byte() < 128) return;
    throw dataError("a number of 64 bits has more");
  }

  length(): number {
    const start = this.at;
    this.skip(4);
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + start).getUint32(0, true);
  }

  /** A structure in Thrift's compact protocol. */
  struct(depth = 0): Fields {
    need(depth < MAX_DEPTH, `there are more than ${MAX_DEPTH} structures in each other`);
    const fields = new Map<number, unknown>();
    let id = 0;
    for (;;) {
      const head = this.byte();
      if ((head & 15) === 0) return fields;
      id = head >> 4 === 0 ? signed(this.varint()) : id + (head >> 4);
      fields.set(id, this.#value(head & 15, depth));
    }
  }

  #value(type: number, depth: number): unknown {
    switch (type) {
      case 1:
      case 2:
        return type === 1;
      case 3:
        return this.byte();
      case 4:
      case 5:
        return signed(this.varint());
      case 6:
        return this.skipLong();
      case 7:
        return void this.skip(8);
      case 8: {
        const length = this.varint();
        return this.bytes.subarray(this.at, this.skip(length));
      }
      case 9: {
        need(depth < MAX_DEPTH, `there are more than ${MAX_DEPTH} lists in each other`);
        const head = this.byte();
        const count = head >> 4 === 15 ? this.varint() : head >> 4;
        const left = this.bytes.length - this.at;
        need(count <= left, `a list has ${count} parts, and ${left} bytes are left`);
        const each = head & 15;
        const values: unknown[] = [];
        for (let k = 0; k < count; k++) values.push(this.#value(each < 3 ? 3 : each, depth + 1));
        return values;
      }
      case 12:
        return this.struct(depth + 1);
      default:
        throw dataError(`Parquet has no values of type ${type}`);
    }
  }
}

function signed(zigzag: number): number {
  return zigzag >>> 1 ^ -(zigzag & 1);
}

/** Checks the bytes of the metadata: each length is bounded by what is left. */
export function checkMetadataBytes(bytes: Uint8Array): void {
  const metadata = new Reader(bytes, 0).struct();
  // hyparquet takes the byte 5 for the number 5, so both are compared as text.
  const leaves = parts(metadata, 2).filter((element) => element.has(1));
  const isKnown = leaves.every((leaf) => /^[0-7]$/.test(String(leaf.get(1))));
  need(isKnown, "a column has a type that Parquet does not have");
  for (const group of parts(metadata, 4)) {
    for (const [k, chunk] of parts(group, 1).entries()) {
      const meta = chunk.get(3);
      if (!(meta instanceof Map) || !(meta.get(12) instanceof Map)) continue;
      // hyparquet takes time that grows by the square of the bytes of a decimal number.
      if (String(leaves[k]?.get(6)) !== "5") continue;
      for (const value of meta.get(12).values()) {
        need(
          !(value instanceof Uint8Array) || value.length <= DECIMAL_BYTES,
          `a decimal number has ${
            (value as Uint8Array)?.length
          } bytes, and ${DECIMAL_BYTES} at most are read`,
        );
      }
    }
  }
}

function parts(fields: Fields, id: number): Fields[] {
  const list = fields.get(id);
  const isWhole = Array.isArray(list) && list.every((each) => each instanceof Map);
  need(isWhole, `the metadata has no list ${id}`);
  return list as Fields[];
}

interface Leaf {
  readonly path: readonly string[];
  readonly element: SchemaElement;
  readonly repetition: number;
  readonly definition: number;
}

/** The columns of numbers and the like, with their levels as hyparquet counts them. */
function leavesOf(schema: readonly SchemaElement[]): Leaf[] {
  const leaves: Leaf[] = [];
  let at = 0;
  const visit = (path: readonly string[], repetition: number, definition: number): void => {
    const element = schema[at++];
    need(element !== undefined, "a column has fewer parts than it says");
    need(path.length <= MAX_DEPTH, `a column has more than ${MAX_DEPTH} parts in each other`);
    const { num_children, repetition_type } = element;
    const isRoot = at === 1;
    const own = isRoot ? [] : [...path, element.name];
    const repeats = repetition + Number(repetition_type === "REPEATED");
    const defines = definition + Number(!isRoot && repetition_type !== "REQUIRED");
    const count = whole(num_children ?? 0, "the number of a column's parts");
    if (count === 0) {
      leaves.push({ path: own, element, repetition: repeats, definition: defines });
    }
    for (let k = 0; k < count; k++) visit(own, repeats, defines);
  };
  visit([], 0, 0);
  need(at === schema.length, `${schema.length} columns are described, and ${at} are needed`);
  const names = new Set(leaves.map(({ path }) => JSON.stringify(path)));
  need(names.size === leaves.length, "two columns have one name");
  return leaves;
}

/** Checks places and counts; gives where the columns are. */
export function checkMetadata(metadata: Metadata, size: number): Group[] {
  const leaves = leavesOf(metadata.schema);
  const partCounts = new Map<string, number>();
  for (const { path: [top = ""] } of leaves) partCounts.set(top, (partCounts.get(top) ?? 0) + 1);
  let free = FILE_FREE_VALUES;
  let rowCount = 0;
  let byteCount = 0;
  const groups = metadata.row_groups.map((group): Group => {
    const rows = whole(group.num_rows, "the number of rows");
    need(
      group.columns.length === leaves.length,
      `a group of rows has ${group.columns.length} columns, and ${leaves.length} are needed`,
    );
    const places = new Map<string, Place>();
    let values = 0;
    let bytes = 0;
    for (const [k, chunk] of group.columns.entries()) {
      const { path, element, repetition, definition } = leaves[k] as Leaf;
      const name = path.join(".");
      const meta = chunk.meta_data;
      need(
        meta !== undefined && JSON.stringify(meta.path_in_schema) === JSON.stringify(path) &&
          meta.type === element.type,
        `the place of ${name} is missing in a group of rows`,
      );
      const valueCount = whole(meta.num_values, `the number of values of ${name}`);
      need(
        repetition > 0 ? valueCount >= rows : valueCount === rows,
        `${name} has ${valueCount} values in a group of ${rows} rows`,
      );
      const offset = meta.dictionary_page_offset || meta.data_page_offset;
      const from = whole(offset, `the place of ${name}`);
      const to = from + whole(meta.total_compressed_size, `the size of ${name}`);
      need(to <= size, `${name} ends at byte ${to}, and the file has ${size}`);
      const isHalf = element.logical_type?.type === "FLOAT16";
      values += valueCount * (isHalf ? LIST_VALUES : 1) + (repetition > 0 ? LIST_VALUES * rows : 0);
      bytes += to - from;
      const [top = ""] = path;
      if (partCounts.get(top) !== 1) continue;
      places.set(top, {
        ...{ chunk, codec: meta.codec, isBoolean: element.type === "BOOLEAN" },
        ...{ rowCount: rows, valueCount, from, to, repetition, definition },
      });
    }
    const more = Math.max(0, values - VALUES_PER_BYTE * bytes);
    free -= more;
    need(
      more <= GROUP_FREE_VALUES && free >= 0,
      `a group of ${rows} rows has ${values} values in ${bytes} bytes, and ${VALUES_PER_BYTE} for each byte are read: if nearly all are equal, write the file anew without a compression and without dictionaries`,
    );
    rowCount += rows;
    byteCount += bytes;
    return { rowCount: rows, places };
  });
  need(byteCount <= size, `columns have ${byteCount} bytes, and the file has ${size}`);
  need(
    BigInt(rowCount) === metadata.num_rows,
    `the groups have ${rowCount} rows, and the file says ${metadata.num_rows}`,
  );
  return groups;
}

interface Page {
  readonly valueCount: number;
  readonly encoding: number;
  /** Bytes before the packed ones. */
  readonly levels: number;
  /** Bytes after they are unpacked. */
  readonly size: number;
  readonly isVersion2: boolean;
  readonly isDictionary: boolean;
}

/** Unpacks bytes into at most so many. */
export type Unpack = (bytes: Uint8Array, most: number) => Uint8Array;

/** The pages of a column that were checked, as hyparquet gets them. */
export interface Pages {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Unpacks and checks the page at a place in the bytes. */
  unpack(packed: Uint8Array, way: Unpack): Uint8Array;
}

/** Checks the heads of a column's pages, and what is not packed. */
export function checkPages(bytes: Uint8Array<ArrayBuffer>, place: Place): Pages {
  const reader = new Reader(bytes, 0);
  const pages = new Map<number, Page>();
  let left = place.valueCount;
  let hasDictionary = false;
  // The rows were counted with their group, so the lists in them are left.
  const free = GROUP_FREE_VALUES + VALUES_PER_BYTE * bytes.length;
  const most = place.rowCount + free / LIST_VALUES;
  const lists: Lists = { level: place.repetition, count: 0, most };
  // hyparquet reads lists until the bytes end, and other columns until they have all rows.
  while (reader.at < bytes.length - 1 && (left > 0 || place.repetition > 0)) {
    const head = reader.struct();
    const type = head.get(1);
    const fields = head.get(type === PAGE.data ? 5 : type === PAGE.data2 ? 8 : 7);
    need(
      Object.values(PAGE).includes(type as number) && fields instanceof Map,
      `there are no pages of type ${type}`,
    );
    const count = (id: number, of: Fields = fields): number => whole(of.get(id), "a page's number");
    const isDictionary = type === PAGE.dictionary;
    const isVersion2 = type === PAGE.data2;
    const valueCount = count(1);
    const packed = count(3, head);
    const [definitions, repetitions] = isVersion2 ? [count(5), count(6)] : [0, 0];
    const levels = definitions + repetitions;
    const size = count(2, head) - levels;
    need(
      valueCount <= (isDictionary ? place.valueCount : left),
      `a page has ${valueCount} values, and ${left} of ${place.valueCount} are left`,
    );
    need(
      size >= 0 && size <= VALUE_BYTES * valueCount + PAGE_BYTES,
      `a page of ${valueCount} values has ${size} bytes`,
    );
    need(levels <= packed, `a page of ${packed} bytes has ${levels} of levels`);
    need(!isDictionary || !hasDictionary, "a column has two dictionaries");
    hasDictionary ||= isDictionary;
    if (!isDictionary) left -= valueCount;
    const from = reader.at;
    const body = bytes.subarray(from, reader.skip(packed));
    const encoding = isVersion2 ? count(4) : count(2);
    const page = { valueCount, encoding, levels, size, isVersion2, isDictionary };
    if (isVersion2) {
      need(count(2) <= valueCount && count(3) <= valueCount, "a page has more nulls than values");
      need(place.definition > 0 || definitions === 0, "a page has levels that nobody needs");
      checkRuns(body.subarray(0, repetitions), place.repetition, valueCount, lists);
      checkRuns(body.subarray(repetitions, levels), place.definition, valueCount);
    }
    const isPlain = place.codec === "UNCOMPRESSED" || (isVersion2 && fields.get(7) === false);
    if (isPlain) checkValues(body.subarray(levels), page, place, lists);
    else pages.set(from + levels, page);
  }
  return {
    bytes: reader.at < bytes.length ? bytes.slice(0, reader.at) : bytes,
    unpack(packed, way): Uint8Array {
      const page = pages.get(packed.byteOffset);
      need(page !== undefined, "a page that was not checked");
      const { size } = page;
      // Some ways know no empty output.
      const unpacked = size === 0 ? new Uint8Array() : way(packed, size);
      need(unpacked.length === size, `a page has ${unpacked.length} bytes, and says ${size}`);
      checkValues(unpacked, page, place, lists);
      return unpacked;
    },
  };
}

/** Checks the values of a page after it is unpacked. In version 1, they have levels before them. */
function checkValues(bytes: Uint8Array, page: Page, place: Place, lists: Lists): void {
  const { valueCount, encoding, isVersion2 } = page;
  // Plain values take the bytes that they take.
  if (page.isDictionary) return;
  const reader = new Reader(bytes, 0);
  if (!isVersion2) {
    const levels = [[place.repetition, lists], [place.definition, undefined]] as const;
    for (const [level, own] of levels) {
      if (level === 0) continue;
      const length = reader.length();
      checkRuns(bytes.subarray(reader.at, reader.skip(length)), level, valueCount, own);
    }
  }
  const isDictionary = DICTIONARIES.includes(encoding);
  if (encoding === ENCODING.delta) checkDelta(reader, valueCount);
  else if (isDictionary || encoding === ENCODING.rle) {
    const isBits = isVersion2 ? !isDictionary : place.isBoolean;
    if (valueCount === 0) return;
    const width = isBits ? 1 : reader.byte();
    if (isBits) reader.length();
    if (width > 0 || isVersion2) runs(reader, width, valueCount);
  } else {
    const isPlain = encoding === ENCODING.plain || encoding === ENCODING.split;
    need(isPlain, `pages of encoding ${encoding} are not read`);
  }
}

/** How many lists a column has so far: where the level of repetition is not the largest one, another list begins. */
interface Lists {
  readonly level: number;
  readonly most: number;
  count: number;
}

/** Checks levels: there must be one for each value. */
function checkRuns(bytes: Uint8Array, level: number, valueCount: number, lists?: Lists): void {
  if (level === 0) return;
  const seen = runs(new Reader(bytes, 0), 32 - Math.clz32(level), valueCount, lists);
  need(seen >= valueCount, `a page of ${valueCount} values has ${seen} levels`);
  if (lists === undefined) return;
  need(lists.count <= lists.most, `a column has ${lists.count} lists or more in so few bytes`);
}

/** Goes over runs of equal values and groups of bits, and gives how many values they have. A page may have fewer: missing ones are in no run. */
function runs(reader: Reader, width: number, valueCount: number, lists?: Lists): number {
  need(width <= 32, `a number has ${width} bits`);
  const { bytes } = reader;
  let seen = 0;
  while (seen < valueCount && reader.at < bytes.length) {
    const head = reader.varint();
    const isBits = head % 2 === 1;
    const count = isBits ? (head - 1) / 2 * 8 : head / 2;
    need(
      count <= valueCount - seen + SLACK_VALUES,
      `a run has ${count} values, and a page has ${valueCount}`,
    );
    if (lists !== undefined && !isBits && (bytes[reader.at] ?? 0) < lists.level) {
      lists.count += count;
    }
    for (let k = 0; lists !== undefined && isBits && k < count; k++) {
      const at = reader.at + (k * width >> 3);
      const two = (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) * 256;
      if ((two >> (k * width & 7) & (1 << width) - 1) < lists.level) lists.count++;
    }
    // hyparquet takes a byte also for bits that there are not.
    reader.at += isBits ? Math.max(1, count / 8 * width) : width + 7 >> 3;
    seen += count;
  }
  return seen;
}

/** Goes over numbers that are differences. */
function checkDelta(reader: Reader, valueCount: number): void {
  if (valueCount === 0 || reader.at === reader.bytes.length) return;
  const block = reader.varint();
  const count = reader.varint();
  const each = block / count;
  // A page of one value has no block, so its parts take no bytes.
  need(
    each % 8 === 0 && each > 0 && each <= DELTA_VALUES && count <= DELTA_PARTS,
    `a page has blocks of ${block} values in ${count} parts`,
  );
  reader.varint();
  reader.skipLong();
  for (let seen = 1; seen < valueCount && reader.at < reader.bytes.length;) {
    reader.skipLong();
    const widths = reader.bytes.subarray(reader.at, reader.skip(count));
    for (let k = 0; k < count && seen < valueCount; k++) {
      const width = widths[k] as number;
      need(width <= 64, `a number has ${width} bits`);
      reader.at += each / 8 * width;
      seen += each;
    }
  }
}
