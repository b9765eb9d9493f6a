/** The package as JSR would serve it: `deno add`, and ten lines run in a fresh folder with a fresh cache. */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import {
  findPackageFaults,
  listPublished,
  readManifest,
  sizeFaults,
} from "../../tools/_package.ts";
import { inRepository } from "../../tools/_repository.ts";
import { ownTarget, prebuild } from "../prebuilt/_packed.ts";
import { join } from "node:path";
import { ended, FreshFolder, type Ran } from "./_fresh_folder.ts";
import { serveJsr } from "./_jsr_server.ts";

const manifest = await readManifest();
const files = (await listPublished({ check: false })).filter((file) =>
  !file.startsWith("prebuilt")
);

/** The variables that say how npm's registry is reached. */
const REACH = [
  ...["NPM_CONFIG_REGISTRY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "DENO_CERT"],
  ...["DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
];

/** The files of the package with the kernel of this machine alone, which is made in `folder`. */
async function withKernel(folder: string): Promise<Map<string, string>> {
  await prebuild([ownTarget], folder);
  const found = new Map(files.map((file) => [file, inRepository(file)]));
  for await (const { name } of Deno.readDir(folder)) {
    found.set(`prebuilt/${name}`, join(folder, name));
  }
  return found;
}

const PROGRAM = `import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";

using replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 1 });
const selector = replay.newPickSelector(prioritized());
const environment = new CartPole(1);
let [state, episode] = [environment.reset(), replay.newEpisode()];
for (let step = 0; step < 100; step++) {
  const { state: next, reward, terminated } = environment.step(step % 2);
  episode = replay.record(episode, state, step % 2, reward, terminated ? { finalState: next } : {});
  if (terminated) episode = replay.newEpisode();
  state = terminated ? environment.reset() : next;
}
const batch = replay.getBatch(32, selector);
replay.setPriority(selector, batch, new Float32Array(32).fill(0.5));
console.log(replay.describe().backend.split(":")[0], batch.state.join());
`;

Deno.test("the package has its entry points, no test, no bench and no C++, and stays small", async () => {
  assertEquals(await findPackageFaults(files), []);
  // The check itself sees what is wrong.
  const wrong = [...files, "tests/ffi/library_test.ts", "kernel/exrp.h", "bench/own.ts"];
  assertStrictEquals(
    (await findPackageFaults(wrong.filter((file) => file !== "mod.ts"))).length,
    4,
  );
});

Deno.test("a package that is too large is refused, with what takes how much", () => {
  const sizes = new Map([["prebuilt/x86_64-linux.ts", 2_000_000], ["a/b.ts", 1], ["a/c.ts", 2]]);
  assertEquals(sizeFaults(sizes), []);
  assertEquals(sizeFaults(sizes.set("a/d/e.ts", 999_998)), [
    "it has 3000001 bytes, more than 3000000: prebuilt/x86_64-linux.ts 2000000, a/ 1000001",
  ]);
});

Deno.test("deno add, ten lines, a second run with no network and fewer permissions, and import alone", async () => {
  await using folder = await FreshFolder.make();
  await folder.write("main.ts", PROGRAM);
  const cache = folder.at("cache");
  // The server's entry points need a package of npm's.
  const reach = REACH.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  const env = { ...Object.fromEntries(reach), EXRP_CACHE: cache, JSR_URL: "" };
  const deno = (...args: string[]): Promise<Ran> => folder.run(Deno.execPath(), args, env);
  const granted = ["--no-prompt", "--allow-env=EXRP_CACHE", `--allow-read=${cache}`];
  let firstMs: number;
  let printed: string;
  {
    await using server = await serveJsr(manifest, await withKernel(folder.at("kernels")));
    env.JSR_URL = server.url;
    const added = await deno("add", "--jsr", manifest.name);
    ended("deno add", added);
    const { imports } = JSON.parse(await Deno.readTextFile(folder.at("deno.json")));
    assertEquals(imports, { [manifest.name]: `jsr:${manifest.name}@^${manifest.version}` });
    const first = await deno(
      ...["run", ...granted, `--allow-write=${cache}`, `--allow-ffi=${cache}`, "main.ts"],
    );
    ended("the first run", first);
    assert(/^native (-?[0-9.e-]+,){127}-?[0-9.e-]+$/.test(first.stdout.trim()), first.stdout);
    printed = first.stdout;
    firstMs = added.ms + first.ms;
    ended("deno check", await deno("check", "main.ts"));
    assert(!server.asked.some((path) => /_test\.ts|\/tests\//.test(path)));
    // The other entry points, for the run without a network.
    const others = Object.keys(manifest.exports).map((name) => name.replace(".", manifest.name));
    await folder.write("all.ts", others.map((name) => `import "${name}";`).join("\n"));
    ended("all entry points", await deno("run", "all.ts"));
  }
  // The server has stopped, so nothing answers.
  const [kernel] = await Array.fromAsync(Deno.readDir(cache));
  const again = ["run", "--cached-only", ...granted, `--allow-ffi=${cache}/${kernel?.name}`];
  const second = await deno(...again, "main.ts");
  ended("the second run", second);
  assertStrictEquals(second.stdout, printed);
  const third = await deno("run", "--cached-only", "--no-prompt", "main.ts");
  ended("a run without a permission", third);
  assertStrictEquals(third.stdout, printed.replace("native", "wasm"));
  ended(
    "import alone, without a permission",
    await deno("run", "--cached-only", "--no-prompt", "all.ts"),
  );
  assert(firstMs < 10_000, `deno add and the first run took ${firstMs} ms`);
  // Other work on the machine makes single starts longer, so the shortest of each kind counts.
  await folder.write("empty.ts", "");
  await folder.write("import.ts", `import "${manifest.name}";`);
  const offline = ["run", "--cached-only", "--no-prompt"];
  const starts = {
    empty: { args: [...offline, "empty.ts"], ms: Infinity },
    import: { args: [...offline, "import.ts"], ms: Infinity },
    second: { args: [...again, "main.ts"], ms: Infinity },
  };
  for (let turn = 0; turn < 20; turn++) {
    for (const [kind, start] of Object.entries(starts)) {
      const ran = await deno(...start.args);
      ended(kind, ran);
      start.ms = Math.min(start.ms, ran.ms);
    }
  }
  const importMs = starts.import.ms - starts.empty.ms;
  assert(importMs < 50, `import alone took ${importMs} ms`);
  assert(starts.second.ms < 300, `a second run took ${starts.second.ms} ms`);
  console.log(`import alone: ${importMs.toFixed(0)} ms beyond an empty program`);
  console.log(`deno add and the first run: ${firstMs.toFixed(0)} ms`);
  console.log(`second run, offline: ${starts.second.ms.toFixed(0)} ms`);
  console.log(`without a permission, by WebAssembly: ${third.ms.toFixed(0)} ms`);
});
