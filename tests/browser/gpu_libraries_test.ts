/**
 * Batches on a device as tensors of TensorFlow.js and onnxruntime-web, as docs/gpu.md says: without a copy, and right for as long as it says. The programs are
 * text, so the libraries, 200 MB, are fetched only where these tests run.
 */
import { assertEquals, assertStrictEquals } from "../_assert.ts";
import { inRepository, run } from "../../tools/_repository.ts";
import { runProgram } from "../ffi/_program.ts";
import { onGpu } from "../gpu/_device.ts";
import { launchIn, Site, SOFTWARE_GPU, withChromium } from "./_chromium.ts";

const ONNX = { version: "1.30.0", wasm: "ort-wasm-simd-threaded.asyncify.wasm" };

function moduleOf(path: string): string {
  return new URL(`../../${path}`, import.meta.url).href;
}

/** A replay of pictures of 4 pixels, on a new device. */
const REPLAY = `
import { ExperienceReplay, uint8, uniform } from "${moduleOf("mod.ts")}";
import { onDevice } from "${moduleOf("gpu/mod.ts")}";
import { toFloat32 } from "${moduleOf("transforms.ts")}";
async function open(transforms) {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const errors = [];
  device.addEventListener("uncapturederror", (event) => errors.push(event.error.message));
  const pick = { transform: { state: transforms } };
  const replay = await ExperienceReplay.create({ capacity: 100, state: uint8(2, 2), pick, seed: 1 });
  const selector = replay.newPickSelector(uniform());
  let episode = replay.newEpisode();
  for (let t = 0; t < 90; t++) episode = replay.record(episode, [t, t + 1, t + 2, t + 3], 0, 0);
  const gpu = onDevice(replay, device, { columns: ["state"] });
  return { adapter, device, errors, draw: () => gpu.getBatch(4, selector) };
}
`;

/** For 20 batches, whether the double of a batch is right, although later batches take its buffers. */
const TENSORFLOW = `
import * as tf from "npm:@tensorflow/tfjs-core@4.22.0";
import { WebGPUBackend } from "npm:@tensorflow/tfjs-backend-webgpu@4.22.0";
${REPLAY}
globalThis.main = async (zeroCopy, isSubmitted) => {
  const { adapter, device, errors, draw } = await open([toFloat32()]);
  tf.removeBackend("webgpu");
  tf.registerBackend("webgpu", () => new WebGPUBackend(device, adapter.info));
  await tf.setBackend("webgpu");
  let right = 0;
  for (let k = 0; k < 20; k++) {
    const batch = await draw();
    const expected = (await batch.state.read()).map((number) => 2 * number);
    const state = tf.tensor({ buffer: batch.state.buffer, zeroCopy }, [4, 4], "float32");
    const double = tf.mul(state, 2);
    if (isSubmitted) {
      tf.backend().endComputePassEncoder();
      tf.backend().submitQueue();
    }
    batch[Symbol.dispose]();
    (await draw())[Symbol.dispose]();
    const numbers = await double.data();
    if (expected.every((number, k) => number === numbers[k])) right++;
    tf.dispose([state, double]);
  }
  device.destroy();
  return { right, errors };
};
`;

/** Whether a model that adds or casts numbers gets a batch, and gives its result on the device. */
const ONNXRUNTIME = `
import * as ort from "npm:onnxruntime-web@${ONNX.version}/webgpu";
${REPLAY}
// A model as protobuf: x + x for float32, and x as float32 for uint8.
const varint = (n) => n < 128 ? [n] : [n & 127 | 128, ...varint(n >> 7)];
const number = (field, n) => [...varint(field << 3), ...varint(n)];
const bytes = (field, list) => [...varint(field << 3 | 2), ...varint(list.length), ...list];
const text = (field, value) => bytes(field, [...new TextEncoder().encode(value)]);
const value = (name, type, shape) => {
  const dims = shape.flatMap((size) => bytes(1, number(1, size)));
  return [...text(1, name), ...bytes(2, bytes(1, [...number(1, type), ...bytes(2, dims)]))];
};
function modelOf(dtype, shape) {
  const to = bytes(5, [...text(1, "to"), ...number(3, 1), ...number(20, 2)]);
  const node = dtype === "uint8"
    ? [...text(1, "x"), ...text(2, "y"), ...text(4, "Cast"), ...to]
    : [...text(1, "x"), ...text(1, "x"), ...text(2, "y"), ...text(4, "Add")];
  const x = value("x", dtype === "uint8" ? 2 : 1, shape);
  const graph = [...bytes(1, node), ...text(2, "g"), ...bytes(11, x), ...bytes(12, value("y", 1, shape))];
  const opset = bytes(8, [...text(1, ""), ...number(2, 13)]);
  return Uint8Array.from([...number(1, 8), ...bytes(7, graph), ...opset]);
}
globalThis.main = async (dtype) => {
  const { device, errors, draw } = await open(dtype === "uint8" ? [] : [toFloat32()]);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { wasm: new URL("${ONNX.wasm}", location.href).href };
  const dims = [4, 1, 2, 2];
  const session = await ort.InferenceSession.create(modelOf(dtype, dims), {
    executionProviders: [{ name: "webgpu", device }],
    preferredOutputLocation: "gpu-buffer",
  });
  let right = 0;
  let places = new Set();
  for (let k = 0; k < 20; k++) {
    const batch = await draw();
    const expected = (await batch.state.read()).map((number) => dtype === "uint8" ? number : 2 * number);
    const x = ort.Tensor.fromGpuBuffer(batch.state.buffer, { dataType: dtype, dims });
    const { y } = await session.run({ x });
    places.add(y.location);
    batch[Symbol.dispose]();
    (await draw())[Symbol.dispose]();
    const numbers = await y.getData(true);
    if (expected.every((number, k) => number === numbers[k])) right++;
  }
  device.destroy();
  return { right, errors, places: [...places] };
};
`;

