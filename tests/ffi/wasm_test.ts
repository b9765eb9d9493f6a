/** The WebAssembly kernel: it needs no permission, gives the same bits as the native one, and its memory follows use. */
import { ExperienceReplay, float32, prioritized, rankBased, uniform } from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "../_assert.ts";
import { openKernel } from "../../ffi/library.ts";
import { EXRP_STATUS_MEMORY } from "../../ffi/symbols.ts";
import { instantiateWasm, openWasm } from "../../ffi/wasm.ts";
import { builtWasmPath } from "../../tools/_repository.ts";
import { assertReplayRejects } from "../replay/_helpers.ts";
import { runProgram } from "./_program.ts";

const ROOT = new URL("../../", import.meta.url);
const SEED = Number(Deno.env.get("EXRP_WASM_SEED") ?? 261123);

/** All that a program writes which runs in a process of its own. */
async function run(...program: Parameters<typeof runProgram>): Promise<string> {
  const { out, error } = await runProgram(...program);
  return out + error;
}

const USE = `
import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
const replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 1 });
const selector = replay.newPickSelector(prioritized());
let episode = replay.newEpisode();
for (let k = 0; k < 5000; k++) episode = replay.record(episode, [k, k, k, k], 1, 1);
const batch = replay.getBatch(64, selector);
replay.setPriority(selector, batch, batch.reward);
const bytes = await replay.serialize();
await replay.unserialize(bytes);
console.log(replay.recordCount + " " + replay.describe().backend);
`;

Deno.test("without any permission a program runs on WebAssembly, and describe() says why", async () => {
  // In a clone where a release was packed, the packed kernel needs more than a local build.
  assertMatch(
    await run(USE, []),
    /^1000 wasm: no (--allow-env, --allow-read, --allow-write, )?--allow-ffi$/,
  );
  assertEquals(await run(USE, ["--allow-ffi"]), "1000 native: the local build");
});

Deno.test("EXRP_BACKEND and the option backend choose the kernel, and a wrong word is refused", async () => {
  const flags = ["--allow-ffi", "--allow-env"];
  const forced = await run(USE, flags, { EXRP_BACKEND: "wasm" });
  assertEquals(forced, "1000 wasm: the environment variable EXRP_BACKEND");
  const code = USE.replace("seed: 1", 'seed: 1, backend: "wasm"');
  const chosen = await run(code, flags, { EXRP_BACKEND: "native" });
  assertEquals(chosen, "1000 wasm: the option backend");
  const wrong = await run(USE, flags, { EXRP_BACKEND: "fast" });
  assertStringIncludes(wrong, 'EXRP_BACKEND must be "auto", "native" or "wasm", got "fast"');
  const both = { capacity: 10, state: float32(1), kernelPath: "/x.so", backend: "wasm" } as const;
  const error = await ExperienceReplay.create(both).catch((error) => error);
  assert(error instanceof TypeError);
  assertStringIncludes(error.message, 'does not go with backend: "wasm"');
});

// deno-lint-ignore explicit-function-return-type -- a long type that only this file uses
async function make(backend: "native" | "wasm", seed = SEED) {
  const replay = await ExperienceReplay.create({
    ...{ capacity: 3000, state: float32(5), seed, backend },
    pick: { length: 3, nStep: 2, allowShort: true },
  });
  const selectors = [uniform(), prioritized(), rankBased()].map((each) =>
    replay.newPickSelector(each)
  );
  return { replay, selectors };
}

type Made = Awaited<ReturnType<typeof make>>;

/** Records, draws and sets priorities; gives the bytes of all batches, between their parts too. */
function learn({ replay, selectors }: Made, steps: number): Uint8Array[] {
  const batches: Uint8Array[] = [];
  let episode = replay.newEpisode();
  for (let k = 0; k < steps; k++) {
    const state = Array.from({ length: 5 }, (_, at) => Math.sin(k * 5 + at));
    const ends = k % 37 === 36;
    episode = replay.record(episode, state, k & 3, Math.cos(k), ends ? { finalState: state } : {});
    if (ends) episode = replay.newEpisode();
    if (k % 50 !== 49) continue;
    for (const selector of selectors) {
      const batch = replay.getBatch(33, selector);
      replay.setPriority(selector, batch, Float32Array.from(batch.state.subarray(0, 33), Math.abs));
      batches.push(batch.bytes.slice());
    }
  }
  return batches;
}

