/**
 * The sections of a snapshot's file, frame by frame, in memory of one frame.
 *
 * @module
 */

import { ReplayError } from "../../base/errors.ts";
import { dispose } from "../../base/platform.ts";
import { lengthOf } from "../../base/typed_arrays.ts";
import type { Kernel } from "../../ffi/library.ts";
import { attemptOn, filesFor } from "../../storage/file.ts";
import type { OpenFile } from "../../storage/files.ts";
import { FrameReader, type Reading } from "../../storage/frames.ts";
import { KIND } from "../snapshot/snapshot.ts";

/** A frame of a section. */
export interface SectionFrame {
  /** The section, such as `section KERN 2`. */
  readonly name: string;
  /** Whole items of it. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** The error for a section whose items are not what the others say. */
export function corruptItems(name: string): ReplayError {
  return new ReplayError(
    "snapshot-corrupt",
    `append(): the snapshot is damaged: ${name} does not fit the others`,
  );
}

/** Reads the frames of a file one by one, and checks each checksum. */
export class FileSections implements Disposable {
  /** The schema, once `next()` was called. */
  schema: Readonly<Record<string, unknown>> = {};
  readonly #operation: string;
  readonly #read: (into: Uint8Array) => number;
  readonly #file: OpenFile;
  readonly #reading: Reading<Readonly<Record<string, unknown>>>;
  #wanted: IteratorResult<number, Readonly<Record<string, unknown>>> | undefined;
  #found: SectionFrame | undefined;

  /** Opens a file. */
  constructor(operation: string, kernel: Kernel, path: string) {
    const files = filesFor(operation);
    const attempt = <T>(call: () => T): T => attemptOn(operation, "read", path, files, call);
    this.#operation = operation;
    this.#file = attempt(() => files.open(path));
    this.#read = (into) => attempt(() => this.#file.read(into));
    this.#reading = new FrameReader(kernel, KIND).all((name, payload) => {
      this.#found = { name, payload };
    });
  }

  /** The next frame; undefined behind the last one, where `schema` is there. */
  next(): SectionFrame | undefined {
    try {
      this.#found = undefined;
      this.#wanted ??= this.#reading.next();
      while (this.#wanted.done !== true && this.#found === undefined) {
        this.#wanted = this.#reading.next(this.#pull(Math.max(1, this.#wanted.value)));
      }
      if (this.#wanted.done === true) this.schema = this.#wanted.value;
      return this.#found;
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      const message = error.message.replace(/^unserialize\(\)/, this.#operation);
      throw new ReplayError(error.code, message, { cause: error });
    }
  }

  #pull(count: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(count);
    let have = 0;
    for (let got = 1; got > 0 && have < count; have += got) got = this.#read(bytes.subarray(have));
    return bytes.subarray(0, have);
  }

  [dispose](): void {
    this.#file[dispose]();
  }
}

/** The items of one section, in order. */
export class SectionRows implements Disposable {
  readonly #sections: FileSections;
  readonly #name: string;
  readonly #rowBytes: number;
  #payload: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #at = 0;
  /** The number of the next row among those since the last `skip()`. */
  #passed = 0;

  /** The items of so many bytes of a section. */
  constructor(sections: FileSections, name: string, rowBytes: number) {
    this.#sections = sections;
    this.#name = name;
    this.#rowBytes = rowBytes;
  }

  /** Some rows, at least one and at most so many. */
  async take(most: number): Promise<{ bytes: Uint8Array<ArrayBuffer>; count: number }> {
    await this.#fill();
    const count = Math.min(most, (lengthOf(this.#payload) - this.#at) / this.#rowBytes);
    const bytes = this.#payload.subarray(this.#at, this.#at + count * this.#rowBytes);
    this.#at += lengthOf(bytes);
    this.#passed += count;
    return { bytes, count };
  }

  /** The row of this number since the last `skip()`, which is the next one, or one behind it. */
  async row(number: number): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#passed < number) await this.take(number - this.#passed);
    return (await this.take(1)).bytes;
  }

  /** Goes on behind so many rows since the last `skip()`. */
  async skip(count: number): Promise<void> {
    while (this.#passed < count) await this.take(count - this.#passed);
    this.#passed = 0;
  }

  async #fill(): Promise<void> {
    while (this.#at === lengthOf(this.#payload)) {
      const found = this.#sections.next();
      if (found === undefined) throw corruptItems(this.#name);
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (found.name !== this.#name) continue;
      if (lengthOf(found.payload) % this.#rowBytes !== 0) throw corruptItems(this.#name);
      this.#payload = found.payload;
      this.#at = 0;
    }
  }

  [dispose](): void {
    this.#sections[dispose]();
  }
}
