/**
 * An actor in a Worker, which reads each version of the weights.
 *
 * @module
 */

/// <reference lib="deno.worker" />
import { Broadcast, type BroadcastTicket } from "@exrp/replay/actors";

addEventListener("message", async ({ data }: MessageEvent<BroadcastTicket>) => {
  const broadcast = Broadcast.attach(data);
  broadcast.read();
  postMessage("ready");
  for (;;) {
    await broadcast.waitFor(broadcast.read().version + 1);
    broadcast.read();
    postMessage("read");
  }
});
