/**
 * HPACK, the compression of headers (RFC 7541): a decoder with both tables, and an encoder without any state.
 *
 * What can be hostile here: integers that never end, texts longer than their block, indexes beyond the tables, table sizes above what was
 * offered, and short blocks that unfold to much. The decoder returns a fault for the first four. A `HeaderList` keeps nothing above its
 * limit, so the last one costs time in proportion to the block only.
 *
 * Calls of one method mostly have the same headers. So the decoder keeps the last list, and the same block costs a comparison.
 *
 * @module
 */
import { type HeaderField, HeaderList, makeField } from "./header_fields.ts";
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

const staticTable = staticFields.map(([name, value]) => makeField(name, value));

/** The table size that a decoder has at first, and that we keep. */
export const tableSizeAtFirst = 4096;

/** The longest block whose list is kept. */
const keptBlockMax = 256;

/** The largest integer that is read: more than any length or index that can be right. */
const integerMax = 1 << 24;

/** Why a block can't be decoded. After that the tables of both sides differ, so the connection must end. */
export class HpackFault {
  /** A fault in words. */
  constructor(readonly text: string) {}
}

/** A decoder: one for each connection. */
export class HpackDecoder {
  readonly #listSizeMax: number;
  /** The dynamic table, its newest field last. A field has at least 32 bytes, so they are few. */
  readonly #added: HeaderField[] = [];
  #size = 0;
  #sizeMax = tableSizeAtFirst;
  #scratch = new Uint8Array(512);
  #at = 0;
  /** The list of `#block`, the last one, unless the dynamic table has changed since. Nobody changes a list. */
  #list: HeaderList | undefined;
  #block = new Uint8Array(0);

  /** A decoder of lists up to a size, counted as RFC 9113 does. */
  constructor(listSizeMax: number) {
    this.#listSizeMax = listSizeMax;
  }

  /** Bytes in the dynamic table, as the RFC counts them. */
  get tableSize(): number {
    return this.#size;
  }

  /** Entries in the dynamic table. */
  get tableCount(): number {
    return this.#added.length;
  }

  /** Decodes the block `bytes[from..to)`. */
  decode(bytes: Uint8Array, from: number, to: number): HeaderList | HpackFault {
    if (this.#list !== undefined && isSame(this.#block, bytes, from, to)) return this.#list;
    const list = new HeaderList(this.#listSizeMax);
    this.#list = list;
    this.#at = from;
    try {
      for (let isFirst = true; this.#at < to;) {
        const first = bytes[this.#at] as number;
        if ((first & 0xe0) !== 0x20) {
          isFirst = false;
          list.add(this.#nextField(bytes, to, first));
        } else if (isFirst) this.#resize(this.#integer(bytes, to, 5));
        else throw new HpackFault("a change of the table's size stands after a field");
      }
      if (to - from > keptBlockMax) this.#list = undefined;
      else if (this.#list !== undefined) this.#block = bytes.slice(from, to);
      return list;
    } catch (fault) {
      this.#list = undefined;
      if (fault instanceof HpackFault) return fault;
      throw fault;
    }
  }

  /** The field at `#at`: one of the tables, or one that is written out in three forms that differ in the first byte. */
  #nextField(bytes: Uint8Array, to: number, first: number): HeaderField {
    if (first >= 0x80) return this.#field(this.#integer(bytes, to, 7));
    const isAdded = first >= 0x40;
    const index = this.#integer(bytes, to, isAdded ? 6 : 4);
    const name = index === 0 ? this.#text(bytes, to) : this.#field(index).name;
    const field = makeField(name, this.#text(bytes, to));
    if (isAdded) this.#add(field);
    return field;
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
        throw new HpackFault("an integer that is too large");
      }
      if (byte < 128) return value;
    }
    throw new HpackFault("the block ends within an integer");
  }

  /** Reads a text (section 5.2) at `#at`; each byte becomes a letter. */
  #text(bytes: Uint8Array, to: number): string {
    if (this.#at >= to) throw new HpackFault("the block ends before a text");
    const isHuffman = (bytes[this.#at] as number) >= 128;
    const length = this.#integer(bytes, to, 7);
    const start = this.#at;
    if (length > to - start) throw new HpackFault("a text that is longer than its block");
    this.#at += length;
    if (!isHuffman) return letters(bytes, start, this.#at);
    const room = (length * 8 / 5 | 0) + 1;
    if (room > this.#scratch.length) this.#scratch = new Uint8Array(2 * room);
    const end = decodeHuffman(bytes, start, this.#at, this.#scratch, 0);
    if (end < 0) throw new HpackFault("a text with a wrong Huffman code");
    return letters(this.#scratch, 0, end);
  }

  /** The field of an index, of either table. */
  #field(index: number): HeaderField {
    const field = index >= 1 && index <= staticTable.length
      ? staticTable[index - 1]
      : this.#added[this.#added.length - (index - staticTable.length)];
    if (field === undefined) throw new HpackFault(`no field has the index ${index}`);
    return field;
  }

  /** Puts a field into the dynamic table (section 4.4). One that is too large empties the table. */
  #add(field: HeaderField): void {
    this.#list = undefined;
    this.#evict(this.#sizeMax - field.size);
    if (field.size > this.#sizeMax) return;
    this.#added.push(field);
    this.#size += field.size;
  }

  /** Drops the oldest entries until the others take at most `size` bytes. */
  #evict(size: number): void {
    while (this.#size > Math.max(0, size)) this.#size -= this.#added.shift()?.size ?? 0;
  }

  #resize(size: number): void {
    if (size > tableSizeAtFirst) {
      throw new HpackFault(`a table of ${size} bytes, where ${tableSizeAtFirst} are allowed`);
    }
    this.#list = undefined;
    this.#sizeMax = size;
    this.#evict(size);
  }
}

function isSame(block: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (block.length !== to - from) return false;
  // The path and the metadata come last, and differ first.
  for (let k = block.length - 1; k >= 0; k--) {
    if (block[k] !== bytes[from + k]) return false;
  }
  return true;
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
