/**
 * New priorities and keys to delete, as the fields of a message MutatePriorities.
 *
 * @module
 */
import { show } from "../base/checks.ts";
import { type MessageWriter, REMOVER_PRIORITY_FIELD } from "../wire/message_writer.ts";
import { checkPriority, isPriority } from "./check_item.ts";
import { keyOf } from "../wire/keys.ts";

/** New priorities, by key, or as arrays of one length. See {@linkcode ReverbClient.mutatePriorities}. */
export type PriorityUpdates = ReadonlyMap<bigint, number> | PriorityArrays;

/** New priorities as arrays of one length. {@linkcode ReverbClient} has an example. */
export interface PriorityArrays {
  /** The keys. */
  readonly keys: ArrayLike<bigint>;
  /** A priority for each, finite and not negative. */
  readonly priorities: ArrayLike<number>;
  /**
   * Another priority for the table's remover for each. Without them, an item keeps what it has of its own, or has the same priority for both. Tables
   * of this library only: Reverb's own server passes over them.
   */
  readonly removerPriorities?: ArrayLike<number>;
}

function checkKey(where: string, key: unknown): bigint {
  if (typeof key !== "bigint") {
    throw new TypeError(`${where}: a key must be a bigint, got ${show(key)}`);
  }
  return key;
}

/** Writes new priorities. */
export function writeUpdates(
  writer: MessageWriter,
  where: string,
  updates: PriorityUpdates | undefined,
): void {
  if (updates === undefined) return;
  const { keys, priorities, removerPriorities: own } = updates instanceof Map
    ? { keys: [...updates.keys()], priorities: [...updates.values()] } as PriorityArrays
    : updates as PriorityArrays;
  const count = keys?.length;
  if (count === undefined || priorities?.length !== count || (own ?? keys).length !== count) {
    throw new TypeError(
      `${where}: updates must be a Map, or { keys, priorities, removerPriorities? } of one length`,
    );
  }
  // A typed array is read as pairs of 32 bits, which makes no object for a key.
  const words = keys instanceof BigUint64Array
    ? new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length)
    : undefined;
  for (let k = 0; k < keys.length; k++) {
    const priority = priorities[k];
    if (!isPriority(priority)) checkPriority(`${where}: the priority of key ${keys[k]}`, priority);
    const key = words === undefined
      ? keyOf(checkKey(where, keys[k]))
      : { low: words[2 * k] ?? 0, high: words[2 * k + 1] ?? 0 };
    writer.begin(2);
    writer.key(1, key);
    writer.double(2, priority ?? 0);
    if (own !== undefined) {
      const name = `${where}: the remover's priority of key ${keys[k]}`;
      writer.double(REMOVER_PRIORITY_FIELD, checkPriority(name, own[k]));
    }
    writer.end();
  }
}

/** Writes the keys of items to delete. */
export function writeDeletes(
  writer: MessageWriter,
  where: string,
  deletes: Iterable<bigint> = [],
): void {
  writer.keys(3, [...deletes].map((key) => keyOf(checkKey(where, key))));
}
