/**
 * A program that exports 10 MB over files of a folder, and prints what each export says. It runs where files must stay smaller.
 *
 * @module
 */

import { ExperienceReplay, float32, ReplayError } from "@exrp/replay";
import { exportEpisodes } from "@exrp/replay/interchange";

const [folder] = Deno.args;
const count = 25_000;
using replay = await ExperienceReplay.create({ capacity: count, state: float32(100) });
replay.recordMany(replay.newEpisode(), {
  state: new Float32Array(100 * count).fill(1),
  action: new Int32Array(count),
  reward: new Float32Array(count),
  finalState: new Float32Array(100),
});
for (const format of ["d4rl", "minari", "npz"] as const) {
  const path = `${folder}/${format}.hdf5`;
  await exportEpisodes(replay as unknown as ExperienceReplay, format, path).then(
    () => console.log("written"),
    (error) => console.log(error instanceof ReplayError ? error.code : "?", error.message),
  );
}