/** Throws at the first byte that differs: the batches are too large to be shown. */
function assertSame(found: readonly Uint8Array[], expected: readonly Uint8Array[]): void {
  assertEquals(found.length, expected.length);
  for (const [part, bytes] of expected.entries()) {
    const other = found[part];
    const at = bytes.findIndex((byte, k) => byte !== other?.[k]);
    assertEquals([part, at, other?.length], [part, -1, bytes.length]);
  }
}

Deno.test("both kernels give the same batches, bit for bit", async () => {
  console.log(`EXRP_WASM_SEED=${SEED}`);
  const [native, wasm] = [await make("native"), await make("wasm")];
  const expected = learn(native, 9000);
  assert(expected.length > 500);
  assertSame(learn(wasm, 9000), expected);
});

Deno.test("a snapshot of one kernel goes on in the other, bit for bit", async () => {
  for (const [from, to] of [["native", "wasm"], ["wasm", "native"]] as const) {
    const first = await make(from);
    learn(first, 5000);
    const bytes = await first.replay.serialize();
    const second = await make(to, SEED + 1);
    await second.replay.unserialize(bytes);
    assertSame([await second.replay.serialize()], [bytes]);
    assertSame(learn(second, 2000), learn(first, 2000));
  }
});

Deno.test("batches() orders ahead on WebAssembly, and gives what getBatch() gives", async () => {
  const [ahead, plain] = [await make("wasm"), await make("wasm")];
  learn(ahead, 500);
  learn(plain, 500);
  let count = 0;
  const [selector, other] = [ahead.selectors[1], plain.selectors[1]];
  assert(selector !== undefined && other !== undefined);
  for await (const batch of ahead.replay.batches(32, selector, { prefetch: 3 })) {
    assertEquals(batch.state, plain.replay.getBatch(32, other).state);
    if (++count === 10) break;
  }
  assertEquals(count, 10);
});

Deno.test("conforms() holds on WebAssembly", async () => {
  const code = `
import { uniform } from "@exrp/replay";
import { conforms } from "@exrp/replay/testing";
import { ExperienceReplay, float32 } from "@exrp/replay";
await conforms({ make: uniform });
const replay = await ExperienceReplay.create({ capacity: 10, state: float32(1) });
console.log(replay.describe().backend);
`;
  assertMatch(await run(code, []), /^wasm: no (--allow-[a-z]+, )*--allow-ffi$/);
});

Deno.test("memory that grows during a call leaves results whole: no view of it is handed out", async () => {
  const { symbols } = await openKernel({ backend: "wasm" });
  const before = await make("wasm");
  learn(before, 1000);
  const [selector] = before.selectors;
  assert(selector !== undefined);
  const batch = before.replay.getBatch(64, selector);
  const copy = batch.state.slice();
  // The module's memory grows, which detaches every view of it.
  using large = await ExperienceReplay.create({
    ...{ capacity: 300_000, state: float32(200), backend: "wasm" as const },
  });
  let episode = large.newEpisode();
  const state = new Float32Array(200).fill(1);
  for (let k = 0; k < 20_000; k++) episode = large.record(episode, state, 0, 0);
  assertEquals(batch.state, copy);
  assertEquals(large.recordCount, 20_000);
  assert(symbols.exrp_replay_count() >= 2);
});

Deno.test("more than 4 GiB is refused when the replay is created, and the error says why", async () => {
  for (const capacity of [2_000_000, 200_000_000]) {
    const error = await assertReplayRejects(
      ExperienceReplay.create({ capacity, state: float32(1000), backend: "wasm" }),
      "memory",
    );
    assertMatch(error.message, /all replays on WebAssembly together can have up to 4 GiB/);
    assertStringIncludes(error.message, "--allow-ffi");
  }
  // The refused ones took nothing.
  using replay = await ExperienceReplay.create({
    capacity: 500_000,
    state: float32(1000),
    backend: "wasm",
  });
  assertEquals(replay.recordCount, 0);
});

