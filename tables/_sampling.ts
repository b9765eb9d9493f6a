/**
 * Samples items of a table, and waits while its rate limiter holds samples back.
 *
 * Invariants: 1. An idle sampler has nothing drawn and nothing asked for. 2. Whoever waits has a sampler of its own; the kernel serves
 * samplers in the order in which they asked. 3. Unless a part may be returned, the kernel holds what was drawn until all was: so what came
 * before a wait ended early goes to the next call, where it would be lost.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { waitUntil } from "../base/waits.ts";
import {
  EXRP_ASK_FLOWING,
  EXRP_ASK_NOW,
  EXRP_ASK_WHOLE,
  EXRP_TABLES_INFO_MAX_TIMES_SAMPLED,
} from "../ffi/symbols.ts";
import { disposedMeanwhile, type TableWaitOptions } from "./_wait.ts";
import type { KernelTables, Sampler } from "./kernel_tables.ts";

/** The first room for a message. It grows to what is needed. */
const FIRST_BYTES = 2 ** 16;

/** Samples as they come: the first bytes of a buffer that grows. */
interface Drawn {
  bytes: Uint8Array<ArrayBuffer>;
  size: number;
  samples: number;
}

/** The samples of one table. */
export class Sampling {
  readonly #kernelTables: KernelTables;
  readonly #table: number;
  #idle: Sampler | undefined;
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_BYTES);

  constructor(kernelTables: KernelTables, table: number) {
    this.#kernelTables = kernelTables;
    this.#table = table;
  }

  /**
   * Draws samples as one message. Fewer than `count` come only where the wait ended early and `isPartialAllowed`. Without that, and with a
   * `timeoutMs` of 0, nothing is drawn unless all can be.
   *
   * The message is a view that the next call overwrites, unless it had to wait.
   */
  sample(
    where: string,
    count: number,
    options: TableWaitOptions,
    isPartialAllowed: boolean,
  ): Uint8Array | Promise<Uint8Array> {
    const sampler = this.#idle?.isOpen ? this.#idle : this.#kernelTables.sampler(this.#table);
    this.#idle = undefined;
    const isNow = options.timeoutMs === 0 && !isPartialAllowed;
    const drawn: Drawn = { bytes: this.#bytes, size: 0, samples: 0 };
    try {
      sampler.ask(
        count,
        isPartialAllowed ? EXRP_ASK_FLOWING : isNow ? EXRP_ASK_NOW : EXRP_ASK_WHOLE,
      );
      read(sampler, drawn);
      if (drawn.samples < count && isNow) {
        const table = JSON.stringify(this.#kernelTables.names[this.#table]);
        throw new ReplayError(
          "timeout",
          `${where}: table ${table} can't give ${count} samples now, by its items and its rate limiter, and timeoutMs is 0; nothing was drawn`,
        );
      }
    } catch (error) {
      sampler[dispose]();
      throw error;
    }
    this.#bytes = drawn.bytes;
    if (drawn.samples < count) {
      drawn.bytes = drawn.bytes.slice(0, Math.max(FIRST_BYTES, drawn.size));
      return this.#later(where, sampler, count, options, isPartialAllowed, drawn);
    }
    this.#giveBack(sampler);
    return drawn.bytes.subarray(0, drawn.size);
  }

  async #later(
    where: string,
    sampler: Sampler,
    count: number,
    options: TableWaitOptions,
    isPartialAllowed: boolean,
    drawn: Drawn,
  ): Promise<Uint8Array> {
    const late = (): ReplayError => {
      sampler.read(new Uint8Array(0));
      const table = JSON.stringify(this.#kernelTables.names[this.#table]);
      const { held } = sampler;
      const removes =
        (this.#kernelTables.info(this.#table)[EXRP_TABLES_INFO_MAX_TIMES_SAMPLED] ?? 0) > 0;
      return new ReplayError(
        "timeout",
        `${where}: ${
          drawn.samples + held
        } of ${count} samples came within ${options.timeoutMs} ms, as the rate limiter of table ${table} lets no more through${
          held > 0 && removes ? "; the next call gets them first" : ""
        }`,
      );
    };
    let isWhole = false;
    try {
      await waitUntil<void>(options, (done, fail) => {
        sampler.onReady = () => {
          if (this.#kernelTables.isDisposed) return fail(disposedMeanwhile());
          try {
            read(sampler, drawn);
            if (drawn.samples >= count) done();
          } catch (error) {
            fail(error);
          }
        };
        return () => {
          sampler.onReady = undefined;
        };
      }, late);
      isWhole = true;
    } catch (error) {
      const isLate = error instanceof ReplayError && error.code === "timeout";
      const isAborted = options.signal?.aborted === true && error === options.signal.reason;
      if (!(isLate || isAborted) || !isPartialAllowed || drawn.samples === 0) throw error;
    } finally {
      if (isWhole) this.#giveBack(sampler);
      else sampler[dispose]();
    }
    return drawn.bytes.subarray(0, drawn.size);
  }

  #giveBack(sampler: Sampler): void {
    if (this.#idle === undefined && !this.#kernelTables.isDisposed) this.#idle = sampler;
    else sampler[dispose]();
  }
}

/** Reads what was drawn, behind what came before. */
function read(sampler: Sampler, drawn: Drawn): void {
  for (;;) {
    const written = sampler.read(drawn.bytes.subarray(drawn.size));
    drawn.size += written;
    drawn.samples += sampler.samples;
    if (sampler.needed > 0) {
      const { bytes, size } = drawn;
      drawn.bytes = new Uint8Array(Math.max(2 * bytes.length, size + sampler.needed));
      drawn.bytes.set(bytes.subarray(0, size));
    } else if (written === 0) return;
  }
}
