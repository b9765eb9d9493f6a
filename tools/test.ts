/**
 * Runs everything that can be wrong: `deno task test`. Each stage is announced, timed and counted; the last line reads
 * `N passed, N failed, N skipped`. What this machine cannot run is skipped, with a word on what to install.
 *
 *   --only=checks    format, lint, types, generated symbols, the package
 *   --only=native    the C++ tests under the sanitizers
 *
 * @module
 */
import {
  exists,
  inRepository,
  listFiles,
  listTree,
  repository,
  run,
  seconds,
  testProgramName,
} from "./_repository.ts";
import { findZig, ToolError } from "./_zig.ts";

/** How many tests of a stage ended how. */
interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

const one: Record<"passed" | "failed" | "skipped", Count> = {
  passed: { passed: 1, failed: 0, skipped: 0 },
  failed: { passed: 0, failed: 1, skipped: 0 },
  skipped: { passed: 0, failed: 0, skipped: 1 },
};

/** Something that is tested; its body says how it went. */
interface Stage {
  readonly name: string;
  readonly body: () => Promise<Count>;
}

const permissions = [
  ...["--allow-read", "--allow-write", "--allow-env", "--allow-ffi", "--allow-run", "--allow-sys"],
  "--allow-net=127.0.0.1",
];

/** Whose examples are run. */
const examples = [
  ...["mod.ts", "replay", "schema", "base", "selectors", "eviction", "returns", "testing"],
  ...["README.md", "docs/returns.md", "docs/hindsight.md", "docs/on_policy.md", "docs/picks.md"],
  "docs/selectors.md",
];

/** Where the model tests leave recorded operations for the native replay: EXRP_OPERATIONS_DIR/*.ops */
const operations = inRepository("build", "operations");

/** Runs a program whose output is shown as it comes; returns its status and what it said. */
async function show(
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; text: string }> {
  const [program = "", ...args] = command;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args,
      env,
      cwd: repository,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    })
      .spawn();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(reason);
    return { code: -1, text: reason };
  }
  let text = "";
  const pass = async (from: ReadableStream<Uint8Array>, to: typeof Deno.stdout): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of from) {
      text += decoder.decode(chunk, { stream: true });
      for (let written = 0; written < chunk.length;) {
        written += await to.write(chunk.subarray(written));
      }
    }
  };
  await Promise.all([pass(child.stdout, Deno.stdout), pass(child.stderr, Deno.stderr)]);
  return { code: (await child.status).code, text };
}

/** A stage that is one program: passed when it ends with 0. */
function program(name: string, command: readonly string[]): Stage {
  return {
    name,
    body: async () => {
      const { code } = await show(command);
      if (code !== 0) {
        console.error(`\`${["deno", ...command.slice(1)].join(" ")}\` ended with status ${code}`);
      }
      return code === 0 ? one.passed : one.failed;
    },
  };
}

function deno(name: string, ...args: string[]): Stage {
  return program(name, [Deno.execPath(), ...args]);
}

