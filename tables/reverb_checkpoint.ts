/**
 * Reads the checkpoints that a server of DeepMind's Reverb wrote, so that its tables move over.
 *
 * A checkpoint is a folder with `tables.tfrecord`, `chunks.tfrecord`, `items.tfrecord` and `DONE`. Its records are messages of Protocol Buffers with
 * checksums, packed by zlib. Chunks and items go to the kernel as they are.
 *
 * @module
 */

import { checkInteger, show, showUnlike } from "../base/checks.ts";
import { ReplayError } from "../base/errors.ts";
import { checkOptions } from "../base/option_names.ts";
import { dispose } from "../base/platform.ts";
import { type Kernel, openKernel } from "../ffi/library.ts";
import { OldRecords } from "../reverb/checkpoint/old_records.ts";
import { readFromPieces } from "../storage/io.ts";
import { CHUNK, ITEM, type KernelTables } from "./kernel_tables.ts";
import { type CheckpointFiles, findCheckpoint, unpacked } from "./reverb_checkpoint/files.ts";
import { Pieces } from "./reverb_checkpoint/pieces.ts";
import { readRecords } from "./reverb_checkpoint/records.ts";
import { readTableRecord, type TableRecord } from "./reverb_checkpoint/table_record.ts";
import { TABLE_SIZE_MAX, type TableOptions } from "./table_options.ts";
import { kernelTablesOf, replaceContents, restoreTables, Tables } from "./tables.ts";
import type { TablesOptions } from "./tables_options.ts";

/** What a checkpoint may unpack to, where nothing else is said: 16 GiB. */
const BYTES_MAX = 2 ** 34;

/** The options of {@linkcode readReverbCheckpoint}. */
export interface ReverbCheckpointOptions extends Omit<TablesOptions, "tables"> {
  /** What is to be other than in the checkpoint, by table. A table that the checkpoint lacks is made of these options alone, and is empty. */
  readonly tables?: Readonly<Record<string, Partial<TableOptions>>>;
  /** The most bytes that the checkpoint may unpack to; 16 GiB by default. It guards against files that somebody made to fill your memory. */
  readonly maxBytes?: number;
}

/** What {@linkcode loadReverbCheckpoint} has loaded. */
export interface ReverbCheckpointCounts {
  /** Items of all tables. */
  readonly items: number;
  /** Pieces of data in the checkpoint. */
  readonly chunks: number;
}

