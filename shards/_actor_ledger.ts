/**
 * What a shard knows of each actor: the number of the last chunk that it took, and the episodes that are open. It is kept with the replay, in the same groups of
 * the log as the records. So after a crash, a chunk and its number are both there or both gone.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { bytesOf } from "../base/typed_arrays.ts";
import { readAs, refused as damaged } from "./_message_bytes.ts";
import { MessageLayout } from "./message_layout.ts";

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

const VERSION = 3;

/** The most open episodes of one actor, and the most actors: nobody who sends may fill the memory of the shard. */
export const STREAMS_MAX = 65_536;
export const ACTORS_MAX = 65_536;
/** All entries. Behind the head of each are the reason of a refusal, the handles of its streams (f64 each), and their numbers (u32 each). */
const LEDGER = new MessageLayout<{ version: number; count: number }>(undefined, {
  version: "u32",
  count: "u32",
});
interface Head {
  readonly id: string;
  readonly last: number;
  readonly refused: number;
  readonly streamCount: number;
  readonly textBytes: number;
}
const ENTRY = new MessageLayout<Head>(undefined, {
  ...{ id: "hex", last: "whole", refused: "whole", streamCount: "u32", textBytes: "u32" },
});

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
    return this.#bytes ??= LEDGER.write(
      { version: VERSION, count: this.#actors.size },
      [...this.#actors.values()].flatMap(({ id, last, refused, streams }) => {
        const text = new TextEncoder().encode(refused?.text ?? "");
        const numbers = { refused: refused?.number ?? 0, streamCount: streams.size };
        return [
          ENTRY.write({ id, last, ...numbers, textBytes: text.length }),
          text,
          bytesOf(Float64Array.from(streams.values())),
          bytesOf(Uint32Array.from(streams.keys())),
        ];
      }),
    );
  }

  /** Takes over what was saved. */
  load(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const { version, count, body } = readAs("ledger", LEDGER, bytes);
    if (version !== VERSION) {
      throw new ReplayError(
        "log-mismatch",
        `serveShard(): another library kept what this folder says of its actors (version ${version})`,
      );
    }
    let left = body;
    for (let k = 0; k < count; k++) {
      const { body, id, last, refused, streamCount, textBytes } = readAs("actor", ENTRY, left);
      const entry = this.entry(id);
      entry.last = last;
      const end = textBytes + 12 * streamCount;
      if (end > body.length) throw damaged(`an actor has ${body.length} bytes, and needs ${end}`);
      const text = new TextDecoder().decode(body.subarray(0, textBytes));
      if (refused > 0) entry.refused = { number: refused, text };
      const { buffer } = new Uint8Array(body.subarray(textBytes, end));
      const handles = new Float64Array(buffer, 0, streamCount);
      for (const [k, stream] of new Uint32Array(buffer, 8 * streamCount).entries()) {
        entry.streams.set(stream, handles[k] ?? 0);
      }
      left = body.subarray(end);
    }
  }
}
