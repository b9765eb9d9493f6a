/**
 * Compiles the kernel with Zig, for any target: each source by `zig c++ -c`, as many at a time as there are cores, and then the library
 * by `zig cc`.
 *
 * Zig keeps what it compiled in .zig-cache. It compiles again only what changed, headers included, so this file keeps no list of
 * dependencies. Zig's C++ library is never compiled, which would take minutes for each target: the kernel needs its headers alone
 * (kernel/base/no_exceptions.cpp has the rest).
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { parseAbiHeader } from "./_abi_header.ts";
import { exists, inRepository, listTree, repository, seconds } from "./_repository.ts";
import { ToolError, type Zig } from "./_zig.ts";

/** The folders whose .cpp files are the kernel. */
export const sourceFolders: readonly string[] = ["kernel", "selectors", "eviction"];

/** What takes longest to compile begins first, or the other cores wait for it at the end. */
const slowest = "kernel/rules/native_rules.cpp";

/** The name of WebAssembly among the targets. */
export const wasm = "wasm32-wasi";

/** This machine's released triple: the baseline CPU of its architecture, so that the library runs on other machines too. */
export function hostTriple(): string {
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

/** The linker's words for a target. */
async function linkerArgs(triple: string): Promise<string[]> {
  if (triple === wasm) {
    // WebAssembly exports the functions of the header, and the one of kernel/abi/wasm.cpp.
    const header = parseAbiHeader(await Deno.readTextFile(inRepository("kernel", "exrp.h")));
    const exported = [...header.functions.map(({ name }) => name), "exrp_wasm_arena"];
    return [
      ...["-mexec-model=reactor", "-Wl,-z,stack-size=1048576"],
      // All addresses must fit into 32 bits, and the end of the last page would not.
      "-Wl,--max-memory=4294901760",
      ...exported.map((name) => `-Wl,--export=${name}`),
    ];
  }
  if (triple.includes("-macos")) {
    // Else the library would have the path of the folder that it was built in.
    return ["-shared", "-Wl,-install_name,@rpath/libexrp.dylib"];
  }
  if (triple.includes("-windows-")) return ["-shared"];
  return [
    ...["-shared", "-Wl,-soname,libexrp.so", "-Wl,-z,defs"],
    "-Wl,--version-script=kernel/exports.map",
  ];
}

/** The words of Zig's command lines that make a library. */
export interface Commands {
  /** The words that compile the C++ library's headers, for the sources of each level of optimisation. */
  readonly precompile: readonly (readonly string[])[];
  /** The words that compile a source, for each. */
  readonly compile: readonly (readonly string[])[];
  /** The words that make the library of the objects. */
  readonly link: readonly string[];
}

/**
 * The commands that make the kernel for a target.
 *
 * @param emitted The library's path; its objects are put beside it.
 */
export async function commandsFor(triple: string, emitted: string): Promise<Commands> {
  const cpu = triple === wasm ? "generic+simd128+bulk_memory" : "baseline";
  const target = ["-target", triple, `-mcpu=${cpu}`];
  const flags = [
    ...target,
    ...await wordsOf("flags.txt"),
    ...["-DNDEBUG", "-fno-sanitize=all", "-I."],
    // Of Clang only, so not in flags.txt: no static object has a destructor.
    "-Wexit-time-destructors",
    ...triple === wasm ? [] : ["-fPIC"],
    // Windows needs them to walk through a stack; elsewhere only debuggers and exceptions do.
    ...triple.includes("-windows-")
      ? []
      : ["-fno-unwind-tables", "-fno-asynchronous-unwind-tables"],
  ];
  const cold = await wordsOf("cold.txt");
  const sources: string[] = [];
  for (const folder of sourceFolders) sources.push(...await listTree(folder, ".cpp"));
  const gone = [...cold, slowest].filter((file) => !sources.includes(file));
  if (gone.length > 0) {
    throw new ToolError(
      `There is no ${gone.join(", ")} to build: run this in a whole clone of the repository.`,
    );
  }
  const objectOf = (source: string): string =>
    join(dirname(emitted), `${source.replaceAll("/", "_")}.o`);
  const ordered = [slowest, ...sources.filter((source) => source !== slowest)];
  // What is precompiled fits only sources with the same level of optimisation.
  const level = (isCold: boolean): string[] => isCold ? ["-Os"] : [];
  const precompiled = (isCold: boolean): string =>
    join(dirname(emitted), isCold ? "cpp_library_cold.pch" : "cpp_library.pch");
  return {
    precompile: [false, true].map((isCold) => [
      ...["c++", ...flags, ...level(isCold), "-x", "c++-header", "-Xclang", "-fno-pch-timestamp"],
      ...["-o", precompiled(isCold), "kernel/base/cpp_library.hpp"],
    ]),
    compile: ordered.map((source) => {
      const isCold = cold.includes(source);
      return [
        ...["c++", "-c", ...flags, ...level(isCold), "-o", objectOf(source), source],
        ...["-include-pch", precompiled(isCold)],
      ];
    }),
    link: [
      ...["cc", ...target, "-O3", "-s", "-Wl,--gc-sections"],
      // For WebAssembly, Zig would compile a C library first (kernel/base/c_library_wasm.cpp).
      triple === wasm ? "-nostdlib" : "-nostdlib++",
      ...[...await linkerArgs(triple), "-o", emitted, ...sources.map(objectOf)],
    ],
  };
}

/** The programs that run now. Those that this tool started end with it, and so do the programs that they started. */
const running = new Set<Deno.ChildProcess>();

function endAll(): void {
  for (const child of running) {
    try {
      if (Deno.build.os === "windows") child.kill();
      else Deno.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound) && !(error instanceof TypeError)) throw error;
    }
  }
}

