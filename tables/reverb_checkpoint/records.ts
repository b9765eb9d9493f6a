/**
 * The records of a TFRecord file: each is its length in 8 bytes, their checksum, its bytes, and their checksum.
 *
 * Checksums are CRC-32C of the kernel, which TensorFlow masks: it turns them by 15 bits and adds a constant.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError, type ReplayErrorCode } from "../../base/errors.ts";
import type { Kernel } from "../../ffi/library.ts";
import { checksum, type Reading } from "../../storage/frames.ts";

const HEAD_BYTES = 12;
const TAIL_BYTES = 4;
/** No message of Protocol Buffers is larger. */
const RECORD_BYTES_MAX = 2 ** 31 - 1;

/** A checksum as TensorFlow writes it. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Reads the file at `path`, and gives each record to `use`. `where` is the operation, for errors. */
export function* readRecords(
  kernel: Kernel,
  where: string,
  path: string,
  use: (record: Uint8Array<ArrayBuffer>) => void,
): Reading<void> {
  let number = 1;
  const failure = (code: ReplayErrorCode, why: string): ReplayError =>
    new ReplayError(code, `${where}: ${show(path)}${why}`);
  const corrupt = (why: string): ReplayError =>
    failure("snapshot-corrupt", `, record ${number}: ${why}`);
  const truncated = (): ReplayError =>
    failure("snapshot-truncated", ` ends within its record ${number}`);
  const check = (bytes: Uint8Array<ArrayBuffer>, expected: number, what: string): void => {
    if (masked(checksum(kernel, bytes)) !== expected) {
      throw corrupt(`${what} and the checksum do not agree`);
    }
  };
  // Each record is read with the head of the next one, which is at `at`.
  let bytes = yield HEAD_BYTES;
  for (let at = 0; bytes.length > at; number++) {
    if (bytes.length < at + HEAD_BYTES) throw truncated();
    const size = wordOf(bytes, at) + wordOf(bytes, at + 4) * 2 ** 32;
    check(bytes.subarray(at, at + 8), wordOf(bytes, at + 8), "its length");
    if (size > RECORD_BYTES_MAX) {
      throw corrupt(`it has ${size} bytes, and a message has fewer than 2^31`);
    }
    at = size + TAIL_BYTES;
    bytes = yield at + HEAD_BYTES;
    if (bytes.length < at) throw truncated();
    const record = bytes.subarray(0, size);
    check(record, wordOf(bytes, size), "its bytes");
    use(record);
  }
}

/** A number of 32 bits at a place. */
function wordOf(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return (a | b << 8 | c << 16 | d << 24) >>> 0;
}
