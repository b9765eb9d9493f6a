/** `deno task jsr:serve`: what it prints, typed into a fresh folder, installs the package. */
import { assert, assertStrictEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";
import { ended, FreshFolder, reachNpm } from "./_fresh_folder.ts";

Deno.test("deno add takes the package from the address that jsr:serve prints", async () => {
  await using folder = await FreshFolder.make();
  await using server = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", inRepository("tools", "serve_jsr.ts"), `--out=${folder.at("package")}`],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let printed = "";
  const lines = server.stdout.pipeThrough(new TextDecoderStream());
  for await (const piece of lines.values({ preventCancel: true })) {
    printed += piece;
    if (printed.includes("deno add")) break;
  }
  const [, url = "", name = ""] = /^export JSR_URL=(\S+)\ndeno add jsr:(\S+)$/m.exec(printed) ?? [];
  assertStrictEquals(name, "@exrp/replay");
  const env = { ...reachNpm, JSR_URL: url };
  ended("deno add", await folder.run(Deno.execPath(), ["add", `jsr:${name}`], env));
  await folder.write(
    "main.ts",
    `import { ExperienceReplay, float32 } from "${name}";
    using replay = await ExperienceReplay.create({ capacity: 9, state: float32() });
    console.log(replay.capacity, replay.describe().backend);`,
  );
  const ran = await folder.run(Deno.execPath(), ["run", "--no-prompt", "main.ts"], env);
  ended("deno run", ran);
  assert(ran.stdout.startsWith("9 wasm"), ran.stdout);
});
