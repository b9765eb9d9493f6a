/**
 * A learner in a process of its own: draws batches until its input ends, checks each pick, and prints how many batches it had, which shards come and go, and where
 * it stood still for above 100 ms. Times are those of the machine's clock, in ms.
 *
 * Arguments: the address of NATS, how many shards there must be at first.
 *
 * @module
 */

import { connectShards } from "@exrp/replay/shards";
import { connect } from "npm:@nats-io/transport-node@3.4.0";
import { assertEquals } from "../_assert.ts";
import { pause } from "../_wait.ts";
import type { Numbered } from "../shards/_numbered.ts";

const GAP_MS = 100;
const [servers = "", shards = ""] = Deno.args;
const connection = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
const learner = await connectShards<Numbered>(connection, {
  shards: Number(shards),
  timeoutMs: 3_600_000,
  onChange: ({ kind, shard }) => console.log(`${kind} ${shard} ${Date.now()}`),
});
let isOver = false;
(async () => {
  await Deno.stdin.read(new Uint8Array(1));
  isOver = true;
})();
let batches = 0;
let [last, told] = [Date.now(), 0];
for await (const batch of learner.batches(64, { prefetch: 2 })) {
  const { state, action } = batch as unknown as { state: Int32Array; action: Int32Array };
  for (let k = 0; k < batch.size; k++) assertEquals(action[k], (state[2 * k] ?? 0) % 7);
  learner.setPriority(batch, Float64Array.from(action, (each) => 0.1 + each));
  batches++;
  const now = Date.now();
  if (now > last + GAP_MS) console.log(`gap ${last} ${now}`);
  if (now > told + GAP_MS) {
    console.log(`batches ${batches}`);
    told = now;
  }
  last = now;
  if (isOver) break;
  await pause(5);
}
await learner.close();
await connection.close();
console.log("done");
