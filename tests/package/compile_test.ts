/** The quickstart as one program that `deno compile` makes: it runs with an empty PATH, and its kernel is inside. */
import { assert } from "@std/assert";
import { join } from "node:path";
import { compileQuickstart, ENTRY, stageQuickstart } from "../../tools/compile_quickstart.ts";
import { run } from "../../tools/_repository.ts";
import { ended, FreshFolder } from "./_fresh_folder.ts";

/** Deno's cache, which has the packages that the example uses. */
async function cacheOfDeno(): Promise<string> {
  const { stdout } = await run([Deno.execPath(), "info", "--json"]);
  return JSON.parse(stdout).denoDir;
}

/** Whether `deno compile` can make any program here: it downloads the runtime of programs. */
async function whyNoRuntime(): Promise<string | undefined> {
  const DENORT_BIN = Deno.env.get("DENORT_BIN");
  await using folder = await FreshFolder.make({
    ...{ DENO_DIR: await cacheOfDeno() },
    ...DENORT_BIN === undefined ? {} : { DENORT_BIN },
  });
  await folder.write("empty.ts", "");
  const { code, stderr } = await folder.deno("compile", "--quiet", "--output", "empty", "empty.ts");
  if (code === 0) return undefined;
  assert(/error sending request|dns error|Setting up base binary/.test(stderr), stderr);
  return "deno compile can't download its runtime, denort, here; DENORT_BIN may name one";
}

const missing = await whyNoRuntime();

Deno.test({
  name: `deno compile makes one program of the quickstart, which runs with an empty PATH${
    missing === undefined ? "" : ` (skipped: ${missing})`
  }`,
  ignore: missing !== undefined,
  fn: async () => {
    await using folder = await FreshFolder.make();
    const program = await compileQuickstart(folder.at("made"));
    await Deno.remove(folder.at("made", "source"), { recursive: true });
    ended("the program", await folder.run(program, ["--steps", "30"], { PATH: "" }));
  },
});

Deno.test("what the quickstart's program is made of runs with an empty PATH, by its own kernel", async () => {
  await using folder = await FreshFolder.make({ DENO_DIR: await cacheOfDeno() });
  const source = folder.at("source");
  await stageQuickstart(source);
  const args = [
    "run",
    "--no-prompt",
    "--cached-only",
    "-A",
    join(source, ENTRY),
    "--steps",
    "1010",
  ];
  ended("the quickstart", await folder.run(Deno.execPath(), args, { PATH: "" }));
  // The kernel was unpacked, and no other one was there.
  const [kernel] = await Array.fromAsync(Deno.readDir(folder.at("home", "cache", "exrp")));
  assert(/^exrp-.*\.(so|dylib|dll)$/.test(kernel?.name ?? ""), kernel?.name);
});
