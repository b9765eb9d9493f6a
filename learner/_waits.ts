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
  /** Asked at each step: to ask the signal took 3 % of an inference server's processor time. */
  #isClosed = false;

  /** @param what What errors call the object. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Whether `end` was called. */
  get isClosed(): boolean {
    return this.#isClosed;
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

  /** Makes one call that may wait. */
  async run<T>(
    operation: string,
    options: WaitOptions,
    call: (limits: WaitOptions) => Promise<T>,
  ): Promise<T> {
    this.check(operation);
    checkWait(operation, options);
    const { signal, timeoutMs } = options;
    signal?.throwIfAborted();
    const both = this.signalOf(signal);
    try {
      return await call(timeoutMs === undefined ? { signal: both } : { signal: both, timeoutMs });
    } catch (error) {
      throw errorOfWait(operation, options, error);
    }
  }

  /** Ends all waits. */
  end(): void {
    this.#isClosed = true;
    this.#end.abort(this.#closed("close()"));
  }

  #closed(operation: string): ReplayError {
    return new ReplayError("disposed", `${operation}: the ${this.#what} is closed`);
  }
}

/** An error as a caller gets it: where the call took too long, `timeout` names the operation, and the time that its caller gave. */
function errorOfWait(
  operation: string,
  { timeoutMs }: WaitOptions,
  error: unknown,
): unknown {
  let reason: string | undefined;
  if (error instanceof ReverbError && error.code === "deadline-exceeded") reason = error.message;
  if (error instanceof ReplayError && error.code === "timeout") {
    // whenReady() has the error of the last attempt. Others say it in the words of the caller.
    if (error.cause instanceof ReplayError) reason = error.cause.message;
  }
  if (reason === undefined) return error;
  const words = `${operation}: not done after ${timeoutMs} ms: ${reason}`;
  return new ReplayError("timeout", words, { cause: error });
}
