/**
 * Learns the values of a random walk from replayed sequences, with generalized advantage estimates as its errors.
 *
 * There are five places in a row. Each step goes left or right with equal chance. A walk that leaves on the right gets 1, and a walk that
 * leaves on the left gets 0. So the value of place i is i / 6. Every walk is cut off after six steps. This must teach nothing wrong. The
 * place where a walk was cut off still has a value, and the place where a walk ended has none.
 *
 * Run it: `deno run --allow-ffi=zig-out/lib examples/advantages.ts`
 *
 * @module
 */

import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { RandomWalk } from "@exrp/replay/envs";
import { gae, sequencePriority } from "@exrp/replay/returns";

const PLACES = 5;

using replay = await ExperienceReplay.create({
  capacity: 20_000, // records
  state: float32(),
  pick: { length: 4, allowShort: true },
  seed: 1,
});
const selector = replay.newPickSelector(prioritized({ alpha: 0.9 }));

const environment = new RandomWalk({ placeCount: PLACES, stepLimit: 6, seed: 2 });
for (let walk = 0; walk < 3000; walk++) {
  let episode = replay.newEpisode();
  let place = environment.reset();
  for (let isOver = false; !isOver;) {
    const { state: next, reward, terminated, truncated } = environment.step();
    isOver = terminated || truncated;
    const ending = isOver ? { finalState: next, truncated } : undefined;
    episode = replay.record(episode, place, 0, reward, ending);
    place = next;
  }
}

/** The value of each place. The two places off the ends have values too, which nothing reads. */
const values = new Float64Array(PLACES + 2).fill(0.5);
const lookUp = (place: number): number => values[place] ?? 0;

let batch = replay.getBatch(64, selector);
for (let round = 0; round < 3000; round++) {
  batch = replay.getBatch(64, selector, { into: batch, beta: 1 });
  const { advantage } = gae({
    reward: batch.reward,
    value: batch.state.map(lookUp),
    nextValue: batch.nextState.map(lookUp),
    discount: batch.discount,
    seqLen: batch.seqLen,
    lambda: 0.9,
  });

  // The learner's turn moves each place a little towards its targets. Rarely drawn picks move it more.
  const rate = 0.02 * (1 - round / 3000);
  for (let k = 0; k < advantage.length; k++) {
    const row = Math.floor(k / batch.length);
    if (k % batch.length >= (batch.seqLen[row] ?? 0)) continue;
    const place = batch.state[k] ?? 0;
    const weight = batch.importanceWeight[row] ?? 0;
    values[place] = lookUp(place) + rate * weight * (advantage[k] ?? 0);
  }
  const surprise = sequencePriority(advantage, batch.seqLen);
  replay.setPriority(selector, batch, surprise);
}

let worst = 0;
for (let place = 1; place <= PLACES; place++) {
  const [learned, right] = [lookUp(place), place / (PLACES + 1)];
  worst = Math.max(worst, Math.abs(learned - right));
  console.log(`place ${place}: ${learned.toFixed(3)}, should be ${right.toFixed(3)}`);
}
if (worst > 0.05) throw new Error(`the values are off by ${worst.toFixed(3)}`);