/**
 * Makes tables of a checkpoint that DeepMind's Reverb wrote: with their samplers, removers, limits, rate limiters and signatures, what they have
 * counted, and their items with keys, priorities, times of insertion and how often each was sampled. Items of several tables share their data as
 * before.
 *
 * Reverb saves nothing that its selectors know but the order of the items. So the ties of heaps go by the time of insertion, as they do
 * when Reverb itself loads a checkpoint.
 *
 * @param folder The checkpoint's own folder, or one that has several: then it is the newest whole one, by its name, as in Reverb.
 * @throws {TypeError} For an option that is unknown or of the wrong kind.
 * @throws {RangeError} For a number out of its range, such as a `maxSize` above 2^28 in the checkpoint.
 * @throws {ReplayError} `snapshot-foreign` where there is no checkpoint, `snapshot-truncated` or `snapshot-corrupt` where it is damaged, with the file,
 * the record and the reason; `snapshot-mismatch` where the items do not fit your `tables`; `limit` above `maxBytes`; `file`, `permission`,
 * `memory` or `kernel-missing`. No tables are made then.
 * @example
 * ```ts
 * import { readReverbCheckpoint } from "@exrp/replay/tables";
 *
 * // A small one: the table `replay` has two items.
 * const folder = await Deno.makeTempDir();
 * const files = {
 *   "tables.tfrecord":
 *     "eJwzY4AA//Ce91xsRakFOYmVUvKCEMEP9pL/weD9f0Uoo16D0YJJiUmAUYuFg9GC0eAF+3LeM0sATHcaQw==",
 *   "chunks.tfrecord":
 *     "eJxzYoCAys95qzgONq7ftO9c19t+RiFujsXTj52+uOHaxT+MWipcAhzMQixCTByMSmwsPCxA9UARRoQIA0ODvQGTBUd4qKuCI9REhpWHVnNsWrLm7v7/XUs2MgpxcbRMa5vwdcXO3xXoBjJjMZCBAWTg9xT7MAAIoiaW",
 *   "items.tfrecord":
 *     "eJwLYICAKfyzmzgm/1t+4cWrBzt+MQqxFaUW5CRWakJkP9hb8XD8Wd57g03gz7vuU8xOKlz8XLwcm5asubv/f9eSjYwSjFyCXPwoAgqMh2IvqvhDzc9x95/M0fl04rOFhx7NSEEznsEBbvzj1Vvgxh9sXL9p37mut/0w45EFFBjdHnvOAQDti0Wu",
 *   DONE: "",
 * };
 * for (const [name, text] of Object.entries(files)) {
 *   await Deno.writeFile(`${folder}/${name}`, Uint8Array.fromBase64(text));
 * }
 *
 * using tables = await readReverbCheckpoint(folder);
 * const { columns, priorities } = await tables.table("replay").getBatch(100);
 * console.log(columns.map(({ dtype, shape }) => [dtype, shape])); // [["int32", [100, 1]], ["float32", [100, 1]]]
 * console.log([...new Set(priorities)].sort()); // [1, 2]
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function readReverbCheckpoint(
  folder: string | URL,
  options: ReverbCheckpointOptions = {},
): Promise<Tables> {
  const where = "readReverbCheckpoint()";
  checkOptions(where, options, [
    "tables",
    "maxBytes",
    "seed",
    "backend",
    "kernelPath",
    "kernelCache",
  ]);
  const { tables: changes = {}, maxBytes: _, ...rest } = options;
  const maxBytes = checkMaxBytes(where, options.maxBytes);
  if (typeof changes !== "object" || changes === null) {
    throw new TypeError(
      `${where}: tables must be an object of options by table, got ${show(changes)}`,
    );
  }
  const files = findCheckpoint(where, folder);
  const { backend, kernelPath, kernelCache } = rest;
  const kernel = await openKernel({ backend, kernelPath, kernelCache });
  const { records, fill } = await openCheckpoint(kernel, where, files, maxBytes);
  const made = Object.fromEntries(records.map(({ name, options }) => [name, {
    ...options,
    ...Object.hasOwn(changes, name) ? changes[name] : {},
  }]));
  for (const { name } of records) {
    const { maxSize } = made[name] ?? { maxSize: 0 };
    if (maxSize <= TABLE_SIZE_MAX) continue;
    throw new RangeError(
      `${where}: table ${
        show(name)
      } may have ${maxSize} items in Reverb, and at most ${TABLE_SIZE_MAX} here; give { tables: { ${
        JSON.stringify(name)
      }: { maxSize: … } } }`,
    );
  }
  const others = Object.entries(changes).filter(([name]) => !Object.hasOwn(made, name));
  const tables = await restoreTables({
    ...rest,
    tables: { ...made, ...Object.fromEntries(others) } as Record<string, TableOptions>,
  });
  try {
    checkFit(where, records, (name) => tables.table(name).options.maxSize);
    await fill(kernelTablesOf(tables));
    return tables;
  } catch (error) {
    tables[dispose]();
    throw error;
  }
}

/**
 * Loads a checkpoint that DeepMind's Reverb wrote into tables that you made, in the place of what they hold. They keep their samplers, removers,
 * limits and rate limiters, and take the items and the counts. Tables that the checkpoint lacks are empty afterwards.
 *
 * @param tables At least those of the checkpoint, by name.
 * @param folder As in {@linkcode readReverbCheckpoint}.
 * @throws {TypeError} For arguments of the wrong kind.
 * @throws {ReplayError} As {@linkcode readReverbCheckpoint}; `snapshot-mismatch` also for a table that you lack; `busy` while a writer, a client's call or a
 * call that waits is open; `disposed`. The tables are as they were then.
 * @example
 * ```ts
 * import { prioritized } from "@exrp/replay";
 * import { loadReverbCheckpoint, Tables } from "@exrp/replay/tables";
 *
 * // A small one: the table `replay` has two items.
 * const folder = await Deno.makeTempDir();
 * const files = {
 *   "tables.tfrecord":
 *     "eJwzY4AA//Ce91xsRakFOYmVUvKCEMEP9pL/weD9f0Uoo16D0YJJiUmAUYuFg9GC0eAF+3LeM0sATHcaQw==",
 *   "chunks.tfrecord":
 *     "eJxzYoCAys95qzgONq7ftO9c19t+RiFujsXTj52+uOHaxT+MWipcAhzMQixCTByMSmwsPCxA9UARRoQIA0ODvQGTBUd4qKuCI9REhpWHVnNsWrLm7v7/XUs2MgpxcbRMa5vwdcXO3xXoBjJjMZCBAWTg9xT7MAAIoiaW",
 *   "items.tfrecord":
 *     "eJwLYICAKfyzmzgm/1t+4cWrBzt+MQqxFaUW5CRWakJkP9hb8XD8Wd57g03gz7vuU8xOKlz8XLwcm5asubv/f9eSjYwSjFyCXPwoAgqMh2IvqvhDzc9x95/M0fl04rOFhx7NSEEznsEBbvzj1Vvgxh9sXL9p37mut/0w45EFFBjdHnvOAQDti0Wu",
 *   DONE: "",
 * };
 * for (const [name, text] of Object.entries(files)) {
 *   await Deno.writeFile(`${folder}/${name}`, Uint8Array.fromBase64(text));
 * }
 * using tables = await Tables.create({
 *   tables: { replay: { maxSize: 1_000_000, sampler: prioritized() } },
 * });
 * const { items } = await loadReverbCheckpoint(tables, folder);
 * console.log([items, tables.table("replay").size]); // [2, 2]
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function loadReverbCheckpoint(
  tables: Tables,
  folder: string | URL,
  options: Pick<ReverbCheckpointOptions, "maxBytes"> = {},
): Promise<ReverbCheckpointCounts> {
  const where = "loadReverbCheckpoint()";
  if (!(tables instanceof Tables)) {
    throw new TypeError(`${where} takes Tables, got ${showUnlike(tables, Tables)}`);
  }
  checkOptions(where, options, ["maxBytes"]);
  const maxBytes = checkMaxBytes(where, options.maxBytes);
  const files = findCheckpoint(where, folder);
  const { records, fill } = await openCheckpoint(
    kernelTablesOf(tables).kernel,
    where,
    files,
    maxBytes,
  );
  const { names } = tables;
  for (const { name } of records) {
    if (names.includes(name)) continue;
    const known = names.map((each) => show(each)).join(", ");
    throw new ReplayError(
      "snapshot-mismatch",
      `${where}: the checkpoint has a table ${show(name)}, but here there are only ${known}`,
    );
  }
  checkFit(where, records, (name) => tables.table(name).options.maxSize);
  let counts: ReverbCheckpointCounts = { items: 0, chunks: 0 };
  await replaceContents(tables, where, async (fresh) => {
    counts = await fill(fresh);
  });
  return counts;
}

function checkMaxBytes(where: string, maxBytes: number = BYTES_MAX): number {
  return checkInteger(`${where}: maxBytes`, maxBytes, 1, Number.MAX_SAFE_INTEGER);
}

/** Throws unless each table has room for the items that the counts say. */
function checkFit(
  where: string,
  records: readonly TableRecord[],
  maxSizeOf: (name: string) => number,
): void {
  for (const { name, inserts, deletes } of records) {
    const [size, maxSize] = [inserts - deletes, maxSizeOf(name)];
    if (size <= maxSize) continue;
    throw new ReplayError(
      "snapshot-mismatch",
      `${where}: table ${
        show(name)
      } has ${size} items in the checkpoint, and at most ${maxSize} here (maxSize)`,
    );
  }
}

