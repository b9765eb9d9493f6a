/**
 * Makes the npm package: the files that JSR has too, each as JavaScript with its types. `--help` says where it goes.
 *
 * It begins with the package for JSR. The TypeScript compiler makes one `.js` and one `.d.ts` of each file, and bundles nothing. So the modules stay those of the
 * repository, and a bundler leaves out what nobody imports. It also finds what Node 20 does not have: its library of types is that of
 * ES2023, and a later built-in function is an error. Names of Deno are not known to it and are left alone.
 *
 * @module
 */
import { join, posix, resolve } from "node:path";
import { readArguments } from "./_arguments.ts";
import { libraryPackages, type Manifest, readManifest, sizeFaults } from "./_package.ts";
import { versions } from "../interchange/packages.ts";
import { exists, inRepository, run } from "./_repository.ts";
import { makeJsrPackage } from "./make_jsr.ts";

const usage = `deno task npm [OPTION]

Makes the npm package. Pack it with \`npm pack build/npm/package\`, or publish it with \`npm publish build/npm/package\`.

  --out=DIR          where it goes: build/npm by default, with the package in DIR/package
  --repository=URL   the address of the repository, which npm compares when a release is published
  --help             prints this`;

/** The compiler: the version that this Deno has, too. */
const TYPESCRIPT = "npm:typescript@6.0.3";

const compilerOptions = {
  rootDir: "source",
  outDir: "package",
  module: "nodenext",
  target: "es2022",
  lib: [
    "es2023",
    // Atomics.waitAsync, which Node 20 has, too.
    "es2024.sharedmemory",
    // String.isWellFormed, which it has as well.
    "es2024.string",
    "esnext.disposable",
    "esnext.float16",
    "dom",
    "dom.iterable",
    "dom.asynciterable",
  ],
  types: [],
  strict: true,
  // What Deno gives is unknown here, so its types are any.
  noImplicitAny: false,
  noUncheckedIndexedAccess: true,
  rewriteRelativeImportExtensions: true,
};

/** The oldest Node that works: it has `process.getBuiltinModule`, by which files are reached. */
const NODE_MIN = "20.16";

/** How the package names its native kernels. */
const KERNELS = "#kernels";

/** The version of each of these packages, as `deno.json` names it. */
function dependencies({ imports }: Manifest): Record<string, string> {
  return Object.fromEntries(libraryPackages.map((name) => {
    const version = imports[name]?.slice(`npm:${name}@`.length);
    if (version === undefined) throw new Error(`deno.json names no version of ${name}`);
    return [name, version];
  }));
}

/** The package.json of the package, which names the address of its repository where one is given. */
export function packageJson(manifest: Manifest, repository?: string): object {
  const { name, version, license, exports } = manifest;
  const entry = (path: string): object => ({
    types: path.replace(/\.ts$/, ".d.ts"),
    default: path.replace(/\.ts$/, ".js"),
  });
  return {
    name,
    version,
    description: "Experience replay for reinforcement learning, with a native kernel",
    keywords: ["reinforcement-learning", "experience-replay", "replay-buffer", "deno", "wasm"],
    license,
    // npm refuses the provenance of a package that does not name the repository it was built from.
    ...repository === undefined
      ? {}
      : { repository: { type: "git", url: `git+${repository}.git` } },
    type: "module",
    sideEffects: false,
    engines: { node: `>=${NODE_MIN}` },
    dependencies: dependencies(manifest),
    // Those of other formats: who uses one installs it.
    peerDependencies: Object.fromEntries(
      Object.entries(versions).map(([name, version]) => [name, `^${version}`]),
    ),
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(versions).map((name) => [name, { optional: true }]),
    ),
    // Only Deno opens native kernels. So no other runtime or bundler sees them.
    imports: { [KERNELS]: { deno: "./prebuilt/targets.js", default: "./prebuilt/none.js" } },
    exports: {
      ...Object.fromEntries(Object.entries(exports).map(([key, path]) => [key, entry(path)])),
      "./package.json": "./package.json",
    },
  };
}

/** What the compiler found wrong, without the names of Deno, which it does not know. */
export function compilerErrors(text: string): string[] {
  return text.split("\n").filter((line) =>
    / error TS\d+: /.test(line) && !/Cannot find (name|namespace) 'Deno'/.test(line)
  );
}

/** The bytes of all files in a folder, by their paths from there. */
async function sizesIn(folder: string, prefix = ""): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for await (const { name, isDirectory } of Deno.readDir(join(folder, prefix))) {
    const path = `${prefix}${name}`;
    const found = isDirectory
      ? await sizesIn(folder, `${path}/`)
      : [[path, (await Deno.stat(join(folder, path))).size] as const];
    for (const [file, bytes] of found) sizes.set(file, bytes);
  }
  return sizes;
}

/** Removes the types that no entry point leads to: nobody can name them. */
async function removeHiddenTypes(folder: string, entries: readonly string[]): Promise<void> {
  const typesOf = (path: string): string => path.replace(/\.[tj]s$/, ".d.ts");
  const reached = new Set(entries.map((entry) => typesOf(posix.normalize(entry))));
  // A set goes on with what is added to it meanwhile.
  for (const file of reached) {
    const text = await Deno.readTextFile(join(folder, file));
    for (const [, path = ""] of text.matchAll(/(?:from |import\(|import )"(\.[^"]+)"/g)) {
      reached.add(typesOf(posix.join(posix.dirname(file), path)));
    }
  }
  for (const file of (await sizesIn(folder)).keys()) {
    if (file.endsWith(".d.ts") && !reached.has(file)) await Deno.remove(join(folder, file));
  }
}

