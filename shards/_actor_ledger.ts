/**
 * What a shard knows of each actor: the number of the last chunk that it took, and the episodes that are open. It is kept with the replay, in the same groups of
 * the log as the records. So after a crash, a chunk and its number are both there or both gone.
 *
 * @module
 */

import { toHex } from "../base/bytes.ts";
import { ReplayError } from "../base/errors.ts";
import { idBytes, Reader, Writer } from "./_message_bytes.ts";

/** One actor's connection to the shard. */
export interface ActorEntry {
  /** A random name of 16 bytes, as hex. */
  readonly id: string;
  /** The number of the last chunk that was taken; 0 before the first. */
  last: number;
  /** The handle of the episode that each stream of steps goes to. */
  readonly streams: Map<number, number>;
  /** When it was heard of last, by the clock of `performance.now()`. */
  seen: number;
  /** When a chunk of it came last, by the same clock; `-Infinity` if none has since this process began. */
  wrote: number;
  /** It has said that it sends no more. Its name is kept for a while, because a chunk may come again behind that. */
  isGone: boolean;
  /** The latest chunk that was refused, and why. Each confirmation says so, because one may be lost. */
  refused: { readonly number: number; readonly text: string } | undefined;
}

const VERSION = 2;
/** The most open episodes of one actor, and the most actors: nobody who sends may fill the memory of the shard. */
export const STREAMS_MAX = 65_536;
export const ACTORS_MAX = 65_536;
/** The bytes of an entry without its streams and its text. */
const ENTRY_BYTES = 48;

/** The actors of one shard. */
export class Ledger {
  readonly #actors = new Map<string, ActorEntry>();
  #bytes: Uint8Array<ArrayBuffer> | undefined;

  /** All actors. */
  get actors(): Iterable<ActorEntry> {
    return this.#actors.values();
  }

  /** How many there are. */
  get size(): number {
    return this.#actors.size;
  }

  /** How many have not said that they send no more. */
  get liveCount(): number {
    let count = 0;
    for (const { isGone } of this.#actors.values()) if (!isGone) count++;
    return count;
  }

  /** How many of these sent a chunk since then. */
  writersSince(time: number): number {
    let count = 0;
    for (const { isGone, wrote } of this.#actors.values()) if (!isGone && wrote >= time) count++;
    return count;
  }

  /** What is known of an actor. */
  find(id: string): ActorEntry | undefined {
    return this.#actors.get(id);
  }

  /** The entry of an actor; a new one, if it is not known. */
  entry(id: string): ActorEntry {
    let entry = this.#actors.get(id);
    if (entry === undefined) {
      entry = {
        ...{ id, last: 0, streams: new Map(), seen: performance.now() },
        ...{ wrote: -Infinity, isGone: false, refused: undefined },
      };
      this.#actors.set(id, entry);
      this.changed();
    }
    return entry;
  }

  /** Forgets an actor that sends no more. */
  forget(id: string): void {
    if (this.#actors.delete(id)) this.changed();
  }

  /** An entry has changed. */
  changed(): void {
    this.#bytes = undefined;
  }

  /** All entries as bytes. */
  save(): Uint8Array<ArrayBuffer> {
    if (this.#bytes !== undefined) return this.#bytes;
    let size = 8;
    const entries = Array.from(this.#actors.values(), (entry) => {
      const text = new TextEncoder().encode(entry.refused?.text ?? "");
      size += ENTRY_BYTES + text.length + 16 * entry.streams.size;
      return { ...entry, text };
    });
    const writer = new Writer(size).u32(VERSION).u32(entries.length);
    for (const { id, last, streams, refused, text } of entries) {
      writer.put(idBytes(id)).f64(last).u32(streams.size).u32(0);
      writer.f64(refused?.number ?? 0).u32(text.length).u32(0).put(text);
      for (const [stream, handle] of streams) writer.u32(stream).u32(0).f64(handle);
    }
    return this.#bytes = writer.bytes;
  }

  /** Takes over what was saved. */
  load(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const reader = new Reader(bytes);
    const version = reader.u32();
    if (version !== 1 && version !== VERSION) {
      throw new ReplayError(
        "log-mismatch",
        `serveShard(): a newer library kept what this folder says of its actors (version ${version})`,
      );
    }
    for (let count = reader.u32(); count > 0; count--) {
      const entry = this.entry(toHex(reader.bytes(16)));
      entry.last = reader.whole("a number of a chunk");
      const streams = reader.u32();
      reader.u32();
      if (version > 1) {
        const number = reader.whole("a number of a chunk");
        const textBytes = reader.u32();
        reader.u32();
        const text = new TextDecoder().decode(reader.bytes(textBytes));
        if (number > 0) entry.refused = { number, text };
      }
      for (let k = 0; k < streams; k++) {
        const stream = reader.u32();
        reader.u32();
        const handle = reader.whole("a handle");
        // Version 1 let actors have more. The episodes of the others stay as they are.
        if (entry.streams.size < STREAMS_MAX) entry.streams.set(stream, handle);
      }
    }
  }
}