/** What `main` of a program returns in a browser, for each list of arguments. */
async function inPage(
  code: string,
  lists: readonly (readonly unknown[])[],
  prepare: (folder: string) => Promise<void> = () => Promise.resolve(),
): Promise<unknown[]> {
  const folder = await Deno.makeTempDir({ prefix: "exrp_gpu_libraries_" });
  try {
    await Deno.writeTextFile(`${folder}/main.ts`, code);
    const { success, stderr } = await run([
      ...[Deno.execPath(), "bundle", "--quiet", "--platform", "browser", "--no-check"],
      ...["--config", inRepository("deno.json"), "--external", "../prebuilt/targets.ts"],
      ...["--outdir", folder, `${folder}/main.ts`],
    ], { env: { NO_COLOR: "1" } });
    if (!success) throw new Error(stderr);
    await prepare(folder);
    const html = '<!DOCTYPE html><script type="module" src="main.js"></script>';
    await Deno.writeTextFile(`${folder}/index.html`, html);
    await using site = new Site(folder);
    const browser = await launchIn(`${folder}/profile`, SOFTWARE_GPU);
    try {
      const results: unknown[] = [];
      for (const list of lists) {
        const page = await browser.newPage();
        await page.goto(site.url);
        await page.waitForFunction("globalThis.main !== undefined");
        results.push(await page.evaluate(`main(...${JSON.stringify(list)})`));
      }
      return results;
    } finally {
      await browser.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** With a copy, without one, and without one where TensorFlow.js still has commands of its own when the batch is handed back. */
const CASES = [[false, false], [true, true], [true, false]];

function judge([copied, shared, early]: readonly unknown[]): void {
  assertEquals(copied, { right: 20, errors: [] });
  assertEquals(shared, { right: 20, errors: [] });
  // If this is ever right, the guide asks for a line too many.
  assertStrictEquals((early as { right: number }).right < 20, true);
}

onGpu.test("TensorFlow.js takes batches on its device in Deno", async () => {
  const { out, error } = await runProgram(
    `${TENSORFLOW}
const results = [];
for (const list of ${JSON.stringify(CASES)}) results.push(await main(...list));
console.log(JSON.stringify(results));`,
    ["--allow-all"],
  );
  if (out === "") throw new Error(error);
  judge(JSON.parse(out));
});

withChromium("TensorFlow.js takes batches on its device in a browser", async () => {
  judge(await inPage(TENSORFLOW, CASES));
});

withChromium("onnxruntime-web takes batches on its device in a browser, uint8 too", async () => {
  const results = await inPage(ONNXRUNTIME, [["float32"], ["uint8"]], async (folder) => {
    const { stdout } = await run([Deno.execPath(), "info", "--json"]);
    const { npmCache } = JSON.parse(stdout);
    for await (const { name } of Deno.readDir(npmCache)) {
      const file = `${npmCache}/${name}/onnxruntime-web/${ONNX.version}/dist/${ONNX.wasm}`;
      await Deno.copyFile(file, `${folder}/${ONNX.wasm}`).catch(() => {});
    }
  });
  const right = { right: 20, errors: [], places: ["gpu-buffer"] };
  assertEquals(results, [right, right]);
});
