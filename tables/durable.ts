/**
 * The log of durable tables: what TypeScript keeps of them in the kernel's log.
 *
 * The kernel writes down each change, and the data. TypeScript adds what the kernel does not know: the columns of each table's first item, and rate limiters that
 * the program has set. It does so as soon as they change, and at each flush.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { unref } from "../base/platform.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import { browserFolder } from "../ffi/browser_folder.ts";
import { damagePlace } from "../ffi/status_errors.ts";
import * as abi from "../ffi/symbols.ts";
import { dtypeOfName } from "../reverb/dtypes.ts";
import { rowSpec } from "../reverb/tensor.ts";
import type { CheckedDurable } from "../storage/durable_options.ts";
import { ignoreErrors } from "../storage/file.ts";
import type { ColumnShape } from "../reverb/check_item.ts";
import type { TableCore } from "./_tables_core.ts";
import { FOLDER, jsonOf, type RateLimiterJson, rateLimiterOf } from "./durable_config.ts";
import type { LowTables } from "./low.ts";

const OPEN = FOLDER.operation;
const FLUSH = "flush()";

/** A wait of the kernel's for the disk. Then it is asked again, so that a wait ends with the tables. */
const WAIT_MS = 1000;

/** What was found when durable tables were opened: `recovered` of {@linkcode TablesDurability}. */
export interface TablesRecovery {
  /** Bytes at the end of the log that were cut off: what a crash left half written. */
  readonly cutBytes: number;
  /** Parts of the log with a flipped bit that were repaired. */
  readonly repairedCount: number;
  /** Items whose data is damaged. They were removed. */
  readonly lostItemCount: number;
  /** Where the first damage lies that was not repaired, such as `"log-00000003.exrp, byte 4096"`. */
  readonly damage: string | undefined;
}

/** What is known of the folder of durable tables. {@linkcode Tables.durability} has an example. */
export interface TablesDurability {
  /** The folder, as it was given. */
  readonly directory: string;
  /** What was found when it was opened; undefined if the folder was new. */
  readonly recovered: TablesRecovery | undefined;
  /** Bytes of all files of the log, with those that wait for the disk. */
  readonly logBytes: number;
  /** Bytes that were written since the tables were opened. */
  readonly writtenBytes: number;
  /** Bytes that wait for the disk. */
  readonly queuedBytes: number;
  /** Whether the log has failed. Then nothing is written any more, and `flush` says why. */
  readonly hasFailed: boolean;
}

/** A column as JSON. */
interface ColumnJson {
  readonly path: ColumnShape["path"];
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly isSqueezed: boolean;
}

/** What TypeScript keeps of a table. */
interface TableState {
  readonly rateLimiter: RateLimiterJson;
  readonly columns: readonly ColumnJson[] | undefined;
}

/** Calls `tick` again and again, until the tables are disposed or forgotten. The timer keeps neither them nor the program. */
function startTimer(log: TablesLog, milliseconds: number): ReturnType<typeof setInterval> {
  const kept = new WeakRef(log);
  const timer = setInterval(() => {
    if (kept.deref()?.tick() !== true) clearInterval(timer);
  }, milliseconds);
  unref(timer);
  return timer;
}

