/**
 * The writers of `ReverbClient` on tables of this process: what they would send goes to the kernel at once.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { dispose } from "../base/platform.ts";
import { PREFIX_BYTES } from "../wire/message_writer.ts";
import type { Call, CallEvents, Channel } from "../reverb/channel.ts";
import { ReverbError, type ReverbErrorCode } from "../reverb/errors.ts";
import type { Inserter, KernelTables } from "./kernel_tables.ts";

/** Room for the keys of some confirmed items. */
const CONFIRMED_BYTES = 4096;

const CODES: Readonly<Record<string, ReverbErrorCode>> = {
  "table-unknown": "not-found",
  "invalid-priority": "invalid-argument",
  "item-bytes": "invalid-argument",
  "memory": "resource-exhausted",
  "disposed": "cancelled",
};

function asReverbError(error: unknown): ReverbError {
  const text = error instanceof Error ? error.message : String(error);
  const code = error instanceof ReplayError ? CODES[error.code] : undefined;
  return new ReverbError(code ?? "internal", text, { cause: error });
}

/**
 * What writers are about to send: at the next turn, or before a call looks at the tables. So the items of a turn go in one message, and a loop that
 * only awaits `createItem` still sees them.
 */
export class Outbox {
  #sends: (() => void)[] = [];
  #isPlanned = false;

  /** Sends it soon. */
  readonly add = (send: () => void): void => {
    this.#sends.push(send);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(() => {
      this.#isPlanned = false;
      this.empty();
    }, 0);
  };

  /** Sends all now. */
  empty(): void {
    if (this.#sends.length === 0) return;
    const sends = this.#sends;
    this.#sends = [];
    for (const send of sends) send();
  }
}

/** What stands for a connection to a server. */
export class LocalChannel implements Pick<Channel, "open" | "isClosed"> {
  readonly #kernelTables: KernelTables;

  constructor(kernelTables: KernelTables) {
    this.#kernelTables = kernelTables;
  }

  /** True once the tables are disposed. */
  get isClosed(): boolean {
    return this.#kernelTables.isDisposed;
  }

  /** Opens a stream of inserts. */
  open(_name: string, events: CallEvents): Call {
    try {
      return new LocalCall(this.#kernelTables, events);
    } catch (error) {
      throw asReverbError(error);
    }
  }
}

class LocalCall implements Call {
  readonly #events: CallEvents;
  readonly #inserter: Inserter;
  #isFull = false;
  #isOver = false;

  constructor(kernelTables: KernelTables, events: CallEvents) {
    this.#events = events;
    this.#inserter = kernelTables.inserter(() => this.#progress());
  }

  write(framed: Uint8Array): boolean {
    if (this.#isOver) return false;
    try {
      this.#inserter.feed(framed.subarray(PREFIX_BYTES));
    } catch (error) {
      this.#fail(error);
      return false;
    }
    // The writer notes what it has sent once this returns.
    queueMicrotask(() => this.#progress());
    this.#isFull = this.#inserter.isFull;
    return !this.#isFull;
  }

  /** Tells what was inserted, and whether there is room again. */
  #progress(): void {
    if (this.#isOver) return;
    try {
      this.#inserter.refresh();
      while (this.#inserter.confirmed > 0) {
        const into = new Uint8Array(CONFIRMED_BYTES);
        const size = this.#inserter.readConfirmations(into);
        this.#events.onMessage(into.subarray(0, size));
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (!this.#isFull || this.#inserter.isFull) return;
    this.#isFull = false;
    this.#events.onDrain?.();
  }

  #fail(error: unknown): void {
    this.cancel();
    const reason = asReverbError(error);
    queueMicrotask(() => this.#events.onEnd(reason));
  }

  halfClose(): void {
    if (this.#isOver) return;
    this.#progress();
    this.cancel();
    this.#events.onEnd(undefined);
  }

  cancel(): void {
    this.#isOver = true;
    this.#inserter[dispose]();
  }
}