/** The counts of `deno test`, from the line it ends with. */
export function countDenoTests(text: string, code: number): Count {
  // deno-lint-ignore no-control-regex -- colours, where they are forced
  const plain = text.replace(/\x1b\[[0-9;]*m/g, "");
  const count: Count = { passed: 0, failed: 0, skipped: 0 };
  for (const line of plain.split("\n")) {
    const match = /^(?:ok|FAILED) \| (\d+) passed.*?\| (\d+) failed(.*)$/.exec(line.trim());
    if (!match) continue;
    count.passed += Number(match[1]);
    count.failed += Number(match[2]);
    count.skipped += Number(/(\d+) ignored/.exec(match[3] ?? "")?.[1] ?? 0);
  }
  // Ended by an error that is no test's: a type error, a crash at exit.
  if (code !== 0 && count.failed === 0) count.failed = 1;
  return count;
}

async function denoTest(...args: string[]): Promise<Count> {
  const { code, text } = await show([Deno.execPath(), "test", ...permissions, ...args], {
    EXRP_OPERATIONS_DIR: operations,
  });
  if (code !== 0) console.error(`\`deno test\` ended with status ${code}`);
  return countDenoTests(text, code);
}

/**
 * The configuration for the tests, and the line that says which @std packages it means. Deno itself is asked to load
 * the real ones, so that its own settings decide where JSR is; it is never waited for longer than ten seconds.
 */
async function chooseConfig(): Promise<string> {
  const real = inRepository("deno.jsr.json");
  const load = [
    Deno.execPath(),
    "cache",
    "--quiet",
    "--config",
    real,
    "tests/std/testing_bdd_test.ts",
  ];
  if ((await run(load, { timeoutMs: 10_000 })).success) {
    console.log("@std/assert and @std/testing: the real packages, from JSR");
    return real;
  }
  console.log(
    "@std/assert and @std/testing: JSR does not answer here, so the stand-ins in tests/std serve",
  );
  return inRepository("deno.json");
}

function outcome({ passed, failed }: Count): string {
  if (failed > 0) return "FAILED";
  return passed > 0 ? "ok" : "skipped";
}

function skip(what: string, need: string): Count {
  console.log(`skipped: ${what}. ${need}`);
  return one.skipped;
}

/** No test program needs more; one that hangs is ended and has failed. */
const programTimeoutMs = 600_000;

/** Runs test programs one by one and counts them. */
async function runPrograms(
  commands: readonly (readonly string[])[],
  env: Record<string, string>,
): Promise<Count> {
  const count: Count = { passed: 0, failed: 0, skipped: 0 };
  for (const command of commands) {
    const start = performance.now();
    const [path = "", ...files] = command;
    const name = path.split(/[\\/]/).at(-1) +
      (files.length > 0 ? ` (${files.length} recordings)` : "");
    const outcome = await run(command, {
      env: { ...env, EXRP_OPERATIONS_DIR: operations },
      timeoutMs: programTimeoutMs,
    });
    console.log(
      `${name} ... ${outcome.success ? "ok" : "FAILED"} (${seconds(performance.now() - start)})`,
    );
    if (outcome.success) count.passed += 1;
    else {
      count.failed += 1;
      console.error(`${outcome.stdout}${outcome.stderr}status ${outcome.code}`);
    }
  }
  return count;
}

/** The test programs that were built into a folder; replay_operations once more for the recordings that are kept. */
async function listPrograms(folder: string): Promise<string[][]> {
  const suffix = Deno.build.os === "windows" ? ".exe" : "";
  const kept = (await listFiles("tests/kernel/operations", ".ops")).map((file) =>
    inRepository(file)
  );
  const commands: string[][] = [];
  for (const part of ["kernel", "selectors", "eviction"]) {
    for (const source of await listTree(`tests/${part}`, ".cpp", ".c")) {
      const name = testProgramName(source);
      const path = inRepository(...folder.split("/"), `${name}${suffix}`);
      commands.push([path]);
      if (name === "kernel_replay_operations" && kept.length > 0) commands.push([path, ...kept]);
    }
  }
  const fresh = (await listFiles("build/operations", ".ops")).length;
  console.log(
    `${fresh} recordings of the model tests are replayed, and ${kept.length} that are kept`,
  );
  return commands;
}

async function addressSanitizer(): Promise<Count> {
  if (Deno.build.os === "windows") {
    return skip("C++ tests under ASan and UBSan", "They run on Linux and macOS.");
  }
  if (!(await run(["cmake", "--version"])).success) {
    return skip(
      "C++ tests under ASan and UBSan",
      "Install cmake and a C++ compiler (Debian: apt-get install cmake g++).",
    );
  }
  let compiler: string | undefined = Deno.env.get("CXX");
  for (const name of ["c++", "g++", "clang++"]) {
    if (compiler === undefined && (await run([name, "--version"])).success) compiler = name;
  }
  if (compiler === undefined) {
    return skip(
      "C++ tests under ASan and UBSan",
      "Install a C++ compiler (Debian: apt-get install g++).",
    );
  }
  const folder = "build/sanitized";
  for (
    const command of [
      ["cmake", "-S", "kernel", "-B", folder, "-DEXRP_SANITIZE=address,undefined"],
      ["cmake", "--build", folder, "--target", "exrp_tests", "--parallel", "2"],
    ]
  ) {
    const { success, stdout, stderr } = await run(command);
    if (success) continue;
    console.error(`${stdout}${stderr}\`${command.join(" ")}\` failed`);
    return one.failed;
  }
  return await runPrograms(await listPrograms(folder), {
    UBSAN_OPTIONS: "print_stacktrace=1",
    ASAN_OPTIONS: "detect_stack_use_after_return=1",
  });
}

async function threadSanitizer(): Promise<Count> {
  if (Deno.build.os === "windows") {
    return skip("C++ tests under TSan", "They run on Linux and macOS.");
  }
  try {
    const zig = await findZig(console.log);
    console.log(
      "building with Zig; the first time compiles its build system and C++ library for TSan, 2 to 4 minutes",
    );
    const { success, stdout, stderr } = await run([...zig.command, "build", "tsan-build", "-j2"]);
    if (!success) {
      console.error(`${stdout}${stderr}\`zig build tsan-build\` failed`);
      return one.failed;
    }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(error.message);
    return one.failed;
  }
  return await runPrograms(await listPrograms("zig-out/tsan"), { TSAN_OPTIONS: "halt_on_error=1" });
}

const native: readonly Stage[] = [
  { name: "C++ tests under ASan and UBSan", body: addressSanitizer },
  { name: "C++ tests under TSan", body: threadSanitizer },
];

const checks: readonly Stage[] = [
  deno("format", "fmt", "--check", "--quiet"),
  deno("lint", "lint", "--quiet"),
  deno("types", "check", "--quiet"),
  deno(
    "generated symbols",
    ...["run", "--quiet", "--allow-read", "--allow-env", "--allow-run"],
    ...["tools/generate_symbols.ts", "--check"],
  ),
  deno("package", "publish", "--dry-run", "--allow-dirty", "--quiet"),
];

/** The stages that the arguments ask for. */
async function listStages(only: string | undefined): Promise<readonly Stage[]> {
  if (only === "checks") return checks;
  if (only === "native") return native;
  const config = await chooseConfig();
  if (await exists(operations)) await Deno.remove(operations, { recursive: true });
  await Deno.mkdir(operations, { recursive: true });
  const documented: string[] = [];
  for (const path of examples) {
    if (await exists(inRepository(path))) documented.push(path);
  }
  return [
    ...checks,
    { name: "TypeScript tests", body: () => denoTest("--config", config) },
    {
      name: "examples of the documentation",
      body: () => denoTest("--config", config, "--doc", "--permit-no-files", ...documented),
    },
    ...native,
  ];
}

/** Runs the stages; returns the exit status. */
async function main(args: readonly string[]): Promise<number> {
  const only = args[0]?.replace(/^--only=/, "");
  if (args.length > 1 || only !== undefined && only !== "checks" && only !== "native") {
    console.error(`unknown arguments ${args.join(" ")}; there are --only=checks and --only=native`);
    return 2;
  }
  const start = performance.now();
  console.log(`Deno ${Deno.version.deno} on ${Deno.build.target}`);
  const build = deno(
    "kernel",
    ...[
      "run",
      "--quiet",
      "--allow-read",
      "--allow-write",
      "--allow-env",
      "--allow-run",
      "tools/build_kernel.ts",
    ],
  );
  const stages = only === undefined ? [build, ...await listStages(only)] : await listStages(only);
  const total: Count = { passed: 0, failed: 0, skipped: 0 };
  const failed: string[] = [];
  const summary: string[] = [];
  for (const [index, stage] of stages.entries()) {
    console.log(`\n== ${index + 1}/${stages.length} ${stage.name}`);
    const stageStart = performance.now();
    const count = await stage.body();
    const time = seconds(performance.now() - stageStart);
    console.log(`== ${stage.name}: ${outcome(count)} (${time})`);
    summary.push(
      `${stage.name.padEnd(34)} ${String(count.passed).padStart(5)} passed ${
        String(count.failed).padStart(4)
      } failed ${String(count.skipped).padStart(4)} skipped ${time.padStart(7)}`,
    );
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
    if (count.failed > 0) failed.push(stage.name);
    if (stage === build && count.failed > 0) {
      console.error("without the kernel no test can run");
      break;
    }
  }
  console.log(`\n${summary.join("\n")}\n\nall stages took ${seconds(performance.now() - start)}`);
  if (failed.length > 0) console.log(`failed: ${failed.join(", ")}`);
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
