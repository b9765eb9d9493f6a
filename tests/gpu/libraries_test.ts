/** Batches on a device in your own shaders and in jax-js. tests/browser/gpu_libraries_test.ts has TensorFlow.js and onnxruntime-web, which are large. */
import { assert, assertEquals, assertThrows } from "../_assert.ts";
import { ExperienceReplay, uint8, uniform } from "@exrp/replay";
import { type DeviceArray, onDevice } from "@exrp/replay/gpu";
import { toFloat32 } from "@exrp/replay/transforms";
import { startOnDevice, toJax } from "../../examples/gpu_pixels/_jax.ts";
import { newDevice, onGpu } from "./_device.ts";

/** For some batches: `use` gives what reads their numbers, which must stay right although later batches take the buffers. */
async function useBatches(
  device: GPUDevice,
  use: (state: DeviceArray<GPUBuffer>) => () => Promise<ArrayLike<number>>,
): Promise<void> {
  using replay = await ExperienceReplay.create({
    capacity: 100,
    state: uint8(2, 2),
    pick: { transform: { state: [toFloat32()] } },
    seed: 1,
  });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  for (let t = 0; t < 90; t++) episode = replay.record(episode, [t, t + 1, t + 2, t + 3], 0, 0);
  using gpu = onDevice(replay, device, { columns: ["state"] });
  for (let k = 0; k < 10; k++) {
    const batch = await gpu.getBatch(4, selector);
    const expected = await batch.state.read();
    const read = use(batch.state);
    batch[Symbol.dispose]();
    (await gpu.getBatch(4, selector))[Symbol.dispose]();
    assertEquals([...Array.from(await read())], [...expected]);
  }
}

onGpu.test("a shader of your own reads a batch that is handed back at once", async () => {
  using device = await newDevice();
  const code = `
@group(0) @binding(0) var<storage, read> state: array<f32>;
@group(0) @binding(1) var<storage, read_write> copy: array<f32>;
@compute @workgroup_size(16) fn main(@builtin(local_invocation_index) k: u32) { copy[k] = state[k]; }`;
  const pipeline = device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code }) },
  });
  await useBatches(device, ({ buffer }) => {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const copy = device.createBuffer({ size: buffer.size, usage });
    const read = device.createBuffer({
      size: buffer.size,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    const commands = device.createCommandEncoder();
    const pass = commands.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(
      0,
      device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [{ binding: 0, resource: { buffer } }, { binding: 1, resource: { buffer: copy } }],
      }),
    );
    pass.dispatchWorkgroups(1);
    pass.end();
    commands.copyBufferToBuffer(copy, 0, read, 0, copy.size);
    device.queue.submit([commands.finish()]);
    return async () => {
      await read.mapAsync(GPUMapMode.READ);
      return new Float32Array(read.getMappedRange().slice(0));
    };
  });
});

onGpu.test("jax-js gets a batch by a copy on the device, and the batch is handed back at once", async () => {
  const device = await startOnDevice();
  assert(device !== undefined);
  await useBatches(device, (state) => {
    const array = toJax(state, [4, 4]);
    assertEquals(array.shape, [4, 4]);
    return () => array.data() as Promise<Float32Array>;
  });
  const bytes = { dtype: "uint8" } as unknown as DeviceArray<GPUBuffer>;
  assertThrows(() => toJax(bytes, [4]), TypeError, "not uint8");
});
