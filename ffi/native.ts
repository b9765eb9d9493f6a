/**
 * Opens a native kernel. No other file calls `Deno.dlopen`.
 *
 * A kernel is opened once per isolate and path, and never closed: finalizers and Workers may still call it.
 * Only `Deno.dlopen` reads the disk, so `--allow-ffi=<path of the kernel>` is enough.
 *
 * @module
 */

import { reasonOf, ReplayError } from "../base/errors.ts";
import { deno } from "../base/platform.ts";
import { checkVersion } from "./missing_kernel.ts";
import { type KernelSymbols, symbols } from "./symbols.ts";

const VERSION_SYMBOL = {
  exrp_abi_version: { parameters: [], result: "u32" },
} as const;

const open = new Map<string, KernelSymbols>();

/** Whether this platform can open a native kernel at all. */
export const canOpenNative: boolean = deno?.dlopen !== undefined;

/** Whether a native kernel may be opened without asking the user. */
export function isNativeAllowed(path: string): boolean {
  return deno?.permissions.querySync({ name: "ffi", path }).state === "granted";
}

/** The end of the names of libraries on this system. */
export const libraryEnd: string = { windows: "dll", darwin: "dylib" }[deno?.build.os as string] ??
  "so";

/** The file name of a native kernel on this system. */
export const libraryName: string = `${libraryEnd === "dll" ? "" : "lib"}exrp.${libraryEnd}`;

/**
 * Opens the kernel at a path, or returns the functions of the one that is already open.
 *
 * @param hint What to do about a kernel of another version.
 * @throws {ReplayError} `kernel-version`.
 * @throws The platform's error where there is no such file, or it may not be opened.
 */
export function openNative(path: string, hint: string): KernelSymbols {
  const known = open.get(path);
  if (known !== undefined) return known;
  const opened = openAt(path, hint);
  open.set(path, opened);
  return opened;
}

function openAt(path: string, hint: string): KernelSymbols {
  // Check the version alone first. An older kernel may lack functions, and Deno's error about those says less.
  let probe: Deno.DynamicLibrary<typeof VERSION_SYMBOL>;
  try {
    probe = Deno.dlopen(path, VERSION_SYMBOL);
  } catch (error) {
    if (error instanceof Error && error.message.includes("Could not obtain symbol")) {
      throw new ReplayError("kernel-version", `${path} is not a replay kernel: ${error.message}`, {
        cause: error,
      });
    }
    throw error;
  }
  try {
    checkVersion(`the kernel at ${path}`, probe.symbols.exrp_abi_version(), hint);
    // The engine keeps Deno's own object as a dictionary, in which it looks each function up at each call.
    return { ...Deno.dlopen(path, symbols).symbols };
  } catch (error) {
    probe.close();
    if (error instanceof ReplayError) throw error;
    throw new ReplayError(
      "kernel-version",
      `the kernel at ${path} is of another version than this library: ${
        nativeReason(error)
      }; ${hint}`,
      { cause: error },
    );
  }
}

/** Why a file could not be opened, in Deno's words. */
export function nativeReason(error: unknown): string {
  return reasonOf(error).replace(/^(Could not open library: )+/, "");
}

/** Gives memory of the kernel's, which holds anything; undefined where it has none to give. */
export type TakeBuffer = (bytes: number) => ArrayBuffer | undefined;

/**
 * What gives memory for large batches of the kernel at a path, which was opened before. The memory is the kernel's again once the engine has
 * freed it. Undefined where this platform can't do that.
 */
export function bufferSource(path: string): TakeBuffer | undefined {
  const module = { exports: {} };
  try {
    // Deno has Node's own way to load what speaks Node-API.
    Reflect.get(globalThis, "process").dlopen(module, path);
  } catch {
    return undefined;
  }
  return typeof module.exports === "function" ? module.exports as TakeBuffer : undefined;
}
