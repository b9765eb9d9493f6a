/**
 * New priorities and keys to delete, as the fields of a message MutatePriorities.
 *
 * @module
 */
import { show } from "../base/checks.ts";
import type { MessageWriter } from "./_bytes.ts";
import { checkPriority, isPriority } from "./_check_item.ts";
import { keyOf } from "./_keys.ts";

/** New priorities, by key, or as two arrays of one length. See {@linkcode ReverbClient.mutatePriorities}. */
export type PriorityUpdates =
  | ReadonlyMap<bigint, number>
  | { readonly keys: ArrayLike<bigint>; readonly priorities: ArrayLike<number> };

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
  const isMap = updates instanceof Map;
  const keys = isMap ? [...updates.keys()] : (updates as { keys: ArrayLike<bigint> }).keys;
  const priorities = isMap
    ? [...updates.values()]
    : (updates as { priorities: ArrayLike<number> }).priorities;
  if (keys?.length === undefined || priorities?.length !== keys.length) {
    throw new TypeError(`${where}: updates must be a Map, or { keys, priorities } of one length`);
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
