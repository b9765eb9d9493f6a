/**
 * Serves the package for JSR from this machine, so that `deno add` takes it before it is published: `deno task jsr:serve`. `--help` says
 * how.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { readArguments } from "./_arguments.ts";
import { serveJsr } from "./_jsr_server.ts";
import { packedText, readManifest } from "./_package.ts";
import { inRepository } from "./_repository.ts";
import { makeJsrPackage } from "./make_jsr.ts";

const usage = `deno task jsr:serve [OPTION]

Makes the package for JSR, and serves it at 127.0.0.1 as JSR does, until you press Ctrl+C. It prints what to type in a folder of yours.
Each start has another port, because Deno keeps what it once loaded from an address.

  --out=DIR   where the package goes: build/jsr by default
  --help      prints this`;

async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { out: { type: "string" } }, usage);
  if (typeof options === "number") return options;
  const out = resolve(options.out ?? inRepository("build", "jsr"));
  const log = (line: string): void => console.log(`jsr:serve: ${line}`);
  try {
    const sizes = await makeJsrPackage(out, { check: false, log });
    log(packedText(sizes));
    const manifest = await readManifest();
    const files = new Map([...sizes.keys()].map((file) => [file, join(out, file)]));
    await using server = await serveJsr(manifest, files);
    log(
      `${manifest.name} ${manifest.version} is served until you press Ctrl+C. In a folder of yours:

export JSR_URL=${server.url}
deno add jsr:${manifest.name}
`,
    );
    await server.finished;
    return 0;
  } catch (error) {
    console.error(`jsr:serve: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
