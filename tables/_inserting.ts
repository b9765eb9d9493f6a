/**
 * Inserts items, and lets those wait that a rate limiter holds back.
 *
 * Invariants: 1. An item is handed to the kernel once its table's rate limiter lets it in; until then it waits here, so that a wait that ends early
 * leaves nothing behind. 2. In the line of a table, nobody overtakes another. 3. An insert that waits has a stream of its own, which holds its chunks.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { MessageWriter, REMOVER_PRIORITY_FIELD } from "../wire/message_writer.ts";
import type { Key } from "../wire/keys.ts";
import { type Settle, type TableWaitOptions, waitUntil } from "./_wait.ts";
import type { Inserter, LowTables } from "./low.ts";

/** One column of a new item: some rows of a tensor of a chunk. */
export interface NewColumn {
  readonly chunk: Key;
  readonly offset: number;
  readonly length: number;
  readonly index: number;
  readonly isSqueezed: boolean;
}

/** A new item. */
export interface NewItem {
  /** The number of its table. */
  readonly table: number;
  readonly key: Key;
  readonly priority: number;
  /** Its priority for the remover, where that has one of its own. */
  readonly removerPriority: number | undefined;
  readonly columns: readonly NewColumn[];
}

/** Items and the chunks that they are made of. */
export interface Insertion {
  readonly chunks: readonly { readonly key: Key; readonly bytes: Uint8Array }[];
  readonly items: readonly NewItem[];
  /** Is told the number of a table each time an item is in there. */
  readonly entered: (table: number) => void;
}

/** An insert that waits. */
interface Waiter {
  readonly inserter: Inserter;
  readonly keys: readonly Key[];
  /** Its items that wait, by table. */
  readonly left: Map<number, NewItem[]>;
  readonly entered: Insertion["entered"];
  readonly settle: Settle;
}

/** The inserts of a set of tables. */
export class Inserting {
  readonly #low: LowTables;
  #shared: Inserter;
  readonly #writer = new MessageWriter();
  readonly #confirmed = new Uint8Array(4096);
  /** Those who wait, by table. */
  readonly #lines = new Map<number, Waiter[]>();
  #isMoving = false;
  #isChanged = false;

  constructor(low: LowTables) {
    this.#low = low;
    this.#shared = low.inserter();
    low.onProgress = () => this.#move();
  }

  /** Streams that are always open. */
  readonly ownStreams = 1;

  /** Opens the stream of its own anew, on tables that took the place of those before. */
  reopen(replace: () => void): void {
    this.#shared[dispose]();
    replace();
    this.#shared = this.#low.inserter();
  }

  /** How many items wait here for a table. */
  waiting(table: number): number {
    const line = this.#lines.get(table) ?? [];
    return line.reduce((sum, { left }) => sum + (left.get(table)?.length ?? 0), 0);
  }

  /** Whether the rate limiters let all items in now, so that {@linkcode now} may be called. */
  mayNow({ items }: Insertion): boolean {
    const [first] = items;
    if (items.length === 1 && first !== undefined) return this.#mayNow(first.table, 1);
    const counts = new Map<number, number>();
    for (const { table } of items) counts.set(table, (counts.get(table) ?? 0) + 1);
    return [...counts].every(([table, count]) => this.#mayNow(table, count));
  }

  #mayNow(table: number, count: number): boolean {
    return !this.#lines.has(table) && this.#low.canInsert(table, count);
  }

  /** Inserts at once. */
  now(insertion: Insertion): void {
    this.#feed(this.#shared, insertion, []);
  }

