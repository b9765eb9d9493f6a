/**
 * An actor in a process of its own: writes numbered records until its input ends, and prints how many are confirmed.
 *
 * Arguments: the address of NATS, how many records it writes between two flushes, the actor's number.
 *
 * @module
 */

import { shardWriter } from "@exrp/replay/shards";
import { connect } from "npm:@nats-io/transport-node@3.4.0";
import { pause } from "../_wait.ts";
import { type Numbered, step } from "./_numbered.ts";

const [servers = "", roundText = "", numberText = ""] = Deno.args;
const [round, actor] = [Number(roundText), Number(numberText)];
const patience = { maxReconnectAttempts: -1, reconnectTimeWait: 50, waitOnFirstConnect: true };
const connection = await connect({ servers, ...patience });
const writer = await shardWriter<Numbered>(connection, { chunkBytes: 4096, sendIntervalMs: 10 });
const { replay } = writer;
let isOver = false;
(async () => {
  await Deno.stdin.read(new Uint8Array(1));
  isOver = true;
})();
let episode = replay.newEpisode();
for (let number = 0; !isOver;) {
  for (let k = 0; k < round; k++) {
    const one = step(actor, number, number % 50 === 49);
    await replay.whenReady(() => episode = replay.recordStep(episode, one as never));
    number++;
  }
  await writer.flush();
  console.log(`confirmed ${number}`);
  await pause(30);
}
await writer.close();
await connection.close();
console.log("done");
