/**
 * New priorities and keys to delete, as a message `MutatePrioritiesRequest`.
 *
 * @module
 */
import { show } from "../base/checks.ts";
import { MessageWriter } from "../wire/message_writer.ts";
import { KeyWithPriority, MutatePrioritiesRequest } from "../wire/reverb_fields.ts";
import { checkPriority, isPriority } from "./check_item.ts";
import { type Key, keyOf } from "../wire/keys.ts";

/** New priorities, by key, or as arrays of one length. See {@linkcode ReverbClient.setPriority}. */
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

/** What {@linkcode ReverbClient.setPriority} changes. */
export interface PriorityChanges {
  /** New priorities. Keys that the table does not have are skipped. */
  readonly updates?: PriorityUpdates;
  /** The keys of items to delete. Keys that the table does not have are skipped. */
  readonly deletes?: Iterable<bigint>;
}

function checkKey(where: string, key: unknown): Key {
  if (typeof key === "bigint" && key >= 0n && key < 2n ** 64n) return keyOf(key);
  throw new TypeError(`${where}: a key must be a bigint of 0 to 2^64 - 1, got ${show(key)}`);
}

/** Writes changes of a table's items. */
export function mutationOf(
  where: string,
  table: string,
  { updates, deletes = [] }: PriorityChanges,
): Uint8Array<ArrayBuffer> {
  const writer = new MessageWriter();
  writer.text(MutatePrioritiesRequest.table, table);
  if (updates !== undefined) writeUpdates(writer, where, updates);
  writer.keys(
    MutatePrioritiesRequest.deleteKeys,
    Array.from(deletes, (key) => checkKey(where, key)),
  );
  return writer.message();
}

function writeUpdates(writer: MessageWriter, where: string, updates: PriorityUpdates): void {
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
      ? checkKey(where, keys[k])
      : { low: words[2 * k] ?? 0, high: words[2 * k + 1] ?? 0 };
    writer.begin(MutatePrioritiesRequest.updates);
    writer.key(KeyWithPriority.key, key);
    writer.double(KeyWithPriority.priority, priority ?? 0);
    if (own !== undefined) {
      const name = `${where}: the remover's priority of key ${keys[k]}`;
      writer.double(KeyWithPriority.removerPriority, checkPriority(name, own[k]));
    }
    writer.end();
  }
}
