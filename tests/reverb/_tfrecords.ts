/** Reads and writes TFRecord files as Reverb's checkpoints have them: slowly, and with nothing of the library. */
import { joinBytes } from "../../base/bytes.ts";
import { deflateSync, inflateSync } from "node:zlib";

function crc32c(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82F63B78 : 0);
  }
  return ~crc >>> 0;
}

function masked(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return ((crc >>> 15 | crc << 17) + 0xa282ead8) >>> 0;
}

/** Packs bytes by zlib. */
export function pack(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(deflateSync(bytes));
}

/** Unpacks them. */
export function unpack(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(inflateSync(bytes));
}

/** A record with its length and its checksums. */
export function framed(record: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(record.length + 16);
  const view = new DataView(whole.buffer);
  view.setBigUint64(0, BigInt(record.length), true);
  view.setUint32(8, masked(whole.subarray(0, 8)), true);
  whole.set(record, 12);
  view.setUint32(12 + record.length, masked(record), true);
  return whole;
}

/** A file of these records. */
export function writeRecords(records: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return pack(joinBytes(records.map(framed)));
}

/** The records of a file. */
export function readRecords(file: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const bytes = unpack(file);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const records: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = Number(view.getBigUint64(at, true));
    records.push(bytes.slice(at + 12, at + 12 + size));
    at += size + 16;
  }
  return records;
}
