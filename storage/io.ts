/**
 * Where snapshots go and come from: bytes, streams and files.
 *
 * @module
 */

import { joinBytes, joinInto } from "../base/bytes.ts";
import { show } from "../base/checks.ts";
import { bytesOf, checkHonest, isKind, lengthOf } from "../base/typed_arrays.ts";
import { readFromFile, writeToFile } from "./file.ts";
import { drive, type Reading, type SnapshotWriting } from "./frames.ts";

/** Where {@linkcode ExperienceReplay.serialize} and that of tables write a snapshot: a file (path or URL), or a stream, which is closed at the end. */
export type SerializeTarget =
  | string
  | URL
  | WritableStream<Uint8Array>
  | WritableStream<BufferSource>;

/**
 * Where {@linkcode ExperienceReplay.unserialize} and that of tables read a snapshot: its bytes, a file (path or URL), or a stream, which is read to its end.
 */
export type UnserializeSource = Uint8Array | string | URL | ReadableStream<Uint8Array>;

/** Writes a whole snapshot to a file or a stream, while the program goes on between two pieces. Where `ended` aborts, nobody waits for a stream any more. */
export async function writeTo(
  target: SerializeTarget,
  { pieces }: SnapshotWriting,
  ended?: AbortSignal,
): Promise<void> {
  if (typeof target === "string" || target instanceof URL) return await writeToFile(target, pieces);
  if (target instanceof WritableStream) return await writeToStream(target, pieces, ended);
  throw new TypeError(
    `serialize() takes a path, a URL, a WritableStream or nothing, got ${show(target)}`,
  );
}

/** Writes a whole snapshot as bytes. */
export function writeToBytes({ bytes, pieces }: SnapshotWriting): Uint8Array<ArrayBuffer> {
  return bytes === undefined ? joinBytes([...pieces]) : joinInto(new Uint8Array(bytes), pieces);
}

/** Writes a snapshot into a stream, one piece whenever the stream has room, and then closes the stream. */
async function writeToStream(
  stream: WritableStream<Uint8Array> | WritableStream<BufferSource>,
  pieces: SnapshotWriting["pieces"],
  ended: AbortSignal | undefined,
): Promise<void> {
  const writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> = stream.getWriter();
  const end = new Promise<never>((_, reject) => {
    ended?.addEventListener("abort", () => reject(ended.reason));
  });
  // Whoever reads the stream may have stalled for ever, and then lets no end through either.
  const orEnd = <T>(step: Promise<T>): Promise<T> => Promise.race([step, end]);
  try {
    for (const piece of pieces) {
      await orEnd(writer.ready);
      // Some streams take no empty pieces. It is a turn for the others.
      if (piece.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        continue;
      }
      // Not awaited: `ready` tells when the stream has room, and it and close() show a failure.
      writer.write(piece).catch(() => {});
    }
    await orEnd(writer.close());
  } catch (error) {
    await orEnd(writer.abort(error).catch(() => {}));
    throw error;
  } finally {
    writer.releaseLock();
  }
}

/** Reads a whole snapshot. Only a stream takes turns of the event loop. */
export function readFrom<T>(source: UnserializeSource, reading: Reading<T>): T | Promise<T> {
  checkHonest("unserialize(): the snapshot", source);
  if (isKind("Uint8Array", source)) return readFromBytes(bytesOf(source), reading);
  if (typeof source === "string" || source instanceof URL) return readFromFile(source, reading);
  if (source instanceof ReadableStream) return readFromStream(source, reading);
  throw new TypeError(
    `unserialize() takes a Uint8Array, a path, a URL or a ReadableStream, got ${show(source)}`,
  );
}

function readFromBytes<T>(bytes: Uint8Array, reading: Reading<T>): T {
  let at = 0;
  return drive(reading, (count) => {
    const piece = bytes.subarray(at, at + Math.max(1, count));
    at += count;
    return new Uint8Array(piece); // other threads may have the caller's memory
  });
}

async function readFromStream<T>(
  stream: ReadableStream<Uint8Array>,
  reading: Reading<T>,
): Promise<T> {
  const reader = stream.getReader();
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await reader.read();
    if (done) return undefined;
    if (!isKind("Uint8Array", value)) {
      throw new TypeError(`unserialize(): the stream gave ${show(value)}, needed is Uint8Array`);
    }
    checkHonest("unserialize(): a piece of the stream", value);
    return value;
  };
  try {
    return await readFromPieces(next, reading);
  } catch (error) {
    await reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    reader.releaseLock();
  }
}

/** Reads what comes in pieces of any size; `next` gives undefined at the end. */
export async function readFromPieces<T>(
  next: () => Promise<Uint8Array | undefined>,
  reading: Reading<T>,
): Promise<T> {
  let pending: Uint8Array<ArrayBuffer> = new Uint8Array();
  let at = 0;
  try {
    let step = reading.next();
    while (!step.done) {
      const count = step.value;
      const wanted = Math.max(1, count);
      if (pending.length - at < wanted) {
        const pieces: Uint8Array[] = [pending.subarray(at)];
        for (let have = pending.length - at; have < wanted;) {
          const piece = await next();
          if (piece === undefined) break;
          pieces.push(piece);
          have += lengthOf(piece);
        }
        pending = joinBytes(pieces);
        at = 0;
      }
      const taken = pending.subarray(at, at + wanted);
      at += Math.min(count, taken.length);
      step = reading.next(taken);
    }
    return step.value;
  } finally {
    reading.return(undefined as never);
  }
}
