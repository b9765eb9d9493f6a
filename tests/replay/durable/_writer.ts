/**
 * A program that records into a durable replay and is killed at any moment. After each flush it prints how many records are on the disk.
 *
 *     deno run -A _writer.ts <folder> <seed>
 *
 * Record n has the state [n, n + 0.5], the action n % 7 and the reward n. Episodes end after every record whose number is a multiple of 13. The capacity follows from
 * the seed, so it mostly is another than before. A snapshot that is made after n records is named `at-n`.
 *
 * @module
 */

import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { testRandom } from "../_helpers.ts";

const [folder = "", seed = "1"] = Deno.args;
const random = testRandom(Number(seed));
using replay = await ExperienceReplay.open(folder, {
  capacity: 3_000 + 1_000 * (Number(seed) % 4),
  state: float32(2),
  seed: 7,
  segmentBytes: 2 ** 20,
  flushIntervalMs: 20,
});
const selector = replay.selectors[0] ?? replay.newPickSelector(prioritized());
let count = replay.describe().recordedCount;
let episode = replay.newEpisode();
console.log(`flushed ${count}`);
for (;;) {
  for (let k = random(400) + 1; k > 0; k--) {
    count++;
    const rest = count % 13 === 0 ? { finalState: [-count, 0] } : {};
    episode = replay.record(episode, [count, count + 0.5], count % 7, count, rest);
    if (count % 13 === 0) episode = replay.newEpisode();
  }
  if (replay.recordCount > 100) {
    const batch = replay.getBatch(32, selector, { beta: 0.4 });
    replay.setPriority(selector, batch, batch.reward.map((reward) => reward % 5));
  }
  if (random(12) === 0) {
    await replay.snapshot(`at-${count}`);
    const [oldest, ...newer] = ExperienceReplay.snapshots(folder);
    if (newer.length > 1) await ExperienceReplay.removeSnapshot(folder, oldest?.name ?? "");
  }
  if (random(3) > 0) continue;
  await replay.flush();
  console.log(`flushed ${count}`);
}
