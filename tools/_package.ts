/**
 * What the package is made of, as `deno publish` sees it.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { inRepository, repository, run } from "./_repository.ts";

/** The largest that a package may be, unpacked and with the kernels of all targets. */
export const PACKAGE_BYTES_MAX = 5_000_000;

/** The name, version and exports of the package. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The file behind each entry point: `"."` to `"./mod.ts"`. */
  readonly exports: Readonly<Record<string, string>>;
  /** What each name that the code imports stands for. */
  readonly imports: Readonly<Record<string, string>>;
}

/** The packages that the library's own code imports, besides Node's: only `./reverb` and `./server` do so. */
export const libraryPackages: readonly string[] = ["@bufbuild/protobuf"];

/** What deno.json says of the package. */
export async function readManifest(): Promise<Manifest> {
  return JSON.parse(await Deno.readTextFile(inRepository("deno.json")));
}

/**
 * The files that `deno publish` would publish from the repository, sorted, as paths with `/` from the root.
 *
 * @throws {Error} When the dry run fails, with what it printed.
 */
export async function listPublished(): Promise<string[]> {
  const args = ["publish", "--dry-run", "--allow-dirty", "--no-check"];
  const { success, stdout, stderr } = await run([Deno.execPath(), ...args], {
    env: { NO_COLOR: "1" },
  });
  const text = `${stdout}\n${stderr}`;
  if (!success) throw new Error(text.trim());
  const files = [...text.matchAll(/^ +(file:\/\/\S+) \([\d.]+ ?[KM]?B\)$/gm)];
  if (files.length === 0) throw new Error(`\`deno publish --dry-run\` named no file:\n${text}`);
  return files.map(([, url = ""]) =>
    fileURLToPath(url).slice(repository.length).replaceAll("\\", "/")
  ).sort();
}

/** What is wrong with these files as the sources of a package; [] where nothing is. */
export async function findPackageFaults(files: readonly string[]): Promise<string[]> {
  const faults = files.filter((file) => !mayBePublished(file)).map((file) =>
    `${file} does not belong into the package`
  );
  const { exports } = await readManifest();
  for (const file of [...Object.values(exports), "./LICENSE", "./README.md", "./deno.json"]) {
    if (!files.includes(file.replace("./", ""))) faults.push(`${file} is missing`);
  }
  return faults;
}

/** What is wrong with the size of a package, by the bytes of its files; [] where nothing is. */
export function sizeFaults(sizes: ReadonlyMap<string, number>): string[] {
  const total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  if (total <= PACKAGE_BYTES_MAX) return [];
  const parts = new Map<string, number>();
  for (const [file, bytes] of sizes) {
    // A kernel is as large as a folder.
    const part = file.startsWith("prebuilt/") || !file.includes("/")
      ? file
      : file.replace(/\/.*/, "/");
    parts.set(part, (parts.get(part) ?? 0) + bytes);
  }
  const list = [...parts].sort(([, a], [, b]) => b - a).map(([part, bytes]) => `${part} ${bytes}`);
  return [`it has ${total} bytes, more than ${PACKAGE_BYTES_MAX}: ${list.join(", ")}`];
}

/** What a package has, by the bytes of its files: how much, and whether kernels are missing. */
export function packedText(sizes: ReadonlyMap<string, number>): string {
  let [bytes, ofKernels] = [0, 0];
  for (const [file, size] of sizes) {
    bytes += size;
    if (file.startsWith("prebuilt/")) ofKernels += size;
  }
  const hasNative = [...sizes.keys()].some((file) => /^prebuilt\/.*\.wasm$/.test(file));
  return `${sizes.size} files, ${bytes} bytes, of which kernels have ${ofKernels}${
    hasNative ? "" : "; no native kernels: run `deno task prebuild` first"
  }`;
}

/** Tests, benches, tools and C++ are of use in a clone only. */
function mayBePublished(file: string): boolean {
  if (["README.md", "LICENSE", "deno.json"].includes(file)) return true;
  if (/^prebuilt\/.*\.wasm$/.test(file)) return true;
  if (!/\.(ts|md)$/.test(file) || /(_test|_bench)\.ts$/.test(file)) return false;
  return !/^(tests|bench|tools|examples|docs|kernel)\//.test(file);
}

/**
 * The README of the package: `docs/package_readme.md`, whose links lead into the repository. A package has no other page.
 *
 * @param repository The address of the repository, such as `https://github.com/name/of-it`. Without it, links become plain text.
 */
export async function packageReadme(
  { version }: Manifest,
  repository: string | undefined,
): Promise<string> {
  const text = await Deno.readTextFile(inRepository("docs", "package_readme.md"));
  return text.replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_, label: string, link: string) => {
    if (repository === undefined) return label;
    return `[${label}](${new URL(link, `${repository}/blob/v${version}/docs/`).href})`;
  });
}
