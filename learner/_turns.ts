/**
 * The calls of a writer, one at a time: a call that is made before the one before is done waits for it.
 *
 * @module
 */

import type { WaitOptions } from "../mod.ts";
import { waitFor } from "../reverb/channel.ts";
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
    return this.#waits.run(operation, limits, (wait) =>
      waitFor<void>(
        operation,
        wait,
        (resolve) => {
          this.#queue.push(resolve);
          return () => void this.#queue.splice(this.#queue.indexOf(resolve), 1);
        },
        () => `an earlier call of this writer was not done after ${wait.timeoutMs} ms`,
      ));
  }
}
