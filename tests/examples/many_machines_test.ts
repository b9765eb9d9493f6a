/** The agent of docs/fleet.md learns in both architectures, in one process, and over NATS where a server is installed. */
import { findNats, startNats } from "../../tools/_nats.ts";
import { native, onWasm } from "../_native.ts";
import { assert, assertStrictEquals } from "../_assert.ts";
import { inRepository } from "../../tools/_repository.ts";

const nats = await findNats();

async function run(args: readonly string[]): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-check", "--config", inRepository("deno.json")],
      ...[inRepository("examples", "many_machines", "main.ts"), ...args],
    ],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

/** Runs the example, which must have learned something: who learned nothing earns 9 to 10. */
async function learns(args: readonly string[]): Promise<void> {
  const { code, said } = await run(args);
  assertStrictEquals(code, 0, said);
  const [, earned = "none"] = /exploring earn ([\d.]+) on average/.exec(said) ?? [];
  assert(Number(earned) > 12, said);
}

for (const as of ["apex", "seed"]) {
  native.test(`an agent of ${as} learns in one process`, () =>
    learns([`--as=${as}`, "--steps=6000"]));
}

Deno.test({
  name: "an agent of apex learns with actors in processes of their own, over NATS",
  ignore: nats === undefined || onWasm,
  fn: async () => {
    const server = await startNats(nats as string);
    try {
      await learns(["--as=apex", "--steps=6000", `--servers=${server.address}`]);
    } finally {
      await server.kill();
    }
  },
});

Deno.test("an architecture that does not exist is refused in words", async () => {
  const { code, said } = await run(["--as=a3c"]);
  assertStrictEquals(code, 1);
  assert(said.includes('--as is apex or seed, not "a3c"'), said);
});
