/**
 * Builds the kernel: `deno task build`, as a native library and as WebAssembly. Does nothing, within a fraction of a second, when both
 * are already what the sources make of them.
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
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { parseAbiHeader } from "./_abi_header.ts";
import { readArguments } from "./_arguments.ts";
import {
  builtLibraryPath,
  builtWasmPath,
  exists,
  inRepository,
  listTree,
  repository,
  seconds,
  wasmModulePath,
} from "./_repository.ts";
import { findZig, ToolError, type Zig } from "./_zig.ts";

const usage = `deno task build [OPTION]

Builds the kernel with Zig, which is found or fetched, into zig-out/lib: as a native library and as WebAssembly.

  --force      builds both although they are what the sources make of them
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

/** The words of a file of the kernel. */
async function wordsOf(name: string): Promise<string[]> {
  const text = await Deno.readTextFile(inRepository("kernel", name));
  return text.split(/\s+/).filter((word) => word !== "");
}

/** The arguments for the kernel's sources: those that kernel/cold.txt names are compiled for size. */
async function sourceArgs(): Promise<string[]> {
  const flags = await wordsOf("flags.txt");
  const cold = await wordsOf("cold.txt");
  const sources: string[] = [];
  for (const folder of sourceFolders) sources.push(...await listTree(folder, ".cpp"));
  if (sources.length === 0) {
    throw new ToolError(
      "There is no kernel/*.cpp to build: run this in a whole clone of the repository.",
    );
  }
  const gone = cold.filter((file) => !sources.includes(file));
  if (gone.length > 0) {
    throw new ToolError(`kernel/cold.txt names ${gone.join(", ")}: no such file.`);
  }
  const hot = sources.filter((file) => !cold.includes(file));
  return [
    ...["-cflags", ...flags, "--", "-x", "c++", ...hot, "-x", "none"],
    ...["-cflags", ...flags, "-Os", "--", "-x", "c++", ...cold, "-x", "none"],
  ];
}

/** The compiler's arguments: what `zig build --verbose` shows for the library. */
export async function compilerArgs(
  emitted: string,
  triple: string = hostTriple(),
): Promise<string[]> {
  return [
    ...["build-lib", ...await sourceArgs()],
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
    // Windows needs them to walk through a stack; elsewhere only debuggers and exceptions do.
    ...triple.includes("-windows-") ? [] : ["-fno-unwind-tables"],
    ...triple.includes("-linux-") ? ["--version-script", "kernel/exports.map"] : [],
    // Else the library would have the path of the folder that it was built in.
    ...triple.includes("-macos") ? ["-install_name", "@rpath/libexrp.dylib"] : [],
  ];
}

/** The functions that WebAssembly exports: those of the header, and the one of kernel/wasm.cpp. */
async function wasmExports(): Promise<string[]> {
  const header = parseAbiHeader(await Deno.readTextFile(inRepository("kernel", "exrp.h")));
  return [...header.functions.map(({ name }) => name), "exrp_wasm_arena"];
}

/** The compiler's arguments for WebAssembly. */
async function wasmArgs(emitted: string): Promise<string[]> {
  const native = await compilerArgs(emitted);
  const end = native.indexOf("-fstrip");
  return [
    ...["build-exe", ...native.slice(1, end), "-fstrip", "-fno-sanitize-c", "-Ofast", "-I", "."],
    ...["-target", "wasm32-wasi", "-mcpu", "generic+simd128+bulk_memory", "-fsingle-threaded"],
    ...["-lc++", "-lc", "--gc-sections", "--name", "exrp", "-mexec-model=reactor"],
    // All addresses must fit into 32 bits, and the end of the last page would not.
    ...["--stack", "1048576", "--max-memory=4294901760"],
    ...(await wasmExports()).map((name) => `--export=${name}`),
    ...[`-femit-bin=${emitted}`, "--cache-dir", ".zig-cache"],
  ];
}

