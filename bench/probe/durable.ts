/**
 * What a durable replay costs beside one in memory: a record, a prioritized turn, and a flush beside a bare write and sync of as many bytes. Then `serialize` beside
 * `cp` and `sync`. `images_to_disk.ts` has images without pause.
 *
 * Of records, it is the time of the processor on this thread (Linux), which other programs change less than the clock's. Between two flushes, fewer bytes come than may
 * wait for the disk: else the caller would do work of the log's thread.
 *
 *     deno run --allow-all bench/probe/durable.ts
 *
 * Both sides take turns. It prints the least times, and of flushes also the medians.
 *
 * @module
 */
import { type Column, ExperienceReplay, float32, prioritized, uint8 } from "@exrp/replay";

type Any = ExperienceReplay<{ state: Column }>;

const still = new Int32Array(new SharedArrayBuffer(4));

/** Milliseconds of the processor on this thread. */
function processorTime(): number {
  // Linux counts when a thread stops, and with each tick.
  Atomics.wait(still, 0, 0, 1);
  return Number(Deno.readTextFileSync("/proc/self/schedstat").split(" ")[0]) / 1e6;
}

/** A replay in memory, and one in a folder. */
async function both(state: Column, capacity = 100_000): Promise<[Any, Any]> {
  const options = { capacity, state, seed: 3 };
  const folder = await Deno.makeTempDir();
  return [await ExperienceReplay.create(options), await ExperienceReplay.open(folder, options)];
}

/** The least time of each side, in microseconds a call. */
async function turns(
  sides: readonly Any[],
  rounds: number,
  calls: number,
  run: (side: Any) => void,
  clock: () => number,
): Promise<number[]> {
  const least = sides.map(() => Infinity);
  for (let round = 0; round < rounds; round++) {
    for (const [k, side] of sides.entries()) {
      const start = clock();
      run(side);
      const time = (clock() - start) / calls * 1e3;
      least[k] = Math.min(least[k] ?? Infinity, time);
      if (side.durability !== undefined) await side.flush();
    }
  }
  return least;
}

function report(what: string, [memory = NaN, durable = NaN]: readonly number[]): void {
  const ratio = (durable / memory).toFixed(2);
  console.log(`${what}: ${memory.toFixed(3)} µs, durable ${durable.toFixed(3)} µs: ${ratio} x`);
}

for (
  const [what, state, calls] of [
    ["record of 4 floats", float32(4), 500_000],
    ["record of 50 floats", float32(50), 150_000],
    ["record of an image of 7,056 bytes", uint8(84, 84), 6_000],
  ] as const
) {
  // Most rounds find the replay full.
  const sides = await both(state, state.dtype === "uint8" ? 24_000 : 100_000);
  const row = new (state.dtype === "uint8" ? Uint8Array : Float32Array)(state.elementCount);
  const least = await turns(sides, 14, calls, (replay) => {
    let episode = replay.newEpisode();
    for (let k = 0; k < calls; k++) episode = replay.record(episode, row, 1, 0.5);
    replay.endEpisode(episode, { finalState: row });
  }, processorTime);
  report(what, least);
  for (const side of sides) side[Symbol.dispose]();
}

{
  const sides = await both(float32(4));
  for (const side of sides) {
    side.newPickSelector(prioritized());
    let episode = side.newEpisode();
    for (let k = 0; k < 100_000; k++) episode = side.record(episode, [k, 0, 0, 0], 1, 0.5);
  }
  const least = await turns(sides, 20, 300, (replay) => {
    const [selector] = replay.selectors;
    for (let k = 0; selector !== undefined && k < 300; k++) {
      const batch = replay.getBatch(256, selector, { beta: 0.4 });
      replay.setPriority(selector, batch, batch.reward);
    }
  }, () => performance.now());
  report("prioritized turn of 256", least);
  for (const side of sides) side[Symbol.dispose]();
}

const rounds = 25;
for (const bytes of [4096, 65_536, 262_144, 1_048_576]) {
  const folder = await Deno.makeTempDir();
  using replay = await ExperienceReplay.open(folder, {
    capacity: 200_000,
    state: float32(64),
    flushIntervalMs: 0,
  });
  using bare = await Deno.open(`${folder}/bare`, { create: true, write: true });
  const [row, block] = [new Float32Array(64), new Uint8Array(bytes)];
  let episode = replay.newEpisode();
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (let k = 0; k < bytes / 264; k++) episode = replay.record(episode, row, 1, 0);
    let start = performance.now();
    await replay.flush();
    times[0].push(performance.now() - start);
    start = performance.now();
    await bare.write(block);
    await bare.syncData();
    times[1].push(performance.now() - start);
  }
  const [ours, theirs] = times.map((all) => all.sort((a, b) => a - b)) as typeof times;
  const middle = rounds >> 1;
  const ratio = ((ours[middle] ?? NaN) / (theirs[middle] ?? NaN)).toFixed(2);
  console.log(
    `flush of ${bytes} bytes: ${ours[middle]?.toFixed(2)} ms (least ${
      ours[0]?.toFixed(2)
    }), bare write and sync ${theirs[middle]?.toFixed(2)} ms (least ${
      theirs[0]?.toFixed(2)
    }): ${ratio} x`,
  );
}

{
  const frames = 72_000;
  const folder = await Deno.makeTempDir();
  const row = crypto.getRandomValues(new Uint8Array(7056));
  using replay = await ExperienceReplay.create({ capacity: frames, state: uint8(84, 84) });
  let episode = replay.newEpisode();
  for (let k = 0; k < frames; k++) episode = replay.record(episode, row, 1, 0.5);
  for (let round = 0; round < 3; round++) {
    const [saved, copied] = [`${folder}/saved`, `${folder}/copied`];
    let start = performance.now();
    await replay.serialize(saved);
    const ours = performance.now() - start;
    start = performance.now();
    await new Deno.Command("cp", { args: [saved, copied] }).output();
    await new Deno.Command("sync", { args: ["--data", copied] }).output();
    const theirs = performance.now() - start;
    console.log(`serialize: ${ours.toFixed(0)} ms, cp and sync ${theirs.toFixed(0)} ms`);
    await Deno.remove(copied);
  }
  await Deno.remove(folder, { recursive: true });
}
