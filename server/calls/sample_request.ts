/**
 * Reads a SampleStreamRequest by hand: clients send one for each sample or few, and generated code takes microseconds for it.
 *
 * A test compares it with the generated code, message by message.
 *
 * @module
 */

/** What a request asks for. Numbers that a double can't hold are rounded. */
export interface SampleRequest {
  /** The table's name. */
  readonly table: string;
  /** How many samples; it may be 0 or negative. */
  readonly sampleCount: number;
  /** Milliseconds that the rate limiter may let it wait; -1 for ever. */
  readonly timeoutMs: number;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The end of a varint that is too long, or of the bytes. */
const damaged = -1;

/** Names are mostly the same: the bytes of the last one, and what they mean. */
let lastBytes: Uint8Array = new Uint8Array(0);
let lastName = "";

/** Reads a request; undefined where the bytes are none. */
export function readSampleRequest(bytes: Uint8Array): SampleRequest | undefined {
  let table: string | undefined = "";
  let sampleCount = 0;
  let timeoutMs: number | undefined;
  const reader = new FieldReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (reader.is(1, Wire.bytes)) {
      table = textOf(bytes, reader.from, reader.to);
      if (table === undefined) return undefined;
    } else if (reader.is(2, Wire.varint)) {
      sampleCount = reader.value;
    } else if (reader.is(3, Wire.bytes)) {
      timeoutMs ??= 0;
      const timeout = new FieldReader(bytes, reader.from, reader.to);
      while (timeout.next()) if (timeout.is(1, Wire.varint)) timeoutMs = timeout.value;
      if (timeout.isDamaged) return undefined;
    }
  }
  return reader.isDamaged ? undefined : { table, sampleCount, timeoutMs: timeoutMs ?? -1 };
}

function textOf(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (isLast(bytes, from, to)) return lastName;
  const own = bytes.slice(from, to);
  try {
    lastName = decoder.decode(own);
  } catch {
    return undefined;
  }
  lastBytes = own;
  return lastName;
}

function isLast(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== lastBytes.length) return false;
  for (let k = 0; k < lastBytes.length; k++) if (bytes[from + k] !== lastBytes[k]) return false;
  return true;
}

/** The kinds of fields. */
const Wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Goes from field to field of a message. */
class FieldReader {
  /** A field's bytes, where it has any. */
  from = 0;
  to = 0;
  /** Its number, where it is one. */
  value = 0;
  isDamaged = false;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;
  #field = 0;
  #wire = 0;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  is(field: number, wire: number): boolean {
    return this.#field === field && this.#wire === wire;
  }

  /** Goes to the next field; false at the end, and where something is wrong. */
  next(): boolean {
    if (this.#at === this.#end) return false;
    const tag = this.#varint(false);
    this.#field = Math.floor(tag / 8);
    this.#wire = tag & 7;
    if (this.isDamaged || this.#field === 0 || this.#field >= 2 ** 29) return this.#damage();
    if (this.#wire === Wire.varint) {
      this.value = this.#varint(true);
      return !this.isDamaged;
    }
    if (this.#wire === Wire.bytes) {
      const length = this.#varint(false);
      return !this.isDamaged && this.#skip(length);
    }
    if (this.#wire === Wire.fixed64) return this.#skip(8);
    if (this.#wire === Wire.fixed32) return this.#skip(4);
    return this.#damage(); // a group, which no client sends
  }

  #skip(count: number): boolean {
    if (count > this.#end - this.#at) return this.#damage();
    this.from = this.#at;
    this.#at += count;
    this.to = this.#at;
    return true;
  }

  #damage(): boolean {
    this.isDamaged = true;
    return false;
  }

  /** A number of 64 bits, with a sign where that is asked for. */
  #varint(hasSign: boolean): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at === this.#end) break;
      const byte = this.#bytes[this.#at++] as number;
      if (shift < 28) low += (byte & 127) * 2 ** shift;
      else high += (byte & 127) * 2 ** (shift - 28);
      if (byte > 127) continue;
      // 28 bits below, 36 above; what is beyond 64 bits does not count.
      high %= 2 ** 36;
      if (hasSign && high >= 2 ** 35) high -= 2 ** 36;
      return high * 2 ** 28 + low;
    }
    this.#damage();
    return damaged;
  }
}
