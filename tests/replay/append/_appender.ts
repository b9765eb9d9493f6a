/**
 * A program that makes a durable folder of images, takes the episodes of one into a small replay, or saves a replay in a file, and prints how much memory that took.
 *
 *     deno run -A _appender.ts write FOLDER MIB
 *     deno run -A _appender.ts append FOLDER
 *     deno run -A _appender.ts save FOLDER MIB
 *
 * @module
 */

import { ExperienceReplay, uint8 } from "@exrp/replay";

const STEPS = 2000;
const WIDTH = 84 * 84;
const options = { capacity: STEPS, state: uint8(84, 84) } as const;

/** A number of this process, such as the most memory that it had, in bytes. */
function memory(name: "VmHWM" | "VmRSS"): number {
  const status = Deno.readTextFileSync("/proc/self/status");
  return 1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? NaN);
}

const [command, folder = "", mib = "0"] = Deno.args;

const count = Math.ceil(Number(mib) * 2 ** 20 / WIDTH / STEPS);
const large = { ...options, capacity: count * STEPS };

/** Records a folder full, or as much memory. */
async function fill(
  replay: Awaited<ReturnType<typeof ExperienceReplay.create<typeof options.state>>>,
  then: () => Promise<void>,
): Promise<void> {
  const state = new Uint8Array(STEPS * WIDTH);
  for (let k = 0; k < count; k++) {
    state.fill(k + 1);
    replay.recordMany(replay.newEpisode(), {
      ...{ state, action: new Int32Array(STEPS), reward: new Float32Array(STEPS) },
      finalState: state.subarray(0, WIDTH),
    });
    await then();
  }
}

if (command === "write") {
  using replay = await ExperienceReplay.open(folder, large);
  await fill(replay, () => replay.flush());
  console.log(JSON.stringify({ episodeCount: count, recordCount: replay.recordCount }));
} else if (command === "save") {
  using replay = await ExperienceReplay.create(large);
  await fill(replay, () => Promise.resolve());
  const before = memory("VmHWM");
  await replay.serialize(`${folder}/saved.exrp`);
  console.log(JSON.stringify({ grown: memory("VmHWM") - before }));
} else {
  using replay = await ExperienceReplay.create(options);
  // Its own memory, once it is full.
  const state = new Uint8Array(STEPS * WIDTH);
  replay.recordMany(replay.newEpisode(), {
    ...{ state, action: new Int32Array(STEPS), reward: new Float32Array(STEPS) },
    finalState: state.subarray(0, WIDTH),
  });
  const before = memory("VmRSS");
  const appended = await replay.append(folder);
  console.log(JSON.stringify({ ...appended, grown: memory("VmHWM") - before }));
}
