/** The package as JSR would serve it: `deno add`, and ten lines run in a fresh folder with a fresh cache. */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { findPackageFaults, listPublished, readManifest } from "../../tools/_package.ts";
import { builtLibraryPath } from "../../tools/_repository.ts";
import { ended, FreshFolder } from "./_fresh_folder.ts";
import { serveJsr } from "./_jsr_server.ts";

const manifest = await readManifest();
const files = await listPublished({ check: false });

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
console.log(JSON.stringify([batch.size, batch.state.length, replay.recordCount]));
`;
const PRINTED = "[32,128,100]";

Deno.test("the package has its entry points, no test, no bench and no C++, and stays small", async () => {
  assertEquals(await findPackageFaults(files), []);
  // The check itself sees what is wrong.
  const wrong = [...files, "tests/ffi/library_test.ts", "kernel/exrp.h", "bench/own.ts"];
  assertStrictEquals(
    (await findPackageFaults(wrong.filter((file) => file !== "mod.ts"))).length,
    4,
  );
});

Deno.test("deno add, ten lines, and a second run with no network", async () => {
  await using folder = await FreshFolder.make();
  await folder.write("main.ts", PROGRAM);
  const kernel = builtLibraryPath();
  const permissions = [`--allow-ffi=${kernel}`, "--allow-env=EXRP_KERNEL"];
  const env = { EXRP_KERNEL: kernel };
  const times: number[] = [];
  const registry = { JSR_URL: "", NPM_CONFIG_REGISTRY: "" };
  {
    await using server = await serveJsr(manifest, files);
    Object.assign(registry, { JSR_URL: server.url, NPM_CONFIG_REGISTRY: server.url });
    const added = await folder.run(Deno.execPath(), ["add", "--jsr", manifest.name], registry);
    ended("deno add", added);
    const { imports } = JSON.parse(await Deno.readTextFile(folder.at("deno.json")));
    assertEquals(imports, { [manifest.name]: `jsr:${manifest.name}@^${manifest.version}` });
    const args = ["run", "--no-prompt", ...permissions, "main.ts"];
    const first = await folder.run(Deno.execPath(), args, { ...registry, ...env });
    ended("the first run", first);
    assertStrictEquals(first.stdout.trim(), PRINTED);
    times.push(added.ms + first.ms);
    const checked = await folder.run(Deno.execPath(), ["check", "main.ts"], registry);
    ended("deno check", checked);
    assert(!server.asked.some((path) => /_test\.ts|\/tests\//.test(path)));
    // The other entry points, for the run without a network.
    const others = Object.keys(manifest.exports).map((name) => name.replace(".", manifest.name));
    await folder.write("all.ts", others.map((name) => `import "${name}";`).join("\n"));
    ended("all entry points", await folder.run(Deno.execPath(), ["run", "all.ts"], registry));
  }
  // The server has stopped, so nothing answers.
  const run = ["run", "--no-prompt", "--cached-only"];
  const again = [...run, ...permissions, "main.ts"];
  const second = await folder.run(Deno.execPath(), again, { ...registry, ...env });
  ended("the second run", second);
  assertStrictEquals(second.stdout.trim(), PRINTED);
  times.push(second.ms);
  // Import alone needs no permission.
  ended("import alone", await folder.run(Deno.execPath(), [...run, "all.ts"], registry));
  console.log(`deno add and the first run: ${(times[0] ?? NaN).toFixed(0)} ms`);
  console.log(`second run, offline: ${(times[1] ?? NaN).toFixed(0)} ms`);
});
