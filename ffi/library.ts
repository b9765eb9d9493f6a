/**
 * Finds the kernel and opens it. No other file calls `Deno.dlopen`.
 *
 * A kernel is opened once per isolate and path, and never closed: finalizers and Workers may still call it.
 * Only `Deno.dlopen` reads the disk, so `--allow-ffi=<path of the kernel>` is enough.
 *
 * @module
 */

import { ReplayError } from "../base/errors.ts";
import { embeddedKernel } from "./embedded.ts";
import { errorOfStatus } from "./status_errors.ts";
import { EXRP_ABI_VERSION, symbols } from "./symbols.ts";

/** The functions of an open kernel. */
export type KernelSymbols = Deno.DynamicLibrary<typeof symbols>["symbols"];

/** An open kernel. */
export interface Kernel {
  /** The path of the kernel's file. */
  readonly path: string;
  /** The kernel's functions. */
  readonly symbols: KernelSymbols;
}

const VERSION_SYMBOL = {
  exrp_abi_version: { parameters: [], result: "u32" },
} as const;

const ENVIRONMENT = "EXRP_KERNEL";
const NAME_HINT = `name it by the option kernelPath or the environment variable ${ENVIRONMENT}`;
const BUILD_HINT = `build it with \`deno task build\`, or ${NAME_HINT}`;

const open = new Map<string, Kernel>();

/**
 * Opens the kernel, or returns the one that is already open.
 *
 * It tries these places, in this order: `kernelPath`; the environment variable `EXRP_KERNEL`, if `--allow-env` was granted; the
 * local build in `zig-out/lib/`; the kernel that the package carries, unpacked into `kernelCache`. If you name a place by the
 * option or the variable, it tries no other.
 *
 * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission`.
 */
export async function openKernel(
  kernelPath?: string | URL,
  kernelCache?: string | URL,
): Promise<Kernel> {
  const cache = kernelCache === undefined ? undefined : pathOf("kernelCache", kernelCache);
  const failures: string[] = [];
  let refused: ReplayError | undefined;
  let cause: unknown;
  for (const place of places(kernelPath)) {
    const known = open.get(place.path);
    if (known !== undefined) return known;
    try {
      return keep(openAt(place.path));
    } catch (error) {
      if (error instanceof ReplayError) throw error;
      // What is not there needs no permission: the build is what is missing.
      const isRefused = error instanceof Deno.errors.NotCapable;
      if (isRefused && !isMissing(place.path)) refused = permissionError(place.path, error);
      const why = isRefused ? "there is no such file" : reason(error);
      failures.push(`  ${place.path} (${place.origin}): ${why}`);
      cause = error;
    }
  }
  if (!isNamed(kernelPath)) {
    const embedded = await embeddedKernel(cache).catch((error) => {
      throw refused === undefined ? error : both(error, refused);
    });
    if (embedded !== undefined) return open.get(embedded.path) ?? openEmbedded(embedded.path);
  }
  if (refused !== undefined) throw refused;
  if (failures.length === 0) throw remoteError(import.meta.url);
  throw new ReplayError(
    "kernel-missing",
    `the replay kernel cannot be opened; ${BUILD_HINT}. Places tried:\n${failures.join("\n")}`,
    { cause },
  );
}

/** The error where neither the package's kernel can be had nor the local build be looked at. */
function both(error: ReplayError, refused: ReplayError): ReplayError {
  const message = `${error.message}. Nor could a local build be opened: ${refused.message}`;
  return new ReplayError(error.code, message, { cause: error });
}

/** Remembers an open kernel. */
function keep(kernel: Kernel): Kernel {
  open.set(kernel.path, kernel);
  return kernel;
}

/** Opens a kernel that was unpacked and found whole. */
function openEmbedded(path: string): Kernel {
  try {
    return keep(openAt(path));
  } catch (error) {
    if (error instanceof ReplayError) throw error;
    throw new ReplayError(
      "kernel-missing",
      `the package's kernel was unpacked to ${path}, but the system does not load it: ${
        reason(error)
      }; if that folder is mounted noexec, name another one by the option kernelCache or the environment variable EXRP_CACHE`,
      { cause: error },
    );
  }
}

