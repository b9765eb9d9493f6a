/**
 * Finds a checkpoint of Reverb's in the file system, and unpacks its files piece by piece.
 *
 * Each file is one stream of zlib. Its last four bytes are the Adler-32 of everything that was packed.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { attemptOn, filesFor, pathOf } from "../../storage/file.ts";

/** The bytes that are unpacked at once: zlib makes at most a thousand times as many of them. */
const PACKED_BYTES = 1 << 14;

const TABLES = "tables.tfrecord";
const CHUNKS = "chunks.tfrecord";
const ITEMS = "items.tfrecord";
const DONE = "DONE";

/** Where the files of a checkpoint are. */
export interface CheckpointFiles {
  /** The paths of its files. */
  readonly tables: string;
  readonly chunks: string;
  /** Undefined in the first versions, which had the items in the tables. */
  readonly items: string | undefined;
}

/**
 * Finds the files of a checkpoint. In a folder of checkpoints that is the newest whole one, by its name, as in Reverb.
 *
 * @param where The operation, for errors.
 * @param at The folder of the checkpoint, or one that has several.
 */
export function findCheckpoint(where: string, at: string | URL): CheckpointFiles {
  if (typeof at !== "string" && !(at instanceof URL)) {
    throw new TypeError(`${where} takes the path or the file URL of a folder, got ${show(at)}`);
  }
  const files = filesFor(where);
  const root = pathOf(where, at, files);
  const attempt = <T>(path: string, call: () => T): T =>
    attemptOn(where, "read", path, files, call);
  const list = (folder: string): string[] => attempt(folder, () => files.list(folder));
  const { join } = files.path;
  let [folder, names] = [root, list(root)];
  if (!names.includes(TABLES)) {
    const found = attempt(root, () => files.list(root, "folders")).sort().reverse()
      .map((name) => join(root, name))
      .find((path) => {
        const within = list(path);
        return within.includes(TABLES) && within.includes(DONE);
      });
    if (found === undefined) {
      throw new ReplayError(
        "snapshot-foreign",
        `${where}: neither ${
          show(root)
        } nor a folder in it is a whole checkpoint of Reverb, with the files ${TABLES} and ${DONE}`,
      );
    }
    [folder, names] = [found, list(found)];
  }
  for (const name of [DONE, CHUNKS]) {
    if (names.includes(name)) continue;
    throw new ReplayError(
      "snapshot-truncated",
      `${where}: ${
        show(folder)
      } has no ${name}; Reverb was interrupted while it wrote the checkpoint, or a file was lost`,
    );
  }
  return {
    tables: join(folder, TABLES),
    chunks: join(folder, CHUNKS),
    items: names.includes(ITEMS) ? join(folder, ITEMS) : undefined,
  };
}

/**
 * The bytes of a packed file, in pieces of up to 16 MiB.
 *
 * @param bytesMax The most bytes that it may unpack to.
 * @throws {ReplayError} `limit`, `file` or `permission`, `snapshot-corrupt` where it does not unpack, and `snapshot-truncated` where it does not end.
 */
export async function* unpacked(
  where: string,
  path: string,
  bytesMax: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const files = filesFor(where);
  const attempt = <T>(call: () => T): T => attemptOn(where, "read", path, files, call);
  using file = attempt(() => files.open(path));
  const end = new Uint8Array(4); // the last bytes that were read
  let [readBytes, bytes] = [0, 0];
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(to): void {
      const piece = new Uint8Array(PACKED_BYTES);
      const count = attempt(() => file.read(piece));
      if (count === 0) return to.close();
      readBytes += count;
      const last = piece.subarray(Math.max(0, count - 4), count);
      end.copyWithin(0, last.length);
      end.set(last, 4 - last.length);
      to.enqueue(piece.subarray(0, count));
    },
  }, { highWaterMark: 0 });
  const sum = new Adler32();
  const reader = packed.pipeThrough(new DecompressionStream("deflate")).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      bytes += value.length;
      if (bytes > bytesMax) {
        throw new ReplayError(
          "limit",
          `${where}: the checkpoint unpacks to more than maxBytes, which is left at ${bytesMax} for ${
            show(path)
          }; give a larger maxBytes if you trust its writer`,
        );
      }
      sum.add(value);
      yield value;
    }
  } catch (cause) {
    if (cause instanceof ReplayError) throw cause;
    throw new ReplayError(
      "snapshot-corrupt",
      `${where}: ${show(path)} is damaged: it is no stream of zlib, or its bytes were changed`,
      { cause },
    );
  } finally {
    await reader.cancel().catch(() => {});
  }
  // Some platforms take a stream that was cut off for a whole one.
  if (readBytes < 6 || new DataView(end.buffer).getUint32(0) !== sum.value) {
    throw new ReplayError(
      "snapshot-truncated",
      `${where}: ${
        show(path)
      } ends too early: its last bytes are not the checksum of the others (${readBytes} bytes)`,
    );
  }
}

/** The checksum of zlib. */
class Adler32 {
  #low = 1;
  #high = 0;

  add(bytes: Uint8Array): void {
    let [low, high] = [this.#low, this.#high];
    for (let at = 0; at < bytes.length;) {
      // So many additions stay below 2^31 + 2^29, and most processors divide slowly.
      for (const end = Math.min(bytes.length, at + 3800); at < end; at++) {
        low += bytes[at] ?? 0;
        high += low;
      }
      low %= 65521;
      high %= 65521;
    }
    [this.#low, this.#high] = [low, high];
  }

  get value(): number {
    return this.#high * 65536 + this.#low;
  }
}
