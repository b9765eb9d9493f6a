/** Columns on a device: what is uploaded, what is refused, what is counted, and what becomes of a device that goes. */
import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "../_assert.ts";
import { noise } from "../_noise.ts";
import { runProgram } from "../ffi/_program.ts";
import { refused } from "../_refused.ts";
import { every, ExperienceReplay, float32, laber, ReplayError, uint8, uniform } from "@exrp/replay";
import { type DeviceReplay, onDevice } from "@exrp/replay/gpu";
import { Allocator } from "../../gpu/_allocator.ts";
import { changed, newDevice, onGpu, onNativeGpu, withoutMemory } from "./_device.ts";

async function pixels(capacity = 100, pick: object = {}): Promise<
  ExperienceReplay<{ state: ReturnType<typeof uint8<[5, 5]>> }>
> {
  return await ExperienceReplay.create({ capacity, state: uint8(5, 5), seed: 1, pick });
}

function fill(
  replay: Awaited<ReturnType<typeof pixels>>,
  count: number,
  from = 0,
): void {
  let episode = replay.newEpisode();
  for (let t = from; t < from + count; t++) {
    episode = replay.record(episode, new Uint8Array(25).fill(t), t, 0.5);
  }
  replay.endEpisode(episode, { finalState: new Uint8Array(25).fill(from + count) });
}

onGpu.test("new rows go up once, and a batch only addresses", async () => {
  using device = await newDevice();
  using replay = await ExperienceReplay.create({ capacity: 1000, state: uint8(84, 84) });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  const frame = new Uint8Array(84 * 84);
  for (let t = 0; t < 64; t++) episode = replay.record(episode, frame, 0, 0);
  using gpu = onDevice(replay, device, { columns: ["state"] });
  assertEquals(gpu.uploadedBytes, 0);
  (await gpu.getBatch(32, selector))[Symbol.dispose]();
  const first = gpu.uploadedBytes;
  // 2 parts of 32 addresses, each at a multiple of 256 bytes.
  assertEquals(first, 64 * 84 * 84 + 2 * 256);
  (await gpu.getBatch(32, selector))[Symbol.dispose]();
  assertEquals(gpu.uploadedBytes - first, 2 * 256);
  episode = replay.record(episode, frame, 0, 0);
  (await gpu.getBatch(32, selector))[Symbol.dispose]();
  assertEquals(gpu.uploadedBytes - first, 4 * 256 + 84 * 84);
  // A step of a learner that records one frame, beside the batch that would be sent.
  assertLess((84 * 84 + 512) / (2 * 32 * 84 * 84), 0.1);
});

onGpu.test("a column of several buffers is gathered from all of them", async () => {
  // The smallest buffer that has a block of these rows.
  using device = await newDevice();
  const limits = { ...{ maxBufferSize: 4096, maxStorageBufferBindingSize: 4096 } };
  const groups = { maxComputeWorkgroupsPerDimension: 3 };
  const small = changed(
    device,
    (name) => name === "limits" ? { ...limits, ...groups } : undefined,
  );
  using replay = await pixels(600, { stack: 2 });
  const selector = replay.newPickSelector(uniform());
  using gpu = onDevice(replay, small, { columns: ["state"] });
  fill(replay, 300);
  fill(replay, 250, 100);
  using plain = await pixels(600, { stack: 2 });
  const same = plain.newPickSelector(uniform());
  fill(plain, 300);
  fill(plain, 250, 100);
  for (let k = 0; k < 5; k++) {
    using batch = await gpu.getBatch(30, selector);
    using expected = plain.getBatch(30, same);
    const [state, next] = await Promise.all([batch.state.read(), batch.nextState.read()]);
    assertEquals(state, expected.state);
    assertEquals(next, expected.nextState);
  }
  await refused(() => gpu.getBatch(200, selector), "limit", /a batch needs a buffer of/);
});

onGpu.test("a device that takes buffers of any size gets those that shaders can count", async () => {
  using device = await newDevice();
  const limits = { ...{ maxBufferSize: 2 ** 40, maxStorageBufferBindingSize: 2 ** 40 } };
  const groups = { maxComputeWorkgroupsPerDimension: 65535 };
  const large = changed(
    device,
    (name) => name === "limits" ? { ...limits, ...groups } : undefined,
  );
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  using gpu = onDevice(replay, large, { columns: ["state"] });
  using batch = await gpu.getBatch(8, selector);
  const state = await batch.state.read();
  for (const [k, t] of batch.action.entries()) assertEquals(state[k * 25], t);
  // More would not help.
  const allocator = new Allocator(large);
  const error = await assertRejects(() => allocator.make("", [2 ** 31 + 4], 0, "it"), ReplayError);
  assertEquals(error.code, "limit");
  assert(/none is made above 2.* GiB; ask for fewer picks$/.test(error.message), error.message);
});

