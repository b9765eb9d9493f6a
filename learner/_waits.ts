/**
 * Waits of a reader or a writer: they end by a signal, and when it is closed.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { checkWait } from "../base/waits.ts";
import type { WaitOptions } from "../mod.ts";
import { ReverbError } from "../reverb/errors.ts";

/** The waits of one object. */
export class Waits {
  readonly #what: string;
  readonly #end = new AbortController();

  /** @param what What errors call the object. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Whether `end` was called. */
  get isClosed(): boolean {
    return this.#end.signal.aborted;
  }

  /** Throws if the object is closed. */
  check(operation: string): void {
    if (this.isClosed) throw this.#closed(operation);
  }

  /** A signal that aborts with the caller's, or when the object is closed. */
  signalOf(signal: AbortSignal | undefined): AbortSignal {
    const end = this.#end.signal;
    return signal === undefined ? end : AbortSignal.any([signal, end]);
  }

  /** Makes one call that may wait. Where it takes too long, the error `timeout` names the operation, and the time that its caller gave. */
  async run<T>(
    operation: string,
    options: WaitOptions,
    call: (limits: WaitOptions) => Promise<T>,
  ): Promise<T> {
    this.check(operation);
    checkWait(operation, options);
    options.signal?.throwIfAborted();
    const { timeoutMs } = options;
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    try {
      return await call({ ...limit, signal: this.signalOf(options.signal) });
    } catch (error) {
      const reason = reasonOfDelay(error);
      if (reason === undefined) throw error;
      const words = `${operation}: not done after ${timeoutMs} ms: ${reason}`;
      throw new ReplayError("timeout", words, { cause: error });
    }
  }

  /** Ends all waits. */
  end(): void {
    this.#end.abort(this.#closed("close()"));
  }

  #closed(operation: string): ReplayError {
    return new ReplayError("disposed", `${operation}: the ${this.#what} is closed`);
  }
}

/** What held back a call that took too long; undefined for other errors, and for those that say it in the words of the caller. */
function reasonOfDelay(error: unknown): string | undefined {
  if (error instanceof ReverbError) {
    return error.code === "deadline-exceeded" ? error.message : undefined;
  }
  if (!(error instanceof ReplayError && error.code === "timeout")) return undefined;
  // whenReady() has the error of the last attempt.
  return error.cause instanceof ReplayError ? error.cause.message : undefined;
}
