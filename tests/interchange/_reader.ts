/**
 * A program that reads a D4RL file into a small replay, or writes one, or runs the command, and prints how much memory that took at most. The file is larger than
 * that.
 *
 *     deno run -A _reader.ts write FILE MIB
 *     deno run -A _reader.ts read FILE
 *     deno run -A _reader.ts exrp ARGUMENTS
 *
 * @module
 */

import { ExperienceReplay, uint8 } from "@exrp/replay";
import { exrp } from "@exrp/replay/exrp";
import { importEpisodes } from "@exrp/replay/interchange";
import { writeD4rl } from "../../interchange/_d4rl.ts";
import type { Rows } from "../../interchange/_table.ts";

/** The most memory that this process had, and what it has, in bytes. */
function memory(): { readonly most: number; readonly now: number } {
  const status = Deno.readTextFileSync("/proc/self/status");
  const of = (name: string): number =>
    1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? NaN);
  return { most: of("VmHWM"), now: of("VmRSS") };
}

const [command, path = "", size = "0"] = Deno.args;
const WIDTH = 84 * 84;

if (command === "write") {
  const total = Math.floor(Number(size) * 2 ** 20 / WIDTH);
  const at = 512;
  const batches = async function* (): AsyncGenerator<Rows> {
    for (let row = 0; row < total; row += at) {
      const count = Math.min(at, total - row);
      const frames = new Uint8Array(count * WIDTH);
      for (let k = 0; k < count; k++) frames.fill((row + k) % 251, k * WIDTH, (k + 1) * WIDTH);
      const ends = Uint8Array.from({ length: count }, (_, k) => Number((row + k + 1) % 100 === 0));
      if (row + count === total) ends[count - 1] = 1;
      yield {
        count,
        values: [frames, new Int32Array(count), new Float32Array(count), ends],
      };
      await Promise.resolve();
    }
  };
  await writeD4rl(path, [
    { name: "observations", dtype: "uint8", shape: [84, 84] },
    { name: "actions", dtype: "int32", shape: [] },
    { name: "rewards", dtype: "float32", shape: [] },
    { name: "terminals", dtype: "bool", shape: [] },
  ], batches());
  console.log(JSON.stringify({ ...memory(), steps: total }));
} else if (command === "exrp") {
  const status = await exrp(Deno.args.slice(1), { print: () => {} });
  console.log(JSON.stringify({ status, ...memory() }));
} else {
  using replay = await ExperienceReplay.create({ capacity: 1000, state: uint8(84, 84) });
  const before = memory();
  const start = performance.now();
  const into = replay as unknown as ExperienceReplay;
  const { stepCount } = await importEpisodes(into, "d4rl", path);
  const elapsed = performance.now() - start;
  const { most } = memory();
  console.log(JSON.stringify({ most, grown: most - before.now, steps: stepCount, elapsed }));
}