onGpu.test("a batch that was handed back is used again, and close() frees all", async () => {
  using device = await newDevice();
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  const before = replay.memoryBytes;
  const gpu = onDevice(replay, device, { columns: ["state"] });
  (await gpu.getBatch(8, selector))[Symbol.dispose]();
  const bytes = gpu.deviceBytes;
  for (let k = 0; k < 20; k++) {
    const batch = await gpu.getBatch(8, selector);
    batch[Symbol.dispose]();
    batch[Symbol.dispose]();
    assertEquals(gpu.deviceBytes, bytes);
  }
  const kept = await gpu.getBatch(8, selector);
  assertEquals(replay.describe().memory.device, gpu.deviceBytes);
  assert(replay.memoryBytes > before + gpu.deviceBytes);
  assert(String(replay.describe()).includes("on a device"));
  assertEquals(String(kept), "DeviceBatch 8×1");
  gpu.close();
  gpu.close();
  kept[Symbol.dispose]();
  assertEquals([gpu.deviceBytes, replay.describe().memory.device], [0, 0]);
  await refused(() => gpu.getBatch(8, selector), "disposed", /close\(\) has freed/);
  // The replay goes on, on another device, too.
  assertEquals(replay.getBatch(8, selector).size, 8);
  using again = onDevice(replay, device, { columns: ["action"] });
  using batch = await again.getBatch(8, selector);
  assertEquals([...await batch.action.read()], [...batch.pickPosition]);
});

onGpu.test("close() while a draw is under way frees what the draw makes, too", async () => {
  using device = await newDevice();
  for (let turns = 0; turns < 24; turns++) {
    using replay = await pixels(5000);
    const selector = replay.newPickSelector(uniform());
    fill(replay, 50);
    const gpu = onDevice(replay, device, { columns: ["state"] });
    if (turns % 2 === 1) {
      // So the next draw needs larger buffers only.
      (await gpu.getBatch(8, selector))[Symbol.dispose]();
      fill(replay, 3000);
    }
    const drawn = gpu.getBatch(8, selector).catch((error: ReplayError) => error.code);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    gpu.close();
    const result = await drawn;
    // The draw may have been done before.
    if (typeof result === "string") assertEquals(result, "disposed");
    else await refused(() => result.state.read(), "disposed", /close\(\) has freed/);
    assertEquals(gpu.deviceBytes, 0);
    // An error of the device would come now.
    await device.queue.onSubmittedWorkDone();
  }
});

onGpu.test("waits for the device leave nothing behind", async () => {
  using device = await newDevice();
  let count = 0;
  const lost: PromiseLike<GPUDeviceLostInfo> = {
    then: (...rest) => (count++, device.lost.then(...rest)),
  };
  const watched = changed(device, (name) => name === "lost" ? lost : undefined);
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  using gpu = onDevice(replay, watched, { columns: ["state"] });
  for (let k = 0; k < 40; k++) (await gpu.getBatch(8, selector))[Symbol.dispose]();
  assertEquals(count, 1);
});

onGpu.test("a device holds nothing of replays that were forgotten", async () => {
  const code = `
import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
import { onDevice } from "@exrp/replay/gpu";
import { newDevice } from "${new URL("_device.ts", import.meta.url)}";
import { pause, until } from "${new URL("../_wait.ts", import.meta.url)}";
using device = await newDevice();
const buffers = [];
const create = device.createBuffer.bind(device);
device.createBuffer = (of) => {
  const buffer = create(of);
  buffers.push(new WeakRef(buffer));
  return buffer;
};
async function useOnce(k) {
  const replay = await ExperienceReplay.create({ capacity: 100, state: uint8(9) });
  const selector = replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), new Uint8Array(9), 0, 0, { finalState: new Uint8Array(9) });
  const gpu = onDevice(replay, device, { columns: ["state"] });
  const batch = await gpu.getBatch(1, selector);
  if (k % 2 === 0) batch[Symbol.dispose]();
  if (k % 3 === 0) gpu.close();
}
for (let k = 0; k < 6; k++) await useOnce(k);
await until("the buffers are forgotten", async () => {
  await pause(1);
  globalThis.gc();
  return buffers.every((buffer) => buffer.deref() === undefined);
});
console.log(buffers.length >= 20);
device.destroy();
`;
  const { out, error } = await runProgram(code, ["--allow-all", "--v8-flags=--expose-gc"]);
  assertStrictEquals(out, "true", error);
});

