/**
 * Batches on a device are those of the replay, to the bit: over random columns, pick policies, transforms and selectors, while records come, change and go.
 * `EXRP_GPU_BATCHES` says how many batches; `deno task test:gpu` draws 10,000.
 */
import { assertGreater } from "../_assert.ts";
import { newDevice, onGpu } from "./_device.ts";
import { drawEqual } from "./_twins.ts";

const batchCount = Number(Deno.env.get("EXRP_GPU_BATCHES") ?? 240);
const seed = Number(Deno.env.get("EXRP_SEED") ?? 32);

onGpu.test("batches on a device are those of the replay, to the bit", async () => {
  using device = await newDevice();
  assertGreater(await drawEqual(device, seed, batchCount), batchCount);
});
