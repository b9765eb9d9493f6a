/** DrQ on a device of WebGPU: its command line, and that it learns from the same batches as DrQ without one. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { SETTINGS, train as trainWithout } from "../../examples/drq_pixels/_agent.ts";
import { type Seen, train } from "../../examples/gpu_pixels/_agent.ts";
import { startOnDevice } from "../../examples/gpu_pixels/_jax.ts";
import { parseOptions } from "../../examples/gpu_pixels/main.ts";
import { onGpu } from "../gpu/_device.ts";

Deno.test("DrQ on a device refuses flags that are wrong", () => {
  assertEquals(parseOptions(["--seed", "0"]), { seed: 0, steps: 1_000 });
  assertStrictEquals(parseOptions(["-h"]), "help");
  for (const args of [["--seed", "-1"], ["--seeds", "2"], ["--steps", "0"], ["drq"]]) {
    assertThrows(() => parseOptions(args), TypeError);
  }
});

Deno.test("the guide quotes the agent", async () => {
  const read = async (path: string): Promise<string> =>
    (await Deno.readTextFile(new URL(`../../${path}`, import.meta.url))).replaceAll(/\s+/g, " ");
  const guide = await read("docs/gpu.md");
  const quoted = /``` *ts ignore (using batch = .*?) ```/.exec(guide)?.[1];
  assert(quoted !== undefined);
  assert((await read("examples/gpu_pixels/_agent.ts")).includes(quoted), quoted);
});

onGpu.test("DrQ on a device has the losses of DrQ without one, and little is sent", async () => {
  const saved = { ...SETTINGS };
  Object.assign(SETTINGS, { warmupSteps: 20, batchSize: 64, updatesPerStep: 1 });
  try {
    const options = { seed: 1, steps: 40 };
    const expected: number[] = [];
    await trainWithout({ ...options, shift: true }, (_, { loss }) => expected.push(loss));
    const device = await startOnDevice();
    assert(device !== undefined);
    const errors: string[] = [];
    device.addEventListener("uncapturederror", (event) => {
      errors.push((event as GPUUncapturedErrorEvent).error.message);
    });
    const seen: Seen[] = [];
    const evaluations = await train({ ...options, device }, (now) => void seen.push(now));
    assertStrictEquals(evaluations.length, 1);
    for (const [k, { loss }] of seen.entries()) {
      const right = expected[k] ?? NaN;
      // Both sum in another order.
      const isSame = k < 19 ? Number.isNaN(loss) : Math.abs(loss - right) < 1e-3 * right;
      assert(isSame, `the loss of step ${k + 1} is ${loss}, not ${right}`);
    }
    const { batchBytes = NaN, uploadedBytes = NaN } = seen.at(-1) ?? {};
    assertStrictEquals(batchBytes, 21 * 2 * 64 * 256 * 4);
    assert(uploadedBytes < 0.1 * batchBytes, `${uploadedBytes} of ${batchBytes} bytes`);
    assertEquals(errors, []);
  } finally {
    Object.assign(SETTINGS, saved);
  }
});
