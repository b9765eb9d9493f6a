/**
 * The calls of a writer, one at a time: a call that is made before the one before is done waits for it.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { checkWait, TIMER_MAX_MS } from "../base/waits.ts";
import type { WaitOptions } from "../mod.ts";
import type { Waits } from "./_waits.ts";

/** Lets one call run at a time, in the order in which they were made. */
export class Turns {
  readonly #waits: Waits;
  readonly #now: () => number;
  readonly #queue: (() => void)[] = [];
  #isTaken = false;
  #closing: Promise<void> | undefined;

  /** @param waits The waits of the writer. */
  constructor(waits: Waits, now: () => number = () => performance.now()) {
    this.#waits = waits;
    this.#now = now;
  }

  /** Whether no call runs or waits. */
  get isFree(): boolean {
    return !this.#isTaken;
  }

  /** Makes a call when its turn comes. The limits are those of the wait until then. */
  async run(
    operation: string,
    options: WaitOptions,
    call: (limits: WaitOptions) => Promise<void>,
  ): Promise<void> {
    this.#waits.check(operation);
    const limits = this.#untilDeadline(operation, options);
    if (this.#isTaken) await this.#wait(operation, limits);
    this.#isTaken = true;
    try {
      await call(limits);
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    }
  }

  /** Makes the last call. While it runs, another one gets the same promise. After an error it may be made again. */
  close(options: WaitOptions, call: (limits: WaitOptions) => Promise<void>): Promise<void> {
    if (this.#waits.isClosed) return Promise.resolve();
    return this.#closing ??= this.run("close()", options, call).finally(() => {
      this.#closing = undefined;
    });
  }

  /** The same limits, of which `timeoutMs` is what is left of it when it is read. So all parts of a call have one deadline. */
  #untilDeadline(operation: string, options: WaitOptions): WaitOptions {
    checkWait(operation, options);
    const { timeoutMs, ...rest } = options;
    if (timeoutMs === undefined) return rest;
    const now = this.#now;
    const end = now() + timeoutMs;
    return {
      ...rest,
      get timeoutMs(): number {
        return Math.max(0, Math.ceil(end - now()));
      },
    };
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
          // The first signal or timer of a program may let others run while it is made. So the turn may be free again.
          if (this.#isTaken) this.#queue.push(begin);
          else {
            this.#isTaken = true;
            begin();
          }
        }),
    );
  }
}
