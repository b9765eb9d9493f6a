/** The kernel inside the package: unpacked once, checked before use, and every failure says what to do. */
import { assertEquals, assertMatch, assertStringIncludes } from "../_assert.ts";
import { join } from "node:path";
import { canMount, namesIn, ownModule, ownTarget, Packed, prebuild } from "./_packed.ts";

const kernels = await Deno.makeTempDir({ prefix: "exrp_prebuilt_" });
globalThis.addEventListener("unload", () => Deno.removeSync(kernels, { recursive: true }));
await prebuild([ownTarget], kernels);
/** All tests have one package, so that Deno compiles its modules once. A test that changes it puts back what was there. */
const packed = await Packed.from(kernels);
globalThis.addEventListener("unload", () => Deno.removeSync(packed.root, { recursive: true }));
const mounts = await canMount();

/** Records, draws, and prints the kernel's path or the error. */
function program(options = ""): string {
  return `
import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
try {
  using replay = await ExperienceReplay.create({ capacity: 100, state: float32(2), seed: 1, backend: "native", ${options} });
  const selector = replay.newPickSelector(prioritized());
  let episode = replay.newEpisode();
  for (let k = 0; k < 200; k++) episode = replay.record(episode, [k, k], 1, 1);
  if (replay.getBatch(8, selector).size !== 8) throw new Error("no batch");
  console.log(replay.describe().kernel);
} catch (error) {
  console.log(error.name + " " + error.code + ": " + error.message);
}
`;
}

/** The same, for whichever kernel may run; prints why it does. */
function anyKernel(options = ""): string {
  return program(options).replace('"native"', '"auto"').replace(".kernel)", ".backend)");
}

const PATH = /\/exrp-[a-z0-9_-]+-[0-9a-f]{16}\.(so|dylib|dll)$/;

Deno.test("the kernel is unpacked at the first start; later starts need no permission to write", async () => {
  const cache = join(await packed.newCache(), "made", "by", "it");
  const env = { EXRP_CACHE: cache };
  const first = await packed.run(program(), { env });
  assertMatch(first.out, PATH, first.error);
  assertEquals([first.status, await namesIn(cache)], [0, [first.out.slice(cache.length + 1)]]);
  const made = await Deno.stat(first.out);
  if (Deno.build.os !== "windows") assertEquals((made.mode ?? 0) & 0o777, 0o600);

  const flags = [`--allow-read=${cache}`, `--allow-ffi=${first.out}`, "--allow-env=EXRP_CACHE"];
  const second = await packed.run(program(), { env, flags });
  assertEquals([second.status, second.out], [0, first.out], second.error);
  // It was not written again.
  assertEquals((await Deno.stat(first.out)).ino, made.ino);
});

Deno.test("without permission the error names the flags, and those are enough", async () => {
  const cache = await packed.newCache();
  const code = program(`kernelCache: ${JSON.stringify(cache)}`);
  const refused = await packed.run(code, { flags: [] });
  assertMatch(refused.out, /^ReplayError permission: .* unpacked to .* may not open it there/);
  const [own = ""] = refused.out.split(" Nor could a local build");
  const flags = own.match(/--allow-[a-z]+=[^ ,]+/g) ?? [];
  assertEquals(flags.map((flag) => flag.split("=")[0]), [
    ...["--allow-read", "--allow-write", "--allow-ffi"],
  ]);
  assertMatch(flags[2] ?? "", PATH);
  const { status, out, error } = await packed.run(code, { flags });
  assertEquals(status, 0, error);
  assertMatch(out, PATH);
});

Deno.test("where WebAssembly runs for want of a permission, describe() has the missing flags and no more", async () => {
  const cache = await packed.newCache();
  const named = anyKernel(`kernelCache: ${JSON.stringify(cache)}`);
  const [read, write, ffi] = ["read", "write", "ffi"].map((each) => `--allow-${each}=${cache}`);
  for (
    const [code, flags, reason] of [
      [anyKernel(), [], "no --allow-env, --allow-read, --allow-write, --allow-ffi"],
      [anyKernel(), ["--allow-read", "--allow-write", "--allow-ffi"], "no --allow-env"],
      [named, [], "no --allow-read, --allow-write, --allow-ffi"],
      [named, [read, write], "no --allow-ffi"],
      [named, [read, ffi], "no --allow-write"],
    ] as [string, string[], string][]
  ) {
    const { out, error } = await packed.run(code, { flags });
    assertEquals(out, `wasm: ${reason}`, error);
  }
});

