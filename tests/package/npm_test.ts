/** The npm package in Node, Bun and Deno, in a bundle, and to TypeScript: packed, and installed into a fresh folder. */
import { assert, assertEquals, assertMatch, assertStrictEquals } from "../_assert.ts";
import { readdirSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { compilerErrors, makeNpmPackage, packageJson } from "../../tools/make_npm.ts";
import { PACKAGE_BYTES_MAX, readManifest } from "../../tools/_package.ts";
import { ownTarget, prebuild } from "../prebuilt/_packed.ts";
import { inChromium, Site } from "../browser/_chromium.ts";
import { run } from "../../tools/_repository.ts";
import { DURABLE, PAGE, PROGRAM, SCRIPT, WITHOUT_DISPOSE } from "./_npm_programs.ts";
import { ended, FreshFolder } from "./_fresh_folder.ts";
import { installRuntimes, npm } from "../../tools/_runtimes.ts";

const manifest = await readManifest();
const { name } = manifest;
const runtimes = await installRuntimes();

/** A test that needs programs from npm. Where they can't be installed, it is skipped, and its name says why. */
function withRuntimes(
  what: string,
  fn: (path: Extract<typeof runtimes, object>["path"]) => Promise<void>,
): void {
  if (typeof runtimes === "object") return Deno.test(what, () => fn(runtimes.path));
  Deno.test({ name: `${what} (skipped: ${runtimes})`, ignore: true, fn: () => {} });
}

/** Makes the package and packs it, once for all tests, and the packages that it needs. */
const packed: Promise<readonly string[]> | undefined = typeof runtimes === "object"
  ? pack()
  : undefined;

async function pack(): Promise<readonly string[]> {
  const folder = await Deno.makeTempDir({ prefix: "exrp_npm_" });
  addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  await prebuild([ownTarget], join(folder, "prebuilt"));
  await makeNpmPackage(join(folder, "npm"), join(folder, "prebuilt"));
  await using shop = await FreshFolder.make();
  const made = await shop.run(npm, ["pack", join(folder, "npm", "package"), "--json"]);
  ended("npm pack", made);
  const [{ filename, unpackedSize, files }] = JSON.parse(made.stdout);
  assert(unpackedSize <= PACKAGE_BYTES_MAX, `${unpackedSize} bytes unpacked`);
  const isKernel = ({ path }: { path: string }): boolean => path.startsWith("prebuilt/");
  let code = unpackedSize;
  for (const file of files) if (isKernel(file)) code -= file.size;
  assert(code <= 2_800_000, `without kernels, the package has ${code} bytes`);
  await Deno.copyFile(shop.at(filename), join(folder, filename));
  console.log(`npm: ${unpackedSize} bytes unpacked, ${code} without kernels`);
  return [join(folder, filename), ...await packNeeded(folder, shop)];
}

/** Packs the packages that the package needs, so that it installs without a network. */
async function packNeeded(folder: string, shop: FreshFolder): Promise<string[]> {
  const { dependencies } = Object(packageJson(manifest));
  const files: string[] = [];
  for (const needed of Object.keys(Object(dependencies))) {
    const path = await Deno.realPath(join(folder, "npm", "node_modules", needed));
    const made = await shop.run(npm, ["pack", path, "--json"]);
    ended("npm pack", made);
    const [{ filename }] = JSON.parse(made.stdout);
    await Deno.copyFile(shop.at(filename), join(folder, filename));
    files.push(join(folder, filename));
  }
  return files;
}

/** Installs the package, once for all tests. */
async function install(): Promise<string> {
  await using folder = await FreshFolder.make();
  await folder.write("package.json", JSON.stringify({ private: true, type: "module" }));
  const args = ["install", "--no-audit", "--no-fund", "--offline", ...await packed ?? []];
  ended("npm install", await folder.run(npm, args));
  const kept = await Deno.makeTempDir({ prefix: "exrp_installed_" });
  addEventListener("unload", () => Deno.removeSync(kept, { recursive: true }));
  for (const part of ["package.json", "node_modules"]) {
    await Deno.rename(folder.at(part), join(kept, part));
  }
  return kept;
}

let installation: Promise<string> | undefined;

/** A fresh folder with the package installed. */
async function installed(): Promise<FreshFolder> {
  installation ??= install();
  const folder = await FreshFolder.make();
  await cp(await installation, folder.path, { recursive: true });
  await folder.write("main.js", PROGRAM);
  return folder;
}

interface Said {
  readonly backend: string;
  readonly lines: readonly string[];
}

/** What the program says under Deno, with the kernel that the package carries. */
async function saidByDeno(folder: FreshFolder): Promise<Said> {
  const ran = await folder.run(
    Deno.execPath(),
    [
      "run",
      "--no-prompt",
      "--allow-read",
      "--allow-write=.",
      "--allow-env",
      "--allow-ffi",
      "main.js",
    ],
    { EXRP_CACHE: folder.at("cache") },
  );
  ended("Deno", ran);
  const [kernel] = await Array.fromAsync(Deno.readDir(folder.at("cache")));
  assert(kernel?.name.startsWith(`exrp-${ownTarget}`), kernel?.name);
  return JSON.parse(ran.stdout);
}

withRuntimes(
  "the npm package runs in Deno, Node 20, 22 and 24 and Bun, with the same batches bit for bit",
  async (path) => {
    await using folder = await installed();
    const expected = await saidByDeno(folder);
    assertStrictEquals(expected.backend, "native");
    for (const runtime of ["node20", "node22", "node24", "bun"] as const) {
      const ran = await folder.run(path[runtime], ["main.js"]);
      ended(runtime, ran);
      const { backend, lines }: Said = JSON.parse(ran.stdout);
      assertStrictEquals(backend, "wasm", runtime);
      assertEquals(lines.slice(0, 2), expected.lines.slice(0, 2), runtime);
      assert(lines[2]?.startsWith("float16() needs Float16Array"), runtime);
      // A snapshot leaves one file, under its own name.
      const names = (await Array.fromAsync(Deno.readDir(folder.path))).map((entry) => entry.name);
      assertEquals(names.filter((entry) => entry.startsWith("replay")), ["replay.exrp"], runtime);
    }
  },
);

withRuntimes(
  "every entry point loads in Node and Bun, and asks for nothing of Deno's",
  async (path) => {
    await using folder = await installed();
    const entries = Object.keys(manifest.exports).map((entry) => entry.replace(".", name));
    await folder.write(
      "all.js",
      entries.map((entry) => `import ${JSON.stringify(entry)};`).join("\n"),
    );
    await folder.write(
      "pure.js",
      `import { gae } from "${name}/returns";
    import { BitFlip } from "${name}/envs";
    console.log(typeof gae, new BitFlip({ seed: 7, bitCount: 12 }).reset().join(""));`,
    );
    for (const runtime of ["node20", "node22", "node24", "bun"] as const) {
      ended(runtime, await folder.run(path[runtime], ["all.js"]));
      const ran = await folder.run(path[runtime], ["pure.js"]);
      assertStrictEquals(ran.stdout.trim(), "function 111101110010", runtime);
    }
    // No path is named that nobody gave.
    await folder.write(
      "native.js",
      `import { ExperienceReplay, float32 } from "${name}";
    await ExperienceReplay.create({ capacity: 9, state: float32(), backend: "native" })
      .catch((error) => console.log(error.code, error.message));`,
    );
    assertStrictEquals(
      (await folder.run(path.node20, ["native.js"])).stdout.trim(),
      'kernel-missing the option backend is "native", but only Deno can open a native kernel; take "wasm", or "auto", which takes what can run',
    );
  },
);

withRuntimes(
  "no module looks for a file beside itself in the way that bundlers follow",
  async () => {
    // Webpack takes such a file for an asset, and makes no bundle where it is not there.
    await using folder = await installed();
    const root = folder.at("node_modules", name);
    const modules = readdirSync(root, { recursive: true }).map(String)
      .filter((file) => file.endsWith(".js"));
    assert(modules.length > 100);
    for (const file of modules) {
      const text = await Deno.readTextFile(join(root, file));
      assert(!/new URL\((?:[^()]|\([^()]*\))*import\.meta\.url/.test(text), file);
    }
  },
);

withRuntimes(
  "a bundle for the browser needs no Node module, and has only what was asked for",
  async (path) => {
    await using folder = await installed();
    await folder.write("few.js", `export { annealed } from "${name}/returns";`);
    const bundle = async (entry: string, ...more: string[]): Promise<number> => {
      const args = [
        entry,
        "--bundle",
        "--format=esm",
        "--platform=browser",
        "--outdir=out",
        ...more,
      ];
      const ran = await folder.run(path.esbuild, args);
      ended(`esbuild ${entry}`, ran);
      assert(!/warning/i.test(ran.stderr), ran.stderr);
      return (await Deno.stat(folder.at("out", entry))).size;
    };
    const bytes = await bundle("few.js", "--minify");
    assert(bytes < 4_000, `annealed() alone takes ${bytes} bytes`);
    await bundle("main.js", "--splitting");
    // A bundle runs by itself: without the package, and without a permission.
    await folder.write(
      "page.js",
      `import { ExperienceReplay, float32, uniform } from "${name}";
      const replay = await ExperienceReplay.create({ capacity: 9, state: float32(2) });
      replay.record(replay.newEpisode(), [1, 2], 0, 3, { finalState: [4, 5] });
      const batch = replay.getBatch(2, replay.newPickSelector(uniform()));
      console.log(replay.describe().backend.split(":")[0], batch.nextState.join());
      await replay.serialize("a.exrp").catch((error) => console.log(error.code));`,
    );
    await bundle("page.js", "--splitting");
    await Deno.remove(folder.at("node_modules"), { recursive: true });
    const ran = await folder.deno("run", "--no-prompt", "--no-config", "out/page.js");
    assertStrictEquals(ran.stdout, "wasm 4,5,4,5\npermission\n", ran.stderr);
  },
);

withRuntimes(
  "a durable replay goes on from Node 20 to 22, 24 and Bun, as in one of them alone",
  async (path) => {
    await using folder = await installed();
    await folder.write("durable.js", DURABLE);
    const said = async (runtimes: readonly (keyof typeof path)[]): Promise<string> => {
      await Deno.remove(folder.at("folder"), { recursive: true }).catch(() => {});
      let all = "";
      for (const runtime of runtimes) {
        const ran = await folder.run(path[runtime], ["durable.js"]);
        ended(runtime, ran);
        all += ran.stdout;
      }
      return all;
    };
    const expected = await said(["node22", "node22", "node22", "node22"]);
    assertMatch(expected, /^70 .*\n140 .*\n210 .*\n280 /);
    assertStrictEquals(await said(["node20", "node22", "node24", "bun"]), expected);
  },
);

withRuntimes(
  "bundles of every format run in Node and Deno, also where there is no import.meta",
  async (path) => {
    await using folder = await installed();
    await folder.write("script.js", SCRIPT);
    const expected = "9 the bundle of this program\n";
    for (const [file, ...how] of [["iife.js"], ["cjs.cjs", "--platform=node"]] as const) {
      // Without `--format`, esbuild makes a script for browsers and CommonJS for Node.
      const args = ["script.js", "--bundle", ...how, `--outfile=${file}`];
      ended(`esbuild ${file}`, await folder.run(path.esbuild, args));
      for (const runtime of ["node20", "bun"] as const) {
        const ran = await folder.run(path[runtime], [file]);
        assertStrictEquals(ran.stdout, expected, `${runtime} ${file}: ${ran.stderr}`);
      }
      const ran = await folder.deno("run", "--no-prompt", "--allow-read", "--no-config", file);
      assertStrictEquals(ran.stdout, expected, `${file}: ${ran.stderr}`);
    }
  },
);

/** A test that also needs Chromium. */
const inChromiumWithRuntimes: typeof inChromium = typeof runtimes === "object"
  ? inChromium
  : (what) => withRuntimes(what, async () => {});

inChromiumWithRuntimes(
  "a bundle runs in Chromium as a classic script",
  async ({ page, trouble }) => {
    assert(typeof runtimes === "object");
    await using folder = await installed();
    await folder.write("script.js", SCRIPT);
    ended(
      "esbuild",
      await folder.run(runtimes.path.esbuild, ["script.js", "--bundle", "--outfile=site/iife.js"]),
    );
    const html = '<!DOCTYPE html><link rel="icon" href="data:,"><script src="iife.js">';
    await Deno.writeTextFile(folder.at("site", "index.html"), `${html}</script>`);
    await using site = new Site(folder.at("site"));
    await page.goto(site.url);
    await page.waitForFunction("globalThis.told !== undefined");
    assertStrictEquals(await page.evaluate("globalThis.told"), "9 the bundle of this program");
    assertEquals(trouble, []);
  },
);

inChromiumWithRuntimes(
  "a bundle in Chromium draws the same as Deno, and Deno goes on from what it saved",
  async ({ page, trouble, requests }) => {
    assert(typeof runtimes === "object");
    await using folder = await installed();
    await folder.write("main.js", PAGE);
    const native = await folder.run(Deno.execPath(), ["run", "-A", "main.js"], {
      EXRP_CACHE: folder.at("cache"),
    });
    ended("Deno", native);
    const args = ["main.js", "--bundle", "--splitting", "--format=esm", "--platform=browser"];
    ended("esbuild", await folder.run(runtimes.path.esbuild, [...args, "--outdir=site"]));
    const html =
      '<!DOCTYPE html><link rel="icon" href="data:,"><script type="module" src="main.js">';
    await Deno.writeTextFile(folder.at("site", "index.html"), `${html}</script>`);

    await using site = new Site(folder.at("site"), "/under/a/path/");
    await page.goto(site.url);
    await page.waitForFunction("globalThis.told !== undefined");
    const told = await page.evaluate("globalThis.told") as Record<string, number[]>;
    const { backend, ...expected } = JSON.parse(native.stdout);
    assertStrictEquals(backend, "native");
    assertStrictEquals(String(told["backend"]), "wasm");
    assertEquals(told["drawn"], expected.drawn);
    assertEquals(told["then"], expected.then);
    assertEquals(trouble, []);
    // The page's own kernel is one file among those of other systems, and the only one that was loaded.
    const loaded = requests.filter((url) => /wasm32|gnu|macos|windows|musl/.test(url));
    assertStrictEquals(loaded.length, 1, requests.join());

    using replay = await ExperienceReplay.create({
      capacity: 1000,
      state: float32(4),
      pick: { nStep: 3 },
    });
    const selector = replay.newPickSelector(prioritized());
    await replay.unserialize(Uint8Array.from(told["saved"] ?? []));
    assertEquals([...replay.getBatch(64, selector).state], expected.then);
  },
);

withRuntimes(
  "without Symbol.dispose and asyncDispose, as in some browsers, a replay saves and is freed",
  async (path) => {
    await using folder = await installed();
    await folder.write("without.js", WITHOUT_DISPOSE);
    await folder.write(
      "main.js",
      `import "./without.js";
const { ExperienceReplay, float32, uniform } = await import("${name}");
const { ActorWriter } = await import("${name}/actors");
const replay = await ExperienceReplay.create({ capacity: 9, state: float32(2) });
replay.record(replay.newEpisode(), [1, 2], 0, 3, { finalState: [4, 5] });
const batch = replay.getBatch(2, replay.newPickSelector(uniform()));
const bytes = await replay.serialize();
await replay.serialize(new WritableStream());
await replay.unserialize(new Blob([bytes]).stream());
await replay.serialize("replay.exrp");
await replay.unserialize("replay.exrp");
const parts = [replay, batch, ActorWriter.prototype].map((part) => typeof part[Symbol.dispose] + typeof part.undefined);
parts.push(typeof ActorWriter.prototype[Symbol.asyncDispose]);
batch[Symbol.dispose]();
replay[Symbol.dispose]();
try { replay.stats(); } catch (error) { console.log(typeof Symbol.dispose, parts.join(), error.code); }`,
    );
    const ran = await folder.run(path.node20, ["main.js"]);
    assertStrictEquals(
      ran.stdout,
      "symbol functionundefined,functionundefined,functionundefined,function disposed\n",
      ran.stderr,
    );
  },
);

withRuntimes(
  "TypeScript finds the types of the npm package, without those of Deno or Node",
  async (path) => {
    await using folder = await installed();
    const use = Object.keys(manifest.exports).map((entry, k) =>
      `import * as e${k} from "${entry.replace(".", name)}"; void e${k};`
    );
    await folder.write(
      "main.ts",
      `${use.join("\n")}
import { ExperienceReplay, float32, prioritized } from "${name}";
using replay = await ExperienceReplay.create({ capacity: 10, state: float32(4) });
const batch = replay.getBatch(2, replay.newPickSelector(prioritized()));
const states: Float32Array = batch.state;
// @ts-expect-error: an action is int32 by default
const actions: Float32Array = batch.action;
export { actions, states };
`,
    );
    const dom = ["dom", "dom.asynciterable"];
    for (
      const how of [
        { module: "nodenext" }, // the compiler's own target and library
        { module: "node16", target: "es2022", lib: ["es2022", ...dom] },
        { module: "esnext", moduleResolution: "bundler", lib: ["esnext", ...dom] },
      ]
    ) {
      const compilerOptions = {
        ...how,
        ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
        ...{ noImplicitOverride: true, noPropertyAccessFromIndexSignature: true },
        ...{ noEmit: true, types: [], skipLibCheck: false },
      };
      await folder.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["main.ts"] }));
      ended(`tsc, ${JSON.stringify(how)}`, await folder.run(path.node24, [path.tsc, "-p", "."]));
    }
  },
);

