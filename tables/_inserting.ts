/**
 * Inserts items of this process. Those that a rate limiter holds back wait in the kernel, in one line with those of clients.
 *
 * Invariants: 1. An idle inserter has no item that waits. 2. An insert that waits has an inserter of its own. So a wait that ends early takes its
 * items out of the lines, and leaves nothing behind.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { waitUntil } from "../base/waits.ts";
import type { Key, KeySource } from "../wire/keys.ts";
import { NewRows } from "../wire/new_rows.ts";
import type { ColumnData, KnownColumns } from "./_item_data.ts";
import { disposedMeanwhile, type TableWaitOptions } from "./_wait.ts";
import type { Inserter, KernelTables } from "./kernel_tables.ts";

/** One column of a new item: some rows of a column of a chunk. */
export interface NewColumn {
  /** The number of the chunk. */
  readonly chunk: number;
  /** The number of its column. */
  readonly column: number;
  readonly offset: number;
  readonly length: number;
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
  /** The columns of each chunk. They have equally many rows. */
  readonly chunks: readonly (readonly ColumnData[])[];
  readonly items: readonly NewItem[];
  /** What the tables of the items learn once an item is in there. */
  readonly tables: readonly { readonly number: number; readonly known: KnownColumns }[];
  readonly columns: readonly ColumnData[];
}

/** The inserts of a set of tables. */
export class Inserting {
  readonly #kernelTables: KernelTables;
  readonly #keys: KeySource;
  readonly #rows = new NewRows();
  #idle: Inserter | undefined;

  constructor(kernelTables: KernelTables, keys: KeySource) {
    this.#kernelTables = kernelTables;
    this.#keys = keys;
  }

  /** Inserts as far as the rate limiters let items in. Where some wait, the promise ends once they are in. */
  insert(
    where: string,
    insertion: Insertion,
    options: TableWaitOptions,
  ): Promise<void> | undefined {
    const inserter = this.#idle?.isOpen ? this.#idle : this.#kernelTables.inserter();
    this.#idle = undefined;
    try {
      inserter.insert(this.#numbersOf(insertion));
    } catch (error) {
      inserter[dispose]();
      throw error;
    }
    if (inserter.waiting > 0) return this.#wait(where, inserter, insertion, options);
    this.#idle = inserter;
    learn(insertion, []);
    return undefined;
  }

  #numbersOf({ chunks, items }: Insertion): NewRows {
    const rows = this.#rows;
    rows.reset();
    rows.number(chunks.length);
    rows.number(items.length);
    const episode = this.#keys.next();
    for (const columns of chunks) {
      const length = columns[0]?.rows ?? 0;
      const last = Math.max(0, length - 1);
      rows.chunk({ key: this.#keys.next(), episode, length, first: 0, last, flags: 0 }, columns);
    }
    for (const { table, key, priority, removerPriority, columns } of items) {
      rows.number(table);
      rows.key(key);
      rows.number(priority);
      rows.number(removerPriority ?? NaN);
      rows.number(columns.length);
      for (const { chunk, column, offset, length, isSqueezed } of columns) {
        rows.number(chunk);
        rows.number(column);
        rows.number(offset);
        rows.number(length);
        rows.number(isSqueezed ? 1 : 0);
      }
    }
    return rows;
  }

  async #wait(
    where: string,
    inserter: Inserter,
    insertion: Insertion,
    options: TableWaitOptions,
  ): Promise<void> {
    const late = (): ReplayError => {
      const counts = inserter.countWaiting(true);
      const names = this.#kernelTables.names.filter((_, table) => (counts[table] ?? 0) > 0);
      const { length } = insertion.items;
      return new ReplayError(
        "timeout",
        `${where}: the rate limiter of table ${
          names.map((name) => JSON.stringify(name)).join(" and ")
        } let ${
          length - sum(counts)
        } of ${length} items in within ${options.timeoutMs} ms; the others are not inserted`,
      );
    };
    await waitUntil<void>(options, (done, fail) => {
      const look = (): void => {
        if (this.#kernelTables.isDisposed) return fail(disposedMeanwhile());
        const counts = inserter.countWaiting();
        learn(insertion, counts);
        if (sum(counts) === 0) done();
      };
      inserter.onReady = look;
      look(); // others who went on by this insert may have let more in
      return () => {
        inserter.countWaiting(true);
        inserter[dispose]();
      };
    }, late);
  }
}

/** Each table into which an item came learns what the columns are; `waiting` counts for each table the items that did not. */
function learn({ items, tables, columns }: Insertion, waiting: ArrayLike<number>): void {
  for (const { number, known } of tables) {
    const left = waiting[number] ?? 0;
    const isIn = left === 0 || items.filter(({ table }) => table === number).length > left;
    if (isIn) known.learn(columns);
  }
}

function sum(counts: Float64Array): number {
  return counts.reduce((total, count) => total + count, 0);
}