/** The SHA-256 of some bytes and texts after one another, in hexadecimal. */
export async function sha256(...parts: (string | Uint8Array<ArrayBuffer>)[]): Promise<string> {
  const bytes = await new Blob(parts).arrayBuffer();
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** A file that is built from the kernel's sources. */
interface Product {
  /** Its path. */
  readonly path: string;
  /** What it is built for. */
  readonly target: string;
  /** The compiler's arguments that write it to `emitted`. */
  readonly args: (emitted: string) => Promise<string[]>;
  /** Makes `beside` of it. */
  readonly finish?: () => Promise<void>;
  /** Another file, which is made of it. */
  readonly beside?: string;
}

/** What `deno task build` builds. */
function products(): Product[] {
  return [
    { path: builtLibraryPath(), target: hostTriple(), args: compilerArgs },
    {
      path: builtWasmPath(),
      target: "WebAssembly",
      args: wasmArgs,
      finish: () => writeWasmModule(),
      beside: wasmModulePath(),
    },
  ];
}

/**
 * Writes prebuilt/wasm32.ts: the WebAssembly kernel as a module of TypeScript, which Deno imports without any permission. Browsers cannot
 * expand Brotli, so it is compressed by Deflate.
 */
export async function writeWasmModule(folder: string = inRepository("prebuilt")): Promise<void> {
  const bytes = await Deno.readFile(builtWasmPath());
  const packed = new Uint8Array(deflateSync(bytes, { level: 9 }));
  const text = `// Generated by \`deno task build\` and \`deno task prebuild\`: do not edit.

/** The kernel for WebAssembly: compressed by Deflate (zlib), in base64. */
export const data: string =
  "${packed.toBase64()}";
/** The size of the kernel, in bytes. */
export const size: number = ${bytes.length};
/** Its SHA-256. */
export const sha256: string =
  "${await sha256(bytes)}";
`;
  await Deno.mkdir(folder, { recursive: true });
  const path = join(folder, "wasm32.ts");
  const partial = `${path}.${Deno.pid}.part`;
  await Deno.writeTextFile(partial, text);
  await Deno.rename(partial, path);
}

/** A hash of everything that decides a product. */
async function hashInputs(product: Product): Promise<string> {
  // This file decides how a product is packed.
  const parts = [
    ...await product.args(""),
    await Deno.readTextFile(fileURLToPath(import.meta.url)),
  ];
  for (const folder of sourceFolders) {
    for (const file of await listTree(folder, ".cpp", ".hpp", ".h", ".map", ".txt")) {
      parts.push(`\0${file}\0`, await Deno.readTextFile(inRepository(file)));
    }
  }
  return await sha256(...parts);
}

/** Where the hash of a product's sources is written, and its own. */
function stampPath(product: Product): string {
  return `${product.path}.inputs`;
}

async function stampOf(product: Product, inputs: string): Promise<string> {
  return `${inputs} ${await sha256(await Deno.readFile(product.path))}\n`;
}

async function isUpToDate(product: Product, inputs: string): Promise<boolean> {
  try {
    if (product.beside !== undefined && !await exists(product.beside)) return false;
    return await Deno.readTextFile(stampPath(product)) === await stampOf(product, inputs);
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

/** Compiles a product and puts it in place. */
async function compile(zig: Zig, product: Product, inputs: string): Promise<void> {
  const start = performance.now();
  const { path, target } = product;
  const folder = join(dirname(dirname(path)), `.building-${Deno.pid}`);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.mkdir(dirname(path), { recursive: true });
  try {
    const emitted = join(folder, basename(path));
    log(`compiling the kernel with Zig ${zig.version} for ${target}`);
    await runZig(
      zig,
      await product.args(emitted),
      "the first build compiles Zig's C++ library once, one to two minutes on two cores; later builds take seconds",
    );
    await Deno.remove(stampPath(product)).catch(() => {});
    try {
      await Deno.rename(emitted, path);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ToolError(
        `The new kernel could not replace ${path} (${reason}): end the programs that use it and build again.`,
      );
    }
    await product.finish?.();
    await Deno.writeTextFile(stampPath(product), await stampOf(product, inputs));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  log(`zig-out/lib/${basename(path)} is ready (${seconds(performance.now() - start)})`);
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

/** Builds what is not yet what the sources make of it. */
async function build(): Promise<void> {
  const stale = async (): Promise<[Product, string][]> => {
    const found: [Product, string][] = [];
    for (const product of products()) {
      const inputs = await hashInputs(product);
      if (!await isUpToDate(product, inputs)) found.push([product, inputs]);
    }
    return found;
  };
  const upToDate = products().map(({ path }) => `zig-out/lib/${basename(path)}`).join(" and ");
  if ((await stale()).length === 0) return log(`${upToDate} are up to date`);
  await withLock(async () => {
    // Another build may have ended meanwhile, and the sources may have changed.
    const found = await stale();
    if (found.length === 0) return log(`${upToDate} are up to date`);
    const zig = await findZig(log);
    for (const [product, inputs] of found) await compile(zig, product, inputs);
  });
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { force: { type: "boolean" } }, usage);
  if (typeof options === "number") return options;
  try {
    for (const product of options.force ? products() : []) {
      await Deno.remove(stampPath(product)).catch(() => {});
    }
    await build();
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`build: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
