/** The agents of docs/many_machines.md learn in each architecture: in one process, with Workers, and over NATS where a server is installed. */
import { parseOptions } from "../../examples/many_machines/main.ts";
import { ARCHITECTURES, isStored, shardFile } from "../../examples/many_machines/architectures.ts";
import { threadConnection } from "../../examples/many_machines/_thread_connection.ts";
import { readShardConfig } from "../../shards/config.ts";
import { findNats, startNats } from "../../tools/_nats.ts";
import { inRepository } from "../../tools/_repository.ts";
import { assert, assertEquals, assertStrictEquals, assertThrows } from "../_assert.ts";
import { native, onWasm } from "../_native.ts";

const nats = await findNats();

/** What an agent that learned nothing earns at most, and steps after which it has learned something. */
const GOALS = {
  apex: { chance: 11, steps: 2500 },
  r2d2: { chance: -1, steps: 4500 },
  impala: { chance: 11, steps: 4096 },
  impact: { chance: 11, steps: 4096 },
  seed: { chance: 11, steps: 3000 },
} as const;

/** Runs the example, which must have learned something. */
async function learns(as: typeof ARCHITECTURES[number], args: readonly string[]): Promise<void> {
  const { chance, steps } = GOALS[as];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-check", "--config", inRepository("deno.json")],
      ...[inRepository("examples", "many_machines", "main.ts"), `--as=${as}`, `--steps=${steps}`],
      ...args,
    ],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertStrictEquals(code, 0, said);
  const [, earned = "none"] = /exploring earn (-?[\d.]+) on average/.exec(said) ?? [];
  assert(Number(earned) > chance, said);
}

// Each once, and each place once: the agent is the same everywhere.
native.test("an agent of Ape-X learns in one process", () => learns("apex", []));
native.test("an agent of SEED RL learns in one process", () => learns("seed", []));
native.test("an agent of IMPALA learns in one process", () => learns("impala", []));
native.test("an agent of IMPACT learns with actors in Workers", () =>
  learns("impact", ["--in=workers"]));

Deno.test({
  name: "an agent of R2D2 learns with actors in processes of their own, over NATS",
  ignore: nats === undefined || onWasm,
  fn: async () => {
    const server = await startNats(nats as string);
    try {
      await learns("r2d2", ["--in=nats", `--servers=${server.address}`]);
    } finally {
      await server.kill();
    }
  },
});

Deno.test("the example of many machines refuses flags that are wrong", () => {
  assertEquals(parseOptions(["--as=impala"]), {
    ...{ as: "impala", in: "process", servers: "127.0.0.1:4222" },
    ...{ actors: 2, shards: 0, seed: 1, steps: 120_000 },
  });
  const { shards } = parseOptions(["--in=cluster", "--shards=3"]) as { shards: number };
  assertStrictEquals(shards, 3);
  for (
    const [args, words] of [
      [["--as=a3c"], '--as is one of apex, r2d2, impala, impact, seed, not "a3c"'],
      [["--in=heaven"], "--in is one of process, workers, nats, cluster"],
      [["--shards=2"], "--shards needs --in=cluster"],
      [["--as=impact", "--in=cluster", "--shards=1"], "which impala and impact don't"],
      [["--actors=0"], "--actors is an integer from 1 to 8"],
    ] as const
  ) {
    assertThrows(() => parseOptions([...args]), TypeError, words);
  }
});

Deno.test("the file of a shard says the replay that the agent learns from", () => {
  for (const as of ARCHITECTURES.filter(isStored)) {
    const { replay, selectors } = readShardConfig(JSON.stringify(shardFile(as, "p")));
    assertStrictEquals(String(replay.state), as === "r2d2" ? "float32(3)" : "float32(4)");
    assertStrictEquals(
      String(replay.extras?.["hidden"]),
      as === "r2d2" ? "every(4, float32(32))" : "undefined",
    );
    assertEquals(selectors.map(({ kind }) => kind), ["prioritized"]);
  }
});

Deno.test("two ends of a thread's channel ask each other, and each gets its own answers", async () => {
  const [one, other] = [threadConnection("tests"), threadConnection("tests")];
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
  for (const [name, connection] of Object.entries({ one, other })) {
    connection.subscribe(`ask.${name}`, {
      callback: (_error, { data, reply = "" }) =>
        connection.publish(reply, bytes(`${name} ${data}`)),
    });
  }
  const asked = [one, other].flatMap((from, k) =>
    ["one", "other"].map(async (to) => {
      const { data } = await from.request(`ask.${to}`, bytes(`${k}`), { timeout: 60_000 });
      return new TextDecoder().decode(data);
    })
  );
  assertEquals(await Promise.all(asked), ["one 48", "other 48", "one 49", "other 49"]);
  await one.close();
  await other.close();
});
