/** The agent of docs/learner.md learns in each place, with no other permission than its first lines say. */
import { assert, assertStrictEquals } from "../_assert.ts";
import { isAll } from "../_amount.ts";
import { inRepository } from "../../tools/_repository.ts";

const FOLDER = inRepository("examples", "one_agent");

async function run(args: readonly string[]): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--no-check", "--config", inRepository("deno.json")],
      ...[`--allow-ffi=${inRepository("zig-out", "lib")}`, "--allow-net=127.0.0.1"],
      ...[`${FOLDER}/main.ts`, ...args],
    ],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

for (const place of isAll ? ["replay", "table", "server"] : ["table"]) {
  Deno.test(`the agent of docs/learner.md learns on a ${place}`, async () => {
    const { code, said } = await run([`--on=${place}`, "--steps=4000"]);
    assertStrictEquals(code, 0, said);
    const [, earned = "none"] = /exploring earn ([\d.]+) on average/.exec(said) ?? [];
    // Who learned nothing earns 9 to 10.
    assert(Number(earned) > 30, said);
  });
}

Deno.test("a place that does not exist is refused in words", async () => {
  const { code, said } = await run(["--on=disk"]);
  assertStrictEquals(code, 1);
  assert(said.includes('--on is one of replay, table, server, not "disk"'), said);
});

Deno.test("agent.ts names no place", async () => {
  const agent = await Deno.readTextFile(`${FOLDER}/agent.ts`);
  for (const place of ["ExperienceReplay", "Tables", "ReverbClient", "tableReader"]) {
    assert(!agent.includes(place), place);
  }
});
