/** The package as JSR would serve it: `deno add`, and ten lines run in a fresh folder with a fresh cache. */
import { assert, assertEquals, assertRejects, assertStrictEquals } from "../_assert.ts";
import {
  findPackageFaults,
  listPublished,
  packageReadme,
  packedText,
  readManifest,
  sizeFaults,
} from "../../tools/_package.ts";
import { inRepository } from "../../tools/_repository.ts";
import { serveJsr } from "../../tools/_jsr_server.ts";
import { checkJsrPackage, makeJsrPackage } from "../../tools/make_jsr.ts";
import { ownTarget, prebuild } from "../prebuilt/_packed.ts";
import { join } from "node:path";
import { ended, FreshFolder, type Ran, reachNpm } from "./_fresh_folder.ts";

const manifest = await readManifest();

/** The files of the package with the kernel of this machine alone, which is made in `folder`. */
async function withKernel(folder: string): Promise<Map<string, string>> {
  const [kernels, out] = [join(folder, "kernels"), join(folder, "package")];
  await prebuild([ownTarget], kernels);
  const sizes = await makeJsrPackage(out, { kernels, check: false });
  return new Map([...sizes.keys()].map((file) => [file, join(out, file)]));
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

Deno.test("the package has its entry points, no test, no bench and no C++", async () => {
  const files = await listPublished();
  assertEquals(await findPackageFaults(files), []);
  // The check itself sees what is wrong.
  const wrong = [...files, "tests/ffi/library_test.ts", "kernel/exrp.h", "bench/own.ts"];
  assertStrictEquals(
    (await findPackageFaults(wrong.filter((file) => file !== "mod.ts"))).length,
    4,
  );
});

Deno.test("the README of the package names every entry point, and its links lead into the repository or nowhere", async () => {
  const alone = await packageReadme(manifest, undefined);
  assert(alone.includes("deno add jsr:@exrp/replay") && alone.includes("the tour takes ten"));
  assertEquals(alone.match(/\]\(/g), null);
  const missing = Object.keys(manifest.exports).filter((entry) =>
    !alone.includes(`\`@exrp/replay${entry.slice(1)}\``)
  );
  assertEquals(missing, []);
  const linked = await packageReadme(manifest, "https://github.com/a/b");
  const root = `https://github.com/a/b/blob/v${manifest.version}`;
  assert(linked.includes(`[the tour](${root}/docs/tour.md)`));
  assert(linked.includes(`[what is promised about files of others](${root}/SECURITY.md)`));
  assertEquals(linked.match(/\]\((?!https:)/g), null);
});

Deno.test("a package that is too large is refused, with what takes how much", () => {
  const sizes = new Map([["prebuilt/x86_64-linux.ts", 2_000_000], ["a/b.ts", 1], ["a/c.ts", 2]]);
  assertEquals(sizeFaults(sizes), []);
  assertEquals(sizeFaults(sizes.set("a/d/e.ts", 2_999_998)), [
    "it has 5000001 bytes, more than 5000000: a/ 3000001, prebuilt/x86_64-linux.ts 2000000",
  ]);
});

Deno.test("a package without native kernels says so, and what makes them", () => {
  const sizes = new Map([["mod.ts", 10], ["prebuilt/wasm32.ts", 5]]);
  const without =
    "2 files, 15 bytes, of which kernels have 5; no native kernels: run `deno task prebuild` first";
  assertStrictEquals(packedText(sizes), without);
  assertStrictEquals(
    packedText(sizes.set("prebuilt/x86_64-linux.wasm", 5).set("prebuilt/targets.ts", 1)),
    "4 files, 21 bytes, of which kernels have 11",
  );
});

Deno.test("the package that is published has the plain sources, and deno publish takes it", async () => {
  await using folder = await FreshFolder.make();
  const out = folder.at("package");
  const sizes = await makeJsrPackage(out, { kernels: folder.at("none") });
  const code = [...sizes].reduce((sum, [, bytes]) => sum + bytes, 0);
  assert(code <= 2_800_000, `without kernels, the package has ${code} bytes`);
  console.log(`jsr: ${code} bytes without kernels`);
  for (const file of sizes.keys()) {
    if (file === "README.md" || file === "deno.json") continue;
    const [packed, source] = await Promise.all(
      [join(out, file), inRepository(file)].map((path) => Deno.readTextFile(path)),
    );
    assertStrictEquals(packed, source, file);
  }
});

Deno.test("a package with a wrong type is refused", async () => {
  await using folder = await FreshFolder.make();
  const config = { name: "@exrp/wrong", version: "1.0.0", license: "MIT", exports: "./mod.ts" };
  await folder.write("deno.json", JSON.stringify(config));
  await folder.write("mod.ts", 'export const wrong: number = "";\n');
  const check = checkJsrPackage(folder.path);
  await assertRejects(() => check, Error, "is not assignable to type 'number'");
});

Deno.test("deno add, ten lines, a second run with no network and fewer permissions, and all entry points without one", async () => {
  await using folder = await FreshFolder.make();
  await folder.write("main.ts", PROGRAM);
  const cache = folder.at("cache");
  const env = { ...reachNpm, EXRP_CACHE: cache, JSR_URL: "" };
  const deno = (...args: string[]): Promise<Ran> => folder.run(Deno.execPath(), args, env);
  const granted = ["--no-prompt", "--allow-env=EXRP_CACHE", `--allow-read=${cache}`];
  let printed: string;
  {
    await using server = await serveJsr(manifest, await withKernel(folder.at("made")));
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
});
