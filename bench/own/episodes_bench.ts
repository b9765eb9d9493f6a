/**
 * What the list of 100,000 episodes costs: without returns, with them, of one tag in ten, and the best 100.
 *
 * @module
 */

import { ExperienceReplay, float32 } from "@exrp/replay";
import type { EpisodeFilter } from "@exrp/replay/types";

const EPISODES = 100_000;

const FILTERS: Readonly<Record<string, EpisodeFilter>> = {
  "all": {},
  "all, with returns": { discount: 1 },
  "one tag in ten, with returns": { tag: 3, discount: 1 },
  "the best 100": { best: 100 },
};

for (const length of [10, 100]) {
  const replay = await ExperienceReplay.create({ capacity: EPISODES * length, state: float32(4) });
  const [state, action] = [new Float32Array(4 * length), new Int32Array(length)];
  for (let k = 0; k < EPISODES; k++) {
    const reward = new Float32Array(length).fill(k % 1000);
    const steps = { state, action, reward, finalState: [0, 0, 0, 0], tag: k % 10 };
    replay.recordMany(replay.newEpisode(), steps);
  }
  for (const [name, filter] of Object.entries(FILTERS)) {
    Deno.bench({
      name: `episodes() of 100_000 episodes of ${length} records: ${name}`,
      group: `episodes, of ${length} records`,
      baseline: name === "all",
      fn: () => void replay.episodes(filter),
    });
  }
}
