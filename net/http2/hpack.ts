/**
 * HPACK, the compression of headers (RFC 7541): a decoder with both tables, and an encoder without any state.
 *
 * What can be hostile here: integers that never end, texts longer than their block, indexes beyond the tables, table sizes above what was
 * offered, and short blocks that unfold to much. The decoder returns a fault for the first four. The `ListBuilder` keeps nothing above its
 * limit, so the last one costs time in proportion to the block only.
 *
 * Clients repeat themselves: the header block of a later call often has the same bytes. While the dynamic table stays as it is, the same
 * bytes mean the same list. So the decoder keeps the last few lists, and such a block costs a comparison.
 *
 * @module
 */
import { type HeaderField, type HeaderList, ListBuilder, makeField } from "./header_fields.ts";
import { decodeHuffman } from "./huffman.ts";

/** The static table (appendix A); its first entry has the index 1. */
const staticFields: readonly (readonly [string, string])[] = ([
  [":authority"],
  ...[[":method", "GET"], [":method", "POST"], [":path", "/"], [":path", "/index.html"]],
  ...[[":scheme", "http"], [":scheme", "https"]],
  ...["200", "204", "206", "304", "400", "404", "500"].map((status) => [":status", status]),
  ...[["accept-charset"], ["accept-encoding", "gzip, deflate"], ["accept-language"]],
  ...[["accept-ranges"], ["accept"], ["access-control-allow-origin"], ["age"], ["allow"]],
  ...[["authorization"], ["cache-control"], ["content-disposition"], ["content-encoding"]],
  ...[["content-language"], ["content-length"], ["content-location"], ["content-range"]],
  ...[["content-type"], ["cookie"], ["date"], ["etag"], ["expect"], ["expires"], ["from"]],
  ...[["host"], ["if-match"], ["if-modified-since"], ["if-none-match"], ["if-range"]],
  ...[["if-unmodified-since"], ["last-modified"], ["link"], ["location"], ["max-forwards"]],
  ...[["proxy-authenticate"], ["proxy-authorization"], ["range"], ["referer"], ["refresh"]],
  ...[["retry-after"], ["server"], ["set-cookie"], ["strict-transport-security"]],
  ...[["transfer-encoding"], ["user-agent"], ["vary"], ["via"], ["www-authenticate"]],
] as string[][]).map(([name = "", value = ""]) => [name, value]);

const staticTable: readonly HeaderField[] = staticFields.map(([name, value]) =>
  makeField(name, value)
);

/** The table size that a decoder has at first, and that we keep. */
export const tableSizeAtFirst = 4096;

/** The largest integer that is read: more than any length or index that can be right. */
const integerMax = 1 << 24;

/** How many lists are kept, and how long their blocks may be. */
const keptLists = 8;
const keptBlockMax = 256;

/** A list that was decoded from these bytes, while the dynamic table had this version. */
interface KeptList {
  readonly block: Uint8Array;
  readonly version: number;
  readonly list: HeaderList;
}

/** Why a block can't be decoded. After that the tables of both sides differ, so the connection must end. */
export class HpackFault {
  /** A fault in words. */
  constructor(readonly text: string) {}
}

/** A decoder: one for each connection. */
export class HpackDecoder {
  readonly #builder: ListBuilder;
  /** The dynamic table, as a ring: the newest entry is at `#newest`. An entry has at least 32 bytes, so there is always room. */
  readonly #ring: HeaderField[] = [];
  readonly #capacity = tableSizeAtFirst / 32;
  #newest = 0;
  #count = 0;
  #size = 0;
  #sizeMax = tableSizeAtFirst;
  /** Rises with each change of the dynamic table. */
  #version = 0;
  #scratch = new Uint8Array(512);
  #fault = "";
  #at = 0;
  readonly #kept: KeptList[] = [];
  #keptNext = 0;

  /** A decoder of lists up to a size, counted as RFC 9113 does. */
  constructor(listSizeMax: number) {
    this.#builder = new ListBuilder(listSizeMax);
  }

  /** Bytes in the dynamic table, as the RFC counts them. */
  get tableSize(): number {
    return this.#size;
  }

  /** Entries in the dynamic table. */
  get tableCount(): number {
    return this.#count;
  }

