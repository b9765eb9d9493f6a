/**
 * Batches on a device are those of the replay, to the bit: over random columns, pick policies, transforms and selectors, while records come, change and go.
 * `EXRP_GPU_BATCHES` says how many batches; `deno task test:gpu` draws 10,000.
 */
import { assertGreater } from "../_assert.ts";
import { newDevice, onGpu, onNativeGpu } from "./_device.ts";
import { drawEqual } from "./_twins.ts";

const batchCount = Number(Deno.env.get("EXRP_GPU_BATCHES") ?? 160);
const seed = Number(Deno.env.get("EXRP_SEED") ?? 32);

onGpu.test("batches on a device are those of the replay, to the bit", async () => {
  using device = await newDevice();
  const { arrays } = await drawEqual(device, seed, batchCount);
  assertGreater(arrays, batchCount);
});

onNativeGpu.test("so they are where the rows leave memory once they are on the device, and no batch reads the disk", async () => {
  using device = await newDevice();
  const parent = await Deno.makeTempDir({ prefix: "exrp_gpu_twins_" });
  try {
    const count = Math.ceil(batchCount / 8);
    const { arrays, blocks } = await drawEqual(device, seed, count, (name) => `${parent}/${name}`);
    assertGreater(arrays, count);
    // Those without the device read what had left.
    assertGreater(blocks, count);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});
