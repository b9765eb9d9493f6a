/**
 * A program that makes one replay after another and forgets them. Nothing in it waits for anything but `create`.
 *
 * @module
 */

import { ExperienceReplay, float32 } from "../../mod.ts";

const COUNT = 2500;

for (let made = 0; made < COUNT; made++) {
  const replay = await ExperienceReplay.create({ capacity: 100_000, state: float32(84) });
  replay.record(replay.newEpisode(), new Float32Array(84), 0, 0);
}
console.log(`${COUNT} were made`);