onGpu.test("a copy of a device that is lost is an error in words", async () => {
  const device = await newDevice();
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  using gpu = onDevice(replay, device, { columns: ["state"] });
  const batch = await gpu.getBatch(8, selector);
  // The library has not heard of it at the first copy.
  device.destroy();
  await refused(() => batch.state.read(), "device", /read\(\)/);
  await device.lost;
  await refused(() => batch.state.read(), "device", /device was lost/);
});

onGpu.test("a device that is lost is an error in words, and the replay goes on", async () => {
  const device = await newDevice();
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  using gpu = onDevice(replay, device, { columns: ["state"] });
  (await gpu.getBatch(8, selector))[Symbol.dispose]();
  device.destroy();
  await device.lost;
  for (let k = 0; k < 2; k++) {
    await refused(() => gpu.getBatch(8, selector), "device", /device was lost \(destroyed/);
    fill(replay, 20);
    assertEquals(replay.getBatch(8, selector).size, 8);
  }
  gpu.close();
  using other = await newDevice();
  using next = onDevice(replay, other, { columns: ["state"] });
  using batch = await next.getBatch(8, selector);
  assertEquals(batch.state.shape, [8, 1, 5, 5]);
});

onGpu.test("a device without memory is an error in words, and no row is missing later", async () => {
  using device = await newDevice();
  let isFull = false;
  const full = withoutMemory(device, () => isFull);
  using replay = await pixels(5000);
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  using gpu = onDevice(replay, full, { columns: ["state"] });
  (await gpu.getBatch(8, selector))[Symbol.dispose]();
  // So many rows need a larger buffer.
  fill(replay, 3000, 50);
  isFull = true;
  for (let k = 0; k < 2; k++) {
    await refused(() => gpu.getBatch(8, selector), "memory", /no memory for the rows of a column/);
  }
  isFull = false;
  for (let k = 0; k < 5; k++) {
    using batch = await gpu.getBatch(64, selector);
    const state = await batch.state.read();
    for (let pick = 0; pick < 64; pick++) {
      assertEquals(state[pick * 25], (batch.action[pick] ?? 0) % 256);
    }
  }
});

onGpu.test("draws that were asked for at once come in their order", async () => {
  using device = await newDevice();
  using replay = await pixels();
  using twin = await pixels();
  for (const each of [replay, twin]) fill(each, 60);
  const [selector, same] = [replay, twin].map((each) => each.newPickSelector(uniform()));
  using gpu = onDevice(replay, device, { columns: ["state"] });
  assert(selector !== undefined && same !== undefined);
  const batches = await Promise.all(
    Array.from({ length: 20 }, (_, k) => gpu.getBatch(1 + k % 3, selector)),
  );
  for (const [k, batch] of batches.entries()) {
    assertEquals(batch.pickPosition, twin.getBatch(1 + k % 3, same).pickPosition);
  }
});

onGpu.test("a snapshot that is loaded is on the device at the next batch", async () => {
  using device = await newDevice();
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 30);
  const chunks: BlobPart[] = [];
  await replay.serialize(
    new WritableStream({ write: (chunk: BlobPart) => void chunks.push(chunk) }),
  );
  using gpu = onDevice(replay, device, { columns: ["state"] });
  fill(replay, 60, 100);
  (await gpu.getBatch(8, selector))[Symbol.dispose]();
  await replay.unserialize(new Blob(chunks).stream());
  using batch = await gpu.getBatch(16, selector);
  const state = await batch.state.read() as Uint8Array;
  for (const [k, position] of batch.pickPosition.entries()) {
    assertEquals(state[k * 25], position);
  }
});

onGpu.test("a shader is made ready once for batches of all sizes", async () => {
  using device = await newDevice();
  let count = 0;
  const watched = changed(device, (name) => {
    if (name === "createComputePipeline") count++;
    return undefined;
  });
  using replay = await pixels();
  const selector = replay.newPickSelector(uniform());
  fill(replay, 50);
  using gpu = onDevice(replay, watched, { columns: ["state"] });
  for (let size = 1; size < 50; size++) (await gpu.getBatch(size, selector))[Symbol.dispose]();
  assertEquals(count, 1);
});

onGpu.test("a rule that looks at candidates does not draw on a device", async () => {
  using device = await newDevice();
  using replay = await pixels();
  const rule = laber({ rule: uniform(), factor: 2, score: () => new Float32Array(8) });
  const selector = replay.newPickSelector(rule);
  fill(replay, 40);
  using gpu = onDevice(replay, device, { columns: ["state"] });
  const error = await assertRejects(() => gpu.getBatch(4, selector), TypeError);
  assert(error.message.includes("looks at the columns of candidates"), error.message);
});

