/**
 * Makes one program of the quickstart, or of the server for Reverb's clients, with the kernel inside: `deno task compile`. `--help` says
 * where it goes.
 *
 * The program is compiled from a folder that has what the package has, with the kernel of this machine alone, and the examples. So the
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

Makes one program, which runs where there is no Deno.

  --program=NAME   quickstart (the default), or reverb_server: \`deno task serve\` as a program
  --out=DIR        where it goes: build/NAME by default, with the program in DIR/NAME
  --help           prints this`;

const files = ["--allow-ffi", "--allow-read", "--allow-write", "--allow-env"];

/** The file that each program begins with, in the folder of {@linkcode stageProgram}, and what it may do. It asks for nothing else. */
export const programs = {
  quickstart: { entry: "examples/dqn_cartpole.ts", permissions: [...files, "--allow-sys"] },
  reverb_server: { entry: "server/main.ts", permissions: [...files, "--allow-net"] },
} as const;

/** One of the programs. */
export type ProgramName = keyof typeof programs;

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

/** Puts what the program is made of into a folder: the package, the kernel of this machine, and the examples. */
export async function stageProgram(folder: string): Promise<void> {
  if (await exists(folder)) await Deno.remove(folder, { recursive: true });
  const published = await listPublished();
  const files = [
    ...published.filter((file) => !file.startsWith("prebuilt/")),
    ...await listFiles("examples", ".ts"),
    "server/main.ts",
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
 * Makes a program in `out`, and returns its path.
 *
 * @throws {ToolError} When a step fails; its text says which, and what was printed.
 */
export async function compileProgram(name: ProgramName, out: string): Promise<string> {
  const folder = join(out, "source");
  await stageProgram(folder);
  const { entry, permissions } = programs[name];
  const program = join(out, Deno.build.os === "windows" ? `${name}.exe` : name);
  await must("deno compile", [
    ...[Deno.execPath(), "compile", "--quiet", "--no-check", ...permissions],
    ...["--config", join(folder, "deno.json"), "--exclude-unused-npm"],
    ...["--include", join(folder, "prebuilt"), "--output", program, join(folder, entry)],
  ]);
  return program;
}

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    { program: { type: "string" }, out: { type: "string" } },
    usage,
  );
  if (typeof options === "number") return options;
  const { program: name = "quickstart" } = options;
  if (name !== "quickstart" && name !== "reverb_server") {
    console.error(`--program=${name} is unknown: it is quickstart or reverb_server`);
    return 2;
  }
  try {
    const program = await compileProgram(name, resolve(options.out ?? inRepository("build", name)));
    console.log(`compile: ${program} is ready`);
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`compile: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
