/**
 * This library beside the baseline, a replay in plain TypeScript. Both hold the same records, and a check saw that they give the same
 * batches.
 *
 * @module
 */

import { prioritized, uniform } from "@exrp/replay";
import { fillSame } from "../_same.ts";

for (
  const [what, pickLength, power] of [["single steps", 1, 16], ["single steps", 1, 20], [
    "8 steps",
    8,
    20,
  ]] as const
) {
  const { ours, selector, plain } = await fillSame({
    capacity: 2 ** power,
    episodeCount: Math.floor(2 ** power / 200),
    episodeLength: 200,
    stateSize: 15,
    actionSize: 3,
    pickLength,
    selector: prioritized({ alpha: 0.6 }),
    prioritized: true,
  });
  const uniformly = ours.newPickSelector(uniform());
  const priorities = Float32Array.from({ length: 256 }, () => 0.1 + Math.random());
  for (const size of [32, 256, 5000]) {
    const [batch, other] = [ours.getBatch(size, uniformly), plain.newBatch(size)];
    const group = `uniform, ${size} of ${what} at 2^${power}`;
    Deno.bench({
      name: `plain TypeScript: ${group}`,
      group,
      baseline: true,
      fn: () => plain.sample(other),
    });
    Deno.bench({
      name: `@exrp/replay: ${group}`,
      group,
      fn: () => {
        ours.getBatch(size, uniformly, { into: batch });
      },
    });
  }
  const [batch, other] = [ours.getBatch(256, selector), plain.newBatch(256)];
  plain.samplePrioritized(other, 0.4);
  const group = `prioritized, 256 of ${what} and their updates at 2^${power}`;
  Deno.bench({
    name: `plain TypeScript: ${group}`,
    group,
    baseline: true,
    fn: () => {
      plain.samplePrioritized(other, 0.4);
      plain.setPriority(other, priorities, 0.6);
    },
  });
  Deno.bench({
    name: `@exrp/replay: ${group}`,
    group,
    fn: () => {
      ours.getBatch(256, selector, { beta: 0.4, into: batch });
      ours.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
    },
  });
}
