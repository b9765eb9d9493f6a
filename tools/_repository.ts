/**
 * Where things are in the repository, and the small questions about the machine that all tools ask.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder. */
export const repository: string = fileURLToPath(new URL("..", import.meta.url));

/** A path in the repository. */
export function inRepository(...parts: string[]): string {
  return join(repository, ...parts);
}

/** The name of the kernel's shared library on a system. */
export function libraryFileName(os: typeof Deno.build.os = Deno.build.os): string {
  if (os === "windows") return "exrp.dll";
  return os === "darwin" ? "libexrp.dylib" : "libexrp.so";
}

/** Where `deno task build` puts the kernel. */
export function builtLibraryPath(): string {
  return inRepository("zig-out", "lib", libraryFileName());
}

/** Where `deno task build` puts the kernel as WebAssembly. */
export function builtWasmPath(): string {
  return inRepository("zig-out", "lib", "exrp.wasm");
}

/** Where `deno task build` puts the module that holds it, too. */
export function wasmModulePath(): string {
  return inRepository("prebuilt", "wasm32.ts");
}

/** Whether a path exists. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Whether a file is there and no older than any of its sources, which are paths in the repository. */
export async function isNewer(file: string, sources: readonly string[]): Promise<boolean> {
  if (!await exists(file)) return false;
  const made = (await Deno.stat(file)).mtime ?? new Date(0);
  for (const source of sources) {
    if (((await Deno.stat(inRepository(source))).mtime ?? new Date()) > made) return false;
  }
  return true;
}

/** The files of a folder with one of these extensions, sorted, as paths with `/` from the root; [] without the folder. */
export async function listFiles(folder: string, ...extensions: string[]): Promise<string[]> {
  const files: string[] = [];
  try {
    for await (const entry of Deno.readDir(inRepository(...folder.split("/")))) {
      if (entry.isFile && extensions.some((extension) => entry.name.endsWith(extension))) {
        files.push(`${folder}/${entry.name}`);
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return files.sort();
}

/** As {@linkcode listFiles}, of the folders within it too. */
export async function listTree(folder: string, ...extensions: string[]): Promise<string[]> {
  const files = await listFiles(folder, ...extensions);
  if (!(await exists(inRepository(...folder.split("/"))))) return files;
  for await (const entry of Deno.readDir(inRepository(...folder.split("/")))) {
    if (entry.isDirectory) files.push(...await listTree(`${folder}/${entry.name}`, ...extensions));
  }
  return files.sort();
}

/** What a program said. */
export interface Outcome {
  /** Whether it could be started and ended with status 0. */
  readonly success: boolean;
  /** Its exit status, or -1 where it could not be started. */
  readonly code: number;
  /** Its standard output. */
  readonly stdout: string;
  /** Its standard error, or why it could not be started. */
  readonly stderr: string;
}

/** Runs a program and keeps what it says; a program that is not there is an outcome, not an exception. */
export async function run(
  command: readonly string[],
  options: { env?: Record<string, string>; timeoutMs?: number; cwd?: string } = {},
): Promise<Outcome> {
  const [program = "", ...args] = command;
  try {
    const output = await new Deno.Command(program, {
      args,
      cwd: options.cwd ?? repository,
      env: options.env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      signal: options.timeoutMs === undefined ? undefined : AbortSignal.timeout(options.timeoutMs),
    }).output();
    const decoder = new TextDecoder();
    return {
      success: output.success,
      code: output.code,
      stdout: decoder.decode(output.stdout),
      stderr: decoder.decode(output.stderr),
    };
  } catch (error) {
    return {
      success: false,
      code: -1,
      stdout: "",
      stderr: error instanceof Error ? error.message : String(error),
    };
  }
}

/** Seconds as people say them. */
export function seconds(ms: number): string {
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
