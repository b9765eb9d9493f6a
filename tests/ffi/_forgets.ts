/**
 * A program that keeps one replay, and makes pairs of others and forgets them. Nothing in it waits for anything but `create`.
 *
 * @module
 */

import { ExperienceReplay, float32 } from "../../mod.ts";

const COUNT = 2500;

/** Makes a replay that has a record. */
async function make(): Promise<ExperienceReplay> {
  const replay = await ExperienceReplay.create({ capacity: 100_000, state: float32(84) });
  replay.record(replay.newEpisode(), new Float32Array(84), 0, 0);
  return replay;
}

using _kept = await make();
// Two at a time: how many are open is never even where `create` looks.
for (let made = 0; made < COUNT; made += 2) await Promise.all([make(), make()]);
console.log(`${COUNT} were made`);
