/**
 * The calls of a writer, one at a time: a call that is made before the one before is done waits for it.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { waitUntil } from "../base/waits.ts";
import type { WaitOptions } from "../mod.ts";
import { Waits } from "./_waits.ts";

/** Lets one call run at a time, in the order in which they were made. */
export class Turns extends Waits {
  readonly #now: () => number;
  readonly #queue = new Set<() => void>();
  #isTaken = false;
  #closing: Promise<void> | undefined;

  constructor(now: () => number = () => performance.now()) {
    super("writer");
    this.#now = now;
  }

  /** Whether no call runs or waits. */
  get isFree(): boolean {
    return !this.#isTaken;
  }

  /** Makes a call when its turn comes. All its parts, and the wait for its turn, have one deadline. */
  override run<T>(
    operation: string,
    options: WaitOptions,
    call: (limits: WaitOptions) => Promise<T>,
  ): Promise<T> {
    return super.run(operation, options, async (both) => {
      const limits = this.#untilDeadline(both);
      const late = (): ReplayError => {
        const words = `an earlier call of this writer was not done after ${options.timeoutMs} ms`;
        return new ReplayError("timeout", `${operation}: ${words}`);
      };
      if (this.#isTaken) await waitUntil<void>(limits, (begin) => this.#line(begin), late);
      this.#isTaken = true;
      try {
        return await call(limits);
      } finally {
        const [next] = this.#queue;
        if (next === undefined) this.#isTaken = false;
        else next();
      }
    });
  }

  /** Makes the last call. While it runs, another one gets the same promise. After an error it may be made again. */
  close(options: WaitOptions, call: (limits: WaitOptions) => Promise<void>): Promise<void> {
    if (this.isClosed) return Promise.resolve();
    return this.#closing ??= this.run("close()", options, call).finally(() => {
      this.#closing = undefined;
    });
  }

  /** The same limits, of which `timeoutMs` is what is left of it when it is read. */
  #untilDeadline(limits: WaitOptions): WaitOptions {
    const { timeoutMs } = limits;
    if (timeoutMs === undefined) return limits;
    const now = this.#now;
    const end = now() + timeoutMs;
    return {
      ...limits,
      get timeoutMs(): number {
        return Math.max(0, Math.ceil(end - now()));
      },
    };
  }

  /** Calls `begin` at the end of the call before. What it returns leaves the line. */
  #line(begin: () => void): () => void {
    // The first signal or timer of a program may let others run while it is made. So the turn may be free again.
    if (this.#isTaken) this.#queue.add(begin);
    else {
      this.#isTaken = true;
      begin();
    }
    return () => this.#queue.delete(begin);
  }
}
