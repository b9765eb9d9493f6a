/**
 * The messages between actors, shards and learners, byte by byte, and their subjects. `docs/internals/shard_messages.md` describes each.
 *
 * Whatever comes from the connection is only read by a {@linkcode MessageLayout}, which never reads beyond its end.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { type Message, MessageLayout } from "./message_layout.ts";

/** The version of all messages: heartbeats and announcements say it. A shard of another version is none for who hears it. */
export const WIRE_VERSION = 3;

/** How many letters of a value an error shows. */
const SHOWN_MAX = 80;

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

/** A message of a kind, and what is behind its head; throws `shard-message` if it is none. */
export function readAs<T extends object>(
  kind: string,
  layout: MessageLayout<T>,
  bytes: Uint8Array,
): Message<T> {
  const message = layout.read(bytes);
  if (message === undefined) throw refused(`it is no ${kind}`);
  return message;
}

/** An actor sends no more. */
export const BYE: MessageLayout<{ readonly actor: string }> = new MessageLayout<
  { readonly actor: string }
>(0x31594258, {
  actor: "hex",
});

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
