/**
 * Lets a replay with columns on a WebGPU device record, evict, draw and lose its device for ten minutes, and for 48 devices at least, and says whether it takes more
 * and more memory: `deno task gpu:soak`.
 *
 * A turn records steps into a full pool, changes some, draws a batch by priority and sets new priorities. After a hundred turns, the columns leave the
 * device: by `close()`, or because the device is lost, in turns. Then the next device gets them. Each eighth time, the replay ends, too, and
 * every second replay is compressed.
 *
 * Deno keeps the memory of a destroyed device until the collector takes its object, and the collector doesn't know how large it is. So it is asked to run then.
 *
 * The first third of the devices is to warm up. Then the median with the last third is compared with that of the second one, for either kind of replay, as they take
 * different amounts. The memory of the process may be 5 % more, as its allocator and the collector take their time; what the replay counts, and what the device
 * counts, 2 %. Linux only.
 *
 * @module
 */
import { ExperienceReplay, prioritized, ReplayError, reservoir, uint8 } from "@exrp/replay";
import { onDevice } from "@exrp/replay/gpu";
import { RandomStream } from "@exrp/replay/selectors";
import { randomShift, toFloat32 } from "@exrp/replay/transforms";
import { readArguments } from "../tools/_arguments.ts";

const options = readArguments(
  Deno.args,
  { minutes: { type: "string" }, seed: { type: "string" } },
  "deno task gpu:soak [--minutes=10] [--seed=N]\n\nRecords, draws and loses devices, and fails if memory grows.",
);
if (typeof options === "number") Deno.exit(options);
const minutes = Number(options.minutes ?? 10);
const seed = Number(options.seed ?? Date.now() % 2 ** 31);
if (!(minutes > 0) || !Number.isSafeInteger(seed) || seed < 0) {
  console.error("--minutes must be a number above 0, and --seed a whole number");
  Deno.exit(2);
}
if (!await navigator.gpu?.requestAdapter()) {
  console.log("There is no adapter of WebGPU, so nothing was tried.");
  Deno.exit(0);
}

const CAPACITY = 4000;
const SIDE = 42;
const TURNS = 100; // until the columns leave a device
const DEVICES = 8; // until the replay ends
const DEVICES_MIN = 6 * DEVICES; // to judge: a third has one of each kind of replays

const random = new RandomStream(seed);
const frame = new Uint8Array(SIDE * SIDE);
const begin = Date.now();
const length = minutes * 60_000;
const counts = { records: 0, batches: 0, devices: 0, lost: 0, replays: 0 };
const samples: {
  at: number;
  isPacked: boolean;
  resident: number;
  replay: number;
  device: number;
}[] = [];

// deno-lint-ignore explicit-function-return-type -- the type follows from the options
function newReplay() {
  counts.replays++;
  return ExperienceReplay.create({
    capacity: CAPACITY,
    state: uint8(SIDE, SIDE),
    pick: { stack: 4, transform: { state: [randomShift(2), toFloat32({ scale: 1 / 255 })] } },
    eviction: reservoir(),
    compression: counts.replays % 2 === 0 ? "small" : "none",
    seed: random.below(1000),
  });
}

/** A busy machine takes longer to have enough to judge. */
function isDone(): boolean {
  return Date.now() - begin >= length && counts.devices >= DEVICES_MIN;
}

type Replay = Awaited<ReturnType<typeof newReplay>>;

/** Writes steps; some end their episode. */
function record(replay: Replay, episode: number, count: number): number {
  for (let k = 0; k < count; k++) {
    frame.fill(random.below(256), 0, random.below(frame.length));
    const ending = random.below(50) === 0 ? { finalState: frame } : undefined;
    episode = replay.record(episode, frame, 0, random.uniform(), ending);
    if (ending !== undefined) episode = replay.newEpisode();
    counts.records++;
  }
  return episode;
}

/** Draws from a replay on one device after the other. */
async function useReplay(): Promise<void> {
  using replay = await newReplay();
  const selector = replay.newPickSelector(prioritized());
  let episode = record(replay, replay.newEpisode(), 2 * CAPACITY);
  for (let use = 0; use < DEVICES && !isDone(); use++) {
    const adapter = await navigator.gpu.requestAdapter();
    if (!adapter) throw new Error("the adapter has gone");
    const device = await adapter.requestDevice();
    counts.devices++;
    using gpu = onDevice(replay, device, { columns: ["state"] });
    const kept: Disposable[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      episode = record(replay, episode, 16);
      const batch = await gpu.getBatch(turn % 3 === 0 ? 64 : 32, selector);
      counts.batches++;
      const errors = new Float32Array(batch.size).map(() => random.uniform());
      replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, errors);
      replay.update(batch.pickEpisode.subarray(0, 1), batch.pickPosition.subarray(0, 1), {
        state: frame,
      });
      if (turn % 50 === 0) await batch.state.read();
      // A few are handed back later.
      kept.push(batch);
      if (kept.length > turn % 4) { for (const each of kept.splice(0)) each[Symbol.dispose](); }
    }
    await sample(replay.memoryBytes, gpu.deviceBytes);
    if (use % 2 === 0) {
      device.destroy();
      await device.lost;
      counts.lost++;
      const error = await gpu.getBatch(32, selector).catch((error) => error);
      if (!(error instanceof ReplayError) || error.code !== "device") throw error;
    }
    gpu.close();
    device.destroy();
    (globalThis as { gc?: () => void }).gc?.();
    const { device: left } = replay.describe().memory;
    if (left !== 0) throw new Error(`${left} bytes on the device are counted after close()`);
  }
}

const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);

/** Each is taken after as many turns. */
async function sample(replay: number, device: number): Promise<void> {
  const status = await Deno.readTextFile("/proc/self/status");
  const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  const at = (Date.now() - begin) / length;
  const before = Math.floor(20 * (samples.at(-1)?.at ?? -1));
  samples.push({ at, isPacked: counts.replays % 2 === 0, resident, replay, device });
  if (Math.floor(20 * at) === before) return;
  const { records, batches, devices, lost, replays } = counts;
  console.log(
    [
      ...[(at * minutes).toFixed(1), mb(resident), mb(replay), mb(device)],
      ...[records, batches, devices, lost, replays],
    ].join("\t"),
  );
}

console.log(
  `seed ${seed}\nminutes\tresident MB\treplay MB\tdevice MB\trecords\tbatches\tdevices\tlost\treplays`,
);
while (!isDone()) await useReplay();

// A third has both kinds of replays.
const third = Math.floor(samples.length / 3);
let failed = 0;
for (const isPacked of [false, true]) {
  for (
    const [what, of, more] of [
      ["memory of the process", "resident", 1.05],
      ["what the replay counts", "replay", 1.02],
      ["what the device counts", "device", 1.02],
    ] as const
  ) {
    const median = (from: number, to: number): number => {
      const some = samples.slice(from, to).filter((each) => each.isPacked === isPacked);
      return some.map((each) => each[of]).sort((a, b) => a - b)[some.length >> 1] ?? NaN;
    };
    const [before, after] = [median(third, 2 * third), median(2 * third, 3 * third)];
    const isGood = after <= before * more;
    const kind = isPacked ? "compressed" : "plain";
    console.log(
      `${isGood ? "good" : "BAD "}  ${kind}, ${what}: ${mb(before)} MB, then ${mb(after)} MB`,
    );
    failed += isGood ? 0 : 1;
  }
}
Deno.exit(failed === 0 ? 0 : 1);
