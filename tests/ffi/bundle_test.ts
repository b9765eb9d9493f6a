/**
 * Bundles run in every format, also in those which are no modules and so have no `import.meta.url`. `tests/package/npm_test.ts` does the
 * same with the npm package, in Node and Chromium.
 */
import { assertStrictEquals } from "../_assert.ts";
import { build, stop } from "npm:esbuild@0.28.2";
import { inRepository } from "../../tools/_repository.ts";
import { FreshFolder } from "../package/_fresh_folder.ts";

const PROGRAM = `import { ExperienceReplay, float32 } from "@exrp/replay";
async function make(backend) {
  using replay = await ExperienceReplay.create({ capacity: 9, state: float32(2), backend });
  replay.record(replay.newEpisode(), [1, 2], 0, 3);
  return [replay.recordCount, replay.describe().kernel].join(" ");
}
async function main() {
  console.log(await make("auto"));
  console.log(await make("native").catch(({ message }) => message.split(";")[0]));
}
void main();
`;

/** What a bundle prints that has no address. */
const WITHOUT_ADDRESS = `1 the bundle of this program
the native kernel cannot be opened: this library is part of a bundle, which brings no kernel
`;

/** Bundles the program to this file in the folder. */
async function bundle(
  folder: FreshFolder,
  file: string,
  format: "iife" | "cjs" | "esm",
): Promise<void> {
  await folder.write("program.js", PROGRAM);
  try {
    await build({
      ...{ entryPoints: [folder.at("program.js")], outfile: folder.at(file), format, bundle: true },
      alias: { "@exrp/replay": inRepository("mod.ts") },
      external: ["../prebuilt/targets.ts"], // a clone has it only where a release was packed
      logLevel: "silent",
    });
  } finally {
    await stop();
  }
}

for (
  const [file, format] of [["iife.js", "iife"], ["cjs.cjs", "cjs"], ["esm.js", "esm"]] as const
) {
  Deno.test(`a bundle in the format ${format} runs, with all permissions and with none`, async () => {
    await using folder = await FreshFolder.make();
    await bundle(folder, file, format);
    const place = `file://${folder.path.replace(/[^/]+$/, "")}prebuilt/wasm32.js`;
    // CommonJS needs a permission for its own file.
    for (const flags of [["--allow-all"], format === "cjs" ? ["--allow-read"] : []]) {
      const { stdout, stderr } = await folder.deno("run", "--no-prompt", ...flags, file);
      if (format !== "esm") assertStrictEquals(stdout, WITHOUT_ADDRESS, stderr);
      else assertStrictEquals(stdout.split("\n")[0], `1 ${place}`, stderr);
    }
  });
}

Deno.test("a bundle runs as a blob: module, beside which nothing lies", async () => {
  await using folder = await FreshFolder.make();
  await bundle(folder, "esm.js", "esm");
  await folder.write(
    "main.js",
    `const code = await Deno.readTextFile("esm.js");
    await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));`,
  );
  const { stdout, stderr } = await folder.deno("run", "--no-prompt", "--allow-read", "main.js");
  assertStrictEquals(stdout.split("\n")[0], "1 the bundle of this program", stderr);
});
