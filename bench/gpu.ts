/**
 * What goes to a device for a learner's step, beside the batch that would be sent: `deno task bench:gpu`. It prints the table of docs/gpu.md, and fails where it is
 * more than a tenth. The times are those of the device that is there; of a driver in software they say nothing.
 *
 * Where `deno task bench:packing` has recorded Atari frames, it also prints how much memory of the device they take with compression, and compares
 * what comes back. `--frames=1000000` says how many; 100,000 by default.
 *
 * @module
 */

import { ExperienceReplay, float32, uint8, uniform } from "@exrp/replay";
import { onDevice } from "@exrp/replay/gpu";
import { readArguments } from "../tools/_arguments.ts";
import { inRepository } from "../tools/_repository.ts";

const options = readArguments(
  Deno.args,
  { frames: { type: "string" } },
  "deno task bench:gpu [--frames=100000]: what goes to a WebGPU device, and what frames take there",
);
if (typeof options === "number") Deno.exit(options);
const frameCount = Number(options.frames ?? 100_000);

/** What an agent records and draws. */
interface Load {
  readonly name: string;
  readonly state: ReturnType<typeof uint8> | ReturnType<typeof float32>;
  readonly pick: object;
  /** Steps that are recorded for a batch. */
  readonly steps: number;
  readonly size: number;
}

/** The options of DQN, R2D2 and a learner of vectors. */
const LOADS: readonly Load[] = [
  { name: "DQN: 32 × 4 frames", state: uint8(84, 84), pick: { stack: 4 }, steps: 4, size: 32 },
  { name: "Ape-X: 512 × 4 frames", state: uint8(84, 84), pick: { stack: 4 }, steps: 4, size: 512 },
  {
    name: "R2D2: 64 × 120 frames",
    state: uint8(84, 84),
    pick: { length: 80, burnIn: 40, nextState: "overlap" },
    steps: 64,
    size: 64,
  },
  { name: "SAC: 256 × 376 floats", state: float32(376), pick: {}, steps: 1, size: 256 },
];

const TURNS = 20;
const SHARE_MAX = 0.1;

const adapter = await navigator.gpu?.requestAdapter();
if (!adapter) {
  console.log("There is no adapter of WebGPU, so nothing was measured.");
  Deno.exit(0);
}
const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
const device = await adapter.requestDevice({
  requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
});
console.log(`Device: ${adapter.info.description || adapter.info.vendor || "unknown"}\n`);
console.log(
  "| a step of | the batch, bytes | to the device, bytes | share | until it is there, ms |",
);
console.log("|---|---:|---:|---:|---:|");

let worst = 0;
for (const { name, state, pick, steps, size } of LOADS) {
  using replay = await ExperienceReplay.create({ capacity: 2000, state, pick });
  const selector = replay.newPickSelector(uniform());
  const row = new (state.dtype === "uint8" ? Uint8Array : Float32Array)(state.elementCount);
  let episode = replay.newEpisode();
  const record = (count: number): void => {
    for (let k = 0; k < count; k++) episode = replay.record(episode, row, 0, 0);
  };
  record(1000);
  using gpu = onDevice(replay, device, { columns: ["state"] });
  const turn = async (): Promise<number> => {
    record(steps);
    using batch = await gpu.getBatch(size, selector);
    return batch.state.byteLength + batch.nextState.byteLength;
  };
  const bytes = await turn();
  const before = gpu.uploadedBytes;
  await device.queue.onSubmittedWorkDone();
  const start = performance.now();
  for (let k = 0; k < TURNS; k++) await turn();
  await device.queue.onSubmittedWorkDone();
  const time = (performance.now() - start) / TURNS;
  const uploaded = (gpu.uploadedBytes - before) / TURNS;
  const share = uploaded / bytes;
  worst = Math.max(worst, share);
  const numbers = [bytes, uploaded].map((number) => Math.round(number).toLocaleString("en"));
  console.log(
    `| ${name} | ${numbers.join(" | ")} | ${(100 * share).toFixed(2)} % | ${time.toFixed(1)} |`,
  );
}

const SIDE = 84;
const FRAME = SIDE * SIDE;
/** Frames of an episode in the file: those of one game. */
const EPISODE = 1000;

/** Records frames until there are as many as asked for, and compares what the device makes of them. Returns a row of the table. */
async function keepFrames(
  frames: Uint8Array,
  compression: "fast" | "small",
): Promise<string> {
  using replay = await ExperienceReplay.create({
    ...{ capacity: frameCount, state: uint8(SIDE, SIDE), compression, pick: { stack: 4 } },
  });
  const selector = replay.newPickSelector(uniform());
  using gpu = onDevice(replay, device, { columns: ["state"] });
  const there = frames.length / FRAME;
  const frameAt = (k: number): Uint8Array => {
    const at = k % there * FRAME;
    return frames.subarray(at, at + FRAME);
  };
  let episode = replay.newEpisode();
  for (let k = 0; k < frameCount; k++) {
    // The action says which frame it is.
    episode = replay.record(episode, frameAt(k), k, 0, {
      ...(k % EPISODE === EPISODE - 1 ? { truncated: true, finalState: frameAt(k) } : {}),
    });
    if (k % EPISODE === EPISODE - 1) episode = replay.newEpisode();
    if (k % 10_000 === 9_999) (await gpu.getBatch(1, selector))[Symbol.dispose]();
  }
  using batch = await gpu.getBatch(64, selector);
  const state = await batch.state.read() as Uint8Array;
  for (const [pick, action] of batch.action.entries()) {
    const newest = state.subarray((4 * pick + 3) * FRAME, (4 * pick + 4) * FRAME);
    const expected = frameAt(action);
    if (!newest.every((byte, k) => byte === expected[k])) {
      throw new Error(`frame ${action} differs`);
    }
  }
  const count = replay.recordCount;
  const { deviceBytes } = gpu;
  const numbers = [count, deviceBytes, replay.memoryBytes - deviceBytes].map((number) =>
    Math.round(number).toLocaleString("en")
  );
  const each = deviceBytes / count;
  const million = (each / 1000).toFixed(2);
  return `| ${compression} | ${numbers.join(" | ")} | ${each.toFixed(0)} | ${million} |`;
}

const file = inRepository(".cache", "packing", "random.1000.bin");
const frames = await Deno.readFile(file).catch((error: unknown) => {
  if (error instanceof Deno.errors.NotFound) return undefined;
  throw error;
});
if (frames === undefined) {
  console.log("\nThere are no Atari frames: `deno task bench:packing` records some.");
} else {
  console.log(
    "\n| compression | frames | on the device, bytes | in memory, bytes | a frame, on the device | a million, GB |",
  );
  console.log("|---|---:|---:|---:|---:|---:|");
  for (const compression of ["fast", "small"] as const) {
    console.log(await keepFrames(frames, compression));
  }
}
device.destroy();
if (worst > SHARE_MAX) {
  console.log(`\nMore than ${100 * SHARE_MAX} % goes to the device.`);
  Deno.exit(1);
}
