/**
 * The smallest program: it records a random walk, draws batches and sets priorities.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/minimal.ts`
 *
 * @module
 */

import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { RandomStream } from "@exrp/replay/selectors";

using replay = await ExperienceReplay.create({
  capacity: 10_000, // records
  state: float32(2), // position, steps left
  seed: 1,
});
const selector = replay.newPickSelector(prioritized({ alpha: 0.6 }));
const random = new RandomStream(1); // so that the same seed gives the same walks, and the same output

// Two hundred walks of up to fifty steps. A walk that reaches 5 has ended. One that runs out of steps is only cut off.
for (let walk = 0; walk < 200; walk++) {
  let episode = replay.newEpisode();
  let position = 0;
  for (let left = 50; left > 0 && position < 5; left--) {
    const action = random.uniform() < 0.6 ? 1 : 0;
    const next = position + (action === 1 ? 1 : -1);
    const arrived = next >= 5;
    const reward = arrived ? 1 : 0;
    const state = [position, left];
    if (arrived || left === 1) {
      const finalState = [next, left - 1];
      episode = replay.record(episode, state, action, reward, { finalState, truncated: !arrived });
    } else {
      episode = replay.record(episode, state, action, reward);
    }
    position = next;
  }
}

// The learner draws a batch, learns from it, and says how surprising each pick was.
for (let step = 0; step < 100; step++) {
  const batch = replay.getBatch(32, selector, { beta: 0.4 });
  const surprise = batch.reward.map((reward) => Math.abs(reward) + 0.1);
  replay.setPriority(selector, batch, surprise);
}

const batch = replay.getBatch(1000, selector);
const rewarded = batch.reward.reduce((sum, reward) => sum + reward, 0) / batch.size;
console.log(String(replay));
console.log(`rewarded steps make up ${(100 * rewarded).toFixed(0)} % of a prioritized batch`);
