/**
 * What a snapshot of a durable replay costs: how long a call of `record` waits at most while one is made, beside the same time without one; how long it takes; and
 * how many bytes a second one writes once 1 % of the records are new.
 *
 *     deno run --allow-all bench/probe/snapshots.ts [records of 7,056 bytes, 150,000 by default: 1 GB]
 *
 * @module
 */
import { ExperienceReplay, uint8 } from "@exrp/replay";

const COUNT = Number(Deno.args[0] ?? 150_000);
const folder = await Deno.makeTempDir();
using replay = await ExperienceReplay.open(folder, { capacity: 2 * COUNT, state: uint8(84, 84) });
const row = crypto.getRandomValues(new Uint8Array(84 * 84));
let episode = replay.newEpisode();

function record(count: number): number {
  let longest = 0;
  for (let k = 0; k < count; k++) {
    row[k % row.length] = k;
    const start = performance.now();
    episode = replay.record(episode, row, 0, k);
    longest = Math.max(longest, performance.now() - start);
    if (k % 200 !== 199) continue;
    replay.endEpisode(episode, { finalState: row });
    episode = replay.newEpisode();
  }
  return longest;
}

/** Records at the pace of an actor while something goes on, and returns the longest call of `record`, and of the event loop's turn. */
async function during(
  work: () => Promise<unknown>,
): Promise<readonly [call: number, turn: number]> {
  let isDone = false;
  const end = work().finally(() => isDone = true);
  let [call, turn, before] = [0, 0, performance.now()];
  while (!isDone) {
    call = Math.max(call, record(20));
    await new Promise((resolve) => setTimeout(resolve, 1));
    const now = performance.now();
    turn = Math.max(turn, now - before);
    before = now;
  }
  await end;
  return [call, turn];
}

record(COUNT);
await replay.flush();
const ms = (value: number): string => `${value.toFixed(2)} ms`;
const written = (): number => replay.durability?.writtenBytes ?? 0;
console.log(`${((replay.durability?.logBytes ?? 0) / 1e9).toFixed(2)} GB in the log`);
for (let turn = 0; turn < 3; turn++) {
  const none = await during(() => new Promise((resolve) => setTimeout(resolve, 500)));
  const flushed = await during(() => replay.flush());
  const start = performance.now();
  let bytes = 0;
  const made = await during(async () => {
    bytes = (await replay.snapshot(`turn-${turn}`)).bytes;
  });
  console.log(
    `longest call of record: without ${ms(none[0])}, with a flush ${
      ms(flushed[0])
    }, with a snapshot ${ms(made[0])}; longest turn of the loop ${ms(none[1])}, ${
      ms(flushed[1])
    }, ${ms(made[1])}; the snapshot of ${(bytes / 1e9).toFixed(2)} GB took ${
      ms(performance.now() - start)
    }`,
  );
}
await replay.snapshot("first");
const before = written();
record(COUNT / 100);
const second = await replay.snapshot("second");
const fresh = written() - before + second.writtenBytes;
console.log(
  `a second snapshot after 1 % new records: ${fresh} of ${second.bytes} bytes were written, ${
    (100 * fresh / second.bytes).toFixed(2)
  } %`,
);
replay[Symbol.dispose]();
await Deno.remove(folder, { recursive: true });
