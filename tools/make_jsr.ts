/**
 * Makes the package that JSR gets: the files of the repository, without what only its authors need. `--help` says where it goes.
 *
 * Each module is made lean by `_lean.ts`. The documentation of what an entry point exports stays, wherever it is declared; that of
 * everything else goes. `deno doc` must find the same in the package as in the repository, and `deno publish` must take the package.
 *
 * @module
 */
import { dirname, join, posix, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readArguments } from "./_arguments.ts";
import { inlineNumbers, takeNumbers } from "./_inline_numbers.ts";
import { type KeptDocs, leanModule } from "./_lean.ts";
import {
  findPackageFaults,
  libraryPackages,
  listPublished,
  type Manifest,
  packageReadme,
  packedText,
  readManifest,
  sizeFaults,
} from "./_package.ts";
import { exists, inRepository, repository, run } from "./_repository.ts";

const usage = `deno task jsr [OPTION]

Makes the package for JSR, and checks it. Publish it by \`deno publish\` in its folder.

  --out=DIR          where it goes: build/jsr by default
  --repository=URL   the address of the repository, where the links of the package's README lead; without it, it has none
  --help             prints this`;

/** The module whose numbers are written where they are used. */
const HEADER = "ffi/symbols.ts";

/** What `deno doc` finds in a package. */
interface Docs {
  /** The documentation as JSON, without the places where it stands. */
  readonly text: string;
  /** Where each file's public declarations are, by its path in the package. */
  readonly places: ReadonlyMap<string, (readonly [line: number, column: number])[]>;
}

/** Reads the documentation of a package in a folder. */
async function readDocs(folder: string, { exports }: Manifest): Promise<Docs> {
  const { success, stdout, stderr } = await run([
    ...[Deno.execPath(), "doc", "--json", "--quiet", ...Object.values(exports)],
  ], { cwd: folder, env: { NO_COLOR: "1" } });
  if (!success) throw new Error(stderr.trim());
  const root = pathToFileURL(`${await Deno.realPath(folder)}/`).href;
  const places = new Map<string, (readonly [number, number])[]>();
  const text = JSON.stringify(JSON.parse(stdout.replaceAll(root, "")), (key, value) => {
    if (key !== "location") return value;
    const { filename, line, col } = value;
    const found = places.get(filename) ?? [];
    found.push([line, col]);
    places.set(filename, found);
    return undefined;
  });
  return { text, places };
}

/** The deno.json of the package. */
function configOf({ name, version, license, exports, imports }: Manifest): object {
  return {
    ...{ name, version, license, exports },
    imports: Object.fromEntries(libraryPackages.map((each) => [each, imports[each]])),
    lock: false,
  };
}

/** Where two texts differ first, with what stands there in each. */
function difference(one: string, other: string): string {
  let at = 0;
  while (one[at] === other[at]) at++;
  return [one, other].map((text) => text.slice(Math.max(0, at - 200), at + 100)).join("\nis now\n");
}

/**
 * Checks that a package says what the repository says, and that `deno publish` would take it.
 *
 * @throws {Error} When it does not, with what differs.
 */
export async function checkJsrPackage(out: string): Promise<void> {
  const manifest = await readManifest();
  const [one, other] = await Promise.all([repository, out].map((each) => readDocs(each, manifest)));
  if (one?.text !== other?.text) {
    const where = difference(one?.text ?? "", other?.text ?? "");
    throw new Error(`the package has other documentation than the repository:\n${where}`);
  }
  const { success, stdout, stderr } = await run(
    [Deno.execPath(), "publish", "--dry-run", "--allow-dirty"],
    { cwd: out, env: { NO_COLOR: "1" } },
  );
  if (!success) throw new Error(`\`deno publish --dry-run\` refuses it:\n${stdout}${stderr}`);
}

/**
 * Makes the package in `out`, and returns the bytes of each file.
 *
 * @param kernels The folder of the kernels that it carries, as `deno task prebuild` writes it. Where it is missing, it has none.
 * @param repository The address of the repository, where the links of the README lead.
 * @param log Hears what is being done.
 * @throws {Error} When the files are no package, or when it is too large, or when a check finds something wrong.
 */
export async function makeJsrPackage(
  out: string,
  { kernels = inRepository("prebuilt"), check = true, repository: address, log = () => {} }: {
    kernels?: string;
    check?: boolean;
    repository?: string | undefined;
    log?: (line: string) => void;
  } = {},
): Promise<ReadonlyMap<string, number>> {
  const manifest = await readManifest();
  log("reading the documentation, which decides what comments stay");
  const files = (await listPublished()).filter((file) =>
    file !== "deno.json" && !file.startsWith("prebuilt/")
  );
  const faults = await findPackageFaults([...files, "deno.json"]);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const docs = await readDocs(repository, manifest);
  if (await exists(out)) await Deno.remove(out, { recursive: true });
  const sizes = new Map<string, number>();
  const write = async (file: string, content: string | Uint8Array): Promise<void> => {
    const path = join(out, file);
    await Deno.mkdir(dirname(path), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(path, bytes);
    sizes.set(file, bytes.length);
  };
  const entries = Object.values(manifest.exports).map((path) => path.replace("./", ""));
  const header = await Deno.readTextFile(inRepository(HEADER));
  const { numbers, rest } = takeNumbers(HEADER, leanModule(HEADER, header));
  for (const file of files) {
    if (file === HEADER) {
      await write(file, rest);
      continue;
    }
    if (file === "README.md") {
      await write(file, await packageReadme(manifest, address));
      continue;
    }
    const text = await Deno.readTextFile(inRepository(file));
    if (!file.endsWith(".ts")) {
      await write(file, text);
      continue;
    }
    const kept: KeptDocs = {
      declarations: docs.places.get(file) ?? [],
      ofModule: entries.includes(file),
    };
    const lean = leanModule(file, text, kept);
    await write(
      file,
      inlineNumbers(
        file,
        lean,
        numbers,
        (from) => posix.join(posix.dirname(file), from) === HEADER,
      ),
    );
  }
  if (await exists(kernels)) {
    for await (const { name } of Deno.readDir(kernels)) {
      await write(`prebuilt/${name}`, await Deno.readFile(join(kernels, name)));
    }
  }
  await write("deno.json", JSON.stringify(configOf(manifest), undefined, 2) + "\n");
  const tooLarge = sizeFaults(sizes);
  if (tooLarge.length > 0) throw new Error(`the package is too large: ${tooLarge.join()}`);
  if (check) {
    log("checking that it says what the repository says, and that `deno publish` would take it");
    await checkJsrPackage(out);
  }
  return sizes;
}

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(
    args,
    { out: { type: "string" }, repository: { type: "string" } },
    usage,
  );
  if (typeof options === "number") return options;
  const out = resolve(options.out ?? inRepository("build", "jsr"));
  const log = (line: string): void => console.log(`jsr: ${line}`);
  try {
    const sizes = await makeJsrPackage(out, { repository: options.repository, log });
    log(packedText(sizes));
    log(`the package is in ${out}`);
    return 0;
  } catch (error) {
    console.error(`jsr: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
