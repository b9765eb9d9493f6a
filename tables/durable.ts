/**
 * The log of durable tables: what TypeScript keeps of them in the kernel's log.
 *
 * The kernel writes down each change, and the data. TypeScript adds what the kernel does not know: the columns of each table's first item, and rate limiters that
 * the program has set. It does so as soon as they change, and at each flush.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { lengthOf } from "../base/typed_arrays.ts";
import { damagePlace } from "../ffi/status_errors.ts";
import * as abi from "../ffi/symbols.ts";
import { dtypeOfName } from "../reverb/dtypes.ts";
import { rowSpec } from "../reverb/tensor.ts";
import { beginLog, logState, openLog, startTimer, waitForDisk } from "../storage/durable_log.ts";
import type { CheckedDurable } from "../storage/durable_options.ts";
import { ignoreErrors } from "../storage/file.ts";
import type { ColumnShape } from "../reverb/check_item.ts";
import type { TableCore } from "./_tables_core.ts";
import { FOLDER, jsonOf, type RateLimiterJson, rateLimiterOf } from "./durable_config.ts";
import type { KernelTables } from "./kernel_tables.ts";

const OPEN = FOLDER.operation;
const FLUSH = "flush()";

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

/** The log of a set of tables. */
export class TablesLog {
  readonly #kernelTables: KernelTables;
  readonly #tables: readonly TableCore[];
  readonly #directory: string;
  readonly #flushIntervalMs: number;
  readonly #recovered: TablesRecovery | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Begins the log of a folder, or reads it into these tables, which were just made.
   *
   * @param isNew Whether the folder has no description yet. A log in which nothing happened is taken then: a crash came before the description.
   * @param isRepaired Whether the description had a flipped bit.
   */
  constructor(
    kernelTables: KernelTables,
    tables: readonly TableCore[],
    directory: string,
    isNew: boolean,
    isRepaired: boolean,
    options: CheckedDurable,
  ) {
    this.#kernelTables = kernelTables;
    this.#tables = tables;
    this.#directory = directory;
    this.#flushIntervalMs = options.flushIntervalMs;
    const openAs = (asNew: boolean): Float64Array<ArrayBuffer> =>
      openLog(directory, options, asNew, (...rest) => {
        kernelTables.call(OPEN, "exrp_tables_durable_open", ...rest);
      });
    const report = isNew ? beginLog(openAs) : openAs(false);
    this.#recovered = isNew ? undefined : {
      cutBytes: report[abi.EXRP_RECOVERY_TAIL_BYTES] ?? 0,
      repairedCount: (report[abi.EXRP_RECOVERY_REPAIRED] ?? 0) + Number(isRepaired),
      lostItemCount: report[abi.EXRP_RECOVERY_LOST_BLOCKS] ?? 0,
      damage: damagePlace(report),
    };
    if (!isNew) this.#takeState(report[abi.EXRP_RECOVERY_STATE_BYTES] ?? 0);
  }

  /** Takes over what TypeScript had of the tables. */
  #takeState(size: number): void {
    if (size === 0) return;
    const bytes = new Uint8Array(size);
    this.#kernelTables.call(OPEN, "exrp_tables_durable_state", bytes, size);
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
    this.#timer = startTimer(this, this.#flushIntervalMs);
  }

  /** Writes on where the program makes no call that would. What fails is told by the next call. */
  tick(): boolean {
    if (this.#kernelTables.isDisposed) return false;
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
    this.#kernelTables.call(FLUSH, "exrp_tables_durable_note", bytes, lengthOf(bytes), ticket);
    return ticket[0] ?? 0;
  }

  /** Waits until all that was done before is on the disk. */
  async flush(): Promise<void> {
    const kernelTables = this.#kernelTables;
    const ticket = this.note();
    const { symbols } = kernelTables.kernel;
    await waitForDisk(
      this.#directory,
      (milliseconds) => symbols.exrp_tables_durable_wait(kernelTables.id, ticket, milliseconds),
      () => {
        if (kernelTables.isDisposed) {
          throw new ReplayError("disposed", `${FLUSH}: the tables are disposed`);
        }
        // What failed is told on this thread.
        this.note();
      },
    );
  }

  /** Writes the last state, before the tables are freed. What fails now was told before, or is told by nobody. */
  end(): void {
    clearInterval(this.#timer);
    if (!this.#kernelTables.isDisposed) ignoreErrors(() => this.note());
  }

  /** What is known of the folder. */
  get durability(): TablesDurability {
    const info = new Float64Array(abi.EXRP_DURABLE_INFO_COUNT);
    this.#kernelTables.call("durability", "exrp_tables_durable_info", info, lengthOf(info));
    return {
      directory: this.#directory,
      recovered: this.#recovered,
      ...logState(info),
    };
  }
}
