/** Compressed columns on a device: how little they take, and that all rows are there, whatever comes and goes. */
import { assert, assertEquals, assertLess } from "../_assert.ts";
import { refused } from "../_refused.ts";
import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
import { type DeviceArray, onDevice } from "@exrp/replay/gpu";
import { newDevice, onGpu, onNativeGpu, withoutMemory } from "./_device.ts";

const SIDE = 30;

/** A replay of frames that compression makes small. */
async function stills(capacity: number, compression: "fast" | "small"): Promise<
  ExperienceReplay<{ state: ReturnType<typeof uint8<[30, 30]>> }>
> {
  const state = uint8(SIDE, SIDE);
  return await ExperienceReplay.create({ capacity, state, seed: 1, compression });
}

/** A frame that says its number. */
function still(t: number): Uint8Array {
  const frame = new Uint8Array(SIDE * SIDE).fill(7, 100, 500);
  frame.set([t % 256, t >> 8], 0);
  return frame.fill(t % 13, 600 + t % 200, 600 + t % 200 + t % 60);
}

/** Records an episode of so many of them. */
function fillStills(replay: Awaited<ReturnType<typeof stills>>, count: number, from = 0): void {
  let episode = replay.newEpisode();
  for (let t = from; t < from + count; t++) episode = replay.record(episode, still(t), t, 0);
  replay.endEpisode(episode, { finalState: still(from + count) });
}

/** Refuses a batch of other frames. */
async function areStills(batch: {
  readonly state: DeviceArray;
  readonly nextState: DeviceArray;
  readonly action: Int32Array;
  readonly size: number;
}): Promise<void> {
  const { state, nextState, action, size } = batch;
  const [now, next] = await Promise.all([state.read(), nextState.read()]) as Uint8Array[];
  assert(now !== undefined && next !== undefined);
  for (let pick = 0; pick < size; pick++) {
    const t = action[pick] ?? 0;
    const [begin, end] = [pick, pick + 1].map((k) => k * SIDE * SIDE);
    assertEquals(now.subarray(begin, end), still(t));
    assertEquals(next.subarray(begin, end), still(t + 1));
  }
}

onGpu.test("a compressed column takes little on a device, also while records come and go", async () => {
  using device = await newDevice();
  for (const compression of ["fast", "small"] as const) {
    using replay = await stills(4000, compression);
    const selector = replay.newPickSelector(uniform());
    using gpu = onDevice(replay, device, { columns: ["state"] });
    let bytes = 0;
    for (let from = 0; from < 20_000; from += 250) {
      fillStills(replay, 250, from);
      using batch = await gpu.getBatch(10, selector);
      await areStills(batch);
      if (from === 8000) bytes = gpu.deviceBytes;
    }
    // With what batches need. The buffer doubles.
    assertLess(bytes, 4000 * SIDE * SIDE / 4);
    assertEquals(gpu.deviceBytes, bytes);
    // The rows went up twice: as they came, and packed, or only packed.
    assertLess(gpu.uploadedBytes, 20_000 * SIDE * SIDE * 1.3);
    // All go, and none of it is in the way of others.
    replay.clear();
    fillStills(replay, 4000, 30_000);
    using batch = await gpu.getBatch(10, selector);
    await areStills(batch);
    assertEquals(gpu.deviceBytes, bytes);
  }
});

onGpu.test("compressed rows are all there after the device had no memory, and of a snapshot", async () => {
  using device = await newDevice();
  let isFull = false;
  const full = withoutMemory(device, () => isFull);
  using replay = await stills(4000, "small");
  const selector = replay.newPickSelector(uniform());
  fillStills(replay, 50);
  const chunks: BlobPart[] = [];
  await replay.serialize(
    new WritableStream({ write: (chunk: BlobPart) => void chunks.push(chunk) }),
  );
  using gpu = onDevice(replay, full, { columns: ["state"] });
  (await gpu.getBatch(8, selector))[Symbol.dispose]();
  fillStills(replay, 3000, 50);
  isFull = true;
  await refused(() => gpu.getBatch(8, selector), "memory", /no memory for the rows of a column/);
  isFull = false;
  for (let k = 0; k < 3; k++) {
    using batch = await gpu.getBatch(64, selector);
    await areStills(batch);
  }
  await replay.unserialize(new Blob(chunks).stream());
  using batch = await gpu.getBatch(64, selector);
  assert(batch.action.every((t) => t < 50));
  await areStills(batch);
});

onNativeGpu.test("blocks that may leave memory are packed on the device, too", async () => {
  using device = await newDevice();
  const folder = await Deno.makeTempDir();
  try {
    const state = uint8(SIDE, SIDE);
    const options = { capacity: 2000, state, seed: 1, compression: "small" } as const;
    using replay = await ExperienceReplay.open(folder, { ...options, resident: 150_000 });
    const selector = replay.newPickSelector(uniform());
    using gpu = onDevice(replay, device, { columns: ["state"] });
    let episode = replay.newEpisode();
    for (let t = 0; t < 2000; t++) {
      episode = replay.record(episode, still(t), t, 0);
      // A block is full then. It is packed once its episode goes on.
      if (t % 16 < 15) continue;
      using batch = await gpu.getBatch(4, selector);
      if (t > 1900) await areStills(batch);
    }
    assertLess(gpu.deviceBytes, 2000 * SIDE * SIDE / 4);
    // A device that is lost takes no row with it.
    gpu.close();
    using other = await newDevice();
    using again = onDevice(replay, other, { columns: ["state"] });
    using batch = await again.getBatch(64, selector);
    await areStills(batch);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
