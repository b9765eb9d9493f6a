/**
 * Makes the package that JSR gets: the plain files of the repository that `deno.json` publishes, a README of its own, and the kernels.
 * `--help` says where it goes.
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { readArguments } from "./_arguments.ts";
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
import { exists, inRepository, run } from "./_repository.ts";

const usage = `deno task jsr [OPTION]

Makes the package for JSR, and checks it. Publish it by \`deno publish\` in its folder.

  --out=DIR          where it goes: build/jsr by default
  --repository=URL   the address of the repository, where the links of the package's README lead; without it, it has none
  --help             prints this`;

/** The deno.json of the package. */
function configOf({ name, version, license, exports, imports }: Manifest): object {
  return {
    ...{ name, version, license, exports },
    imports: Object.fromEntries(libraryPackages.map((each) => [each, imports[each]])),
    lock: false,
  };
}

/**
 * Checks that `deno publish` would take a package: its types, and that none of them is slow.
 *
 * @throws {Error} When it would not, with what it printed.
 */
export async function checkJsrPackage(out: string): Promise<void> {
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
  { kernels = inRepository("prebuilt"), check = true, repository, log = () => {} }: {
    kernels?: string;
    check?: boolean;
    repository?: string | undefined;
    log?: (line: string) => void;
  } = {},
): Promise<ReadonlyMap<string, number>> {
  const manifest = await readManifest();
  const files = (await listPublished()).filter((file) =>
    file !== "deno.json" && !file.startsWith("prebuilt/")
  );
  const faults = await findPackageFaults([...files, "deno.json"]);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  if (await exists(out)) await Deno.remove(out, { recursive: true });
  const sizes = new Map<string, number>();
  const write = async (file: string, content: string | Uint8Array): Promise<void> => {
    const path = join(out, file);
    await Deno.mkdir(dirname(path), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(path, bytes);
    sizes.set(file, bytes.length);
  };
  for (const file of files) {
    await write(
      file,
      file === "README.md"
        ? await packageReadme(manifest, repository)
        : await Deno.readFile(inRepository(file)),
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
    log("checking that `deno publish` would take it");
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
