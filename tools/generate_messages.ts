/**
 * Generates reverb/messages/ from the .proto files in reverb/: `deno task generate:messages`. With `--check` it writes nothing and exits
 * with 1 when a file is not what the .proto files make of it.
 *
 * @module
 */
import { join } from "node:path";
import { readArguments } from "./_arguments.ts";
import { exists, inRepository, run } from "./_repository.ts";

const usage = `deno task generate:messages [OPTION]

Writes reverb/messages/*_pb.ts from reverb/*.proto.

  --check    writes nothing, and ends with 1 where a file is not what the .proto files make of it
  --help     prints this`;

/** What reads .proto files, and what makes TypeScript of them. The second has the version of the library that the code imports. */
const compiler = "npm:@bufbuild/buf@1.60.0/buf";
const generator = "npm:@bufbuild/protoc-gen-es@2.17.0/protoc-gen-es";

const names = ["reverb", "tensorflow", "health", "limiter"] as const;

/** Runs Deno, and throws what it printed where it fails. */
async function deno(...args: string[]): Promise<void> {
  const { success, stdout, stderr } = await run([Deno.execPath(), ...args]);
  if (!success) throw new Error(`deno ${args.join(" ")} failed:\n${stdout}${stderr}`);
}

/** The text of each generated file, by its name. */
export async function generateMessages(): Promise<ReadonlyMap<string, string>> {
  const folder = await Deno.makeTempDir({ prefix: "exrp_messages_" });
  try {
    // The compiler takes a folder of .proto files by the paths that they import each other by.
    await Deno.mkdir(join(folder, "reverb"));
    for (const name of names) {
      await Deno.copyFile(
        inRepository("reverb", `${name}.proto`),
        join(folder, "reverb", `${name}.proto`),
      );
    }
    await Deno.writeTextFile(join(folder, "buf.yaml"), "version: v2\n");
    const plugin = {
      local: [
        ...[Deno.execPath(), "run", "--quiet", "--no-lock", "--allow-env", "--allow-read"],
        generator,
      ],
      out: join(folder, "out"),
      opt: ["target=ts", "import_extension=ts"],
    };
    const template = JSON.stringify({ version: "v2", plugins: [plugin] });
    await deno(
      ...["run", "--quiet", "--no-lock", "--allow-all", compiler],
      ...["generate", folder, "--template", template],
    );
    const files = names.map((name) => join(folder, "out", "reverb", `${name}_pb.ts`));
    await deno("fmt", "--quiet", "--config", inRepository("deno.json"), ...files);
    const texts = await Promise.all(files.map((file) => Deno.readTextFile(file)));
    return new Map(names.map((name, index) => [`${name}_pb.ts`, texts[index] ?? ""]));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs the tool; returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const options = readArguments(args, { check: { type: "boolean" } }, usage);
  if (typeof options === "number") return options;
  let status = 0;
  await Deno.mkdir(inRepository("reverb", "messages"), { recursive: true });
  for (const [name, text] of await generateMessages()) {
    const path = inRepository("reverb", "messages", name);
    const before = await exists(path) ? await Deno.readTextFile(path) : undefined;
    if (before?.replaceAll("\r\n", "\n") === text) {
      console.log(`reverb/messages/${name} agrees with its .proto file`);
    } else if (options.check) {
      const state = before === undefined ? "is missing" : "is not what its .proto file makes of it";
      console.error(`reverb/messages/${name} ${state}: run \`deno task generate:messages\``);
      status = 1;
    } else {
      await Deno.writeTextFile(path, text);
      console.log(`reverb/messages/${name} written from its .proto file`);
    }
  }
  return status;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
