/** The quickstart as one program that `deno compile` makes: it runs with an empty PATH, and its kernel is inside. */
import { assert } from "../_assert.ts";
import { join } from "node:path";
import { compileProgram, programs, stageProgram } from "../../tools/compile_program.ts";
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

let stage: Promise<string> | undefined;

/** What programs are made of, in a folder of its own; it is put there once. The packages that they import are in Deno's cache then. */
function staged(): Promise<string> {
  stage ??= (async () => {
    const folder = await Deno.makeTempDir({ prefix: "exrp_stage_" });
    addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
    const source = join(folder, "source");
    await stageProgram(source);
    const entries = Object.values(programs).map(({ entry }) => join(source, entry));
    const { success, stderr } = await run([Deno.execPath(), "cache", "--quiet", ...entries]);
    assert(success, stderr);
    return source;
  })();
  return stage;
}

const missing = await whyNoRuntime();

Deno.test({
  name: `deno compile makes one program of the quickstart, which runs with an empty PATH${
    missing === undefined ? "" : ` (skipped: ${missing})`
  }`,
  ignore: missing !== undefined,
  fn: async () => {
    await using folder = await FreshFolder.make();
    const program = await compileProgram("quickstart", folder.at("made"));
    await Deno.remove(folder.at("made", "source"), { recursive: true });
    ended("the program", await folder.run(program, ["--steps", "30"], { PATH: "" }));
  },
});

Deno.test("what the quickstart's program is made of runs with an empty PATH, by its own kernel", async () => {
  await using folder = await FreshFolder.make({ DENO_DIR: await cacheOfDeno() });
  const source = await staged();
  const args = [
    "run",
    "--no-prompt",
    "--cached-only",
    "-A",
    join(source, programs.quickstart.entry),
    "--steps",
    "1010",
  ];
  ended("the quickstart", await folder.run(Deno.execPath(), args, { PATH: "" }));
  // The kernel was unpacked, and no other one was there.
  const [kernel] = await Array.fromAsync(Deno.readDir(folder.at("home", "cache", "exrp")));
  assert(/^exrp-.*\.(so|dylib|dll)$/.test(kernel?.name ?? ""), kernel?.name);
});

Deno.test("what the server's program is made of serves with an empty PATH, by its own kernel", async () => {
  await using folder = await FreshFolder.make({ DENO_DIR: await cacheOfDeno() });
  const source = await staged();
  await folder.write("tables.json", '{ "tables": { "replay": { "maxSize": 10 } } }');
  const { entry, permissions } = programs.reverb_server;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--cached-only",
      ...permissions,
      join(source, entry),
      "--config=tables.json",
    ],
    cwd: folder.path,
    clearEnv: true,
    env: { PATH: "", HOME: folder.at("home"), DENO_DIR: await cacheOfDeno() },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  for (let part; !printed.includes("status: ") && !(part = await reader.read()).done;) {
    printed += part.value;
  }
  assert(printed.startsWith("serving replay on 127.0.0.1:"), printed);
  child.kill("SIGTERM");
  await reader.cancel();
  assert((await child.status).success);
});