onNativeGpu.test("a seat of a shared replay draws on its device while others record", async () => {
  using device = await newDevice();
  using replay = await pixels();
  fill(replay, 50);
  const selector = replay.newPickSelector(uniform());
  using other = await ExperienceReplay.attach(replay.share());
  using gpu = onDevice(replay, device, { columns: ["state"] });
  const error = assertThrows(
    () => onDevice(other, device, { columns: ["state"] }),
    ReplayError,
  );
  assertEquals([error.code, error.message.includes("is on a device already")], ["limit", true]);
  for (let k = 0; k < 10; k++) {
    fill(other, 7, 30 * k);
    using batch = await gpu.getBatch(16, selector);
    const state = await batch.state.read() as Uint8Array;
    const reward = batch.reward;
    assertEquals(reward.length, 16);
    const action = batch.action;
    for (let pick = 0; pick < 16; pick++) assertEquals(state[pick * 25], (action[pick] ?? 0) % 256);
  }
});

onNativeGpu.test("a replay whose rows are mostly on the disk has all of them on the device", async () => {
  using device = await newDevice();
  const folder = await Deno.makeTempDir();
  try {
    const options = { capacity: 1000, state: uint8(1000), seed: 1 };
    // A fifth of the rows.
    using replay = await ExperienceReplay.open(folder, { ...options, resident: 200_000 });
    using twin = await ExperienceReplay.create(options);
    const [selector, same] = [
      replay.newPickSelector(uniform()),
      twin.newPickSelector(uniform()),
    ];
    using gpu = onDevice(replay, device, { columns: ["state"] });
    let [episode, other] = [replay.newEpisode(), twin.newEpisode()];
    for (let t = 0; t < 1000; t++) {
      const frame = noise(1000, t + 1);
      episode = replay.record(episode, frame, 0, 0);
      other = twin.record(other, frame, 0, 0);
      if (t % 200 < 199) continue;
      await replay.flush();
      using batch = await gpu.getBatch(50, selector);
      const read = replay.durability?.residency?.readBlockCount;
      using expected = twin.getBatch(50, same);
      assertEquals(await batch.state.read(), expected.state);
      assertEquals(await batch.nextState.read(), expected.nextState);
      // The draw after it reads nothing, as the device has all rows.
      (await gpu.getBatch(50, selector))[Symbol.dispose]();
      twin.getBatch(50, same)[Symbol.dispose]();
      assertEquals(replay.durability?.residency?.readBlockCount, read);
    }
    // Without the device, the same draw reads.
    const read = replay.durability?.residency?.readBlockCount ?? 0;
    replay.getBatch(50, selector)[Symbol.dispose]();
    assertGreater(replay.durability?.residency?.readBlockCount ?? 0, read);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

onGpu.test("what can't be is refused in words", async () => {
  using device = await newDevice();
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: float32(2),
    extras: { hidden: every(4, float32(8)), more: float32(2) },
  });
  const on = (columns: unknown, to: unknown = device): unknown =>
    onDevice(replay, to as GPUDevice, { columns } as never);
  const words = (call: () => unknown): string => assertThrows(call, TypeError).message;
  assertEquals(
    words(() => on(["states"])),
    'onDevice(): columns has "states", which is no column; there are state, action, reward, extras.hidden, extras.more',
  );
  assert(words(() => on([])).includes('must be a list of names, such as ["state"]'));
  assert(
    words(() => on(["extras.hidden"])).includes(
      "is kept by one record in 4, so it stays in memory",
    ),
  );
  assert(words(() => on(["state"], null)).includes("requestAdapter() gives null"));
  assert(words(() => onDevice({} as never, device, { columns: [] })).includes("takes a replay"));
  const limits = { maxBufferSize: 64, maxStorageBufferBindingSize: 64 };
  const small = changed(device, (name) => name === "limits" ? limits : undefined);
  const error = assertThrows(() => on(["state"], small), ReplayError);
  assertEquals(error.code, "limit");
  assert(
    /rows of state, a block, take .*, and the device takes buffers of 64/.test(error.message),
    error.message,
  );
  const selector = replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), [1, 2], 0, 0, {
    extras: { hidden: new Float32Array(8), more: [1, 2] },
    finalState: [3, 4],
  });
  using gpu = on(["state"]) as DeviceReplay & Disposable;
  await assertRejects(() => gpu.getBatch(1, selector as never, { size: 1 } as never), TypeError);
  await assertRejects(() => gpu.getBatch(1, selector as never, { beta: -1 }), RangeError);
  await assertRejects(() => gpu.getBatch(0, selector as never), RangeError);
});