Deno.test("where the file must be written and may not be, the error says so", async () => {
  const cache = await packed.newCache();
  const code = program(`kernelCache: ${JSON.stringify(cache)}`);
  const flags = [`--allow-read=${cache}`, `--allow-ffi=${cache}`];
  const { out } = await packed.run(code, { flags });
  assertStringIncludes(out, "ReplayError permission: ");
  assertStringIncludes(out, `that file is not there yet and Deno may not write it`);
  assertStringIncludes(out, `--allow-write=${cache}`);
  assertEquals(await namesIn(cache), []);
});

Deno.test("without the environment and without the option, the error names both", async () => {
  const flags = ["--allow-read", "--allow-write", "--allow-ffi"];
  const { out } = await packed.run(program(), { flags });
  assertMatch(
    out,
    /^ReplayError permission: .* no cache folder is known: .*--allow-env=EXRP_CACHE,/,
  );
  assertStringIncludes(out, "option kernelCache");
});

Deno.test("where the environment names no folder, no permission is said to be missing", async () => {
  const env = { HOME: "", XDG_CACHE_HOME: "", LOCALAPPDATA: "" };
  const { out } = await packed.run(program(), { env });
  assertMatch(out, /^ReplayError kernel-missing: .* no cache folder is known: no absolute path is/);
  assertStringIncludes(out, "option kernelCache");
  const any = await packed.run(anyKernel(), { env });
  assertMatch(any.out, /^wasm: .* no absolute path is in /);
});

Deno.test({
  name: "the folder by default is that of the system's caches",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const home = await packed.newCache();
    const own = await packed.newCache();
    const plain = await packed.run(program(), { env: { HOME: home, XDG_CACHE_HOME: "" } });
    assertEquals(plain.out.startsWith(`${home}/.cache/exrp/`), true, plain.out);
    const named = await packed.run(program(), { env: { HOME: home, XDG_CACHE_HOME: own } });
    assertEquals(named.out.startsWith(`${own}/exrp/`), true, named.out);
    // A relative path there is to be ignored, by the standard that names the variable.
    const relative = await packed.run(program(), { env: { HOME: home, XDG_CACHE_HOME: "x" } });
    assertEquals(relative.out, plain.out);
  },
});

Deno.test("eight processes that unpack at once all succeed, and leave one file", async () => {
  const cache = await packed.newCache();
  const env = { EXRP_CACHE: cache };
  const all = await Promise.all(Array.from({ length: 8 }, () => packed.run(program(), { env })));
  const [first] = all;
  assertMatch(first?.out ?? "", PATH);
  for (const { status, out, error } of all) assertEquals([status, out], [0, first?.out], error);
  assertEquals((await namesIn(cache)).length, 1);
});

Deno.test("a file in the cache that is not whole is never loaded: it is replaced, or the error says so", async () => {
  const cache = await packed.newCache();
  const env = { EXRP_CACHE: cache };
  const { out: path } = await packed.run(program(), { env });
  const whole = await Deno.readFile(path);
  const flipped = whole.slice();
  flipped[whole.length >> 1] = ~(flipped[whole.length >> 1] ?? 0);
  // Half of it, as after a crash of the machine; nothing; one bit more or less; and a part that a killed process left beside it.
  for (const bytes of [whole.slice(0, whole.length >> 1), new Uint8Array(0), flipped]) {
    await Deno.writeFile(path, bytes);
    await Deno.writeFile(`${path}.left.part`, bytes);
    const flags = [`--allow-read=${cache}`, `--allow-ffi=${path}`, "--allow-env=EXRP_CACHE"];
    const refused = await packed.run(program(), { env, flags });
    assertStringIncludes(refused.out, "has a wrong checksum and Deno may not write it");
    assertEquals(await Deno.readFile(path), bytes);
    const mended = await packed.run(program(), { env });
    assertEquals([mended.status, mended.out], [0, path], mended.error);
    assertEquals(await Deno.readFile(path), whole);
  }
});

