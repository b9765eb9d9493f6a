/**
 * Makes the pages that train agents in the browser: `deno task page`. `--help` says what it writes.
 *
 * `deno bundle` joins the modules: it reads the import map, npm's packages and the lock file as Deno does. It leaves new syntax as it is,
 * such as `using`, which many browsers can't read. So esbuild then translates each file for older browsers, and makes it small.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { stop, transform } from "npm:esbuild@0.28.2";
import { readArguments } from "./_arguments.ts";
import { exists, inRepository, run, seconds } from "./_repository.ts";
import { ToolError } from "./_zig.ts";

const usage = `deno task page [OPTION]

Makes the pages that train agents in the browser, in out/page: static files that any server can hand out, under any path.
Try it by \`python3 -m http.server --directory out/page\`.

  --out=FOLDER   writes into this folder instead; it is emptied first
  --help         prints this`;

const SOURCE = "examples/browser";
/** What the page, its worker, and the page for GPUs begin with. */
const ENTRIES = ["page.ts", "worker.ts", "gpu.ts"];
/** What is handed out as it is. */
const PLAIN = ["index.html", "gpu.html", "start.js", "page.css", "THIRD_PARTY.txt"];

/** The oldest browsers that have what the page needs: vector instructions of WebAssembly, and workers that are modules. */
const BROWSERS = ["chrome91", "firefox114", "safari16.4"];

/**
 * Makes the page in `out`, and returns the bytes of all its files.
 *
 * @throws {ToolError} When a step fails; its text says which, and what was printed.
 */
export async function buildPage(out: string): Promise<number> {
  if (!await exists(inRepository("prebuilt", "wasm32.ts"))) {
    throw new ToolError("There is no WebAssembly kernel: make it by `deno task build`.");
  }
  if (await exists(out)) await Deno.remove(out, { recursive: true });
  const bundle = await run([
    ...[Deno.execPath(), "bundle", "--quiet", "--platform", "browser", "--code-splitting"],
    // The list of native kernels, which only Deno can open.
    ...["--external", "../prebuilt/targets.ts", "--outdir", out],
    ...ENTRIES.map((entry) => inRepository(SOURCE, entry)),
  ], { env: { NO_COLOR: "1" } });
  if (!bundle.success) throw new ToolError(`deno bundle failed:\n${bundle.stderr}`.trimEnd());
  let bytes = 0;
  try {
    for await (const { name } of Deno.readDir(out)) {
      const file = join(out, name);
      const { code } = await transform(await Deno.readTextFile(file), {
        format: "esm",
        minify: true,
        target: BROWSERS,
        legalComments: "none", // THIRD_PARTY.txt has them
      });
      await Deno.writeTextFile(file, code);
      bytes += new TextEncoder().encode(code).length;
    }
  } finally {
    await stop();
  }
  for (const name of PLAIN) {
    await Deno.copyFile(inRepository(SOURCE, name), join(out, name));
    bytes += (await Deno.stat(join(out, name))).size;
  }
  return bytes;
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { out: { type: "string" } }, usage);
  if (typeof options === "number") return options;
  const out = resolve(options.out ?? inRepository("out", "page"));
  const start = performance.now();
  try {
    const bytes = await buildPage(out);
    const time = seconds(performance.now() - start);
    console.log(`page: ${Math.round(bytes / 1000)} kB are in ${out} (${time})`);
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    console.error(`page: ${error.message}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
