/**
 * An actor of `bench/shards.ts`: records rows into one shard as fast as it takes them, and says when all is confirmed.
 *
 * Arguments: the address of NATS, the shard, what to record (`rows` or `frames`), how many records, records of a call and at most how many a second.
 *
 * @module
 */

import { shardWriter } from "@exrp/replay/shards";
import { connect } from "npm:@nats-io/transport-node@3.4.0";
import { frames } from "./frames.ts";

const [address = "", shard = "", what = "", countText = "", callText = "", rateText = ""] =
  Deno.args;
const [count, call, rate] = [Number(countText), Number(callText), Number(rateText)];
const connection = await connect({ servers: address });
const writer = await shardWriter(connection, {
  shard,
  chunkBytes: 2 ** 19,
  unconfirmedBytes: 2 ** 23,
});
// The columns are known to the shard, and to the loop below.
const replay = writer.replay as unknown as {
  newEpisode(): number;
  recordFlat(episode: number, steps: object): { readonly episode: number };
  whenReady<T>(call: () => T): Promise<T>;
};

/** The steps of one call. */
function steps(): object {
  const truncated = new Uint8Array(call);
  for (let k = 99; k < call; k += 100) truncated[k] = 1;
  truncated[call - 1] = 1;
  const action = new Int32Array(call);
  const reward = Float32Array.from({ length: call }, (_, k) => k);
  if (what === "frames") {
    const state = frames(call);
    return { state, action, reward, truncated, nextState: state };
  }
  const state = Float32Array.from({ length: 17 * call }, () => Math.random());
  return { state, action, reward, truncated, nextState: state };
}

const given = steps();
await writer.flush();
// Both begin together.
console.log("ready");
await Deno.stdin.read(new Uint8Array(1));
let episode = replay.newEpisode();
const begin = performance.now();
for (let done = 0; done < count; done += call) {
  for (;;) {
    try {
      episode = replay.recordFlat(episode, given).episode;
      break;
    } catch (error) {
      if ((error as { code?: string }).code !== "rate-limiter") throw error;
      await replay.whenReady(() => (episode = replay.recordFlat(episode, given).episode));
      break;
    }
  }
  const early = begin + (done + call) / rate * 1000 - performance.now();
  if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
}
await writer.flush();
console.log("confirmed");
// The bench reads how much processor time this took.
await Deno.stdin.read(new Uint8Array(1));
await writer.close();
await connection.close();