/** The oldest compiler whose library has `Float16Array`. */
const OLD_COMPILER = "npm:typescript@5.8.3";
const { success: hasOldCompiler } = await run([
  Deno.execPath(),
  "cache",
  "--no-lock",
  OLD_COMPILER,
]);

Deno.test({
  name: `TypeScript 5.8 takes what is of one replay where any will do${
    hasOldCompiler ? "" : " (skipped: it can't be fetched)"
  }`,
  ignore: !hasOldCompiler || typeof runtimes !== "object",
  fn: async () => {
    await using folder = await installed();
    await folder.write(
      "main.ts",
      `import type * as any from "${name}";
import { ExperienceReplay, float32, prioritized } from "${name}";
using replay = await ExperienceReplay.create({ capacity: 10, state: float32(4) });
const selector = replay.newPickSelector(prioritized());
const batch = replay.getBatch(2, selector);
replay.setPriority(selector, batch, new Float32Array(2));
type S = typeof replay extends ExperienceReplay<infer X> ? X : never;
declare const drained: any.Drained<S>;
export const all: [any.ExperienceReplay, any.Selector, any.Batch, any.Drained] = [replay, selector, batch, drained];
`,
    );
    const compilerOptions = { module: "nodenext", target: "es2022", strict: true, noEmit: true };
    await folder.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["main.ts"] }));
    const args = [
      "run",
      "--allow-all",
      "--no-lock",
      "--no-config",
      `${OLD_COMPILER}/tsc`,
      "-p",
      ".",
    ];
    const { success, stdout, stderr } = await run([Deno.execPath(), ...args], { cwd: folder.path });
    assert(success, stdout + stderr);
  },
});

Deno.test("package.json names a module and its types for each entry point", () => {
  const { exports, sideEffects } = JSON.parse(JSON.stringify(packageJson(manifest)));
  assertEquals(exports["./envs"], { types: "./envs/mod.d.ts", default: "./envs/mod.js" });
  assertEquals(Object.keys(exports), [...Object.keys(manifest.exports), "./package.json"]);
  assertStrictEquals(sideEffects, false);
  const { repository } = Object(packageJson(manifest, "https://example.org/name/of-it"));
  assertStrictEquals(repository.url, "git+https://example.org/name/of-it.git");
});

Deno.test("the compiler's errors count, but for the names of Deno", () => {
  const text = `a.ts(1,2): error TS2503: Cannot find namespace 'Deno'.
a.ts(1,2): error TS2304: Cannot find name 'Deno'.
a.ts(71,40): error TS2550: Property 'transfer' does not exist on type 'ArrayBuffer'.
`;
  assertEquals(compilerErrors(text).length, 1);
});
