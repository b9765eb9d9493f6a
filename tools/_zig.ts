/**
 * Finds Zig, the C++ toolchain of the kernel, or fetches it.
 *
 * It is looked for in this order: the variable ZIG, `zig` on the PATH, the Python package `ziglang`, and that package
 * in the repository's own .cache folder. It is installed there when none of the others will do.
 *
 * @module
 */
import { exists, inRepository, run, seconds } from "./_repository.ts";

/** The version that is fetched. */
export const pinnedVersion = "0.17.0";
/** The versions that are accepted: its build interface changes from one minor version to the next. */
const acceptedSeries = "0.17.";

/** Zig as it was found. */
export interface Zig {
  /** The words that begin its command line. */
  readonly command: readonly string[];
  /** Its version. */
  readonly version: string;
}

/** A tool cannot go on; the message is one sentence that says what to do. */
export class ToolError extends Error {
  override name = "ToolError";
}

interface Place {
  readonly name: string;
  readonly command: readonly string[];
}

/** Python's name on this system; undefined where there is none. */
export async function findPython(): Promise<string | undefined> {
  for (
    const name of Deno.build.os === "windows" ? ["python", "python3", "py"] : ["python3", "python"]
  ) {
    if ((await run([name, "-c", "import sys; sys.exit(sys.version_info < (3, 7))"])).success) {
      return name;
    }
  }
  return undefined;
}

/** Asks a Zig for its version and says so when it will not do. */
async function tryPlace(place: Place, log: (line: string) => void): Promise<Zig | undefined> {
  const { success, stdout, stderr } = await run([...place.command, "version"]);
  const version = stdout.trim();
  if (success && version.startsWith(acceptedSeries)) return { command: place.command, version };
  if (success) {
    log(
      `${place.name} is Zig ${version}, but the kernel needs ${acceptedSeries}x: looking further`,
    );
  } else if (place.name.startsWith("ZIG=")) {
    log(`${place.name} does not run (${stderr.trim().split("\n").at(-1)}): looking further`);
  }
  return undefined;
}

/** Zig, found or fetched. */
export async function findZig(log: (line: string) => void): Promise<Zig> {
  const given = Deno.env.get("ZIG");
  const cacheFolder = inRepository(".cache", "ziglang");
  const cached: Place = {
    name: ".cache/ziglang",
    command: [`${cacheFolder}/ziglang/zig${Deno.build.os === "windows" ? ".exe" : ""}`],
  };
  const python = await findPython();
  const places: Place[] = [
    ...given ? [{ name: `ZIG=${given}`, command: [given] }] : [],
    { name: "zig on the PATH", command: ["zig"] },
    ...python ? [{ name: `${python} -m ziglang`, command: [python, "-m", "ziglang"] }] : [],
    cached,
  ];
  for (const place of places) {
    const zig = await tryPlace(place, log);
    if (zig) return zig;
  }
  await fetchZig(python, cacheFolder, log);
  const zig = await tryPlace(cached, log);
  if (zig) return zig;
  throw new ToolError(
    `Zig ${pinnedVersion} was fetched into .cache/ziglang but does not run there: install Zig ${pinnedVersion} yourself and set ZIG to its path.`,
  );
}

const orElse = `or install Zig ${pinnedVersion} yourself and set ZIG to its path`;

/** Installs the pinned version from the Python package index into a folder. */
async function fetchZig(
  python: string | undefined,
  folder: string,
  log: (line: string) => void,
): Promise<void> {
  if (python === undefined) {
    throw new ToolError(
      `Found neither Zig ${acceptedSeries}x nor a Python to fetch it with: install python3 with pip, ${orElse}.`,
    );
  }
  if (!(await run([python, "-m", "pip", "--version"])).success) {
    throw new ToolError(
      `Found no Zig ${acceptedSeries}x, and ${python} has no pip to fetch it with: install pip (on Debian: apt-get install python3-pip), ${orElse}.`,
    );
  }
  log(`fetching Zig ${pinnedVersion} from the Python package index (about 100 MB, once)`);
  const start = performance.now();
  // Into a folder of its own first: an interrupted download must not look like an installation.
  const partial = `${folder}.partial`;
  if (await exists(partial)) await Deno.remove(partial, { recursive: true });
  const pip = await run([
    ...[python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"],
    ...["--target", partial, `ziglang==${pinnedVersion}`],
  ]);
  if (!pip.success) {
    const reason = pip.stderr.trim().split("\n").findLast((line) => line.startsWith("ERROR")) ??
      pip.stderr.trim().split("\n").at(-1);
    throw new ToolError(
      `pip could not fetch ziglang ${pinnedVersion} (${reason}): check that this machine reaches a Python package index, ${orElse}.`,
    );
  }
  if (await exists(folder)) await Deno.remove(folder, { recursive: true });
  await Deno.rename(partial, folder);
  log(`fetched in ${seconds(performance.now() - start)}`);
}
