/**
 * Packs the kernel for a release: `deno task prebuild`. Builds the library of every released target, and writes it into prebuilt/, from
 * where ffi/embedded.ts unpacks it.
 *
 * A module prebuilt/<system>.wasm has the libraries of one system, one after the other, compressed by Brotli. It has no code: its memory
 * begins with these bytes. prebuilt/targets.ts says where in which module a library is, its size and its SHA-256.
 * prebuilt/wasm32.ts has the WebAssembly kernel. Browsers cannot expand Brotli, so it is compressed by Deflate.
 *
 * The same commit gives the same bytes, with the same versions of Zig and Deno: the compiler gets relative paths and a fixed processor.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { dirname, join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { readArguments } from "./_arguments.ts";
import { dataModule } from "./_data_module.ts";
import {
  exists,
  inRepository,
  libraryFileName,
  listTree,
  repository,
  run,
  seconds,
} from "./_repository.ts";
import { findZig, ToolError, type Zig } from "./_zig.ts";
import { compileKernel } from "./_compiler.ts";
import { buildWasm, sha256, withLock, writeWasmModule } from "./build_kernel.ts";

const usage = `deno task prebuild [OPTION]

Builds the kernel for every released target, and writes prebuilt/, which the package carries.

  --only=TARGET,…    only these targets, such as x86_64-linux-gnu
  --native           leaves WebAssembly out, which a package needs
  --out=FOLDER       writes this folder instead of prebuilt/
  --check            builds again elsewhere, with empty caches, and compares with prebuilt/
  --help             prints this`;

/** A library that a release has. */
interface Library {
  /** Its name, as ffi/embedded.ts asks for it. */
  readonly target: string;
  /** The compiler's name of its target. */
  readonly triple: string;
}

/**
 * The libraries of each module. Those of one processor and system differ little, so together they are hardly larger than one. Builds
 * in a clone use the same triples, so that the tests run the published code.
 */
const modules: Readonly<Record<string, readonly Library[]>> = {
  "x86_64-linux": [
    { target: "x86_64-linux-gnu", triple: "x86_64-linux-gnu.2.17" },
    { target: "x86_64-linux-musl", triple: "x86_64-linux-musl" },
  ],
  "aarch64-linux": [
    { target: "aarch64-linux-gnu", triple: "aarch64-linux-gnu.2.17" },
    { target: "aarch64-linux-musl", triple: "aarch64-linux-musl" },
  ],
  "x86_64-macos": [{ target: "x86_64-macos", triple: "x86_64-macos.11.0" }],
  "aarch64-macos": [{ target: "aarch64-macos", triple: "aarch64-macos.11.0" }],
  "x86_64-windows": [{ target: "x86_64-windows", triple: "x86_64-windows-gnu" }],
};

const notice = "// Written by `deno task prebuild`: do not edit.\n";

function log(line: string): void {
  console.log(`prebuild: ${line}`);
}

/** How a target's library is called. */
function fileNameOf(target: string): string {
  if (target.includes("windows")) return libraryFileName("windows");
  return libraryFileName(target.includes("macos") ? "darwin" : "linux");
}

/** Compiles a library into zig-out/<target>/ and returns its bytes. */
async function compile(zig: Zig, { target, triple }: Library): Promise<Uint8Array<ArrayBuffer>> {
  const start = performance.now();
  const path = inRepository("zig-out", target, fileNameOf(target));
  await compileKernel(zig, triple, path, (line) => log(`${target}: ${line}`));
  const bytes = await Deno.readFile(path);
  if (Buffer.from(bytes).includes(repository)) {
    throw new ToolError(
      `${path} has ${repository} in it, so another folder would give other bytes.`,
    );
  }
  log(`${target}: ${bytes.length} bytes (${seconds(performance.now() - start)})`);
  return bytes;
}

/** The smallest that Brotli makes of some bytes. */
function brotli(bytes: Uint8Array): Uint8Array {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** Compiles libraries and writes their module; returns what targets.ts says of them. */
async function writeModule(
  zig: Zig,
  name: string,
  libraries: readonly Library[],
  out: string,
): Promise<string> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (const library of libraries) parts.push(await compile(zig, library));
  const packed = brotli(Buffer.concat(parts));
  const module = dataModule(packed);
  await Deno.writeFile(join(out, `${name}.wasm`), module);
  log(`${name}.wasm: ${module.length} bytes`);
  const load = `packedSize: ${packed.length}, load: () => import("./${name}.wasm")`;
  let entries = "";
  let start = 0;
  for (const [k, bytes] of parts.entries()) {
    const where = `start: ${start}, size: ${bytes.length}, sha256: "${await sha256(bytes)}"`;
    entries += `  "${libraries[k]?.target}": { ${where}, ${load} },\n`;
    start += bytes.length;
  }
  return entries;
}

const targetsHead = `${notice}
/** Where a kernel is, and the module that has it. */
export interface PrebuiltKernel {
  /** Its first byte among the kernels of its system. */
  readonly start: number;
  /** Its size in bytes. */
  readonly size: number;
  /** Its SHA-256, in hexadecimal. */
  readonly sha256: string;
  /** The bytes of all kernels of its system together, compressed by Brotli. */
  readonly packedSize: number;
  /** Loads the module of its system, whose memory begins with these bytes. */
  readonly load: () => Promise<{ readonly memory: WebAssembly.Memory }>;
}

/** The kernels of this package. */
export const targets: Readonly<Record<string, PrebuiltKernel>> = {
`;

