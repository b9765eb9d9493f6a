/**
 * Batches on a device are those of the replay, to the bit: over random columns, pick policies, transforms and selectors, while records come, change and go.
 * `EXRP_GPU_BATCHES` says how many batches; `deno task test:gpu` draws 10,000.
 */
import { assertGreater } from "../_assert.ts";
import { RandomStream } from "../../selectors/random_stream.ts";
import { newDevice, onGpu } from "./_device.ts";
import { anySetup, deviceOf, oneOf, sameBatch, Twins } from "./_twins.ts";

const batchCount = Number(Deno.env.get("EXRP_GPU_BATCHES") ?? 240);
const PER_SETUP = 8;

onGpu.test("batches on a device are those of the replay, to the bit", async () => {
  const seed = Number(Deno.env.get("EXRP_SEED") ?? 32);
  using device = await newDevice();
  let arrays = 0;
  for (let k = 0; k * PER_SETUP < batchCount; k++) {
    const random = new RandomStream(seed, k);
    const setup = anySetup(random);
    const where = `EXRP_SEED=${seed}, setup ${k}: ${JSON.stringify(setup)}`;
    using twins = await Twins.make(setup, random);
    for (let step = random.below(100); step > 0; step--) twins.record();
    using gpu = deviceOf(twins, setup, device);
    for (let draw = 0; draw < PER_SETUP; draw++) {
      for (let step = random.below(60); step > 0; step--) twins.record();
      if (random.below(2) === 0) twins.update();
      const [plain, mirrored] = twins.replays;
      if (plain.pickCount === 0) continue;
      const [first, second] = oneOf(random, twins.selectors);
      const size = 1 + random.below(20);
      const beta = random.uniform();
      const expected = plain.getBatch(size, first, { beta });
      const coming = gpu.getBatch(size, second, { beta });
      using batch = await coming;
      // What comes and goes now is none of the batch's business.
      const reading = sameBatch(`${where}, draw ${draw}`, expected, batch);
      for (let step = random.below(60); step > 0; step--) twins.record();
      arrays += await reading;
      const priorities = Float32Array.from({ length: size }, () => random.uniform());
      plain.setPriority(first, expected, priorities);
      mirrored.setPriority(second, batch.pickEpisode, batch.pickPosition, priorities);
    }
  }
  assertGreater(arrays, batchCount);
});
