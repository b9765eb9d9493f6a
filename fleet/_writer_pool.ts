/**
 * The writers of an inference server: one for each environment, by its number. They outlive actors.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import type { ReplayWriter } from "../learner/types.ts";
import type { WaitOptions } from "../mod.ts";

/** What is asked of a writer, of whatever schema: it checks the steps itself. */
export interface AnyWriter extends Pick<ReplayWriter, "endEpisode" | "flush" | "close"> {
  append(step: object): Promise<void>;
}

/** The writers of all environments. */
export class WriterPool {
  /** How often a writer was replaced, because the replay had evicted its open episode. */
  evictedCount = 0;
  readonly #make: ((environment: number) => AnyWriter) | undefined;
  readonly #writers: (AnyWriter | undefined)[] = [];

  /** @param make Makes the writer of an environment; undefined where nothing is recorded. */
  constructor(make: ((environment: number) => AnyWriter) | undefined) {
    this.#make = make;
  }

  /** Whether nothing is recorded. */
  get isEmpty(): boolean {
    return this.#make === undefined;
  }

  /** Makes the writers of all environments up to `count`. */
  grow(count: number): void {
    if (this.#make === undefined) return;
    for (let k = this.#writers.length; k < count; k++) this.#writers.push(this.#make(k));
  }

  append(environment: number, step: object): Promise<void> {
    return this.#call(environment, (writer) => writer.append(step));
  }

  endEpisode(environment: number): Promise<void> {
    return this.#call(environment, (writer) => writer.endEpisode());
  }

  /** Ends the episode and writes everything. A writer that fails there is closed, and the next step of that environment has a new one. */
  async leave(environment: number): Promise<void> {
    try {
      await this.endEpisode(environment);
      await this.#call(environment, (writer) => writer.flush());
    } catch (error) {
      const writer = this.#writers[environment];
      this.#writers[environment] = undefined;
      await writer?.close().catch(() => {}); // its first error says more
      throw error;
    }
  }

  /** Closes all. Throws what the first of them threw, once each was tried. */
  async close(options: WaitOptions): Promise<void> {
    const closed = await Promise.allSettled(this.#writers.map((writer) => writer?.close(options)));
    for (const each of closed) {
      if (each.status === "fulfilled") continue;
      if (!isEvicted(each.reason)) throw each.reason;
      this.evictedCount++;
    }
  }

  /** Makes a call, and makes it again with a new writer where the replay had evicted the open episode, and thousands of others since. */
  async #call(environment: number, call: (writer: AnyWriter) => Promise<void>): Promise<void> {
    try {
      await call(this.#writerOf(environment));
    } catch (error) {
      if (!isEvicted(error)) throw error;
      this.evictedCount++;
      this.#writers[environment] = undefined;
      await call(this.#writerOf(environment));
    }
  }

  #writerOf(environment: number): AnyWriter {
    const make = this.#make as (environment: number) => AnyWriter;
    return this.#writers[environment] ??= make(environment);
  }
}

function isEvicted(error: unknown): boolean {
  return error instanceof ReplayError &&
    (error.code === "episode-ended" || error.code === "episode-unknown");
}
