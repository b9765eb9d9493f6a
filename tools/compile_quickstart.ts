/**
 * Makes one program of the quickstart, with its kernel inside: `deno task compile`. `--help` says where it goes.
 *
 * The program is compiled from a folder that has what the package has, with the kernel of this machine alone, and the example. So the
 * program unpacks its kernel as any program with the package does. `deno compile` downloads the runtime of such programs once.
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { readArguments } from "./_arguments.ts";
import { listPublished } from "./_package.ts";
import { exists, inRepository, listFiles, run } from "./_repository.ts";
import { ToolError } from "./_zig.ts";

const usage = `deno task compile [OPTION]

Makes one program of the quickstart, which runs where there is no Deno.

  --out=DIR   where it goes: build/quickstart by default, with the program in DIR/quickstart
  --help      prints this`;

/** What the program may do. It asks for nothing else. */
const permissions = ["--allow-ffi", "--allow-read", "--allow-write", "--allow-env", "--allow-sys"];

/** The file that the program begins with, in the folder of {@linkcode stageQuickstart}. */
export const ENTRY = "examples/dqn_cartpole.ts";

/** This machine's target, as tools/prebuild.ts names it. */
function ownTarget(): string {
  const { arch, os } = Deno.build;
  if (os === "darwin") return `${arch}-macos`;
  return os === "linux" ? `${arch}-linux-gnu` : `${arch}-${os}`;
}

async function must(what: string, command: readonly string[]): Promise<void> {
  const { success, stdout, stderr } = await run(command, { env: { NO_COLOR: "1" } });
  if (!success) throw new ToolError(`${what} failed:\n${stdout}${stderr}`.trimEnd());
}

/** Puts what the program is made of into a folder: the package, the kernel of this machine, and the example. */
export async function stageQuickstart(folder: string): Promise<void> {
  if (await exists(folder)) await Deno.remove(folder, { recursive: true });
  const published = await listPublished({ check: false });
  const files = [
    ...published.filter((file) => !file.startsWith("prebuilt/")),
    ...await listFiles("examples", ".ts"),
    "deno.lock",
  ];
  for (const file of files) {
    const copy = join(folder, file);
    await Deno.mkdir(dirname(copy), { recursive: true });
    await Deno.copyFile(inRepository(file), copy);
  }
  await must("deno task prebuild", [
    ...[Deno.execPath(), "run", "--quiet", "--allow-read", "--allow-write", "--allow-env"],
    ...["--allow-run", inRepository("tools", "prebuild.ts")],
    ...[`--only=${ownTarget()}`, `--out=${join(folder, "prebuilt")}`],
  ]);
}

/**
 * Makes the program in `out`, and returns its path.
 *
 * @throws {ToolError} When a step fails; its text says which, and what was printed.
 */
export async function compileQuickstart(out: string): Promise<string> {
  const folder = join(out, "source");
  await stageQuickstart(folder);
  const program = join(out, Deno.build.os === "windows" ? "quickstart.exe" : "quickstart");
  await must("deno compile", [
    ...[Deno.execPath(), "compile", "--quiet", "--no-check", ...permissions],
    ...["--config", join(folder, "deno.json"), "--exclude-unused-npm"],
    ...["--include", join(folder, "prebuilt"), "--output", program, join(folder, ENTRY)],
  ]);
  return program;
}

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { out: { type: "string" } }, usage);
  if (typeof options === "number") return options;
  try {
    const program = await compileQuickstart(
      resolve(options.out ?? inRepository("build", "quickstart")),
    );
    console.log(`compile: ${program} is ready`);
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`compile: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
