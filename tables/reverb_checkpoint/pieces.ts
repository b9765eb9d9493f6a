/**
 * Hands the records of a checkpoint to the kernel, many at once, and says in words which record it refuses.
 *
 * @module
 */

import { show } from "../../base/checks.ts";
import { ReplayError } from "../../base/errors.ts";
import { EXRP_STATUS_DATA_CORRUPT, EXRP_STATUS_DATA_MISMATCH } from "../../ffi/symbols.ts";
import { MessageWriter } from "../../wire/message_writer.ts";
import { headOfItem, keyOfChunk } from "../../reverb/checkpoint/messages.ts";
import { eachOfField } from "../../wire/fields.ts";
import { CHUNK, ITEM, type KernelTables, TABLE } from "../kernel_tables.ts";
import type { TableRecord } from "./table_record.ts";

/** About how large a piece is. */
const PIECE_BYTES = 1 << 20;

/** Loads a fresh set of tables. */
export class Pieces {
  readonly #kernelTables: KernelTables;
  readonly #where: string;
  readonly #paths: { readonly [field: number]: string };
  readonly #piece = new MessageWriter();
  /** Records of each field that the kernel has. */
  readonly #loaded = { [CHUNK]: 0, [ITEM]: 0 };
  readonly #written = { [CHUNK]: 0, [ITEM]: 0 };

  /**
   * Begins to load.
   *
   * @param where The operation, for errors.
   * @param paths The files of the two kinds of records.
   */
  constructor(
    kernelTables: KernelTables,
    where: string,
    paths: { readonly [CHUNK]: string; readonly [ITEM]: string },
    tables: readonly TableRecord[],
  ) {
    this.#kernelTables = kernelTables;
    this.#where = where;
    this.#paths = paths;
    const piece = this.#piece;
    for (const { name, inserts, samples, deletes, uniqueSamples, episodesDeleted } of tables) {
      piece.begin(TABLE);
      piece.text(1, name);
      const counts = [inserts, samples, deletes, uniqueSamples, episodesDeleted];
      for (const [k, count] of counts.entries()) piece.long(3 + k, count);
      piece.end();
    }
  }

  /** Adds a record. */
  add(field: typeof CHUNK | typeof ITEM, record: Uint8Array): void {
    const piece = this.#piece;
    if (piece.length + record.length > PIECE_BYTES) this.#load();
    piece.begin(field);
    piece.bytes(1, record);
    piece.end();
    this.#written[field]++;
  }

  /** Ends loading, and returns how many records there were. */
  end(): { readonly chunks: number; readonly items: number } {
    this.#load();
    this.#try(() => this.#kernelTables.loadEnd());
    return { chunks: this.#loaded[CHUNK], items: this.#loaded[ITEM] };
  }

  #load(): void {
    const piece = this.#piece.message();
    this.#try(() => this.#kernelTables.load(piece), piece);
    this.#piece.reset();
    Object.assign(this.#loaded, this.#written);
  }

  #try(call: () => void, piece: Uint8Array = new Uint8Array()): void {
    try {
      call();
    } catch (error) {
      throw error instanceof ReplayError ? this.#inWords(error, piece) : error;
    }
  }

  #inWords(error: ReplayError, piece: Uint8Array): ReplayError {
    const [field = 0, index = 0, rule = 0] = error.detail;
    const made = (code: ReplayError["code"], why: string): ReplayError =>
      new ReplayError(code, `${this.#where}: ${why}`, { cause: error });
    if (error.status === EXRP_STATUS_DATA_MISMATCH) {
      const name = show(this.#kernelTables.names[field] ?? "");
      return made(
        "snapshot-mismatch",
        `the items of table ${name} have ${rule} bytes of data, but the table may have ${index} (maxBytes)`,
      );
    }
    if (error.status !== EXRP_STATUS_DATA_CORRUPT) return error;
    if (field === TABLE) {
      const name = show(this.#kernelTables.names[index] ?? "");
      const file = show(this.#paths[ITEM] ?? "");
      return made(
        "snapshot-corrupt",
        `${file} has fewer items of table ${name} than its inserts without its deletes`,
      );
    }
    if (field !== CHUNK && field !== ITEM) return error;
    let left = index - this.#loaded[field];
    let record = piece;
    for (const each of eachOfField(piece, field)) {
      [record = each] = eachOfField(each, 1);
      if (left-- === 0) break;
    }
    const why = (field === CHUNK ? chunkText : itemText)(record, rule);
    return made("snapshot-corrupt", `${show(this.#paths[field])}, record ${index + 1}: ${why}`);
  }
}

function chunkText(record: Uint8Array, rule: number): string {
  const key = rule === 2 ? keyOfChunk(record) : undefined;
  return key === undefined
    ? "it is no chunk"
    : `chunk ${key} comes for the second time, with other bytes`;
}

function itemText(record: Uint8Array, rule: number): string {
  const found = rule === 1 ? undefined : headOfItem(record);
  if (found === undefined) return "it is no item";
  const { key, table, priority } = found;
  const item = `item ${key} of table ${show(table)}`;
  switch (rule) {
    case 2:
      return `${item} comes for the second time`;
    case 3:
      return `${item} is of a table that the checkpoint does not have`;
    case 4:
      return `${item} needs a chunk that the checkpoint does not have`;
    case 5:
      return `${item} refers to no chunk`;
    case 6:
      return `${item} has the priority ${priority}; a priority must be finite and not negative. Delete the item in Reverb, and take another checkpoint`;
    case 7:
      return `${item} has a time of insertion or a count of samples that can't be`;
    case 9:
      return `${item} has steps that its chunk does not have`;
    default:
      return `${item} is one more than the inserts of its table without the deletes`;
  }
}
