/** Replays whose snapshots are worth testing. */
import type { Selector } from "@exrp/replay";
import type { EvictionRule } from "@exrp/replay/eviction";
import type { SelectorRule } from "@exrp/replay/selectors";
import { recordEpisode, type SmallReplay, smallReplay, testRandom } from "../_helpers.ts";

/** A replay in full swing: many episodes, two of them open, priorities set, episodes evicted. */
export async function busyReplay(
  seed: number,
  rule: SelectorRule,
  eviction: EvictionRule,
): Promise<[SmallReplay, Selector]> {
  const replay = await smallReplay({
    capacity: 300,
    segmentLength: 40,
    seed,
    eviction,
    length: 2,
    allowShort: true,
  });
  const selector = replay.newPickSelector(rule);
  for (let round = 0; round < 60; round++) drive(replay, selector, round);
  return [replay, selector];
}

/** One round of a learner's life; gives what it drew. */
export function drive(replay: SmallReplay, selector: Selector, round: number): Uint8Array {
  const random = testRandom(round);
  if (round % 3 === 0) recordEpisode(replay, 1 + random(30), 1000 * round);
  if (round % 7 === 0) {
    const open = replay.newEpisode();
    for (let step = 0; step < random(9); step++) replay.record(open, [step], 0, 0);
  }
  const batch = replay.getBatch(1 + random(16), selector, { beta: 0.5 });
  const priorities = batch.pickPosition.map((position) => (position * 7 + round) % 5);
  replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, priorities);
  return batch.bytes;
}
