/** The agent that docs/actors.md quotes: the page has the files as they are, it trains, and an actor that fails ends it. */
import { assertStrictEquals, assertStringIncludes } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

const FILES = ["learner.ts", "actor.ts", "network.ts"];
const folder = inRepository("examples", "two_files");

/** Runs the learner of a folder for so many steps, with the permissions that the page gives it. */
async function train(at: string, steps: number): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--no-check", "--config", inRepository("deno.json")],
      `--allow-read=${at},${inRepository()}`,
      `--allow-ffi=${inRepository("zig-out", "lib")}`,
      ...[`${at}/learner.ts`, String(steps)],
    ],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("docs/actors.md quotes the files of examples/two_files whole", async () => {
  const guide = await Deno.readTextFile(inRepository("docs/actors.md"));
  for (const file of FILES) {
    const text = await Deno.readTextFile(`${folder}/${file}`);
    assertStringIncludes(
      guide,
      `<!-- examples/two_files/${file} -->\n\`\`\`ts ignore\n${text}\`\`\``,
    );
  }
});

Deno.test("the agent of docs/actors.md learns and ends, with no other permission than the page says", async () => {
  const { code, said } = await train(folder, 4000);
  assertStrictEquals(code, 0, said);
  assertStringIncludes(said, "10 episodes without exploring earn");
});

Deno.test("an actor that throws ends the agent of docs/actors.md with its error", async () => {
  const copy = await Deno.makeTempDir();
  for (const file of FILES) await Deno.copyFile(`${folder}/${file}`, `${copy}/${file}`);
  const actor = await Deno.readTextFile(`${copy}/actor.ts`);
  const step = "episodeReturn++;";
  assertStringIncludes(actor, step);
  const broken = `${step} if (index === 1 && episodeReturn === 5) throw new Error("it broke");`;
  await Deno.writeTextFile(`${copy}/actor.ts`, actor.replace(step, broken));

  const { code, said } = await train(copy, 1_000_000);
  await Deno.remove(copy, { recursive: true });
  assertStrictEquals(code, 1, said);
  assertStringIncludes(said, "actor 1: Uncaught (in promise) Error: it broke");
});