Deno.test("a module of the package that was changed is refused, and nothing of it is written", async () => {
  const file = `prebuilt/${ownModule}`;
  const changes: [string, () => Promise<AsyncDisposable>, RegExp][] = [
    [
      "cut off",
      () => packed.editBytes(file, (bytes) => bytes.slice(0, -800)),
      /could not be loaded: [^]*--reload/,
    ],
    [
      "other bytes",
      () => packed.editBytes(file, (bytes) => bytes.fill(0x55, -800)),
      /could not be loaded: [^]*--reload/,
    ],
    [
      "away",
      () => packed.editBytes(file, (bytes) => bytes.slice(0, 8)),
      /could not be loaded: [^]*--reload/,
    ],
    [
      "another checksum",
      () =>
        packed.edit(
          "prebuilt/targets.ts",
          (text) => text.replace(/sha256: "(.*?)"/, `sha256: "${"0".repeat(64)}"`),
        ),
      /has the SHA-256 [0-9a-f]{64}, but it must be 0{64}; .*--reload/,
    ],
  ];
  for (const [name, change, words] of changes) {
    const cache = await packed.newCache();
    await using _changed = await change();
    const { out } = await packed.run(program(), { env: { EXRP_CACHE: cache } });
    assertMatch(out, /^ReplayError kernel-missing: this package's kernel for /, name);
    assertMatch(out, words, name);
    assertEquals(await namesIn(cache), [], name);
  }
});

Deno.test("a Deno that does not expand Brotli is told which one does", async () => {
  const cache = await packed.newCache();
  // As Deno before 2.7 has it.
  const old = `globalThis.DecompressionStream = class extends DecompressionStream {
  constructor(format: CompressionFormat) {
    if (format as string === "brotli") throw new TypeError("no format");
    super(format);
  }
};
`;
  const env = { EXRP_CACHE: cache };
  const native = await packed.run(old + program(), { env });
  assertMatch(native.out, /^ReplayError kernel-missing: .* Brotli, .* take Deno 2\.7 or later$/);
  const any = await packed.run(old + anyKernel(), { env });
  assertMatch(any.out, /^wasm: .* Brotli, /);
  assertEquals(await namesIn(cache), []);
});

Deno.test("a WebAssembly kernel that was changed is refused, and the error says how it differs", async () => {
  const changes: [string, (text: string) => string, RegExp][] = [
    [
      "cut off",
      (text) => text.replace(/"([^"]{9999,})"/, (_, data) => `"${data.slice(0, -800)}"`),
      /it (can't be decompressed|has \d+ bytes, not \d+); load/,
    ],
    [
      "no base64",
      (text) => text.replace(/"....(?=[^"]{9999})/, '"!!!!'),
      /it can't be decompressed; load/,
    ],
    [
      "another size",
      (text) => text.replace(/(size: number = )\d+/, "$1" + "17"),
      /it has \d{6} bytes, not 17; load/,
    ],
    [
      "another checksum",
      (text) => text.replace(/"[0-9a-f]{64}"/, `"${"0".repeat(64)}"`),
      /it has the SHA-256 [0-9a-f]{64}, not 0{64}; load/,
    ],
    ["away", () => "export {};", /is damaged: /],
  ];
  const code = program().replace('"native"', '"wasm"');
  for (const [name, change, words] of changes) {
    await using _changed = await packed.edit("prebuilt/wasm32.ts", change);
    const { out, error } = await packed.run(code, { flags: [] });
    assertMatch(
      out,
      /^ReplayError kernel-missing: the package's WebAssembly kernel is damaged: /,
      name + error,
    );
    assertMatch(out, words, name);
  }
});

Deno.test("a machine that the package has no kernel for is told which it has", async () => {
  await using _changed = await packed.edit(
    "prebuilt/targets.ts",
    (text) => text.replace(`"${ownTarget}"`, '"m68k-amiga"'),
  );
  const { out } = await packed.run(program(), { env: { EXRP_CACHE: await packed.newCache() } });
  assertStringIncludes(
    out,
    `ReplayError kernel-missing: this package brings no kernel for ${ownTarget}, only for m68k-amiga; build one`,
  );
  // Unless the native kernel is demanded, WebAssembly runs there.
  const { out: backend } = await packed.run(anyKernel(), {
    env: { EXRP_CACHE: await packed.newCache() },
  });
  assertMatch(backend, /^wasm: .*no kernel for .*, only for m68k-amiga; build one/);
});

