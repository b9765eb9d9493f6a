/**
 * What each recording call costs: 64 steps of a 4-float state into a full replay of 2^20.
 *
 * @module
 */

import { uniform } from "@exrp/replay";
import { fill, fillByBatches } from "../_workload.ts";

const STEPS = 64;
const filled = () =>
  fill({ capacity: 2 ** 20, episodeLength: 200, pickLength: 1, selector: uniform() });

{
  const { record } = await filled();
  Deno.bench({
    name: `${STEPS} calls of record`,
    group: "recording of 64 steps",
    baseline: true,
    fn: () => record(STEPS),
  });
}

{
  const { replay } = await filled();
  const state = new Float32Array(4);
  const nextState = new Float32Array(4);
  let episode = replay.newEpisode();
  Deno.bench({
    name: `${STEPS} calls of recordStep`,
    group: "recording of 64 steps",
    fn: () => {
      for (let k = 0; k < STEPS; k++) {
        episode = replay.recordStep(episode, {
          state,
          action: 1,
          reward: 1,
          terminated: false,
          truncated: false,
          nextState,
        });
      }
    },
  });
}

{
  const { replay } = await filled();
  const steps = {
    state: new Float32Array(4 * STEPS),
    action: new Int32Array(STEPS),
    reward: new Float32Array(STEPS),
  };
  let episode = replay.newEpisode();
  Deno.bench({
    name: `recordMany: ${STEPS} steps of one episode`,
    group: "recording of 64 steps",
    fn: () => {
      episode = replay.recordMany(episode, steps);
    },
  });
}

{
  const { replay } = await filled();
  Deno.bench({
    name: `recordBatch: a step of each of ${STEPS} environments`,
    group: "recording of 64 steps",
    fn: fillByBatches(replay, STEPS, 200),
  });
}
