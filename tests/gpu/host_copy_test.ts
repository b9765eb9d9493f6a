/** `hostCopy: false`: rows leave memory once they are on the disk and on the device. How little stays, who else reads, and what becomes of a device that is lost. */
import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertStringIncludes,
  assertThrows,
} from "../_assert.ts";
import { noise } from "../_noise.ts";
import { refused } from "../_refused.ts";
import {
  type Column,
  ExperienceReplay,
  float32,
  ReplayError,
  type Selector,
  uint8,
  uniform,
} from "@exrp/replay";
import { type DeviceReplay, onDevice } from "@exrp/replay/gpu";
import { changed, newDevice, onNativeGpu, withoutMemory } from "./_device.ts";

const CAPACITY = 1000;
const BYTES = 1000;
/** More than all rows take. */
const RESIDENT = 2 ** 24;
const WITHOUT = { columns: ["state"], hostCopy: false } as const;

type Frames = { state: Column<"uint8", [number]> };
type Replay = ExperienceReplay<Frames>;

/** A replay in a folder, and one in memory that hears the same. */
class Pair implements AsyncDisposable {
  readonly replay: Replay;
  readonly twin: Replay;
  readonly selector: Selector<Frames>;
  readonly #same: Selector<Frames>;
  readonly #folder: string;
  #count = 0;

  private constructor(folder: string, replay: Replay, twin: Replay) {
    this.#folder = folder;
    this.replay = replay;
    this.twin = twin;
    this.selector = replay.newPickSelector(uniform());
    this.#same = twin.newPickSelector(uniform());
  }

  static async open(): Promise<Pair> {
    const folder = await Deno.makeTempDir();
    const options = { capacity: CAPACITY, state: uint8(BYTES), seed: 1 };
    const replay = await ExperienceReplay.open(folder, { ...options, resident: RESIDENT });
    return new Pair(folder, replay, await ExperienceReplay.create(options));
  }

