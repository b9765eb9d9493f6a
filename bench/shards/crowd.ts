/**
 * Actors of `bench/shards.ts` that are as slow as their environments: many of them in one process, each with a connection and a writer of its own.
 *
 * Arguments: the address of NATS, how many actors, records a second of each.
 *
 * @module
 */

import { shardWriter } from "@exrp/replay/shards";
import { connect } from "npm:@nats-io/transport-node@3.4.0";

const [servers = "", actorsText = "", rateText = ""] = Deno.args;
const [actors, rate] = [Number(actorsText), Number(rateText)];
/** Each looks at its environment so often, and records what came. */
const TURN_MS = 50;
const state = Float32Array.from({ length: 17 }, () => Math.random());
await Promise.all(Array.from({ length: actors }, async (_, k) => {
  const writer = await shardWriter(await connect({ servers }), { chunkBytes: 2 ** 16 });
  // The columns are known to the shard, and here.
  const replay = writer.replay as unknown as {
    newEpisode(): number;
    recordStep(episode: number, step: object): number;
  };
  let episode = replay.newEpisode();
  let [count, begin] = [0, 0];
  // They do not all work in one moment.
  setTimeout(() => {
    begin = performance.now();
    setInterval(() => {
      const due = (performance.now() - begin) / 1000 * rate;
      // One that was stopped for a while does not make up for it.
      if (due - count > 10 * rate * TURN_MS / 1000) count = Math.floor(due) - 1;
      for (; count < due; count++) {
        const terminated = count % 200 === 199;
        episode = replay.recordStep(episode, {
          ...{ state, action: 0, reward: count, terminated, nextState: state },
        });
      }
    }, TURN_MS);
  }, k * TURN_MS / actors);
}));
console.log("ready");
