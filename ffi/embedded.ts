/**
 * Unpacks the kernel that a published package carries for this machine, so that `Deno.dlopen` has a file to open.
 *
 * `deno task prebuild` writes the kernels into prebuilt/ when a release is packed. A clone has none, and {@linkcode embeddedKernel}
 * then returns nothing. A kernel is unpacked once, into a cache folder, under a name made from its SHA-256. Later starts find it there.
 *
 * 1. No file is used before its SHA-256 was compared, whether it was unpacked now or before.
 * 2. A file gets its name only when it is whole and on the disk. So processes that unpack at once cannot disturb each other.
 * 3. Only the module of this machine's own system is run, and none where the file is there already. Its imports have literal names,
 *    so that Deno fetches all of them with the package, and later starts need no network.
 * 4. Nothing here asks the user for a permission. Where one is missing, the error names the flags.
 *
 * Cost: about 50 ms to unpack; a later start reads and checks the file, in about 3 ms.
 *
 * @module
 */

import { expand, sha256 } from "../base/bytes.ts";
import { reasonOf, type ReplayError } from "../base/errors.ts";
import { environmentVariable } from "../base/platform.ts";
import { libraryEnd } from "./native.ts";
import { kernelMissing, missingPermission } from "./missing_kernel.ts";

/** A kernel that the package carries, as prebuilt/targets.ts has it. */
interface PrebuiltKernel {
  readonly start: number;
  readonly size: number;
  readonly sha256: string;
  readonly packedSize: number;
  readonly load: () => Promise<{ readonly memory: WebAssembly.Memory }>;
}

type Targets = Readonly<Record<string, PrebuiltKernel | undefined>>;
type Bytes = Uint8Array<ArrayBuffer>;

const AGAIN =
  "load the package again: by `deno cache --reload`, or by npm where it lies in node_modules";

/** Names the cache folder where the environment may be read. */
const FOLDER_VARIABLE = "EXRP_CACHE";
const FOLDER_HINT =
  `name a folder by the option kernelCache or the environment variable ${FOLDER_VARIABLE}`;

/** The paths of kernels that were found whole. */
const whole = new Set<string>();

/**
 * The path of the package's kernel for this machine, unpacked; undefined where the package carries no kernels at all, as in a clone.
 *
 * @param folder the cache folder; by default `EXRP_CACHE`, or a folder of the system's for caches
 * @throws {ReplayError} `permission`, or `kernel-missing` for any other reason. The text says what to do.
 */
export async function embeddedKernel(folder?: string): Promise<string | undefined> {
  const targets = await listTargets();
  if (targets === undefined) return undefined;
  const machine = machineName();
  const kernel = targets[machine];
  if (kernel === undefined) {
    throw kernelMissing(
      `this package brings no kernel for ${machine}, only for ${
        Object.keys(targets).join(", ")
      }; build one in a clone of the repository and name it by the option kernelPath or the environment variable EXRP_KERNEL`,
    );
  }
  const place = folder ?? cacheFolder();
  const path = `${place}/exrp-${machine}-${kernel.sha256.slice(0, 16)}.${libraryEnd}`;
  if (!whole.has(path)) await provide(kernel, machine, place, path);
  whole.add(path);
  return path;
}

/** The kernels of this package; undefined where it has no prebuilt/, or the import says that it is not there. */
async function listTargets(): Promise<Targets | undefined> {
  try {
    // @ts-ignore: only a packed release has this file.
    const module: { readonly targets: Targets } = await import("../prebuilt/targets.ts");
    return module.targets;
  } catch (error) {
    if (error instanceof TypeError && /^Module not found/.test(error.message)) return undefined;
    throw kernelMissing(
      `the list of this package's kernels could not be imported: ${reasonOf(error)}`,
      error,
    );
  }
}

/** This machine, as prebuilt/targets.ts names it. */
function machineName(): string {
  const { arch, os, target } = Deno.build;
  if (os === "darwin") return `${arch}-macos`;
  if (os !== "linux") return `${arch}-${os}`;
  return `${arch}-linux-${target.includes("musl") ? "musl" : "gnu"}`;
}

/** Where a system has its caches: within which folders that the environment names. */
const CACHES: Readonly<Partial<Record<string, readonly (readonly [string, string])[]>>> = {
  windows: [["LOCALAPPDATA", ""]],
  darwin: [["HOME", "/Library/Caches"]],
};

/** The folder for unpacked kernels, where the environment says which that is. */
function cacheFolder(): string {
  const named = environmentVariable(FOLDER_VARIABLE);
  if (named) return named;
  const places = CACHES[Deno.build.os] ?? [["XDG_CACHE_HOME", ""], ["HOME", "/.cache"]];
  for (const [name, within] of places) {
    const folder = absolute(name);
    if (folder !== undefined) return `${folder}${within}/exrp`;
  }
  const names = places.map(([name]) => name);
  const all = [FOLDER_VARIABLE, ...names];
  const unknown = "this package's kernel must be unpacked, but no cache folder is known";
  if (all.every((each) => isAllowed({ name: "env", variable: each }))) {
    throw kernelMissing(`${unknown}: no absolute path is in ${names.join(" or ")}; ${FOLDER_HINT}`);
  }
  throw missingPermission(
    `${unknown}: run deno with --allow-env=${all.join()}, or ${FOLDER_HINT}`,
    ["--allow-env", ...missingFlags()],
  );
}