  /** Decodes the block `bytes[from..to)`. */
  decode(bytes: Uint8Array, from: number, to: number): HeaderList | HpackFault {
    const kept = this.#find(bytes, from, to);
    if (kept !== undefined) return kept;
    const version = this.#version;
    this.#fault = "";
    this.#at = from;
    let isFirst = true;
    while (this.#at < to && this.#fault === "") {
      const first = bytes[this.#at] as number;
      if ((first & 0xe0) === 0x20) {
        if (isFirst) this.#resize(this.#integer(bytes, to, 5));
        else this.#fault = "a change of the table's size stands after a field";
        continue;
      }
      isFirst = false;
      if (first >= 0x80) {
        const field = this.#field(this.#integer(bytes, to, 7));
        if (field !== undefined) this.#builder.add(field);
      } else {
        this.#literal(bytes, to, first);
      }
    }
    const list = this.#builder.finish();
    if (this.#fault !== "") return new HpackFault(this.#fault);
    if (version === this.#version) this.#keep(bytes, from, to, list);
    return list;
  }

  #find(bytes: Uint8Array, from: number, to: number): HeaderList | undefined {
    for (let k = 0; k < this.#kept.length; k++) {
      const { block, version, list } = this.#kept[k] as KeptList;
      if (version !== this.#version || block.length !== to - from) continue;
      // Blocks of one client differ near their end if anywhere: the path and the metadata come last.
      let i = block.length - 1;
      while (i >= 0 && block[i] === bytes[from + i]) i--;
      if (i < 0) return list;
    }
    return undefined;
  }

  #keep(bytes: Uint8Array, from: number, to: number, list: HeaderList): void {
    if (to - from > keptBlockMax || list.isTooLarge) return;
    this.#kept[this.#keptNext] = { block: bytes.slice(from, to), version: this.#version, list };
    this.#keptNext = (this.#keptNext + 1) % keptLists;
  }

  /** A field that is written out, with the three forms that differ in the first byte. */
  #literal(bytes: Uint8Array, to: number, first: number): void {
    const isAdded = first >= 0x40;
    const index = this.#integer(bytes, to, isAdded ? 6 : 4);
    let name: string;
    if (index === 0) {
      name = this.#text(bytes, to);
    } else {
      const field = this.#field(index);
      if (field === undefined) return;
      name = field.name;
    }
    const value = this.#text(bytes, to);
    if (this.#fault !== "") return;
    const field = makeField(name, value);
    this.#builder.add(field);
    if (isAdded) this.#add(field);
  }

  /** Reads an integer (section 5.1) at `#at`. */
  #integer(bytes: Uint8Array, to: number, prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = (bytes[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; this.#at < to; shift += 7) {
      const byte = bytes[this.#at++] as number;
      if (shift <= 21) value += (byte & 127) << shift;
      if (shift > 28 || value > integerMax || (shift > 21 && (byte & 127) !== 0)) {
        this.#fault ||= "an integer that is too large";
        return 0;
      }
      if (byte < 128) return value;
    }
    this.#fault ||= "the block ends within an integer";
    return 0;
  }

  /** Reads a text (section 5.2) at `#at`; each byte becomes a letter. */
  #text(bytes: Uint8Array, to: number): string {
    if (this.#at >= to) this.#fault ||= "the block ends before a text";
    if (this.#fault !== "") return "";
    const isHuffman = (bytes[this.#at] as number) >= 128;
    const length = this.#integer(bytes, to, 7);
    const start = this.#at;
    if (length > to - start) this.#fault ||= "a text that is longer than its block";
    if (this.#fault !== "") return "";
    this.#at += length;
    if (!isHuffman) return letters(bytes, start, this.#at);
    const room = (length * 8 / 5 | 0) + 1;
    if (room > this.#scratch.length) this.#scratch = new Uint8Array(2 * room);
    const end = decodeHuffman(bytes, start, this.#at, this.#scratch, 0);
    if (end < 0) {
      this.#fault ||= "a text with a wrong Huffman code";
      return "";
    }
    return letters(this.#scratch, 0, end);
  }

  /** The field of an index, of either table. */
  #field(index: number): HeaderField | undefined {
    if (index >= 1 && index <= staticTable.length) return staticTable[index - 1];
    const age = index - staticTable.length - 1;
    if (age >= 0 && age < this.#count) {
      return this.#ring[(this.#newest - age + this.#capacity) % this.#capacity];
    }
    this.#fault ||= `no field has the index ${index}`;
    return undefined;
  }

  /** Puts a field into the dynamic table (section 4.4). One that is too large empties the table. */
  #add(field: HeaderField): void {
    this.#version++;
    this.#evict(this.#sizeMax - field.size);
    if (field.size > this.#sizeMax) return;
    this.#newest = (this.#newest + 1) % this.#capacity;
    this.#ring[this.#newest] = field;
    this.#count++;
    this.#size += field.size;
  }

  /** Drops the oldest entries until the others take at most `size` bytes. */
  #evict(size: number): void {
    while (this.#count > 0 && this.#size > size) {
      const oldest = (this.#newest - this.#count + 1 + this.#capacity) % this.#capacity;
      this.#size -= (this.#ring[oldest] as HeaderField).size;
      this.#count--;
    }
  }

  #resize(size: number): void {
    if (this.#fault !== "") return;
    if (size > tableSizeAtFirst) {
      this.#fault = `a table of ${size} bytes, where ${tableSizeAtFirst} are allowed`;
      return;
    }
    this.#version++;
    this.#sizeMax = size;
    this.#evict(size);
  }
}

/** Makes a text whose letters are the bytes. */
function letters(bytes: Uint8Array, from: number, to: number): string {
  let text = "";
  for (let at = from; at < to; at += 4096) {
    const part = bytes.subarray(at, Math.min(to, at + 4096));
    text += String.fromCharCode.apply(undefined, part as unknown as number[]);
  }
  return text;
}

/** Encodes headers without Huffman codes, and without the dynamic table: so the bytes are the same for each connection and can be kept. */
export function encodeHeaders(
  fields: Iterable<readonly [name: string, value: string]>,
): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  for (const [name, value] of fields) {
    const whole = staticFields.findIndex((field) => field[0] === name && field[1] === value);
    if (whole >= 0 && value !== "") {
      putInteger(bytes, 0x80, 7, whole + 1);
      continue;
    }
    const known = staticFields.findIndex((field) => field[0] === name);
    putInteger(bytes, 0, 4, known + 1);
    if (known < 0) putText(bytes, name);
    putText(bytes, value);
  }
  return new Uint8Array(bytes);
}

function putInteger(bytes: number[], flags: number, prefixBits: number, value: number): void {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) {
    bytes.push(flags | value);
    return;
  }
  bytes.push(flags | mask);
  let rest = value - mask;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  bytes.push(rest);
}

/** Each letter is one byte: callers escape what is above 255. */
function putText(bytes: number[], text: string): void {
  putInteger(bytes, 0, 7, text.length);
  for (let k = 0; k < text.length; k++) bytes.push(text.charCodeAt(k) & 255);
}