  /** Inserts as far as the rate limiters let items in, and the rest once they do. */
  async later(where: string, insertion: Insertion, options: TableWaitOptions): Promise<void> {
    const { chunks, items, entered } = insertion;
    const keys = chunks.map(({ key }) => key);
    const left = new Map<number, NewItem[]>();
    for (const item of items) {
      const same = left.get(item.table);
      if (same === undefined) left.set(item.table, [item]);
      else same.push(item);
    }
    const late = (): ReplayError => {
      const names = [...left.keys()].map((table) => JSON.stringify(this.#low.names[table]));
      const rest = [...left.values()].reduce((sum, same) => sum + same.length, 0);
      return new ReplayError(
        "timeout",
        `${where}: the rate limiter of table ${names.join(" and ")} let ${
          items.length - rest
        } of ${items.length} items in within ${options.timeoutMs} ms; the others are not inserted`,
      );
    };
    const begin = (settle: Settle): () => void => {
      const inserter = this.#low.inserter();
      try {
        this.#feed(inserter, { chunks, items: [], entered }, keys);
      } catch (error) {
        inserter[dispose]();
        throw error;
      }
      const waiter: Waiter = { inserter, keys, left, entered, settle };
      for (const table of left.keys()) {
        const line = this.#lines.get(table);
        if (line === undefined) this.#lines.set(table, [waiter]);
        else line.push(waiter);
      }
      this.#move();
      return () => this.#leave(waiter);
    };
    await waitUntil(options, begin, late);
  }

  /** Takes a waiter out of all lines. Those behind it may be let in now, where it was at another table. */
  #leave(waiter: Waiter): void {
    for (const [table, line] of this.#lines) {
      const rest = line.filter((other) => other !== waiter);
      if (rest.length === 0) this.#lines.delete(table);
      else this.#lines.set(table, rest);
    }
    waiter.inserter[dispose]();
  }

  /** Lets in what the rate limiters allow. Each item that comes in may let others in, which calls this again. */
  #move(): void {
    this.#isChanged = true;
    if (this.#isMoving) return;
    this.#isMoving = true;
    try {
      while (this.#isChanged) {
        this.#isChanged = false;
        for (const [table, [head]] of [...this.#lines]) {
          if (head !== undefined) this.#moveHead(table, head);
        }
      }
    } finally {
      this.#isMoving = false;
    }
  }

  #moveHead(table: number, waiter: Waiter): void {
    const { left, keys, inserter, entered, settle } = waiter;
    const items = left.get(table) ?? [];
    try {
      while (items.length > 0 && this.#low.canInsert(table, 1)) {
        const item = items[0];
        if (item === undefined) break;
        const isLast = items.length === 1 && left.size === 1;
        this.#feed(inserter, { chunks: [], items: [item], entered }, isLast ? [] : keys);
        items.shift();
      }
    } catch (error) {
      settle.fail(error);
      return;
    }
    if (items.length > 0) return;
    left.delete(table);
    const line = (this.#lines.get(table) ?? []).filter((other) => other !== waiter);
    if (line.length === 0) this.#lines.delete(table);
    else this.#lines.set(table, line);
    this.#isChanged = true;
    if (left.size === 0) settle.done();
  }

  #feed(inserter: Inserter, { chunks, items, entered }: Insertion, kept: readonly Key[]): void {
    const writer = this.#writer;
    writer.reset();
    for (const { bytes } of chunks) writer.bytes(1, bytes);
    for (const item of items) writeItem(writer, this.#low.names[item.table] ?? "", item);
    writer.keys(3, kept);
    inserter.feed(writer.message());
    for (const { table } of items) entered(table);
    // Nobody reads what is confirmed, as an item is handed over once it is let in.
    while (inserter.confirmed > 0 && inserter.readConfirmations(this.#confirmed) > 0) {
      inserter.refresh();
    }
  }

  /** Ends all waits, as the tables are no more. */
  end(error: unknown): void {
    const waiters = new Set([...this.#lines.values()].flat());
    this.#lines.clear();
    for (const { settle } of waiters) settle.fail(error);
  }
}

function writeItem(writer: MessageWriter, table: string, item: NewItem): void {
  writer.begin(2);
  writer.key(1, item.key);
  writer.text(2, table);
  writer.double(5, item.priority);
  writer.begin(8);
  for (const { chunk, offset, length, index, isSqueezed } of item.columns) {
    writer.begin(1);
    writer.begin(1);
    writer.key(1, chunk);
    writer.number(2, offset);
    writer.number(3, length);
    writer.number(4, index);
    writer.end();
    writer.number(2, isSqueezed ? 1 : 0);
    writer.end();
  }
  writer.end();
  if (item.removerPriority !== undefined) {
    writer.double(REMOVER_PRIORITY_FIELD, item.removerPriority);
  }
  writer.end();
}
