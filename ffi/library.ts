/**
 * Finds the kernel and opens it: the native one where it may, else the one of WebAssembly.
 *
 * @module
 */

import { lengthOf } from "../base/typed_arrays.ts";
import { reasonOf, ReplayError } from "../base/errors.ts";
import { deno, environmentVariable, isMissing } from "../base/platform.ts";
import { embeddedKernel } from "./embedded.ts";
import {
  bufferSource,
  canOpenNative,
  isNativeAllowed,
  libraryName,
  nativeReason,
  openNative,
  type TakeBuffer,
} from "./native.ts";
import { manyOpenText } from "./open_count.ts";
import { kernelMissing, missingPermission, shortReason } from "./missing_kernel.ts";
import { ownAddress } from "./own_address.ts";
import { errorOfStatus } from "./status_errors.ts";
import { EXRP_STATUS_MEMORY } from "./symbols.ts";
import type { KernelSymbols } from "./symbols.ts";
import { openWasm } from "./wasm.ts";

export type { KernelSymbols } from "./symbols.ts";

/** Which kernel runs: the native one, the one of WebAssembly, or whichever can. */
export type Backend = "auto" | "native" | "wasm";

/** What {@linkcode openKernel} is asked for. */
export interface KernelOptions {
  /** The path of a native kernel. */
  readonly kernelPath?: string | URL | undefined;
  /** The folder for the package's own kernel, once it is unpacked. */
  readonly kernelCache?: string | URL | undefined;
  /** Which kernel to open; `"auto"` by default. */
  readonly backend?: Backend | undefined;
}

/** An open kernel. */
export interface Kernel {
  /** Which of the two it is. */
  readonly backend: "native" | "wasm";
  /** The path of the kernel's file, or where its module comes from. */
  readonly path: string;
  /** Why it was taken. */
  readonly why: string;
  /** The kernel's functions. */
  readonly symbols: KernelSymbols;
}

/** What gives memory of kernels by their paths, once asked for. */
const sources = new Map<string, TakeBuffer | undefined>();

/** Memory of a native kernel for a large batch, which holds anything; undefined where there is none. */
export function takeBuffer({ backend, path }: Kernel, bytes: number): ArrayBuffer | undefined {
  if (backend !== "native") return undefined;
  if (!sources.has(path)) sources.set(path, bufferSource(path));
  // V8 looks at how much memory young buffers hold only where it makes memory itself. Then it frees those that nobody has.
  new ArrayBuffer(1);
  return sources.get(path)?.(bytes);
}

const BACKENDS: readonly Backend[] = ["auto", "native", "wasm"];
const ENVIRONMENT = "EXRP_KERNEL";
const BACKEND_ENVIRONMENT = "EXRP_BACKEND";
const NAME_HINT = `name it by the option kernelPath or the environment variable ${ENVIRONMENT}`;
const BUILD_HINT = `build it with \`deno task build\`, or ${NAME_HINT}`;

/**
 * Opens the kernel, or returns the one that is already open.
 *
 * It tries these places, in this order: `kernelPath`; the environment variable `EXRP_KERNEL`, if `--allow-env` was granted; the
 * local build in `zig-out/lib/`; the kernel that the package carries, unpacked into `kernelCache`; the kernel of WebAssembly, which needs
 * no permission. If you name a place by the option or the variable, it tries no other. Nobody is asked for a permission, but where a
 * native kernel is named or demanded. `backend`, or else the variable `EXRP_BACKEND`, says which of the two kernels it must be.
 *
 * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission`.
 * @throws {TypeError} If an option has the wrong type or value.
 */
export async function openKernel(options: KernelOptions = {}): Promise<Kernel> {
  const { backend, why } = wantedBackend(options);
  if (backend === "wasm") return await wasmKernel(why);
  const { kernelCache } = options;
  const cache = kernelCache === undefined ? undefined : pathOf("kernelCache", kernelCache);
  const named = namedPlace(options.kernelPath);
  if (named !== undefined) return nativeKernel(named, true);
  if (!canOpenNative) {
    const reason = "only Deno can open a native kernel";
    if (backend === "auto") return await wasmKernel(reason);
    throw kernelMissing(
      `${why} is "native", but ${reason}; take "wasm", or "auto", which takes what can run`,
    );
  }
  if (backend === "native") return await foundKernel(cache, true);
  try {
    return await foundKernel(cache, false);
  } catch (error) {
    if (!(error instanceof ReplayError) || error.code === "kernel-version") throw error;
    return await wasmKernel(shortReason(error)).catch((other) => {
      const message = `${error.message}. Nor can WebAssembly run: ${reasonOf(other)}`;
      throw new ReplayError(error.code, message, { cause: other });
    });
  }
}

/**
 * Opens the native kernel at a path that came from another thread.
 *
 * @throws {ReplayError} `kernel-missing`, `kernel-version` or `permission`.
 */
export function openKernelAt(path: string, origin: string): Kernel {
  return nativeKernel({ path, origin }, true);
}

function wantedBackend({ backend, kernelPath }: KernelOptions): { backend: Backend; why: string } {
  const isChosen = backend !== undefined && backend !== "auto";
  const wanted = isChosen ? backend : environmentVariable(BACKEND_ENVIRONMENT) || "auto";
  const why = isChosen ? "the option backend" : `the environment variable ${BACKEND_ENVIRONMENT}`;
  if (!BACKENDS.includes(wanted as Backend)) {
    throw new TypeError(`${why} must be "auto", "native" or "wasm", got ${JSON.stringify(wanted)}`);
  }
  if (kernelPath === undefined) return { backend: wanted as Backend, why };
  if (backend === "wasm") {
    throw new TypeError('kernelPath names a native kernel, so it does not go with backend: "wasm"');
  }
  return { backend: "native", why };
}