/** The error where this library was not loaded from files, so that no kernel lies beside it. */
function remoteError(url: string): ReplayError {
  return new ReplayError(
    "kernel-missing",
    `the replay kernel cannot be opened: this library was imported from ${url}, and what is imported from there brings no kernel; ` +
      `build one in a clone of the repository with \`deno task build\`, and ${NAME_HINT}`,
  );
}

/** Whether a file is known not to be there. Where it may not be looked at, that is not known. */
function isMissing(path: string): boolean {
  try {
    if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return false;
    Deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

interface Place {
  readonly path: string;
  readonly origin: string;
}

/** Whether the option or the environment names the one kernel to use. */
function isNamed(kernelPath: string | URL | undefined): boolean {
  return kernelPath !== undefined || (environment() ?? "") !== "";
}

function places(kernelPath: string | URL | undefined): Place[] {
  if (kernelPath !== undefined) {
    return [{ path: pathOf("kernelPath", kernelPath), origin: "the option kernelPath" }];
  }
  const named = environment();
  if (named !== undefined && named !== "") {
    return [{ path: named, origin: `the environment variable ${ENVIRONMENT}` }];
  }
  const found: Place[] = [];
  if (import.meta.url.startsWith("file:")) {
    const local = new URL(`../zig-out/lib/${libraryName()}`, import.meta.url);
    found.push({ path: pathOf("the local build", local), origin: "the local build" });
  }
  return found;
}

/** Reads the variable only where `--allow-env` was granted. Else Deno would prompt the user. */
function environment(): string | undefined {
  try {
    const { state } = Deno.permissions.querySync({ name: "env", variable: ENVIRONMENT });
    return state === "granted" ? Deno.env.get(ENVIRONMENT) : undefined;
  } catch {
    return undefined;
  }
}

function libraryName(): string {
  switch (Deno.build.os) {
    case "windows":
      return "exrp.dll";
    case "darwin":
      return "libexrp.dylib";
    default:
      return "libexrp.so";
  }
}

function pathOf(name: string, place: string | URL): string {
  if (typeof place !== "string" && !(place instanceof URL)) {
    throw new TypeError(`${name} must be a string or a URL, got ${typeof place}`);
  }
  const text = String(place);
  if (!text.startsWith("file:")) {
    if (typeof place !== "string") {
      throw new TypeError(`${name} must be a path or a file: URL, got ${text}`);
    }
    // A name alone would be looked for among the system's libraries, and not here.
    return /[/\\]/.test(text) ? text : `./${text}`;
  }
  const path = decodeURIComponent(new URL(text).pathname);
  return Deno.build.os === "windows" ? path.replace(/^\/+([A-Za-z]:)/, "$1") : path;
}

function openAt(path: string): Kernel {
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
  const version = probe.symbols.exrp_abi_version();
  if (version !== EXRP_ABI_VERSION) {
    probe.close();
    throw new ReplayError(
      "kernel-version",
      `the kernel at ${path} has version ${version} of the interface, but this library needs ${EXRP_ABI_VERSION}; ${BUILD_HINT}`,
      { detail: [version, EXRP_ABI_VERSION] },
    );
  }
  try {
    return { path, symbols: Deno.dlopen(path, symbols).symbols };
  } catch (error) {
    probe.close();
    throw new ReplayError(
      "kernel-version",
      `the kernel at ${path} is of another version than this library: ${
        reason(error)
      }; ${BUILD_HINT}`,
      { cause: error },
    );
  }
}

function permissionError(path: string, cause: unknown): ReplayError {
  return new ReplayError(
    "permission",
    `the replay kernel at ${path} may not be opened; run deno with --allow-ffi=${path}; if there is no such file yet, build it first with \`deno task build\``,
    { cause },
  );
}

function reason(error: unknown): string {
  return error instanceof Error
    ? error.message.replace(/^(Could not open library: )+/, "")
    : String(error);
}

const detail = new Float64Array(4);

/** The error for the status that a call just returned, with the kernel's numbers of detail. */
export function kernelError(kernel: Kernel, operation: string, status: number): ReplayError {
  kernel.symbols.exrp_error_detail(detail, detail.length);
  return errorOfStatus(operation, status, [...detail]);
}

/** Throws unless a call succeeded. */
export function checkStatus(kernel: Kernel, operation: string, status: number): void {
  if (status !== 0) throw kernelError(kernel, operation, status);
}