/** Makes the package with these kernels, which is refused where it is wrong or too large. */
async function checkPackage(): Promise<void> {
  // A program of its own: the checks of a build in an empty folder run this tool without the compiler of TypeScript.
  const { success, stdout, stderr } = await run([
    ...[Deno.execPath(), "run", "--quiet", "--allow-read", "--allow-write", "--allow-env"],
    ...["--allow-run", inRepository("tools", "make_jsr.ts")],
  ]);
  if (!success) throw new ToolError(`The package is wrong: ${stderr.trim()}`);
  log(stdout.trim());
}

/** Writes the modules that some targets are in, and puts their folder in place when all are there. */
async function prebuild(
  chosen: readonly string[],
  hasWasm: boolean,
  out: string,
): Promise<void> {
  const start = performance.now();
  const zig = await findZig(log);
  const [partial, old] = [`${out}.prebuild-part`, `${out}.prebuild-old`];
  for (const folder of [partial, old]) {
    if (await exists(folder)) await Deno.remove(folder, { recursive: true });
  }
  await Deno.mkdir(partial, { recursive: true });
  let entries = "";
  for (const [name, all] of Object.entries(modules)) {
    const libraries = all.filter(({ target }) => chosen.includes(target));
    if (libraries.length > 0) entries += await writeModule(zig, name, libraries, partial);
  }
  if (hasWasm) {
    await buildWasm(zig);
    await writeWasmModule(partial);
    log(`wasm32.ts: ${(await Deno.stat(join(partial, "wasm32.ts"))).size} bytes`);
  }
  await Deno.writeTextFile(join(partial, "targets.ts"), `${targetsHead}${entries}};\n`);
  if (await exists(out)) await Deno.rename(out, old);
  await Deno.rename(partial, out);
  if (await exists(old)) await Deno.remove(old, { recursive: true });
  log(`${out} is ready (${seconds(performance.now() - start)})`);
}

/** What the kernels are made of. */
const inputs = ["deno.json", "kernel", "selectors", "eviction", "tools"];

/**
 * Builds some targets in a copy of the sources in another folder, with another home and empty caches. Throws unless that gives the bytes
 * that `prebuilt` has.
 */
async function checkAgain(chosen: readonly string[], prebuilt: string): Promise<void> {
  const zig = await findZig(log);
  const root = await Deno.makeTempDir({ prefix: "exrp prebuild " });
  try {
    const copy = join(root, "a copy", "of it");
    for (const input of inputs) {
      for (const file of input.includes(".") ? [input] : await listTree(input, "")) {
        await Deno.mkdir(dirname(join(copy, file)), { recursive: true });
        await Deno.copyFile(inRepository(file), join(copy, file));
      }
    }
    log(`building again in ${copy}, which takes some minutes`);
    const home = join(root, "home");
    const out = join(root, "out");
    const { success, stdout, stderr } = await run([
      ...[Deno.execPath(), "run", "--quiet", "--no-check", "-A", join(copy, "tools/prebuild.ts")],
      ...[`--only=${chosen.join(",")}`, `--out=${out}`],
    ], {
      env: {
        ...zig.command.length === 1 ? { ZIG: resolve(zig.command[0] ?? "") } : {},
        ...{ HOME: home, XDG_CACHE_HOME: home, LOCALAPPDATA: home, ZIG_GLOBAL_CACHE_DIR: home },
        ...{ DENO_DIR: join(root, "deno"), TZ: "Asia/Tokyo", LC_ALL: "C" },
      },
    });
    if (!success) throw new ToolError(`The second build failed:\n${stdout}${stderr}`);
    const isWhole = chosen.length === Object.values(modules).flat().length;
    const names = Object.keys(modules).map((name) => `${name}.wasm`);
    for (const name of isWhole ? [...names, "targets.ts"] : names) {
      if (!await exists(join(out, name))) continue;
      const [one, other] = [await Deno.readFile(join(prebuilt, name)), join(out, name)];
      if (Buffer.from(one).equals(await Deno.readFile(other))) log(`${name}: the same bytes`);
      else throw new ToolError(`Two builds gave two versions of ${name}.`);
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const kinds = {
    only: { type: "string" },
    out: { type: "string" },
    native: { type: "boolean" },
    check: { type: "boolean" },
  } as const;
  const options = readArguments(args, kinds, usage);
  if (typeof options === "number") return options;
  const known = Object.values(modules).flat().map(({ target }) => target);
  const chosen = options.only?.split(",") ?? known;
  const unknown = chosen.find((target) => !known.includes(target));
  if (unknown !== undefined) {
    console.error(`--only=${unknown} is unknown; there are ${known.join(", ")}`);
    return 2;
  }
  if (options.native && options.out === undefined) {
    console.error("--native leaves out what the package in prebuilt/ needs: give --out=FOLDER too");
    return 2;
  }
  const out = options.out === undefined ? join(repository, "prebuilt") : resolve(options.out);
  try {
    if (options.check) {
      await checkAgain(chosen, out);
      return 0;
    }
    await withLock(() => prebuild(chosen, !options.native, out));
    if (options.out === undefined) await checkPackage();
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`prebuild: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