const disks: [string, string, RegExp][] = [
  [
    "full",
    "size=256k",
    /could not be unpacked to .*: No space left on device .*; make \d+ bytes of room/,
  ],
  ["read-only", "ro", /could not be unpacked to .*: Read-only file system .*name a folder by/],
  ["mounted noexec", "noexec", /the system does not load it: .*noexec, name another one/],
];
for (const [name, options, words] of disks) {
  Deno.test({
    name: `a cache folder that is ${name}: the error says so`,
    ignore: !mounts,
    fn: async () => {
      const cache = await packed.newCache();
      const list = `\nfor (const { name } of Deno.readDirSync(${
        JSON.stringify(cache)
      })) if (name.endsWith(".part")) console.log(name);`;
      const { out, error } = await packed.run(program() + list, {
        env: { EXRP_CACHE: cache },
        mount: `mount -t tmpfs -o ${options} none ${cache}`,
      });
      assertMatch(out, /^ReplayError kernel-missing: .*$/, error);
      assertMatch(out, words);
    },
  });
}

Deno.test("a cache folder that is a file: the error says so", async () => {
  const cache = join(await packed.newCache(), "file");
  await Deno.writeTextFile(cache, "");
  const { out } = await packed.run(program(), { env: { EXRP_CACHE: cache } });
  assertMatch(
    out,
    /^ReplayError kernel-missing: this package's kernel (should be at|could not be)/,
  );
  assertStringIncludes(out, "name a folder by the option kernelCache");
});

Deno.test("over HTTP: only the module of this machine is run, and importing runs none", async () => {
  // A module of WebAssembly can't say that it runs, so one of TypeScript stands before each.
  const modules = [ownModule, "other.wasm"];
  await Deno.copyFile(
    join(packed.folder, "prebuilt", ownModule),
    join(packed.folder, "prebuilt", "other.wasm"),
  );
  for (const name of modules) {
    const text = `console.log("${name}");\nexport { memory } from "./${name}";\n`;
    await Deno.writeTextFile(join(packed.folder, "prebuilt", `${name}.ts`), text);
  }
  const entry =
    '\n  "other": { start: 0, size: 1, sha256: "", packedSize: 1, load: () => import("./other.wasm") },\n};';
  await using _changed = await packed.edit(
    "prebuilt/targets.ts",
    (text) =>
      `console.log("targets.ts");\n${text.replace("\n};", entry).replaceAll(".wasm", ".wasm.ts")}`,
  );
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const type = pathname.endsWith(".wasm") ? "application/wasm" : "application/typescript";
      const headers = { "content-type": type };
      return new Response(await Deno.readFile(packed.folder + pathname), { headers });
    },
  );
  const host = `127.0.0.1:${server.addr.port}`;
  const run = async (code: string, flags: string[], cache: string): Promise<string[]> => {
    const env = { EXRP_CACHE: cache, DENO_DIR: join(packed.root, "deno") };
    const all = [...flags, `--allow-import=${host}`];
    const { status, out, error } = await packed.run(
      code.replace("@exrp/replay", `http://${host}/mod.ts`),
      { flags: all, env },
    );
    assertEquals(status, 0, error);
    return out.split("\n");
  };
  const allow = ["--allow-read", "--allow-write", "--allow-ffi", "--allow-env"];
  assertEquals(await run('import "@exrp/replay"; console.log("imported");', [], ""), ["imported"]);
  const cache = await packed.newCache();
  const first = await run(program(), allow, cache);
  assertEquals(first.slice(0, -1), ["targets.ts", ownModule]);
  assertMatch(first.at(-1) ?? "", PATH);
  assertEquals(await run(program(), allow, cache), ["targets.ts", ...first.slice(-1)]);
  // What was fetched then is enough for later starts, without a network, and with an empty cache folder too.
  await server.shutdown();
  const again = await run(program(), [...allow, "--cached-only"], await packed.newCache());
  assertEquals(again.slice(0, -1), ["targets.ts", ownModule]);
});