/** Ends what runs, and then this tool, where somebody ends the tool. */
function endWithTool(): void {
  const signals: readonly Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) {
    Deno.addSignalListener(signal, () => {
      endAll();
      Deno.exit(1);
    });
  }
}

let doesEndWithTool = false;

/** Runs Zig once; throws what it said where it fails. */
async function runZig(zig: Zig, args: readonly string[]): Promise<void> {
  if (!doesEndWithTool) {
    doesEndWithTool = true;
    endWithTool();
  }
  const [program = "", ...first] = zig.command;
  const child = new Deno.Command(program, {
    args: [...first, ...args],
    cwd: repository,
    // A relative path: the same commit gives the same bytes in every folder.
    env: { ZIG_LOCAL_CACHE_DIR: ".zig-cache" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    // A group of its own, so that the compilers that Zig starts end with it.
    detached: Deno.build.os !== "windows",
  }).spawn();
  running.add(child);
  try {
    const { success, code, stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    const said = `${decoder.decode(stdout)}${decoder.decode(stderr)}`.trim();
    if (!success) {
      throw new ToolError(`${said}\nZig ${zig.version} ended with status ${code}, as said above.`);
    }
    if (said !== "") console.error(said);
  } finally {
    running.delete(child);
  }
}

/** Compiles the sources and links them. */
async function compile(
  zig: Zig,
  { precompile, compile, link }: Commands,
  log: (line: string) => void,
): Promise<void> {
  const start = performance.now();
  let doneCount = 0;
  const ticker = setInterval(() => {
    const time = seconds(performance.now() - start);
    const part = doneCount < compile.length
      ? `${doneCount} of ${compile.length} sources are compiled`
      : "linking";
    log(`… ${part} (${time})`);
  }, 10_000);
  const waiting = compile.values();
  const work = async (): Promise<void> => {
    for (const args of waiting) {
      await runZig(zig, args);
      doneCount += 1;
    }
  };
  try {
    await Promise.all(precompile.map((args) => runZig(zig, args)));
    await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, work));
    await runZig(zig, link);
  } finally {
    clearInterval(ticker);
    // After an error, what still runs is of no use.
    endAll();
  }
}

/**
 * Makes the kernel for a target and puts it in place by renaming. The caller holds the lock of the repository's builds.
 *
 * @param path Where the library goes; its folder is made.
 * @param log Takes a line every now and then, which says how far it is.
 */
export async function compileKernel(
  zig: Zig,
  triple: string,
  path: string,
  log: (line: string) => void,
): Promise<void> {
  const folder = inRepository("zig-out", ".building");
  // A build that was ended leaves it behind.
  if (await exists(folder)) await Deno.remove(folder, { recursive: true });
  await Deno.mkdir(folder, { recursive: true });
  await Deno.mkdir(dirname(path), { recursive: true });
  const emitted = join(folder, basename(path));
  await compile(zig, await commandsFor(triple, emitted), log);
  try {
    await Deno.rename(emitted, path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ToolError(
      `The new kernel could not replace ${path} (${reason}): end the programs that use it and build again.`,
    );
  }
  await Deno.remove(folder, { recursive: true });
}
