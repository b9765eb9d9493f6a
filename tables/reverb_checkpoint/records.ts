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
  const check = (bytes: Uint8Array<ArrayBuffer>, expected: number, what: string): void => {
    if (masked(checksum(kernel, bytes)) !== expected) {
      throw corrupt(`${what} and the checksum do not agree`);
    }
  };
  for (;; number++) {
    const head = yield HEAD_BYTES;
    if (head.length === 0) return;
    const truncated = failure("snapshot-truncated", ` ends within its record ${number}`);
    if (head.length < HEAD_BYTES) throw truncated;
    const view = new DataView(head.buffer);
    check(head.subarray(0, 8), view.getUint32(8, true), "its length");
    const size = Number(view.getBigUint64(0, true));
    if (size > RECORD_BYTES_MAX) {
      throw corrupt(`it has ${size} bytes, and a message has fewer than 2^31`);
    }
    const rest = yield size + TAIL_BYTES;
    if (rest.length < size + TAIL_BYTES) throw truncated;
    const record = rest.subarray(0, size);
    check(record, new DataView(rest.buffer).getUint32(size, true), "its bytes");
    use(record);
  }
}
