/**
 * A Worker that publishes at full speed: `_broadcast_test.ts` reads meanwhile, or ends it. Every element of version v is v, modulo what
 * its dtype holds.
 *
 * @module
 */

import { Broadcast, type BroadcastArrays, type BroadcastTicket } from "../../actors/mod.ts";
import { filled } from "./_filled.ts";

/** The parts of the global scope of a Worker that this file uses. */
interface WorkerScope {
  onmessage: (event: MessageEvent<Job>) => void;
  postMessage(message: unknown): void;
}

/** What to publish. */
export interface Job {
  /** Where to. */
  readonly ticket: BroadcastTicket<BroadcastArrays>;
  /** How many versions. */
  readonly count: number;
  /** Ends the loop where it is not 0: Deno lets a Worker that never waits go on after `terminate()`. */
  readonly stop: Int32Array<SharedArrayBuffer>;
}

const scope = self as unknown as WorkerScope;
scope.onmessage = ({ data: { ticket, count, stop } }) => {
  const broadcast = Broadcast.attach(ticket);
  const arrays = broadcast.read().arrays;
  let published = 0;
  let refused = 0;
  scope.postMessage("begun");
  while (published < count && Atomics.load(stop, 0) === 0) {
    filled(arrays, broadcast.version + 1);
    try {
      broadcast.publish(arrays);
      published++;
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes("another writer")) throw error;
      refused++;
    }
  }
  scope.postMessage({ published, refused });
};
