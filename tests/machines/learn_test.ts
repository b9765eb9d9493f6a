/**
 * The agents of `examples/many_machines` learn with a NATS server, shards, actors and a learner on machines of their own: over plain cables, and over slow ones that lose
 * packets.
 *
 * `EXRP_MACHINE_SEEDS` says with how many seeds each learns; without it, none does, as one takes up to minutes. `EXRP_MACHINE_SEED` is the first. Where there is no NATS
 * server, or machines can't be made, this is left out.
 *
 * @module
 */

import {
  type Architecture,
  ARCHITECTURES,
  isStored,
  shardFile,
} from "../../examples/many_machines/architectures.ts";
import { PREFIX } from "../../examples/many_machines/names.ts";
import { findNats } from "../../tools/_nats.ts";
import { assert, assertStrictEquals } from "../_assert.ts";
import { onWasm } from "../_native.ts";
import { until } from "../_wait.ts";
import { Program } from "../shards/_program.ts";
import { lookForMachines, Machines } from "./_machines.ts";
import type { Link } from "./_relay.ts";

const SEEDS = Number(Deno.env.get("EXRP_MACHINE_SEEDS") ?? 0);
const SEED = Number(Deno.env.get("EXRP_MACHINE_SEED") ?? 1);
const PORT = 4222;
const SHARDS = 2;
const ACTORS = 2;
const LINK: Link = { delayMs: 2, jitterMs: 0, lossPercent: 0.5 };
/** Those that also learn over slow cables. The others' learners wait for shards before each update, so they take minutes there. */
const SLOW: readonly Architecture[] = ["r2d2", "impact"];
/** A run ends when the task is solved, or its steps are over. It hangs if it takes this long. */
const PATIENCE_MS = 1_200_000;

/** What the mean return must be. An agent that learned nothing earns 10 of 500 on CartPole; one without a memory, 1.95 of 4 in the maze. */
const GOALS: Readonly<Record<Architecture, number>> = {
  ...{ apex: 400, impala: 400, impact: 400, seed: 400 },
  r2d2: 3.5,
};

const nats = await findNats();
const [hasMachines, shaper] = nats === undefined || onWasm || SEEDS === 0
  ? [false]
  : await lookForMachines();

/** Runs all parts on machines of their own, until the learner ends. */
async function learns(as: Architecture, seed: number, link?: Link): Promise<void> {
  await using machines = await Machines.make();
  if (machines === undefined) throw new Error("there are no machines");
  const folder = await Deno.makeTempDir({ prefix: "exrp-learn-" });
  const servers = `${await machines.add("nats")}:${PORT}`;
  const programs: Program[] = [];
  const begin = async (
    name: string,
    script: string,
    given: Readonly<Record<string, string | number>>,
  ): Promise<Program> => {
    await machines.add(name);
    if (link !== undefined) await machines.shape(name, link, seed + programs.length);
    const args = Object.entries({ ...given, servers }).map(([option, value]) =>
      `--${option}=${value}`
    );
    const program = new Program(script, args, machines.on(name));
    programs.push(program);
    return program;
  };
  const [command = "", ...args] = [...machines.on("nats"), nats as string, "-p", `${PORT}`];
  const streams = { stdin: "null", stdout: "null", stderr: "null" } as const;
  const server = new Deno.Command(command, { args, ...streams }).spawn();
  const begun = performance.now();
  try {
    const config = `${folder}/shard.json`;
    if (isStored(as)) {
      await Deno.writeTextFile(config, JSON.stringify(shardFile(as, PREFIX)));
      for (let k = 0; k < SHARDS; k++) {
        const name = `shard-${k}`;
        await begin(name, "shards/main.ts", { config, name, directory: `${folder}/${name}` });
      }
    }
    const common = { as, seed, actors: ACTORS };
    for (let index = 0; index < ACTORS; index++) {
      await begin(`actor-${index}`, "examples/many_machines/actor.ts", { ...common, index });
    }
    const learner = await begin("learner", "examples/many_machines/main.ts", {
      ...{ ...common, in: "cluster" },
      ...isStored(as) ? { shards: SHARDS } : {},
    });
    let code: number | undefined;
    learner.child.status.then((status) => code = status.code);
    await until("the learner ends", () => code !== undefined, PATIENCE_MS);
    await learner.end(undefined);
    const { said } = learner;
    assertStrictEquals(code, 0, said);
    const [line, earned = "none"] = /.* earn (-?[\d.]+) on average.*/.exec(said) ?? [];
    const tookMs = performance.now() - begun;
    const seconds = (tookMs / 1000).toFixed(0);
    console.log(`${as}, seed ${seed}, ${seconds} s with the start of all programs: ${line}`);
    assert(Number(earned) >= GOALS[as], said);
  } finally {
    for (const program of programs) await program.end("SIGKILL");
    server.kill("SIGKILL");
    await server.status;
    await Deno.remove(folder, { recursive: true });
  }
}

for (const as of ARCHITECTURES) {
  for (let seed = SEED; seed < SEED + Math.max(1, SEEDS); seed++) {
    Deno.test({
      name: `${as} learns with each part on a machine of its own (seed ${seed})`,
      ignore: !hasMachines,
      fn: () => learns(as, seed),
    });
    if (!SLOW.includes(as)) continue;
    Deno.test({
      name: `${as} learns over slow cables that lose packets, by ${shaper} (seed ${seed})`,
      ignore: shaper === undefined,
      fn: () => learns(as, seed, LINK),
    });
  }
}
