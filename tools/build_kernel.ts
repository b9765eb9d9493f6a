/**
 * Builds the kernel: `deno task build`. Does nothing, within a fraction of a second, when the library is already what
 * the sources make of it.
 *
 * It finds or fetches Zig and calls its compiler with the same command that `zig build` (build.zig) would use. It does
 * not go through `zig build` because that compiles Zig's whole build system first, which takes 80 s the first time.
 * tools/prebuild.ts builds the library of every released target by the same functions.
 *
 * Two builds at the same time are safe: the second waits for the first by a file lock, which the system drops when
 * its holder ends in any way. A library is put in place by renaming.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { readArguments } from "./_arguments.ts";
import {
  builtLibraryPath,
  exists,
  inRepository,
  libraryFileName,
  listTree,
  repository,
  seconds,
} from "./_repository.ts";
import { findZig, ToolError, type Zig } from "./_zig.ts";

const usage = `deno task build [OPTION]

Builds the kernel with Zig, which is found or fetched, into zig-out/lib.

  --force      builds it although it is what the sources make of it
  --help       prints this`;

const sourceFolders = ["kernel", "selectors", "eviction"];

/** Prints a line of a build. */
export function log(line: string): void {
  console.log(`build: ${line}`);
}

/** This machine's released triple, as in build.zig: the baseline CPU of its architecture. */
function hostTriple(): string {
  const { arch, os } = Deno.build;
  if (os === "linux") return `${arch}-linux-gnu.2.17`;
  if (os === "darwin") return `${arch}-macos.11.0`;
  if (os === "windows") return `${arch}-windows-gnu`;
  throw new ToolError(
    `The kernel is not built for ${os}: build it with cmake (deno task build:cmake) and set EXRP_KERNEL to the library.`,
  );
}

/** The compiler's arguments: what `zig build --verbose` shows for the library. */
export async function compilerArgs(
  emitted: string,
  triple: string = hostTriple(),
): Promise<string[]> {
  const flags = (await Deno.readTextFile(inRepository("kernel", "flags.txt"))).split(/\s+/).filter((
    flag,
  ) => flag);
  const sources: string[] = [];
  for (const folder of sourceFolders) sources.push(...await listTree(folder, ".cpp"));
  if (sources.length === 0) {
    throw new ToolError(
      "There is no kernel/*.cpp to build: run this in a whole clone of the repository.",
    );
  }
  return [
    ...["build-lib", "-cflags", ...flags, "--", "-x", "c++", ...sources, "-x", "none"],
    ...["-fstrip", "-fno-sanitize-thread", "-fPIC", "-fno-sanitize-c", "-Ofast"],
    ...["-target", triple, "-mcpu", "baseline", "-I", ".", "-lc++", "-lc", "--gc-sections"],
    ...[
      "--name",
      "exrp",
      "-dynamic",
      "-fno-emit-implib",
      `-femit-bin=${emitted}`,
      "--cache-dir",
      ".zig-cache",
    ],
    ...triple.includes("-linux-") ? ["--version-script", "kernel/exports.map"] : [],
  ];
}

/** The SHA-256 of some bytes and texts after one another, in hexadecimal. */
export async function sha256(...parts: (string | Uint8Array<ArrayBuffer>)[]): Promise<string> {
  const bytes = await new Blob(parts).arrayBuffer();
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** A hash of everything that decides the library. */
async function hashInputs(): Promise<string> {
  const parts: string[] = [...await compilerArgs("")];
  for (const folder of sourceFolders) {
    for (const file of await listTree(folder, ".cpp", ".hpp", ".h", ".map", ".txt")) {
      parts.push(`\0${file}\0`, await Deno.readTextFile(inRepository(file)));
    }
  }
  return await sha256(...parts);
}

/** What is written beside the library: the hash of its sources, and its own. */
const stampPath = `${builtLibraryPath()}.inputs`;

async function stampOf(inputs: string): Promise<string> {
  return `${inputs} ${await sha256(await Deno.readFile(builtLibraryPath()))}\n`;
}

async function isUpToDate(inputs: string): Promise<boolean> {
  try {
    return await Deno.readTextFile(stampPath) === await stampOf(inputs);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Runs Zig, says every now and then that it still runs, and why it may take long. */
export async function runZig(zig: Zig, args: readonly string[], why: string): Promise<void> {
  const [program = "", ...first] = zig.command;
  const start = performance.now();
  const child = new Deno.Command(program, {
    args: [...first, ...args],
    cwd: repository,
    stdin: "null",
    stdout: "inherit",
    stderr: "piped",
  }).spawn();
  let ticks = 0;
  const ticker = setInterval(() => {
    ticks += 1;
    if (ticks === 2) log(why);
    if (ticks % 3 === 0) log(`… ${seconds(performance.now() - start)}`);
  }, 5_000);
  try {
    const { success, code, stderr } = await child.output();
    const said = new TextDecoder().decode(stderr).trim();
    if (said !== "") console.error(said);
    if (!success) {
      throw new ToolError(`Zig ${zig.version} ended with status ${code}: the reason stands above.`);
    }
  } finally {
    clearInterval(ticker);
  }
}

/** Compiles the library and puts it in place. */
async function compile(zig: Zig, inputs: string): Promise<void> {
  const start = performance.now();
  const library = builtLibraryPath();
  const folder = join(dirname(dirname(library)), `.building-${Deno.pid}`);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.mkdir(dirname(library), { recursive: true });
  try {
    const emitted = join(folder, basename(library));
    log(`compiling the kernel with Zig ${zig.version} for ${hostTriple()}`);
    await runZig(
      zig,
      await compilerArgs(emitted),
      "the first build compiles Zig's C++ library once, one to two minutes on two cores; later builds take seconds",
    );
    await Deno.remove(stampPath).catch(() => {});
    try {
      await Deno.rename(emitted, library);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ToolError(
        `The new library could not replace ${library} (${reason}): end the programs that use it and build again.`,
      );
    }
    await Deno.writeTextFile(stampPath, await stampOf(inputs));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  log(`zig-out/lib/${libraryFileName()} is ready (${seconds(performance.now() - start)})`);
}

/** Holds the lock of the repository's builds while `body` runs. */
export async function withLock(body: () => Promise<void>): Promise<void> {
  await Deno.mkdir(inRepository(".cache"), { recursive: true });
  using file = await Deno.open(inRepository(".cache", "build.lock"), { create: true, write: true });
  const notice = setTimeout(() => log("another build is running: waiting for it"), 1_000);
  try {
    await file.lock(true);
  } finally {
    clearTimeout(notice);
  }
  try {
    await body();
  } finally {
    await file.unlock();
  }
}

/** The kernel, built where it has to be. */
async function build(): Promise<void> {
  if (await isUpToDate(await hashInputs())) {
    log(`zig-out/lib/${libraryFileName()} is up to date`);
    return;
  }
  await withLock(async () => {
    // Another build may have ended meanwhile, and the sources may have changed.
    const inputs = await hashInputs();
    if (await isUpToDate(inputs)) return log(`zig-out/lib/${libraryFileName()} is up to date`);
    await compile(await findZig(log), inputs);
  });
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { force: { type: "boolean" } }, usage);
  if (typeof options === "number") return options;
  try {
    if (options.force && await exists(stampPath)) await Deno.remove(stampPath);
    await build();
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`build: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
