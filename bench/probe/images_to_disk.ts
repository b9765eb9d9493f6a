/**
 * Images without pause into a durable replay that is full, beside a bare file that gets as many bytes and one sync: the speed of both, in many short turns, as the speed of a
 * disk that others use changes from one second to the next.
 *
 *     deno run --allow-all bench/probe/images_to_disk.ts [FOLDER] [CAPACITY] [SEGMENT_MIB]
 *
 * Each turn writes 254 MB. The replay takes 7 KB of memory for each record. In a folder that is in memory, such as `/dev/shm`, the processor is the limit.
 *
 * @module
 */
import { ExperienceReplay, uint8 } from "@exrp/replay";
import { median } from "../_turns.ts";

const FRAMES = 36_000;
const RECORD_BYTES = 7064;
const ROUNDS = 15;
const [place, capacity = "12000", mebibytes] = Deno.args;

/** Milliseconds. */
function bare(path: string): number {
  using file = Deno.openSync(path, { create: true, write: true });
  const block = new Uint8Array(2 ** 20).fill(7);
  const start = performance.now();
  for (let k = 0; k < FRAMES * RECORD_BYTES; k += block.length) file.writeSync(block);
  file.syncDataSync();
  return performance.now() - start;
}

const folder = await Deno.makeTempDir({ dir: place });
const row = crypto.getRandomValues(new Uint8Array(7056));
const [ours, theirs]: [number[], number[]] = [[], []];
try {
  using replay = await ExperienceReplay.open(`${folder}/log`, {
    ...{ capacity: Number(capacity), state: uint8(84, 84) },
    ...mebibytes === undefined ? {} : { segmentBytes: Number(mebibytes) * 2 ** 20 },
  });
  let episode = replay.newEpisode();
  for (let k = 0; k < 1.1 * replay.capacity; k++) episode = replay.record(episode, row, 1, 0.5);
  // The first turn warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    await replay.flush();
    const start = performance.now();
    for (let k = 0; k < FRAMES; k++) episode = replay.record(episode, row, 1, 0.5);
    await replay.flush();
    const times = [performance.now() - start, bare(`${folder}/bare`)] as const;
    await Deno.remove(`${folder}/bare`);
    if (round === 0) continue;
    ours.push(times[0]);
    theirs.push(times[1]);
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
const speed = (ms: number): string => `${(FRAMES * RECORD_BYTES / ms / 1e3).toFixed(0)} MB/s`;
const show = (all: readonly number[]): string =>
  `${speed(median(all))}, at best ${speed(Math.min(...all))}`;
const ratios = [
  median(theirs.map((ms, round) => ms / (ours[round] ?? NaN))),
  Math.min(...theirs) / Math.min(...ours),
];
console.log(`durable: ${show(ours)}; bare: ${show(theirs)}`);
console.log(
  `durable compared with bare: ${ratios[0]?.toFixed(2)} in the median of turns, ${
    ratios[1]?.toFixed(2)
  } of the best ones`,
);
