/**
 * Starts the Workers of the tests.
 *
 * @module
 */

import type { ShareTicket } from "@exrp/replay/types";

/** What a Worker is to do. */
export interface Task {
  /** The ticket of the replay. */
  readonly ticket: ShareTicket;
  /** Which call. */
  readonly call: "record" | "learn" | "drain" | "churn";
  /** The Worker's number, which its records carry. */
  readonly worker: number;
  /** The seed of what it does. */
  readonly seed: number;
  /** Bytes of the wide column. */
  readonly wide: number;
  /** How many records it writes. */
  readonly count: number;
  /** Becomes 1 when Workers without an end of their own should stop. */
  readonly stop: Int32Array<SharedArrayBuffer>;
  /** Whether it ends by itself while it holds the replay. */
  readonly holds?: boolean;
  /** Whether it makes pick views and selectors. */
  readonly makes?: boolean;
}

/** A Worker that was started. */
export interface Started {
  /** What it said at its end. */
  readonly result: Promise<unknown>;
  /** Resolves when it is in the middle of its calls. */
  readonly ready: Promise<void>;
  /** Ends it now. */
  end(): void;
}

/** A flag that tells Workers to stop. */
export function newStop(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4));
}

/** Starts a Worker. */
export function start(task: Task): Started {
  const worker = new Worker(new URL("./_worker.ts", import.meta.url), { type: "module" });
  const ready = Promise.withResolvers<void>();
  const result = Promise.withResolvers<unknown>();
  worker.onmessage = ({ data }) => {
    if (data === "ready") return ready.resolve();
    worker.terminate();
    if ("error" in data) result.reject(new Error(`Worker ${task.worker}: ${data.error}`));
    else result.resolve(data.result);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    result.reject(new Error(`Worker ${task.worker}: ${event.message}`));
  };
  result.promise.catch(ready.reject);
  ready.promise.catch(() => {});
  worker.postMessage(task);
  return { result: result.promise, ready: ready.promise, end: () => worker.terminate() };
}
