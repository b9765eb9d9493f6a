/**
 * What each eviction policy costs beside `fifo`: 1,000 records into a full replay of 2^20, and a batch of 256 sequences of 8. It also
 * compares eviction with a replay that is not full yet.
 *
 * @module
 */

import { ExperienceReplay, float32, uniform } from "@exrp/replay";
import { checkBatch, evictionRules, fill } from "../_workload.ts";

{
  // A new replay takes its place, outside of the timing.
  let replay = await ExperienceReplay.create({ capacity: 2 ** 20, state: float32(4) });
  let [episode, count] = [replay.newEpisode(), 0];
  const state = new Float32Array(4);
  Deno.bench({
    name: "1000 records into a replay that is not full",
    group: "eviction, record",
    fn: async (b) => {
      if (count + 1000 > 2 ** 20) {
        replay[Symbol.dispose]();
        replay = await ExperienceReplay.create({ capacity: 2 ** 20, state: float32(4) });
        [episode, count] = [replay.newEpisode(), 0];
      }
      count += 1000;
      b.start();
      for (let k = 0; k < 1000; k++) episode = replay.record(episode, state, 1, 1);
      b.end();
    },
  });
}

for (const [name, eviction] of Object.entries(evictionRules)) {
  const { replay, selector, record } = await fill({
    capacity: 2 ** 20,
    episodeLength: 200,
    pickLength: 8,
    selector: uniform(),
    eviction,
  });
  const batch = replay.getBatch(256, selector);
  checkBatch(batch, 8);
  Deno.bench({
    name: `1000 records into a full replay of 2^20 under ${name}`,
    group: "eviction, record",
    baseline: name === "fifo",
    fn: () => record(1000),
  });
  Deno.bench({
    name: `getBatch(256) of 8 steps at 2^20 under ${name}`,
    group: "eviction, batch",
    baseline: name === "fifo",
    fn: () => {
      replay.getBatch(256, selector, { into: batch });
    },
  });
}
