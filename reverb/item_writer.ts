/**
 * What all writers share: they send items, and wait until the server has them.
 *
 * @module
 */

import { checkInteger } from "../base/checks.ts";
import { checkOptions } from "../base/option_names.ts";
import { KeySource } from "../wire/keys.ts";
import type { ChunkEncoder } from "../wire/new_rows.ts";
import {
  checkAgainst,
  checkPriority,
  checkTable,
  type ColumnShape,
  type ItemCheck,
  type NewColumn,
  type Signatures,
} from "./check_item.ts";
import { ReverbError } from "./errors.ts";
import type { ItemColumn, ItemHead, ItemStream } from "./item_stream.ts";
import type { FlushOptions, WaitLimits } from "./writer_options.ts";

/** What a writer gets from its client. */
export interface WriterDoor {
  /** Sends items. */
  readonly stream: ItemStream;
  /** Writes chunks. */
  readonly encoder: ChunkEncoder;
  /** The tables' signatures, if they are known. */
  readonly signatures: Signatures | undefined;
  /** Tables of this process remember the columns of items where they have no signature. It throws for others than before. */
  readonly note?: (where: string, table: string, columns: readonly ColumnShape[]) => void;
}

/** The items of a writer. */
export class ItemSender {
  /** Sends them. */
  readonly stream: ItemStream;
  /** Writes their chunks. */
  readonly encoder: ChunkEncoder;
  /** Where the keys of chunks, items and episodes come from. */
  readonly keys: KeySource = new KeySource();
  readonly #door: WriterDoor;
  readonly #most: number;
  readonly #bound: number;

  /**
   * @param most While more items than these are unconfirmed, calls wait.
   * @param bound So many are too many: calls were not awaited.
   */
  constructor(door: WriterDoor, most: number, bound: number) {
    this.stream = door.stream;
    this.encoder = door.encoder;
    this.#door = door;
    this.#most = most;
    this.#bound = bound;
  }

  /** Throws unless a table takes such an item. Returns its columns in the order of the table's signature. */
  inOrder<C extends NewColumn>(
    where: string,
    { table, priority, removerPriority }: ItemHead,
    columns: readonly C[],
    check: ItemCheck,
  ): readonly C[] {
    checkTable(`${where}: table`, table);
    checkPriority(`${where}: priority`, priority);
    if (removerPriority !== undefined) {
      checkPriority(`${where}: removerPriority`, removerPriority);
    }
    const { signatures } = this.#door;
    return signatures ? checkAgainst(where, signatures, table, columns, check) : columns;
  }

  /** Makes an item, without waiting. */
  send(
    where: string,
    head: ItemHead,
    shapes: readonly ColumnShape[],
    columns: readonly ItemColumn[],
  ): void {
    const { stream } = this;
    stream.check();
    if (stream.pending >= this.#bound) {
      throw new ReverbError(
        "resource-exhausted",
        `${where}: ${stream.pending} items wait, and the writer lets at most ${this.#most} wait; await each call before the next one`,
      );
    }
    this.#door.note?.(where, head.table, shapes);
    stream.push(this.keys.next(), head, columns);
  }

  /** Waits while more items are unconfirmed than the writer allows. */
  async relieve(where: string, wait: WaitLimits): Promise<void> {
    if (this.stream.pending > this.#most) await this.waitForPending(where, this.#most >> 1, wait);
  }

  /** Sends everything, and waits until all but some items are confirmed. */
  async waitForPending(where: string, most: number, wait: WaitLimits): Promise<void> {
    this.stream.force(most);
    await this.stream.until(where, most, wait);
  }
}

/**
 * What {@linkcode Writer}, {@linkcode TrajectoryWriter} and {@linkcode StructuredWriter} have in common.
 *
 * @example
 * ```ts
 * import type { ItemWriter } from "@exrp/replay/reverb";
 * import { Tables } from "@exrp/replay/tables";
 *
 * // All writers of a program, whatever they are.
 * const closeAll = (writers: readonly ItemWriter[]) => Promise.all(writers.map((writer) => writer.close()));
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 * const writer = tables.writer({ maxSequenceLength: 1 });
 * writer.append({ reward: 1 });
 * await writer.createItem("replay", 1, 1);
 * await closeAll([writer]);
 * console.log([writer.pendingItems, tables.table("replay").size]); // [0, 1]
 * ```
 */
export class ItemWriter implements AsyncDisposable {
  readonly #sender: ItemSender;

  /** A client makes writers, and so do tables. */
  protected constructor(sender: ItemSender) {
    this.#sender = sender;
  }

  /** Items that the server has not confirmed. */
  get pendingItems(): number {
    return this.#sender.stream.pending;
  }

  /**
   * Completes the chunks of items that wait, sends everything, and waits until the server has confirmed it.
   *
   * @throws {ReverbError} `deadline-exceeded` after `timeoutMs`; the items stay on their way.
   */
  async flush(options: FlushOptions = {}): Promise<void> {
    checkOptions("flush()", options, ["blockUntilItems", "timeoutMs", "signal"]);
    const { blockUntilItems = 0, ...wait } = options;
    checkInteger("flush(): blockUntilItems", blockUntilItems, 0, 2 ** 30);
    await this.#sender.waitForPending("flush()", blockUntilItems, wait);
  }

  /** Flushes everything, and ends the stream. With `timeoutMs`, what is not confirmed by then is given up. */
  async close(options: WaitLimits = {}): Promise<void> {
    checkOptions("close()", options, ["timeoutMs", "signal"]);
    try {
      await this.#sender.waitForPending("flush()", 0, options);
    } finally {
      await this.#sender.stream.close();
    }
  }

  /** Flushes everything, and ends the stream. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
