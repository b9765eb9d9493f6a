/**
 * Writes snapshots to bytes and streams, and reads them from there. `file.ts` does the same with files.
 *
 * @module
 */

import { joinBytes } from "../base/bytes.ts";
import { show } from "../base/checks.ts";
import { checkHonest, isKind, lengthOf } from "../base/typed_arrays.ts";
import type { Reading, SnapshotWriting } from "./container.ts";

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

/** Writes a whole snapshot as bytes. */
export function writeToBytes({ bytes, pieces }: SnapshotWriting): Uint8Array<ArrayBuffer> {
  if (bytes === undefined) return joinBytes([...pieces]);
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Writes a snapshot into a stream, one piece whenever the stream has room, and then closes the stream. */
export async function writeToStream(
  stream: WritableStream<Uint8Array> | WritableStream<BufferSource>,
  { pieces }: SnapshotWriting,
): Promise<void> {
  const writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> = stream.getWriter();
  try {
    for (const piece of pieces) {
      await writer.ready;
      // Some streams take no empty pieces. It is a turn for the others.
      if (piece.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        continue;
      }
      // Not awaited: `ready` tells when the stream has room, and it and close() show a failure.
      writer.write(piece).catch(() => {});
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
    throw error;
  } finally {
    pieces.return(undefined);
    writer.releaseLock();
  }
}

/** Reads a snapshot from bytes. */
export function readFromBytes<T>(bytes: Uint8Array, reading: Reading<T>): T {
  let at = 0;
  return drive(reading, (count) => {
    const piece = bytes.subarray(at, at + Math.max(1, count));
    at += count;
    return piece;
  });
}

/** Runs a reading. `pull` gives as many bytes as it asks for, or what is left. */
export function drive<T>(reading: Reading<T>, pull: (count: number) => Uint8Array): T {
  try {
    let step = reading.next();
    while (!step.done) step = reading.next(pull(step.value));
    return step.value;
  } finally {
    reading.return(undefined as never);
  }
}

/** Reads a snapshot from a stream. */
export async function readFromStream<T>(
  stream: ReadableStream<Uint8Array>,
  reading: Reading<T>,
): Promise<T> {
  const reader = stream.getReader();
  let pending: Uint8Array = new Uint8Array(0);
  let ended = false;
  async function pull(count: number): Promise<Uint8Array> {
    const wanted = Math.max(1, count);
    if (pending.length >= wanted) {
      const piece = pending.subarray(0, wanted);
      pending = pending.subarray(count);
      return piece;
    }
    const chunks: Uint8Array[] = [pending];
    let have = pending.length;
    while (have < wanted && !ended) {
      const { done, value } = await reader.read();
      if (done) ended = true;
      else {
        if (!isKind("Uint8Array", value)) {
          throw new TypeError(
            `unserialize(): the stream gave ${show(value)}, needed is Uint8Array`,
          );
        }
        checkHonest("unserialize(): a piece of the stream", value);
        chunks.push(value);
        have += lengthOf(value);
      }
    }
    const whole = joinBytes(chunks);
    pending = whole.subarray(count);
    return whole.subarray(0, wanted);
  }
  try {
    let step = reading.next();
    while (!step.done) step = reading.next(await pull(step.value));
    return step.value;
  } catch (error) {
    await reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    reading.return(undefined as never);
    reader.releaseLock();
  }
}
