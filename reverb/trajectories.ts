/**
 * What {@linkcode TrajectoryWriter} and {@linkcode StructuredWriter} share: steps, and items that are made of them.
 *
 * @module
 */

import { checkInteger, show } from "../base/checks.ts";
import {
  checkAgainst,
  checkPriority,
  checkRemoverPriority,
  checkTable,
  type ColumnShape,
  type ItemCheck,
  type Signatures,
} from "./check_item.ts";
import type { ColumnSettings } from "./_column.ts";
import type { AtPath } from "./path.ts";
import { itemOf, type ItemStream } from "./item_stream.ts";
import { Steps } from "./_steps.ts";
import type { ChunkEncoder } from "../wire/new_rows.ts";
import { ReverbError } from "./errors.ts";
import { itemColumnOf, shapeOf, specOf, type TrajectoryColumn } from "./history.ts";
import type {
  FlushOptions,
  TrajectoryWriterOptions,
  WaitLimits,
  WriterEndOptions,
} from "./writer_options.ts";

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

/** A column of an item, and the way to it there. */
export interface PlacedColumn extends AtPath {
  readonly column: TrajectoryColumn;
}

/** Checks what `configure` and the options set for chunks. */
export function checkSettings(where: string, settings: ColumnSettings): ColumnSettings {
  const { numKeepAliveRefs, chunkLength, deltaEncoded } = settings;
  checkInteger(`${where}: numKeepAliveRefs`, numKeepAliveRefs, 1, 2 ** 30);
  if (chunkLength !== "auto") {
    checkInteger(`${where}: chunkLength, if not "auto",`, chunkLength, 1, numKeepAliveRefs);
  }
  if (typeof deltaEncoded !== "boolean") {
    throw new TypeError(`${where}: deltaEncoded must be true or false, got ${show(deltaEncoded)}`);
  }
  return settings;
}

/** The steps of a writer, and the items that are made of them. */
export class Trajectories {
  /** Sends the items. */
  readonly stream: ItemStream;
  /** What was appended. */
  readonly steps: Steps;
  readonly #signatures: Signatures | undefined;
  readonly #note: WriterDoor["note"];
  readonly #isChecked: boolean;
  readonly #most: number;

  constructor(where: string, door: WriterDoor, options: TrajectoryWriterOptions) {
    const { numKeepAliveRefs, chunkLength = "auto", deltaEncoded = false } = options;
    const settings = checkSettings(where, { numKeepAliveRefs, chunkLength, deltaEncoded });
    const { maxPendingItems = Math.max(256, 2 * numKeepAliveRefs) } = options;
    this.#most = checkInteger(`${where}: maxPendingItems`, maxPendingItems, 1, 2 ** 30);
    this.stream = door.stream;
    this.#signatures = door.signatures;
    this.#isChecked = options.validateItems ?? true;
    this.#note = this.#isChecked ? door.note : undefined;
    this.steps = new Steps(settings, door.encoder);
  }

  /** Appends a step. */
  append(data: unknown, isPartial: boolean, skip?: Parameters<Steps["append"]>[2]): void {
    this.stream.check();
    if (this.steps.append(data, isPartial, skip)) this.stream.schedule();
  }

  /** Makes an item, without waiting. */
  create(
    where: string,
    table: string,
    priority: number,
    removerPriority: number | undefined,
    columns: readonly PlacedColumn[],
    check: ItemCheck = {},
  ): void {
    checkTable(`${where}: table`, table);
    checkPriority(`${where}: priority`, priority);
    checkRemoverPriority(where, removerPriority);
    const { stream } = this;
    const described = columns.map((placed) => ({ ...placed, spec: specOf(placed.column) }));
    const ordered = this.#signatures === undefined
      ? described
      : checkAgainst(where, this.#signatures, table, described, {
        ...check,
        isChecked: this.#isChecked,
      });
    stream.check();
    if (stream.pending >= 2 * this.#most) {
      throw new ReverbError(
        "resource-exhausted",
        `${where}: ${stream.pending} items wait, and the writer lets at most ${this.#most} wait; await each call before the next one`,
      );
    }
    this.#note?.(where, table, ordered.map(({ path, column }) => ({ path, ...shapeOf(column) })));
    const parts = ordered.map(({ column }) => itemColumnOf(column));
    stream.push(itemOf(this.steps.keys.next(), table, priority, removerPriority, parts));
  }

  /** Waits while more items are unconfirmed than the writer allows. */
  async relieve(where: string, wait: WaitLimits): Promise<void> {
    if (this.stream.pending <= this.#most) return;
    const most = this.#most >> 1;
    this.stream.force(most);
    await this.stream.until(where, most, wait);
  }

  /** Sends everything, and waits until all but some items are confirmed. */
  async flush({ blockUntilItems = 0, ...wait }: FlushOptions): Promise<void> {
    const most = checkInteger("flush(): blockUntilItems", blockUntilItems, 0, 2 ** 30);
    this.stream.force(most);
    await this.stream.until("flush()", most, wait);
  }

  /** Sends everything, waits until it is confirmed, and begins a new episode. */
  async endEpisode({ clearBuffers = true, ...wait }: WriterEndOptions): Promise<void> {
    this.stream.check();
    this.stream.force(0);
    await this.stream.until("endEpisode()", 0, wait);
    this.steps.endEpisode(clearBuffers);
  }

  /** Sends everything, waits until it is confirmed, and ends the stream. */
  async close(wait: WaitLimits): Promise<void> {
    try {
      await this.flush(wait);
    } finally {
      await this.stream.close();
    }
  }
}