/** A variable that is an absolute path; undefined where it is none, as the standard of XDG_CACHE_HOME has it. */
function absolute(name: string): string | undefined {
  const value = environmentVariable(name);
  return value !== undefined && /^([/\\]|[A-Za-z]:)/.test(value) ? value : undefined;
}

function isAllowed(permission: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

/** Sees to it that a file has a kernel. */
async function provide(
  kernel: PrebuiltKernel,
  machine: string,
  folder: string,
  path: string,
): Promise<void> {
  if (!isAllowed({ name: "ffi", path }) || !isAllowed({ name: "read", path })) {
    throw notAllowed(folder, path, "may not open it there");
  }
  const before = await look(kernel, path);
  if (before === "whole") return;
  if (!isAllowed({ name: "read", path: folder }) || !isAllowed({ name: "write", path: folder })) {
    const state = before === "absent" ? "is not there yet" : "has a wrong checksum";
    throw notAllowed(folder, path, `that file ${state} and Deno may not write it`);
  }
  await write(await bytesOf(kernel, machine), folder, path, kernel);
  if (await look(kernel, path) !== "whole") {
    throw kernelMissing(
      `this package's kernel was unpacked to ${path}, but what is read from there has a wrong checksum; check that disk, or ${FOLDER_HINT}`,
    );
  }
}

/** Whether a file holds a kernel, byte for byte. */
async function look(
  kernel: PrebuiltKernel,
  path: string,
): Promise<"whole" | "absent" | "wrong"> {
  let bytes: Bytes;
  try {
    bytes = await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "absent";
    throw kernelMissing(
      `this package's kernel should be at ${path}, but that cannot be read: ${
        reasonOf(error)
      }; remove it, or ${FOLDER_HINT}`,
      error,
    );
  }
  return await sha256(bytes) === kernel.sha256 ? "whole" : "wrong";
}

/** A kernel's bytes, out of its module. */
async function bytesOf(kernel: PrebuiltKernel, machine: string): Promise<Bytes> {
  const { start, size, packedSize } = kernel;
  const format = "brotli" as CompressionFormat;
  try {
    new DecompressionStream(format);
  } catch (error) {
    throw kernelMissing(
      `this package's kernel is compressed by Brotli, which Deno ${Deno.version.deno} does not expand; take Deno 2.7 or later`,
      error,
    );
  }
  let found: string | undefined;
  try {
    const { memory } = await kernel.load();
    const compressed = new Uint8Array(memory.buffer).slice(0, packedSize);
    const bytes = (await expand(compressed, format)).subarray(start, start + size);
    found = await sha256(bytes);
    if (found === kernel.sha256) return bytes;
  } catch (error) {
    throw kernelMissing(
      `this package's kernel for ${machine} could not be loaded: ${reasonOf(error)}; ${AGAIN}`,
      error,
    );
  }
  throw kernelMissing(
    `this package's kernel for ${machine} has the SHA-256 ${found}, but it must be ${kernel.sha256}; ${AGAIN}`,
  );
}

/** Writes a file that is either whole or not there. */
async function write(
  bytes: Bytes,
  folder: string,
  path: string,
  kernel: PrebuiltKernel,
): Promise<void> {
  const partial = `${path}.${crypto.randomUUID()}.part`;
  try {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    {
      using file = await Deno.open(partial, { write: true, createNew: true, mode: 0o600 });
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.sync();
    }
    await Deno.rename(partial, path);
  } catch (error) {
    await Deno.remove(partial).catch(() => {});
    // Windows replaces no file that is in use. Another process that unpacked the same kernel is then as good.
    if (await look(kernel, path).catch(() => "wrong") === "whole") return;
    throw kernelMissing(
      `this package's kernel could not be unpacked to ${path}: ${
        reasonOf(error)
      }; make ${bytes.length} bytes of room in a folder that may be written, or ${FOLDER_HINT}`,
      error,
    );
  }
}

function notAllowed(folder: string, path: string, what: string): ReplayError {
  return missingPermission(
    `this package's kernel is unpacked to ${path}, but ${what}; run deno with --allow-read=${folder} --allow-write=${folder} --allow-ffi=${path}, or ${FOLDER_HINT}`,
    missingFlags(folder, path),
  );
}

/** Which of the flags for a kernel in a folder are missing; without a folder, those for any. */
function missingFlags(folder?: string, path?: string): string[] {
  const paths = [["read", folder], ["write", folder], ["ffi", path]] as const;
  return paths.filter(([name, path]) => !isAllowed({ name, path }))
    .map(([name]) => `--allow-${name}`);
}