/** A checkpoint whose tables were read. */
interface OpenCheckpoint {
  readonly records: readonly TableRecord[];
  /** Loads all chunks and items into a fresh set that has the tables. */
  readonly fill: (kernelTables: KernelTables) => Promise<ReverbCheckpointCounts>;
}

async function openCheckpoint(
  kernel: Kernel,
  where: string,
  files: CheckpointFiles,
  maxBytes: number,
): Promise<OpenCheckpoint> {
  let bytesLeft = maxBytes;
  const each = async (
    path: string,
    use: (record: Uint8Array<ArrayBuffer>) => void,
  ): Promise<void> => {
    const pieces = unpacked(where, path, bytesLeft);
    const counted = async (): Promise<Uint8Array | undefined> => {
      const { value } = await pieces.next();
      bytesLeft -= value?.length ?? 0;
      return value ?? undefined;
    };
    try {
      await readFromPieces(counted, readRecords(kernel, where, path, use));
    } finally {
      await pieces.return();
    }
  };

  const found = new Map<string, TableRecord>();
  await each(files.tables, (record) => {
    const at = `${where}: ${show(files.tables)}, record ${found.size + 1}`;
    const table = readTableRecord(at, record);
    if (found.has(table.name)) {
      throw new ReplayError(
        "snapshot-corrupt",
        `${at}: table ${show(table.name)} comes for the second time`,
      );
    }
    found.set(table.name, table);
  });
  const records = [...found.values()];
  if (records.length === 0) {
    throw new ReplayError("snapshot-corrupt", `${where}: ${show(files.tables)} has no table`);
  }

  const fill = async (kernelTables: KernelTables): Promise<ReverbCheckpointCounts> => {
    const { chunks, items } = files;
    const paths = { [CHUNK]: chunks, [ITEM]: items ?? files.tables };
    const pieces = new Pieces(kernelTables, where, paths, records);
    const old = records.some(({ oldItems }) => oldItems.count > 0) ? new OldRecords() : undefined;
    await each(chunks, (record) => pieces.add(CHUNK, old?.chunk(record) ?? record));
    for (const { oldItems } of records) {
      for (const item of oldItems) pieces.add(ITEM, old?.item(item) ?? item);
    }
    if (items !== undefined) await each(items, (record) => pieces.add(ITEM, record));
    return pieces.end();
  };
  return { records, fill };
}
