/**
 * The virtual environments of the peers. Each is `.cache/peers/<peer>`, with the exact versions of `requirements/<peer>.txt`.
 *
 * If a file says `# shares: torch`, its environment also sees the packages of that one. So packages of gigabytes are installed once.
 * If it says `# python: 3.11`, only that version of Python will do.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** One peer. */
export interface PeerName {
  /** The name of its worker, its requirements and its environment. */
  readonly id: string;
  /** The name that people use. */
  readonly name: string;
  /** How many threads it uses. */
  readonly threads: string;
}

/** All peers, in the order of the tables. */
export const peers: readonly PeerName[] = [
  { id: "numpy", name: "numpy", threads: "one" },
  { id: "cpprb", name: "cpprb", threads: "one" },
  { id: "flashbax", name: "flashbax", threads: "every core, as XLA likes" },
  { id: "reverb", name: "Reverb", threads: "its own, on every core" },
  { id: "torchrl", name: "TorchRL", threads: "one" },
  { id: "tianshou", name: "Tianshou", threads: "one" },
  { id: "stable_baselines3", name: "Stable-Baselines3", threads: "one" },
  { id: "elegantrl", name: "ElegantRL", threads: "one" },
];

const here = new URL(".", import.meta.url);
const cache = fileURLToPath(new URL("../../.cache/peers/", here));
const isWindows = Deno.build.os === "windows";

/** The path of a peer's worker. */
export function workerPath(id: string): string {
  return fileURLToPath(new URL(`worker_${id}.py`, here));
}

/** The interpreter of an environment. */
function pythonOf(id: string): string {
  return isWindows ? `${cache}${id}\\Scripts\\python.exe` : `${cache}${id}/bin/python`;
}

async function requirementsOf(
  id: string,
): Promise<{ path: string; text: string; shares: string[] }> {
  const path = fileURLToPath(new URL(`requirements/${id}.txt`, here));
  const text = await Deno.readTextFile(path);
  const shares = [...text.matchAll(/^# shares: (\w+)$/gm)].map((match) => match[1] ?? "");
  return { path, text, shares };
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Runs a program. Returns why it failed, or undefined. */
async function attempt(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command(program, {
      args,
      stdout: "null",
      stderr: "piped",
    }).output();
    if (success) return undefined;
    const lines = new TextDecoder().decode(stderr).trim().split("\n");
    const errors = lines.filter((line) => /error/i.test(line));
    return (errors[0] ?? lines.at(-1) ?? "it failed").trim().slice(0, 300);
  } catch (error) {
    return `${program}: ${error instanceof Error ? error.message : error}`.slice(0, 300);
  }
}

/** A peer's interpreter, or why there is none. */
export type Found = { readonly python: string } | { readonly why: string };

/** Finds a peer's environment if it is as its requirements ask. */
export async function findEnvironment(id: string): Promise<Found> {
  const { text, shares } = await requirementsOf(id);
  for (const shared of shares) {
    const found = await findEnvironment(shared);
    if ("why" in found) return { why: `${shared}: ${found.why}` };
  }
  const installed = await isFile(pythonOf(id))
    ? await readOrNothing(`${cache}${id}.installed.txt`)
    : undefined;
  if (installed === text) return { python: pythonOf(id) };
  return {
    why: installed === undefined
      ? "not installed: run deno task bench:peers --install"
      : "installed at other versions: run deno task bench:peers --install",
  };
}

/** The Python that makes an environment: EXRP_PYTHON, or the first of the right version; else why there is none. */
async function findBase(text: string): Promise<Found> {
  const wanted = /^# python: ([\d.]+)$/m.exec(text)?.[1];
  const plain = isWindows ? "python" : "python3";
  const named = Deno.env.get("EXRP_PYTHON");
  if (wanted === undefined) return { python: named ?? plain };
  const names = named === undefined ? [`python${wanted}`, plain] : [named];
  const test = `import sys; sys.exit("%d.%d" % sys.version_info[:2] != "${wanted}")`;
  for (const name of names) {
    if (await attempt(name, "-E", "-c", test) === undefined) return { python: name };
  }
  return { why: `it needs Python ${wanted}, which ${names.join(" and ")} is not: set EXRP_PYTHON` };
}

/** Makes a peer's environment if it is missing. Says why that failed. */
export async function installEnvironment(id: string, say: (text: string) => void): Promise<Found> {
  const { path, text, shares } = await requirementsOf(id);
  for (const shared of shares) {
    const found = await installEnvironment(shared, say);
    if ("why" in found) return { why: `${shared}: ${found.why}` };
  }
  const found = await findEnvironment(id);
  if ("python" in found) return found;
  const base = await findBase(text);
  if ("why" in base) return base;
  say(`installing ${id} ...`);
  await Deno.mkdir(cache, { recursive: true });
  const python = pythonOf(id);
  const why = await attempt(base.python, "-m", "venv", "--clear", `${cache}${id}`) ??
    await share(id, shares) ??
    // The file has every package, so pip has nothing to choose.
    await attempt(python, "-E", "-m", "pip", "install", "--quiet", "--no-deps", "-r", path);
  if (why !== undefined) return { why: `could not be installed: ${why}` };
  await Deno.writeTextFile(`${cache}${id}.installed.txt`, text);
  return { python };
}

/** Lets an environment see the packages of others. */
async function share(id: string, shares: readonly string[]): Promise<string | undefined> {
  if (shares.length === 0) return undefined;
  const folder = async (of: string): Promise<string> => {
    const { stdout } = await new Deno.Command(pythonOf(of), {
      args: ["-E", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const others = await Promise.all(shares.map(folder));
  await Deno.writeTextFile(`${await folder(id)}/shared.pth`, `${others.join("\n")}\n`);
  return undefined;
}