/** The log of a set of tables. */
export class TablesLog {
  readonly #low: LowTables;
  readonly #tables: readonly TableCore[];
  readonly #directory: string;
  readonly #flushIntervalMs: number;
  readonly #recovered: TablesRecovery | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Begins the log of a folder, or reads it into these tables, which were just made.
   *
   * @param isNew Whether the folder has no description yet. A log in which nothing happened is taken then: a crash came before the description.
   */
  constructor(
    low: LowTables,
    tables: readonly TableCore[],
    directory: string,
    isNew: boolean,
    options: CheckedDurable,
  ) {
    this.#low = low;
    this.#tables = tables;
    this.#directory = directory;
    this.#flushIntervalMs = options.flushIntervalMs;
    const report = isNew
      ? openNew(low, directory, options)
      : openLog(low, directory, false, options);
    this.#recovered = isNew ? undefined : {
      cutBytes: report[abi.EXRP_RECOVERY_TAIL_BYTES] ?? 0,
      repairedCount: report[abi.EXRP_RECOVERY_REPAIRED] ?? 0,
      lostItemCount: report[abi.EXRP_RECOVERY_LOST_BLOCKS] ?? 0,
      damage: damagePlace(report),
    };
    if (!isNew) this.#takeState(report[abi.EXRP_RECOVERY_STATE_BYTES] ?? 0);
  }

  /** Takes over what TypeScript had of the tables. */
  #takeState(size: number): void {
    if (size === 0) return;
    const bytes = new Uint8Array(size);
    this.#low.call(OPEN, "exrp_tables_durable_state", bytes, size);
    const states: Readonly<Record<string, TableState>> = JSON.parse(
      new TextDecoder().decode(bytes),
    );
    for (const table of this.#tables) {
      const state = states[table.name];
      if (state === undefined) continue;
      table.options = { ...table.options, rateLimiter: rateLimiterOf(state.rateLimiter) };
      table.known.load(
        state.columns?.map(({ path, dtype, shape, isSqueezed }) => {
          const known = dtypeOfName(dtype);
          if (known !== undefined) return { path, isSqueezed, spec: rowSpec(known, shape) };
          throw new ReplayError(
            "log-mismatch",
            `${OPEN}: table ${
              JSON.stringify(table.name)
            } has a column of ${dtype}, which this version of the library lacks`,
          );
        }),
      );
    }
  }

  /** Writes down what the tables are at first, and goes on doing so. */
  begin(): void {
    for (const { known } of this.#tables) known.onLearned = () => ignoreErrors(() => this.note());
    this.note();
    if (this.#flushIntervalMs > 0) this.#timer = startTimer(this, this.#flushIntervalMs);
  }

  /** Writes on where the program makes no call that would. What fails is told by the next call. */
  tick(): boolean {
    if (this.#low.isDisposed) return false;
    ignoreErrors(() => this.note());
    return true;
  }

  /** Writes what TypeScript has, if it has changed. The result stands for all that was done until now being on the disk. */
  note(): number {
    const states = Object.fromEntries(this.#tables.map(({ name, options, known }) => {
      const columns = known.first?.map(({ path, spec: { shape, dtype }, isSqueezed }) => (
        { path, dtype: dtype.name, shape, isSqueezed }
      ));
      const state: TableState = { rateLimiter: jsonOf(options.rateLimiter), columns };
      return [name, state];
    }));
    const bytes = new TextEncoder().encode(JSON.stringify(states));
    const ticket = new Float64Array(1);
    this.#low.call(FLUSH, "exrp_tables_durable_note", bytes, lengthOf(bytes), ticket);
    return ticket[0] ?? 0;
  }

  /** Waits until all that was done before is on the disk. */
  async flush(): Promise<void> {
    const low = this.#low;
    const ticket = this.note();
    for (;;) {
      const status = await low.kernel.symbols.exrp_tables_durable_wait(low.id, ticket, WAIT_MS);
      if (status === 0) break;
      if (low.isDisposed) throw new ReplayError("disposed", `${FLUSH}: the tables are disposed`);
      // What failed is told on this thread.
      this.note();
    }
    // A browser opens the next files meanwhile.
    await browserFolder(this.#directory)?.settled;
  }

  /** Writes the last state, before the tables are freed. What fails now was told before, or is told by nobody. */
  end(): void {
    clearInterval(this.#timer);
    if (!this.#low.isDisposed) ignoreErrors(() => this.note());
  }

  /** What is known of the folder. */
  get durability(): TablesDurability {
    const info = new Float64Array(abi.EXRP_DURABLE_INFO_COUNT);
    this.#low.call("durability", "exrp_tables_durable_info", info, lengthOf(info));
    return {
      directory: this.#directory,
      recovered: this.#recovered,
      logBytes: info[abi.EXRP_DURABLE_INFO_LOG_BYTES] ?? 0,
      writtenBytes: info[abi.EXRP_DURABLE_INFO_WRITTEN_BYTES] ?? 0,
      queuedBytes: info[abi.EXRP_DURABLE_INFO_QUEUED_BYTES] ?? 0,
      hasFailed: info[abi.EXRP_DURABLE_INFO_FAILED] !== 0,
    };
  }
}

/** Begins a log, or takes one in which nothing happened yet. */
function openNew(low: LowTables, path: string, options: CheckedDurable): Float64Array {
  try {
    return openLog(low, path, true, options);
  } catch (error) {
    const hasLog = error instanceof ReplayError && error.status === abi.EXRP_STATUS_LOG &&
      error.detail[0] === abi.EXRP_LOG_EXISTS;
    if (!hasLog) throw error;
    let report: Float64Array | undefined;
    ignoreErrors(() => report = openLog(low, path, false, options));
    if (report?.[abi.EXRP_RECOVERY_GROUPS] !== 0) throw error;
    return report;
  }
}

/** Makes a log, or reads one. */
function openLog(
  low: LowTables,
  path: string,
  isNew: boolean,
  options: CheckedDurable,
): Float64Array {
  const numbers = new Float64Array(abi.EXRP_DURABLE_OPTION_COUNT);
  numbers[abi.EXRP_DURABLE_IS_NEW] = Number(isNew);
  numbers[abi.EXRP_DURABLE_FLUSH_INTERVAL_MS] = options.flushIntervalMs;
  numbers[abi.EXRP_DURABLE_SEGMENT_BYTES] = options.segmentBytes;
  numbers[abi.EXRP_DURABLE_QUEUE_BYTES] = options.queueBytes;
  numbers[abi.EXRP_DURABLE_CHECKPOINT_BYTES] = options.segmentBytes;
  numbers[abi.EXRP_DURABLE_GOES_ON] = Number(options.whenDiskFails === "memory");
  const report = new Float64Array(abi.EXRP_RECOVERY_COUNT);
  const bytes = new TextEncoder().encode(path);
  const rest = [
    bytes,
    lengthOf(bytes),
    numbers,
    lengthOf(numbers),
    report,
    lengthOf(report),
  ] as const;
  low.call(OPEN, "exrp_tables_durable_open", ...rest);
  return report;
}
