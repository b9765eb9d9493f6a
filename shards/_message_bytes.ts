/**
 * The messages between actors, shards and learners, byte by byte, and their subjects. `docs/internals/shard_messages.md` describes each.
 *
 * All numbers are little-endian. Whatever comes from the connection is only read by {@linkcode Reader}, which never reads beyond its end.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";

/** The version of all messages: heartbeats and announcements say it. A shard of another version is none for who hears it. */
export const WIRE_VERSION = 2;

/** How many letters of a value an error shows. */
const SHOWN_MAX = 80;

/** The first bytes of each kind of message. */
export const MAGIC = {
  /** Records of an actor. */
  chunk: 0x314b4358,
  /** What a shard says of an actor's chunks. */
  confirm: 0x31464358,
  /** A learner's request for picks. */
  draw: 0x31574458,
  /** The picks, or a part of them. */
  picks: 0x314b5058,
  /** Priorities of picks. */
  priorities: 0x31525058,
  /** How many records may come. */
  limit: 0x314d4c58,
} as const;

/** Subjects below one prefix. */
export class Subjects {
  /** Asks all shards for their announcement. */
  readonly find: string;
  readonly #prefix: string;

  /** The subjects of the shards with this prefix. */
  constructor(prefix: string) {
    this.#prefix = prefix;
    this.find = `${prefix}.find`;
  }

  /** The heartbeats of a shard, or of `*` for all. */
  beat(name: string): string {
    return `${this.#prefix}.beat.${name}`;
  }

  /** A shard's own: of one kind, or `*` for all. */
  shard(name: string, kind: "chunk" | "draw" | "priorities" | "limit" | "bye" | "*"): string {
    return `${this.#prefix}.shard.${name}.${kind}`;
  }

  /** Where the answers to somebody go. */
  inbox(id: string): string {
    return `${this.#prefix}.to.${id}`;
  }
}

/** A part of a subject that users choose. */
export function checkToken(where: string, value: unknown, isPrefix = false): string {
  const pattern = isPrefix
    ? /^[A-Za-z0-9_-]{1,64}(\.[A-Za-z0-9_-]{1,64}){0,7}$/
    : /^[A-Za-z0-9_-]{1,64}$/;
  if (typeof value === "string" && pattern.test(value)) return value;
  throw new TypeError(
    `${where} must be 1 to 64 letters, digits, hyphens and underscores${
      isPrefix ? ", or some of these with dots between them" : ""
    }, got ${shown(value)}`,
  );
}

/** The beginning of a value, for errors: what a peer sends may have any size. */
export function shown(value: unknown): string {
  const text = String(JSON.stringify(value));
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** The error of a message that is not what it must be. */
export function refused(what: string): ReplayError {
  return new ReplayError("shard-message", `a message between shards is damaged: ${what}`);
}

/** The error where the server of NATS does not let a user subscribe. */
export function refusedBy(where: string, cause: Error): ReplayError {
  return new ReplayError("refused", `${where}: ${cause.message}`, { cause });
}

/** Reads a message from its front; throws `shard-message` where it is too short. */
export class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  /** Reads these bytes. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #take(count: number): number {
    const at = this.#at;
    if (count > this.#bytes.length - at) {
      throw refused(`it has ${this.#bytes.length} bytes, and ${at + count} are needed`);
    }
    this.#at = at + count;
    return at;
  }

  /** Checks the kind of the message. */
  magic(kind: keyof typeof MAGIC): void {
    const found = this.u32();
    if (found !== MAGIC[kind]) throw refused(`it begins with 0x${found.toString(16)}`);
  }

  /** An unsigned number of 32 bits. */
  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** A signed one. */
  i32(): number {
    return this.#view.getInt32(this.#take(4), true);
  }

  /** A number of 64 bits. */
  f64(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  /** A whole number, 0 to 2^53, of 64 bits. */
  whole(what: string): number {
    const value = this.f64();
    if (!Number.isSafeInteger(value) || value < 0) throw refused(`${what} is ${value}`);
    return value;
  }

  /** Bytes, where they are. */
  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return this.#bytes.subarray(at, at + count);
  }

  /** A copy of bytes, at a place that fits all numbers. */
  copy(count: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.bytes(count));
  }

  /** Goes to the next multiple of 8. */
  align(): void {
    this.#take((8 - this.#at % 8) % 8);
  }

  /** Bytes that are left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** Where the next byte is. */
  get at(): number {
    return this.#at;
  }
}

/** Writes a message of a known size. */
export class Writer {
  /** The message. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView<ArrayBuffer>;
  #at = 0;

  /** A message of so many bytes. */
  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  /** An unsigned number of 32 bits. */
  u32(value: number): this {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
    return this;
  }

  /** A signed one. */
  i32(value: number): this {
    this.#view.setInt32(this.#at, value, true);
    this.#at += 4;
    return this;
  }

  /** A number of 64 bits. */
  f64(value: number): this {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
    return this;
  }

  /** Bytes. */
  put(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }
}

/** What a JSON message says, if it is an object; throws `shard-message`. */
export function readJson(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ReplayError("shard-message", "a message between shards is no JSON", { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw refused("it is no object");
}

/** A value as a JSON message. */
export function jsonBytes(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** A random name of 16 bytes, as hex. */
export function randomId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

/** The bytes of such a name. */
export function idBytes(id: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: 16 }, (_, k) => parseInt(id.slice(2 * k, 2 * k + 2), 16));
}