/** What the compiler must know of a module of WebAssembly that has kernels. */
const wasmTypes = `declare module "*.wasm" {
  export const memory: WebAssembly.Memory;
}
`;

/** Puts the native kernels where only Deno finds them. Without any, Deno too finds none. */
async function placeKernels(source: string, folder: string): Promise<void> {
  const names = [...(await sizesIn(source)).keys()];
  const to = join(folder, "prebuilt");
  for (const name of names.filter((name) => name.endsWith(".wasm"))) {
    await Deno.copyFile(join(source, name), join(to, name));
  }
  for (const name of names.includes("targets.ts") ? ["none.js"] : ["none.js", "targets.js"]) {
    await Deno.writeTextFile(join(to, name), "export const targets = undefined;\n");
  }
  const path = join(folder, "ffi", "embedded.js");
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, text.replace('"../prebuilt/targets.js"', `"${KERNELS}"`));
}

/** Lets the compiler know, at every entry point, the names in the types that its default library lacks. */
async function nameLibraries(folder: string, entries: readonly string[]): Promise<void> {
  const references = ["esnext.disposable", "esnext.float16"].map((lib) =>
    `/// <reference lib="${lib}" />\n`
  );
  for (const entry of entries) {
    const path = join(folder, entry.replace(/\.ts$/, ".d.ts"));
    await Deno.writeTextFile(path, references.join("") + await Deno.readTextFile(path));
  }
}

/** Lets the types of a folder name nothing of Deno's, which their users need not know. */
async function hideDeno(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await hideDeno(path);
    if (!name.endsWith(".d.ts")) continue;
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replaceAll("typeof Deno", "any"));
  }
}

/**
 * Makes the package in `out/package`.
 *
 * @param kernels The folder of the kernels that it carries, as `deno task prebuild` writes it.
 * @param repository The address of the repository, such as `https://github.com/name/of-it`.
 * @param log Hears what is being done.
 * @throws {Error} When the files are no package, or the compiler finds something wrong.
 */
export async function makeNpmPackage(
  out: string,
  kernels: string = inRepository("prebuilt"),
  repository?: string,
  log: (line: string) => void = () => {},
): Promise<void> {
  const manifest = await readManifest();
  if (await exists(out)) await Deno.remove(out, { recursive: true });
  await makeJsrPackage(join(out, "source"), { kernels, check: false, repository, log });
  const prebuilt = join(out, "source", "prebuilt");
  await Deno.mkdir(prebuilt, { recursive: true });
  await Deno.writeTextFile(join(prebuilt, "wasm.d.ts"), wasmTypes);
  await Deno.mkdir(join(out, "package"));
  for (const file of ["README.md", "LICENSE"]) {
    await Deno.copyFile(join(out, "source", file), join(out, "package", file));
  }
  const json = (name: string, value: object): Promise<void> =>
    Deno.writeTextFile(join(out, name), JSON.stringify(value, undefined, 2) + "\n");
  await json("source/package.json", { type: "module" });
  log("installing the packages that it imports, whose types the compiler reads");
  await json("package.json", { dependencies: dependencies(manifest) });
  const installed = await run(
    [Deno.execPath(), "install", "--quiet", "--no-lock", "--node-modules-dir=auto"],
    { cwd: resolve(out), env: { NO_COLOR: "1" } },
  );
  if (!installed.success) throw new Error(installed.stdout + installed.stderr);
  await json("tsconfig.json", { compilerOptions, include: ["source/**/*.ts"] });
  await json("package/package.json", packageJson(manifest, repository));
  const compile = async (...options: string[]): Promise<void> => {
    const { stdout, stderr } = await run([
      ...[Deno.execPath(), "run", "--quiet", "--no-lock", "--allow-read", "--allow-write"],
      ...["--allow-env", `${TYPESCRIPT}/tsc`, "--project", resolve(out, "tsconfig.json")],
      ...["--pretty", "false", ...options],
    ], { env: { NO_COLOR: "1" } });
    const errors = compilerErrors(stdout);
    if (errors.length > 0) throw new Error(errors.join("\n"));
    said += stdout + stderr;
  };
  let said = "";
  log("compiling the types");
  // The documentation stands in the types, where editors look for it, so the code needs none.
  await compile("--declaration", "--emitDeclarationOnly");
  await hideDeno(join(out, "package"));
  await removeHiddenTypes(join(out, "package"), Object.values(manifest.exports));
  log("compiling the code");
  await compile("--noCheck", "--removeComments");
  if (!await exists(join(out, "package", "mod.js"))) {
    throw new Error(`the compiler wrote nothing:\n${said}`);
  }
  await Deno.mkdir(join(out, "package", "prebuilt"), { recursive: true });
  await placeKernels(prebuilt, join(out, "package"));
  await nameLibraries(join(out, "package"), Object.values(manifest.exports));
  const tooLarge = sizeFaults(await sizesIn(join(out, "package")));
  if (tooLarge.length > 0) throw new Error(`the package is too large: ${tooLarge.join()}`);
}

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, {
    out: { type: "string" },
    repository: { type: "string" },
  }, usage);
  if (typeof options === "number") return options;
  const out = resolve(options.out ?? inRepository("build", "npm"));
  const log = (line: string): void => console.log(`npm: ${line}`);
  try {
    await makeNpmPackage(out, undefined, options.repository, log);
    log(`the package is in ${join(out, "package")}`);
    return 0;
  } catch (error) {
    console.error(`npm: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
