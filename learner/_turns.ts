/**
 * The calls of a writer, one at a time: a call that is made before the one before is done waits for it.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { TIMER_MAX_MS } from "../base/waits.ts";
import type { WaitOptions } from "../mod.ts";
import type { Waits } from "./_waits.ts";

/** Lets one call run at a time, in the order in which they were made. */
export class Turns {
  readonly #waits: Waits;
  readonly #queue: (() => void)[] = [];
  #isTaken = false;
  #closing: Promise<void> | undefined;

  /** @param waits The waits of the writer. */
  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** Whether no call runs or waits. */
  get isFree(): boolean {
    return !this.#isTaken;
  }

  /** Makes a call when its turn comes. The limits are those of the wait until then. */
  async run(operation: string, limits: WaitOptions, call: () => Promise<void>): Promise<void> {
    this.#waits.check(operation);
    if (this.#isTaken) await this.#wait(operation, limits);
    this.#isTaken = true;
    try {
      await call();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    }
  }

  /** Makes the last call. While it runs, another one gets the same promise. After an error it may be made again. */
  close(limits: WaitOptions, call: () => Promise<void>): Promise<void> {
    if (this.#waits.isClosed) return Promise.resolve();
    return this.#closing ??= this.run("close()", limits, call).finally(() => {
      this.#closing = undefined;
    });
  }

  #wait(operation: string, limits: WaitOptions): Promise<void> {
    return this.#waits.run(
      operation,
      limits,
      ({ signal, timeoutMs }) =>
        new Promise((resolve, reject) => {
          const settle = (): void => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
          };
          const begin = (): void => {
            settle();
            resolve();
          };
          const leave = (error: unknown): void => {
            settle();
            this.#queue.splice(this.#queue.indexOf(begin), 1);
            reject(error);
          };
          const late = (): void => {
            const words = `an earlier call of this writer was not done after ${timeoutMs} ms`;
            leave(new ReplayError("timeout", `${operation}: ${words}`));
          };
          const abort = (): void => leave(signal?.reason);
          const timer = timeoutMs === undefined
            ? undefined
            : setTimeout(late, Math.min(timeoutMs, TIMER_MAX_MS));
          signal?.addEventListener("abort", abort);
          this.#queue.push(begin);
        }),
    );
  }
}