Deno.test("a batch that does not fit into 4 GiB is refused", async () => {
  using replay = await ExperienceReplay.create({
    ...{ capacity: 100, state: float32(4096), backend: "wasm" as const },
  });
  const selector = replay.newPickSelector(uniform());
  replay.record(replay.newEpisode(), new Float32Array(4096), 0, 0);
  const error = assertThrows(() => replay.getBatch(2 ** 20, selector));
  assert(error instanceof Error);
  assertMatch(
    error.message,
    /4 GiB|memory|Array buffer allocation failed|Invalid typed array length/,
  );
});

Deno.test("a module that has no memory left says so, and goes on once there is some", async () => {
  const bytes = await Deno.readFile(builtWasmPath());
  const symbols = await instantiateWasm(bytes);
  // Bytes for the buffers of one call: more than the module may ever have.
  const huge = { byteLength: 2 ** 33 } as unknown as Uint8Array<ArrayBuffer>;
  assertEquals(symbols.exrp_checksum(0, huge, 4) >>> 0, EXRP_STATUS_MEMORY);
  const detail = new Float64Array(4);
  symbols.exrp_error_detail(detail, 4);
  assertEquals([...detail], [2 ** 33, 2 ** 32, 0, 0]);
  const words = new TextEncoder().encode("123456789");
  assertEquals(symbols.exrp_checksum(0, words, words.length), 0xe3069283);
});

const LACKS: readonly [string, string, string][] = [
  [
    "vector instructions",
    "WebAssembly.validate = () => false;",
    "this engine's WebAssembly has no vector instructions (SIMD), which every browser has had since 2023; take a newer one",
  ],
  ["WebAssembly", "delete globalThis.WebAssembly;", "this platform has no WebAssembly"],
  [
    "DecompressionStream",
    "delete globalThis.DecompressionStream;",
    "this platform has no DecompressionStream, which every browser has had since 2023; take a newer one",
  ],
];
for (const [what, without, words] of LACKS) {
  Deno.test(`a platform without ${what} is told so, and why no native kernel runs either`, async () => {
    const make = `
import { ExperienceReplay, float32 } from "@exrp/replay";
${without}
const made = ExperienceReplay.create({ capacity: 10, state: float32(1), backend: BACKEND });
console.log(await made.catch((error) => error.code + " " + error.message));
`;
    const wasm = await run(make.replace("BACKEND", '"wasm"'), []);
    assertEquals(wasm, `kernel-missing the WebAssembly kernel can't run: ${words}`);
    const auto = await run(make.replace("BACKEND", '"auto"'), []);
    assertMatch(
      auto,
      /no --allow-ffi\. Nor can WebAssembly run: the WebAssembly kernel can't run: /,
    );
    assertStringIncludes(auto, words);
    // Where the native kernel may run, nothing else is needed.
    assertStringIncludes(await run(make.replace("BACKEND", '"auto"'), ["--allow-ffi"]), "record");
  });
}

Deno.test("bytes that are no module are refused, and the error says what the engine said", async () => {
  const bytes = await Deno.readFile(builtWasmPath());
  const wrong = await assertReplayRejects(
    instantiateWasm(bytes.slice(0, 1000)),
    "kernel-missing",
  );
  assertStringIncludes(wrong.message, "of 1000 bytes can't run");
});

Deno.test("replays of one isolate share a module, and another module has its own", async () => {
  assertEquals(await openWasm(), await openWasm());
  const { symbols } = await openWasm();
  assertNotStrictEquals(await instantiateWasm(await Deno.readFile(builtWasmPath())), symbols);
});

Deno.test({
  name: "a full replay takes at most 1.5 times the memory that it takes natively",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const bench = new URL("bench/backends.ts", ROOT).pathname;
    const measure = async (backend: string, what: string): Promise<number> => {
      const flags = ["run", "-A", "--no-check", "--v8-flags=--expose-gc", bench, backend, what];
      const { stdout } = await new Deno.Command(Deno.execPath(), { args: flags }).output();
      return Number(new TextDecoder().decode(stdout));
    };
    for (const what of ["1048576", "images"]) {
      const [native, wasm] = [await measure("native", what), await measure("wasm", what)];
      assert(native > 20, `${what}: ${native} MiB`);
      assert(wasm <= 1.5 * native, `${what}: ${wasm} MiB, natively ${native}`);
    }
  },
});
