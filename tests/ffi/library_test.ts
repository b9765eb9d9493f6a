/** Finding and opening the kernel: what is tried, what is said when it fails, and which permission is enough. */
import { ExperienceReplay, float32, uniform } from "@exrp/replay";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStrictEquals,
  assertStringIncludes,
} from "../_assert.ts";
import { openKernel } from "../../ffi/library.ts";
import { native } from "../_native.ts";
import { assertReplayRejects } from "../replay/_helpers.ts";
import { runProgram } from "./_program.ts";

const ROOT = new URL("../../", import.meta.url);

// These tests are about the local build, whichever kernel the others are run with.
const given = Deno.env.get("EXRP_KERNEL");
Deno.env.delete("EXRP_KERNEL");
const local = await openKernel();
if (given !== undefined) Deno.env.set("EXRP_KERNEL", given);

const USE = `
import { ExperienceReplay, float32, prioritized, uniform } from "@exrp/replay";
const replay = await ExperienceReplay.create({ capacity: 1000, state: float32(4), seed: 1 });
const selectors = [replay.newPickSelector(uniform()), replay.newPickSelector(prioritized())];
let episode = replay.newEpisode();
for (let k = 0; k < 5000; k++) episode = replay.record(episode, [k, k, k, k], 1, 1);
for (const selector of selectors) {
  const batch = replay.getBatch(64, selector);
  replay.setPriority(selector, batch.pickEpisode, batch.pickPosition, batch.reward);
}
const bytes = await replay.serialize();
await replay.unserialize(bytes);
console.log(replay.recordCount > 500);
`;

const TELL = `
import { ExperienceReplay, float32 } from "@exrp/replay";
try {
  await ExperienceReplay.create({ capacity: 10, state: float32(1) });
  console.log("opened");
} catch (error) {
  console.log(error.name + " " + error.code + " " + error.message);
}
`;

Deno.test("importing needs no permission and does nothing", async () => {
  const { status, out } = await runProgram(
    'import * as all from "@exrp/replay"; console.log(typeof all.uniform);',
    [],
  );
  assertEquals([status, out], [0, "function"]);
});

native.test("--allow-ffi=<path> alone suffices, and the exit status after use is 0", async () => {
  const { path } = local;
  for (const ending of ["", "\nreplay[Symbol.dispose]();", "\nDeno.exit(0);"]) {
    const { status, out, error } = await runProgram(USE + ending, [`--allow-ffi=${path}`]);
    assertEquals([status, out], [0, "true"], error);
  }
  const named = `${USE.replace("seed: 1", `seed: 1, kernelPath: ${JSON.stringify(path)}`)}`;
  const { status, out, error } = await runProgram(named, [`--allow-ffi=${path}`]);
  assertEquals([status, out], [0, "true"], error);
});

Deno.test("a forgotten replay is freed by the finalizer", async () => {
  const code = `
import { ExperienceReplay, float32 } from "@exrp/replay";
import { openKernel } from "${new URL("ffi/library.ts", ROOT)}";
import { until } from "${new URL("tests/_wait.ts", ROOT)}";
const { symbols } = await openKernel();
for (let k = 0; k < 50; k++) await ExperienceReplay.create({ capacity: 10, state: float32(1) });
await until("the replays are freed", () => {
  globalThis.gc();
  return symbols.exrp_replay_count() <= 1;
});
console.log(true);
`;
  const { path } = local;
  const { out, error } = await runProgram(code, [`--allow-ffi=${path}`, "--v8-flags=--expose-gc"]);
  assertStrictEquals(out, "true", error);
});

native.test("without permission, the native kernel that was asked for says which flag", async () => {
  const { path } = local;
  const { out } = await runProgram(
    TELL.replace("{ capacity: 10,", '{ capacity: 10, backend: "native",'),
    [],
  );
  assertStringIncludes(out, "ReplayError permission");
  assertStringIncludes(out, `--allow-ffi=${path}`);
});

Deno.test("a missing kernel: the message lists the place tried, and how to build one", async () => {
  const error = await assertReplayRejects(
    ExperienceReplay.create({ capacity: 10, state: float32(1), kernelPath: "/nowhere/libexrp.so" }),
    "kernel-missing",
  );
  assertMatch(error.message, /\/nowhere\/libexrp\.so \(the option kernelPath\): .*/);
  assertMatch(error.message, /deno task build/);
  assert(error.cause instanceof Error);

  const text = await Deno.makeTempFile();
  await Deno.writeTextFile(text, "no library");
  const other = await assertReplayRejects(openKernel({ kernelPath: text }), "kernel-missing");
  assertStringIncludes(other.message, text);
  await Deno.remove(text);
});

