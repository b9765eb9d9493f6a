/**
 * A process that receives weights, on one connection or on several. With Workers, each of them reads the weights that its process received.
 *
 * @module
 */

import type { Broadcast } from "@exrp/replay/actors";
import { receiveBroadcast } from "@exrp/replay/fleet";
import { connect } from "npm:@nats-io/transport-node@3.4.0";

const [servers = "", receivers = "1", workers = "0"] = Deno.args;
for (let k = 0; k < Number(receivers); k++) {
  const connection = await connect({ servers });
  const { broadcast } = await receiveBroadcast(connection, "weights");
  if (Number(workers) === 0) watch(broadcast, () => connection.publish("read"));
  for (let worker = 0; worker < Number(workers); worker++) {
    const thread = new Worker(new URL("./receiver_worker.ts", import.meta.url), { type: "module" });
    thread.postMessage(broadcast.ticket);
    await new Promise<void>((resolve) =>
      thread.addEventListener("message", () => resolve(), { once: true })
    );
    thread.addEventListener("message", () => connection.publish("read"));
  }
}
console.log("ready");

/** Reads each version, and says so. */
async function watch(broadcast: Broadcast, read: () => void): Promise<void> {
  for (;;) {
    const { version } = broadcast.read();
    await broadcast.waitFor(version + 1);
    broadcast.read();
    read();
  }
}