async function wasmKernel(why: string): Promise<Kernel> {
  return remember({ backend: "wasm", why, ...await openWasm() });
}

const open = new Map<string, Kernel>();

/** The same object for the same kernel and reason. Tests that watch the calls of a kernel put functions of their own into it. */
function remember(kernel: Kernel): Kernel {
  const key = `${kernel.backend} ${kernel.path} ${kernel.why}`;
  const known = open.get(key) ?? kernel;
  open.set(key, known);
  return known;
}

/** The native kernel where nobody named one: the local build, or the one that the package carries. */
async function foundKernel(cache: string | undefined, mayAsk: boolean): Promise<Kernel> {
  let failed: ReplayError | undefined;
  const local = localPlace();
  if (local !== undefined) {
    try {
      return nativeKernel(local, mayAsk);
    } catch (error) {
      if (!(error instanceof ReplayError) || error.code === "kernel-version") throw error;
      failed = error;
    }
  }
  const embedded = await embeddedKernel(cache);
  if (embedded === undefined) throw failed ?? remoteError();
  return nativeKernel({ path: embedded, origin: "the package's kernel" }, true, unpackedError);
}

interface Place {
  readonly path: string;
  readonly origin: string;
}

/** Opens the native kernel of a place. Where Deno would ask the user for the permission, and it may not, it has none. */
function nativeKernel(place: Place, mayAsk: boolean, noKernel = missingError): Kernel {
  const { path, origin } = place;
  if (!canOpenNative) {
    throw kernelMissing(
      `the native kernel at ${path} cannot be opened: only Deno can; leave out kernelPath, or take backend: "wasm"`,
    );
  }
  if (!mayAsk && !isNativeAllowed(path)) {
    if (isMissing(path)) throw noKernel(place, "there is no such file");
    throw missingPermission("no --allow-ffi", ["--allow-ffi"]);
  }
  try {
    const symbols = openNative(path, BUILD_HINT);
    return remember({ backend: "native", path, why: origin, symbols });
  } catch (error) {
    if (error instanceof ReplayError) throw error;
    const isRefused = deno !== undefined && error instanceof deno.errors.NotCapable;
    // What is not there needs no permission: the build is what is missing.
    if (isRefused && !isMissing(path)) {
      const message =
        `the replay kernel at ${path} may not be opened; run deno with --allow-ffi=${path}; if there is no such file yet, build it first with \`deno task build\``;
      throw missingPermission(message, ["--allow-ffi"], error);
    }
    const why = isRefused ? "there is no such file" : nativeReason(error);
    throw noKernel(place, why, error);
  }
}

/** The error where a native kernel is not there, or is no kernel. */
function missingError({ path, origin }: Place, why: string, cause?: unknown): ReplayError {
  return kernelMissing(
    `the replay kernel cannot be opened; ${BUILD_HINT}. Places tried:\n  ${path} (${origin}): ${why}`,
    cause,
  );
}

/** The error where a kernel was unpacked and found whole, and yet is none. */
function unpackedError({ path }: Place, why: string, cause?: unknown): ReplayError {
  return kernelMissing(
    `the package's kernel was unpacked to ${path}, but the system does not load it: ${why}; if that folder is mounted noexec, name another one by the option kernelCache or the environment variable EXRP_CACHE`,
    cause,
  );
}

/** The error where this library was not loaded from files, so that no kernel lies beside it. */
function remoteError(): ReplayError {
  const url = ownAddress();
  const whence = url === undefined
    ? "this library is part of a bundle, which"
    : `this library was imported from ${url}, and what is imported from there`;
  return kernelMissing(
    `the native kernel cannot be opened: ${whence} brings no kernel; ` +
      `build one in a clone of the repository with \`deno task build\`, and ${NAME_HINT}`,
  );
}

/** The place that the user names. */
function namedPlace(kernelPath: string | URL | undefined): Place | undefined {
  if (kernelPath !== undefined) {
    return { path: pathOf("kernelPath", kernelPath), origin: "the option kernelPath" };
  }
  const named = environmentVariable(ENVIRONMENT);
  if (named === undefined || named === "") return undefined;
  return { path: named, origin: `the environment variable ${ENVIRONMENT}` };
}

/** The build of a clone; undefined where this library was not loaded from files. */
function localPlace(): Place | undefined {
  const here = ownAddress();
  if (here?.startsWith("file:") !== true) return undefined;
  const local = new URL(`../zig-out/lib/${libraryName}`, here);
  return { path: pathOf("the local build", local), origin: "the local build" };
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
  return deno?.build.os === "windows" ? path.replace(/^\/+([A-Za-z]:)/, "$1") : path;
}

const detail = new Float64Array(4);

/** The error for the status that a call just returned, with the kernel's numbers of detail. */
export function kernelError(kernel: Kernel, operation: string, status: number): ReplayError {
  kernel.symbols.exrp_error_detail(detail, lengthOf(detail));
  const hint = status === EXRP_STATUS_MEMORY ? manyOpenText(kernel) : "";
  return errorOfStatus(operation, status, [...detail], kernel.backend, hint);
}

/** Throws unless a call succeeded. */
export function checkStatus(kernel: Kernel, operation: string, status: number): void {
  if (status !== 0) throw kernelError(kernel, operation, status);
}
