/**
 * Weights and central inference over NATS on this machine: how long 8 MB of weights take to 64 actors, and how many steps of environments a second one
 * policy acts for.
 *
 * The server of NATS, this process and the actors' are all on this machine, so the figures are of the whole of it. `--filter=weights` or
 * `--filter=inference` measures one of them.
 *
 * @module
 */

import { Broadcast } from "@exrp/replay/actors";
import { ExperienceReplay, float32 } from "@exrp/replay";
import { sendBroadcast, serveInference } from "@exrp/replay/fleet";
import { replayWriter } from "@exrp/replay/learner";
import { connect, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { cpuUsage } from "node:process";
import { benchOptions } from "./_options.ts";
import { thisCpu } from "./_results.ts";
import { findNats, startNats } from "../tools/_nats.ts";
import { inRepository } from "../tools/_repository.ts";

const { filter, quick } = benchOptions(
  "bench:fleet",
  "Weights and central inference over NATS, with all processes on this machine",
  ["filter", "quick"],
);
const path = await findNats();
if (path === undefined) {
  console.error("there is no nats-server: run deno task nats:install");
  Deno.exit(1);
}
const nats = await startNats(path);
const connections: NatsConnection[] = [];

async function connectHere(): Promise<NatsConnection> {
  const connection = await connect({ servers: nats.address });
  connections.push(connection);
  return connection;
}

/** Starts processes of a script, and runs something once all of them have said that they are ready. */
async function withProcesses(
  count: number,
  script: string,
  args: readonly (string | number)[],
  run: () => Promise<void>,
): Promise<void> {
  const children = Array.from({ length: count }, () =>
    new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", "--quiet", "--config", inRepository("deno.json")],
        ...[inRepository("bench", "fleet", script), nats.address, ...args.map(String)],
      ],
      stdout: "piped",
      stderr: "inherit",
    }).spawn());
  try {
    await Promise.all(children.map(({ stdout }) => stdout.getReader().read()));
    await run();
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(({ status }) => status));
  }
}

/** How long one version takes, from `publish` until each actor has read it: the best and the worst of some, in ms. */
async function measureWeights(
  processes: number,
  receivers: number,
  workers: number,
): Promise<string> {
  const weights = new Float32Array(2 * 2 ** 20).map((_, k) => Math.sin(k));
  const broadcast = Broadcast.create({ weights });
  await using sender = await sendBroadcast(await connectHere(), "weights", broadcast);
  const counting = await connectHere();
  const actors = processes * receivers * Math.max(1, workers);
  let left = actors;
  let done = (): void => {};
  counting.subscribe("read", { callback: () => void (--left === 0 && done()) });
  await counting.flush();
  const times: number[] = [];
  await withProcesses(processes, "receiver.ts", [receivers, workers], async () => {
    for (let k = 0; k < (quick ? 4 : 12); k++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      left = actors;
      const all = new Promise<void>((resolve) => done = resolve);
      const begin = performance.now();
      broadcast.publish({ weights });
      await all;
      if (k >= 2) times.push(performance.now() - begin);
    }
  });
  times.sort((a, b) => a - b);
  const [least = 0, median = 0] = [times[0], times[times.length >> 1]];
  return `${least.toFixed(0)} | ${median.toFixed(0)} | ${sender.askedCount}`;
}

/** How many environment steps a second one server acts for. */
async function measureInference(
  actors: number,
  environments: number,
  isShared: boolean,
): Promise<string> {
  using replay = await ExperienceReplay.create({ capacity: 2_000_000, state: float32(4) });
  const server = await serveInference(await connectHere(), "policy", {
    state: float32(4),
    act: ({ size, state }) => {
      const action = new Int32Array(size);
      for (let k = 0; k < size; k++) {
        action[k] = (state[4 * k + 2] ?? 0) + (state[4 * k + 3] ?? 0) > 0 ? 1 : 0;
      }
      return { action };
    },
    maxBatch: 4096,
    writer: () => replayWriter(replay),
  });
  let text = "";
  await withProcesses(
    2,
    "actor.ts",
    [actors / 2, environments, isShared ? actors / 2 : 1],
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 3000));
      const [steps, batches, cpu, begin] = [
        server.stepCount,
        server.batchCount,
        cpuUsage(),
        performance.now(),
      ];
      await new Promise((resolve) => setTimeout(resolve, quick ? 1000 : 4000));
      const seconds = (performance.now() - begin) / 1000;
      const { user, system } = cpuUsage(cpu);
      const stepCount = server.stepCount - steps;
      text = [
        Math.round(stepCount / seconds),
        Math.round(stepCount / (server.batchCount - batches)),
        ((user + system) / stepCount).toFixed(1),
      ].join(" | ");
    },
  );
  await server.close();
  return text;
}

try {
  console.log(`${thisCpu()}, Deno ${Deno.version.deno}\n`);
  if ("weights".includes(filter)) {
    console.log(
      "| 8 MB of weights to 64 actors | best, ms | median, ms | chunks asked for |\n|---|---:|---:|---:|",
    );
    for (const [processes, receivers, workers] of [[1, 1, 64], [4, 1, 16], [2, 32, 0]] as const) {
      const each = workers === 0
        ? "a connection and a receiver each, in two processes"
        : processes === 1
        ? `${workers} Workers of one process, which share a receiver`
        : `${workers} Workers in each of ${processes} processes`;
      console.log(`| ${each} | ${await measureWeights(processes, receivers, workers)} |`);
    }
    console.log();
  }
  if ("inference".includes(filter)) {
    console.log(
      "| actors | environments each | connections | steps a second | a batch | server's processor time a step, µs |\n|---:|---:|---:|---:|---:|---:|",
    );
    for (const [actors, environments] of [[64, 16], [560, 16], [64, 1], [560, 1]] as const) {
      for (const isShared of [false, true]) {
        const figures = await measureInference(actors, environments, isShared);
        console.log(`| ${actors} | ${environments} | ${isShared ? 2 : actors} | ${figures} |`);
      }
    }
  }
} finally {
  for (const connection of connections) await connection.close();
  await nats.kill();
}