  /** Records an episode of so many steps in both, and waits for the disk. */
  async record(count: number): Promise<void> {
    let [episode, other] = [this.replay.newEpisode(), this.twin.newEpisode()];
    for (let k = 0; k < count; k++) {
      const frame = noise(BYTES, ++this.#count);
      const end = k === count - 1 ? { finalState: frame } : {};
      episode = this.replay.record(episode, frame, 0, 0, end);
      other = this.twin.record(other, frame, 0, 0, end);
    }
    await this.replay.flush();
  }

  get residency(): { limit: number; keptBytes: number; rowBytes: number; readBlockCount: number } {
    const { residency } = this.replay.durability ?? {};
    assert(residency !== undefined);
    return residency;
  }

  /** A batch without the device is right. Returns how many blocks it read from the disk. */
  drawInHost(size = 50): number {
    const before = this.residency.readBlockCount;
    const batch = this.replay.getBatch(size, this.selector);
    assertEquals(batch.state, this.twin.getBatch(size, this.#same).state);
    return this.residency.readBlockCount - before;
  }

  /** So is one on the device, which reads nothing from the disk. */
  async draw(gpu: DeviceReplay<Frames, "state", GPUBuffer>): Promise<void> {
    const before = this.residency.readBlockCount;
    using batch = await gpu.getBatch(50, this.selector);
    assertEquals(this.residency.readBlockCount, before);
    const expected = this.twin.getBatch(50, this.#same);
    assertEquals(await batch.state.read(), expected.state);
    assertEquals(await batch.nextState.read(), expected.nextState);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.replay[Symbol.dispose]();
    this.twin[Symbol.dispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

onNativeGpu.test("without a host copy, little stays in memory, and all of it comes back from the disk", async () => {
  using device = await newDevice();
  await using pair = await Pair.open();
  const { replay } = pair;
  await pair.record(CAPACITY / 2);
  assertGreater(pair.residency.rowBytes, BYTES * CAPACITY / 2);
  assertEquals(pair.residency.keptBytes, RESIDENT);
  const gpu = onDevice(replay, device, WITHOUT);
  assertEquals([gpu.hostCopy, replay.describe().memory.hostCopy], [false, false]);
  assertStringIncludes(String(replay.describe()), "without a host copy");
  assertStringIncludes(String(gpu), "without a host copy");
  const { keptBytes } = pair.residency;
  assertLess(keptBytes, BYTES * CAPACITY / 4);
  for (let k = 0; k < 8; k++) {
    await pair.record(k * 40 + 10);
    const before = replay.memoryBytes - gpu.deviceBytes;
    await pair.draw(gpu);
    assert(pair.residency.rowBytes <= keptBytes, `${pair.residency.rowBytes} of ${keptBytes}`);
    if (k === 7) assertLess(replay.memoryBytes - gpu.deviceBytes, before);
    // What others read stays until the next batch on the device.
    if (k % 2 === 0) assertGreater(pair.drawInHost(), 0);
  }
  // Rows that change are in memory until they are on the disk again.
  const [handle = 0] = replay.episodes({ ended: true }).handle;
  for (const each of [replay, pair.twin]) {
    const [episode = 0] = each.episodes({ ended: true }).handle;
    const { firstPosition } = each.episode(episode);
    each.update([episode], [firstPosition], { state: new Uint8Array(BYTES).fill(9) });
  }
  assertEquals(replay.episode(handle).handle, handle);
  await pair.draw(gpu);
  await replay.flush();
  await pair.draw(gpu);
  gpu.close();
  assertEquals([pair.residency.keptBytes, replay.describe().memory.hostCopy], [RESIDENT, true]);
  // All is there, and stays now.
  for (let k = 0; k < 20; k++) pair.drawInHost();
  assertGreater(pair.residency.rowBytes, keptBytes);
  assertEquals(pair.drawInHost(), 0);
});

onNativeGpu.test("a device that is lost takes no row with it: the replay reads the disk, and so does the next device", async () => {
  const device = await newDevice();
  await using pair = await Pair.open();
  const { replay } = pair;
  await pair.record(CAPACITY / 2);
  const gpu = onDevice(replay, device, WITHOUT);
  await pair.draw(gpu);
  device.destroy();
  await device.lost;
  await refused(() => gpu.getBatch(50, pair.selector), "device", /device was lost/);
  assertGreater(pair.drawInHost(3), 0);
  await pair.record(200);
  pair.drawInHost(3);
  gpu.close();
  using other = await newDevice();
  using again = onDevice(replay, other, WITHOUT);
  const before = pair.residency.readBlockCount;
  (await again.getBatch(1, replay.newPickSelector(uniform())))[Symbol.dispose]();
  // The twin has as many selectors, with the same random numbers.
  pair.twin.getBatch(1, pair.twin.newPickSelector(uniform()));
  assertGreater(pair.residency.readBlockCount, before);
  for (let k = 0; k < 3; k++) await pair.draw(again);
  assert(pair.residency.rowBytes <= pair.residency.keptBytes);
});

onNativeGpu.test("where the device has no memory for rows, resident is the limit again until it has", async () => {
  using device = await newDevice();
  await using pair = await Pair.open();
  await pair.record(CAPACITY / 2);
  let [isFull, label] = [true, ""];
  const noted = (made: GPUBufferDescriptor): GPUBuffer => {
    label = made.label ?? "";
    return device.createBuffer(made);
  };
  const full = withoutMemory(
    changed(device, (name) => name === "createBuffer" ? noted : undefined),
    () => isFull && label.endsWith("the rows of a column"),
  );
  using gpu = onDevice(pair.replay, full, WITHOUT);
  await refused(() => gpu.getBatch(50, pair.selector), "memory", /no memory for the rows/);
  const { hostCopy } = pair.replay.describe().memory;
  assertEquals([pair.residency.keptBytes, hostCopy], [RESIDENT, true]);
  isFull = false;
  // Some had left already. The twin has as many selectors, with the same random numbers.
  (await gpu.getBatch(1, pair.replay.newPickSelector(uniform())))[Symbol.dispose]();
  pair.twin.getBatch(1, pair.twin.newPickSelector(uniform()));
  await pair.draw(gpu);
  assertEquals(pair.replay.describe().memory.hostCopy, false);
});

onNativeGpu.test("another thread's seat reads the disk where there is no host copy, and a seat with the mirror that goes ends it", async () => {
  using device = await newDevice();
  await using pair = await Pair.open();
  await pair.record(CAPACITY);
  const seat = await ExperienceReplay.attach(pair.replay.share());
  const gpu = onDevice(seat, device, WITHOUT as never);
  const { keptBytes } = pair.residency;
  assertLess(keptBytes, RESIDENT);
  const seats = [seat, pair.replay];
  assertEquals(seats.map((each) => each.describe().memory.hostCopy), [false, false]);
  (await gpu.getBatch(8, seat.newPickSelector(uniform())))[Symbol.dispose]();
  assert(pair.residency.rowBytes <= keptBytes);
  assertGreater(pair.drawInHost(), 0);
  seat[Symbol.dispose]();
  assertEquals(pair.residency.keptBytes, RESIDENT);
  assertEquals(pair.replay.describe().memory.hostCopy, true);
  pair.drawInHost();
});

onNativeGpu.test("no host copy where rows could be lost, stay, or be read for each batch: an error in words", async () => {
  using device = await newDevice();
  const options = {
    capacity: 100,
    state: uint8(200),
    extras: { more: float32(50), few: float32(2) },
  };
  const wrong = (replay: unknown, given: object = WITHOUT): { name: string; message: string } =>
    assertThrows(() => onDevice(replay as Replay, device, given as typeof WITHOUT), Error);
  using memory = await ExperienceReplay.create(options);
  const error = wrong(memory);
  assert(error instanceof ReplayError);
  assertEquals(error.code, "file");
  assertStringIncludes(error.message, "in memory only: with the device, they would be lost");
  for (const hostCopy of [0, null]) {
    assertStringIncludes(
      wrong(memory, { columns: ["state"], hostCopy }).message,
      `hostCopy must be true or false, got ${hostCopy}`,
    );
  }
  const folder = await Deno.makeTempDir();
  try {
    {
      using open = await ExperienceReplay.open(folder, options);
      const { name, message } = wrong(open);
      assertEquals(name, "TypeError");
      assertStringIncludes(message, "was opened without the option resident");
      // Nothing is left of it.
      onDevice(open, device, { columns: ["state"] }).close();
    }
    using open = await ExperienceReplay.open(folder, { ...options, resident: 2 ** 20 });
    assertStringIncludes(wrong(open).message, "and columns lacks extras.more");
    // The narrow one stays in memory.
    onDevice(open, device, { columns: ["state", "extras.more"], hostCopy: false }).close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
