/**
 * Builds and opens the libraries of `bench/limit.cpp` and `bench/limit_selector.cpp`.
 *
 * @module
 */

import { inRepository, isNewer, listTree, run, seconds } from "../tools/_repository.ts";
import { findZig } from "../tools/_zig.ts";

const folder = inRepository(".cache", "bench");

const limitSymbols = {
  limit_probe: { parameters: [], result: "f64" },
  limit_nothing: { parameters: ["u32"], result: "u32" },
  limit_create: { parameters: ["u32", "u32"], result: "u32" },
  limit_destroy: { parameters: ["u32"], result: "void" },
  limit_variants: { parameters: ["u32"], result: "u32" },
  limit_run: { parameters: ["u32", "u32", "u32", "u32"], result: "f64" },
  limit_check: { parameters: ["u32", "u32", "u32", "buffer", "u32"], result: "u32" },
} as const;

const selectorSymbols = {
  limit_selector_create: { parameters: ["u32"], result: "u32" },
  limit_selector_draw: { parameters: ["u32", "u32"], result: "f64" },
  limit_selector_update: { parameters: ["u32", "u32"], result: "f64" },
} as const;

/** The functions of both libraries. */
export interface LimitLibrary {
  /** The functions of `bench/limit.cpp`. */
  readonly limit: Deno.DynamicLibrary<typeof limitSymbols>["symbols"];
  /** The functions of `bench/limit_selector.cpp`. */
  readonly selector: Deno.DynamicLibrary<typeof selectorSymbols>["symbols"];
  /** The instructions that the limit may use. The kernel always uses those of the baseline. */
  readonly cpu: string;
}

/** Whether this processor has the vectors of x86-64-v3. */
async function hasAvx2(): Promise<boolean> {
  if (Deno.build.arch !== "x86_64" || Deno.build.os !== "linux") return false;
  return (await Deno.readTextFile("/proc/cpuinfo")).includes(" avx2 ");
}

async function compile(
  name: string,
  sources: string[],
  flags: string[],
): Promise<string> {
  const extension = Deno.build.os === "windows" ? "dll" : "so";
  const library = `${folder}/${name}.${extension}`;
  const headers = await Promise.all(
    ["kernel", "selectors"].map((from) => listTree(from, ".hpp", ".h", ".txt")),
  );
  if (await isNewer(library, [...sources, ...headers.flat()])) return library;
  await Deno.mkdir(folder, { recursive: true });
  console.error(
    `compiling ${
      sources[0]
    } before anything is measured: a minute or two the first time, else seconds ...`,
  );
  const start = performance.now();
  const zig = await findZig((line) => console.error(line));
  const built = await run([
    ...zig.command,
    "c++",
    ...flags,
    ...["-fPIC", "-shared", "-I.", ...sources, "-o", `${library}.${Deno.pid}`],
  ]);
  if (!built.success) throw new Error(`${sources[0]} could not be compiled:\n${built.stderr}`);
  await Deno.rename(`${library}.${Deno.pid}`, library);
  console.error(`compiled in ${seconds(performance.now() - start)}`);
  return library;
}

/** Builds each library if it is older than its sources, and opens both. */
export async function openLimitLibrary(): Promise<LimitLibrary> {
  const kernelFlags = (await Deno.readTextFile(inRepository("kernel", "flags.txt"))).trim().split(
    /\s+/,
  );
  const cpu = await hasAvx2() ? "x86_64_v3" : "baseline";
  // The loops must stay as they are written, so the flags are the kernel's. Only the instructions differ.
  const limit = await compile("limit", ["bench/limit.cpp"], [...kernelFlags, `-mcpu=${cpu}`]);
  const selector = await compile(
    "limit_selector",
    ["bench/limit_selector.cpp", "kernel/base/memory.cpp"],
    [...kernelFlags, "-DNDEBUG", "-mcpu=baseline"],
  );
  return {
    limit: Deno.dlopen(limit, limitSymbols).symbols,
    selector: Deno.dlopen(selector, selectorSymbols).symbols,
    cpu,
  };
}
