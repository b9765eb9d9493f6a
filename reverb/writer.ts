/**
 * Writes items that are the latest steps, with all their columns.
 *
 * @module
 */

import { checkOptions } from "../base/option_names.ts";
import { ItemWriter, type WriterDoor } from "./item_writer.ts";
import { Rows } from "./_rows.ts";
import type { StepData } from "./structure.ts";
import type { CreateItemOptions, WriterOptions } from "./writer_options.ts";

/** Makes a writer. */
export let newWriter: (door: WriterDoor, options: WriterOptions) => Writer;

/**
 * Writes items that are the latest steps, with all their columns: `client.writer()` makes one. It is Reverb's older writer; its chunks hold
 * all columns. {@linkcode TrajectoryWriter} can do more.
 *
 * @example
 * ```ts
 * import { Tables } from "@exrp/replay/tables";
 *
 * using tables = await Tables.create({ tables: { replay: { maxSize: 1000 } } });
 *
 * await using writer = tables.writer({ maxSequenceLength: 10 }); // client.writer() is the same, on a server
 * for (let t = 1; t <= 30; t++) {
 *   writer.append({ state: Float32Array.of(t), reward: 1 });
 *   if (t % 10 === 0) await writer.createItem("replay", 10, 1, { removerPriority: t }); // the last ten steps
 * }
 * await writer.flush();
 * const items = tables.table("replay").items();
 * console.log(items.map(({ removerPriority }) => removerPriority).toSorted()); // [10, 20, 30]
 * ```
 */
export class Writer extends ItemWriter {
  readonly #rows: Rows;

  private constructor(rows: Rows) {
    super(rows);
    this.#rows = rows;
  }

  static {
    newWriter = (door, options) => new Writer(new Rows(door, options));
  }

  /**
   * Appends a step: nested data, with the same leaves each time.
   *
   * @throws {TypeError} If the step has other columns than the first one. Nothing was appended then.
   */
  append(data: StepData): void {
    this.#rows.append("append()", data);
  }

  /**
   * Appends several steps: each leaf is a tensor whose first dimension counts the steps.
   *
   * @throws {RangeError} If the leaves have different numbers of steps. Nothing was appended then.
   */
  appendSequence(data: StepData): void {
    this.#rows.appendSequence(data);
  }

  /**
   * Makes an item of the last steps, and waits while too many items are unconfirmed. The server has it after `flush`.
   *
   * @param table The table. The server must have it.
   * @param numTimesteps How many of the last steps, at most `maxSequenceLength`.
   * @param priority Finite and not negative.
   * @param options `removerPriority`: another priority for the remover. Reverb's own server passes over it.
   * @throws {RangeError} If there are not so many steps, or a priority is negative, infinite or NaN.
   * @throws {TypeError} If the steps do not fit the table's signature.
   * @throws {ReverbError} `not-found` if the server has no such table. Else why the connection failed.
   */
  async createItem(
    table: string,
    numTimesteps: number,
    priority: number,
    options: CreateItemOptions = {},
  ): Promise<void> {
    const where = "createItem()";
    checkOptions(where, options, ["removerPriority", "timeoutMs", "signal"]);
    const { removerPriority } = options;
    this.#rows.create(where, { table, priority, removerPriority }, numTimesteps);
    await this.#rows.relieve(where, options);
  }
}