Deno.test("a file that is no library says so, even when it is named without a folder", async () => {
  // The system's loader looks for a bare name among its own libraries, and said "No such file".
  const folder = await Deno.makeTempDir();
  const before = Deno.cwd();
  try {
    await Deno.writeTextFile(`${folder}/note.txt`, "no library");
    Deno.chdir(folder);
    const error = await assertReplayRejects(
      openKernel({ kernelPath: "note.txt" }),
      "kernel-missing",
    );
    assertStringIncludes(error.message, "./note.txt (the option kernelPath): ");
    assert(!error.message.includes("No such file"), error.message);
  } finally {
    Deno.chdir(before);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a kernel that is not there is missing, and not a matter of permissions, where that can be seen", async () => {
  const code = TELL.replace("capacity: 10,", 'capacity: 10, kernelPath: "/nowhere/libexrp.so",');
  const seen = await runProgram(code, ["--allow-read"]);
  assertStringIncludes(seen.out, "ReplayError kernel-missing");
  assertStringIncludes(
    seen.out,
    "/nowhere/libexrp.so (the option kernelPath): there is no such file",
  );
  const unseen = await runProgram(code, []);
  assertStringIncludes(unseen.out, "ReplayError permission");
  assertStringIncludes(unseen.out, "build it first with `deno task build`");
});

Deno.test("imported over HTTP, the error about the native kernel says that what is imported brings no kernel", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      // A release that was packed here must not be served: this is about a copy that has no kernels.
      if (pathname.startsWith("/prebuilt/")) return new Response(null, { status: 404 });
      const headers = { "content-type": "application/typescript" };
      return new Response(await Deno.readTextFile(new URL(`.${pathname}`, ROOT)), { headers });
    },
  );
  const base = `http://127.0.0.1:${server.addr.port}`;
  const code = TELL.replace("@exrp/replay", `${base}/mod.ts`)
    .replace("{ capacity: 10,", '{ capacity: 10, backend: "native",');
  const { out, error } = await runProgram(code, [
    "--allow-ffi",
    `--allow-import=127.0.0.1:${server.addr.port}`,
    "--no-config",
  ]);
  assertStringIncludes(out, "ReplayError kernel-missing", error);
  assertStringIncludes(out, `imported from ${base}/ffi/own_address.ts`);
  assertStringIncludes(out, "brings no kernel");
});

native.test("EXRP_KERNEL names the kernel where the environment may be read, and is the only place then", async () => {
  const { path } = local;
  const env = { EXRP_KERNEL: "/nowhere/kernel.so" };
  const named = await runProgram(TELL, ["--allow-ffi", "--allow-env"], env);
  assertStringIncludes(named.out, "ReplayError kernel-missing");
  assertStringIncludes(named.out, "/nowhere/kernel.so (the environment variable EXRP_KERNEL)");
  const unread = await runProgram(TELL, ["--allow-ffi"], env);
  assertStrictEquals(unread.out, "opened");
  const good = await runProgram(TELL, [`--allow-ffi=${path}`, "--allow-env=EXRP_KERNEL"], {
    EXRP_KERNEL: path,
  });
  assertStrictEquals(good.out, "opened");
});

Deno.test("a library that is no kernel, or of another version, says so", async () => {
  const compiler = await findCompiler();
  if (compiler === undefined) {
    console.warn("no C compiler: skipped");
    return;
  }
  const folder = await Deno.makeTempDir();
  try {
    const build = async (name: string, code: string): Promise<string> => {
      await Deno.writeTextFile(`${folder}/${name}.c`, code);
      const out = `${folder}/${name}.so`;
      const args = ["-shared", "-fPIC", "-o", out, `${folder}/${name}.c`];
      const { success } = await new Deno.Command(compiler, { args }).output();
      assert(success);
      return out;
    };
    const foreign = await build("foreign", "int nothing(void) { return 0; }");
    const none = await assertReplayRejects(openKernel({ kernelPath: foreign }), "kernel-version");
    assertMatch(none.message, /is not a replay kernel/);
    const old = await build("old", "unsigned exrp_abi_version(void) { return 4000000000u; }");
    const error = await assertReplayRejects(openKernel({ kernelPath: old }), "kernel-version");
    assertMatch(
      error.message,
      /has version 4000000000 of the interface, but this library needs \d+; build it/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function findCompiler(): Promise<string | undefined> {
  for (const name of ["cc", "gcc", "clang"]) {
    try {
      const { success } = await new Deno.Command(name, {
        args: ["--version"],
        stdout: "null",
        stderr: "null",
      }).output();
      if (success) return name;
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

native.test("the kernel is opened once, and a file: URL is as good as a path", async () => {
  const kernel = local;
  if (given === undefined) assertStrictEquals((await openKernel()).symbols, kernel.symbols);
  for (const kernelPath of [kernel.path, new URL(`file://${kernel.path}`)]) {
    const named = await openKernel({ kernelPath });
    assertStrictEquals(named.symbols, kernel.symbols);
    assertEquals([named.path, named.why], [kernel.path, "the option kernelPath"]);
  }
  using replay = await ExperienceReplay.create({
    capacity: 10,
    state: float32(1),
    kernelPath: new URL(`file://${kernel.path}`),
  });
  replay.newPickSelector(uniform());
});
