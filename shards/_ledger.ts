/**
 * What a shard knows of each actor: the number of the last chunk that it took, and the episodes that are open. It is kept with the replay, in the same groups of
 * the log as the records. So after a crash, a chunk and its number are both there or both gone.
 *
 * @module
 */

import { toHex } from "../base/bytes.ts";
import { ReplayError } from "../base/errors.ts";
import { idBytes, Reader, Writer } from "./_wire.ts";

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
}

const VERSION = 1;
/** A damaged file must not make a huge list. */
const STREAMS_MAX = 65_536;

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

  /** What is known of an actor. */
  find(id: string): ActorEntry | undefined {
    return this.#actors.get(id);
  }

  /** The entry of an actor; a new one, if it is not known. */
  entry(id: string): ActorEntry {
    let entry = this.#actors.get(id);
    if (entry === undefined) {
      entry = { id, last: 0, streams: new Map(), seen: performance.now() };
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
    for (const { streams } of this.#actors.values()) size += 32 + 16 * streams.size;
    const writer = new Writer(size).u32(VERSION).u32(this.#actors.size);
    for (const { id, last, streams } of this.#actors.values()) {
      writer.put(idBytes(id)).f64(last).u32(streams.size).u32(0);
      for (const [stream, handle] of streams) writer.u32(stream).u32(0).f64(handle);
    }
    return this.#bytes = writer.bytes;
  }

  /** Takes over what was saved. */
  load(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const reader = new Reader(bytes);
    const version = reader.u32();
    if (version !== VERSION) {
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
      if (streams > STREAMS_MAX) throw new RangeError(`an actor has ${streams} streams`);
      for (let k = 0; k < streams; k++) {
        const stream = reader.u32();
        reader.u32();
        entry.streams.set(stream, reader.whole("a handle"));
      }
    }
  }
}
