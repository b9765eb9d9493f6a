/**
 * Waits of a reader or a writer: they end by a signal, and when it is closed.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import type { WaitOptions } from "../mod.ts";
import { ReverbError } from "../reverb/errors.ts";

/** A wait that has begun. */
interface Begun {
  /** Aborts with the caller's signal, or when the waits are closed. */
  readonly signal: AbortSignal;
  /** Leaves nothing behind. */
  end(): void;
}

/** The waits of one object. */
export class Waits {
  readonly #what: string;
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /** @param what What errors call the object. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Throws if the object is closed. */
  check(operation: string): void {
    if (this.#isClosed) throw this.#closed(operation);
  }

  /** Begins a wait. */
  begin(operation: string, signal: AbortSignal | undefined): Begun {
    this.check(operation);
    signal?.throwIfAborted();
    const own = new AbortController();
    const abort = (): void => own.abort(signal?.reason);
    signal?.addEventListener("abort", abort);
    this.#open.add(own);
    return {
      signal: own.signal,
      end: () => {
        signal?.removeEventListener("abort", abort);
        this.#open.delete(own);
      },
    };
  }

  /** Makes one call that may wait. A server's deadline becomes the error `timeout`, as that of a replay or a table. */
  async run<T>(
    operation: string,
    { signal, timeoutMs }: WaitOptions,
    call: (options: WaitOptions) => Promise<T>,
  ): Promise<T> {
    const begun = this.begin(operation, signal);
    try {
      const limit = timeoutMs === undefined ? {} : { timeoutMs };
      return await call({ signal: begun.signal, ...limit });
    } catch (error) {
      const isLate = error instanceof ReverbError && error.code === "deadline-exceeded";
      if (!isLate) throw error;
      throw new ReplayError("timeout", `${operation}: ${error.message}`, { cause: error });
    } finally {
      begun.end();
    }
  }

  /** Ends all waits. */
  close(): void {
    this.#isClosed = true;
    for (const own of this.#open) own.abort(this.#closed("close()"));
  }

  #closed(operation: string): ReplayError {
    return new ReplayError("disposed", `${operation}: the ${this.#what} is closed`);
  }
}
