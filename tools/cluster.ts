/**
 * The command of `deno task cluster`: the example `many_machines` on one machine, with a NATS server, shards, actors and a learner as processes, and a page that
 * shows them.
 *
 * @module
 */
import { connect, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { join, resolve } from "node:path";
import {
  actorsMax,
  type Architecture,
  ARCHITECTURES,
  isStored,
  shardFile,
  STEPS,
} from "../examples/many_machines/architectures.ts";
import { FIGURES, PREFIX } from "../examples/many_machines/names.ts";
import { readArguments } from "./_arguments.ts";
import { answerPage, type ClusterFigures } from "./_cluster_page.ts";
import { findNats, freePort } from "./_nats.ts";
import { inRepository } from "./_repository.ts";
import { type Program, Supervisor } from "./_supervisor.ts";

const usage = `deno task cluster [OPTION]

Trains an agent on this machine, with all parts as processes: a NATS server, shards, actors and a learner. A page of this machine shows them. A part that dies is
started again. Ctrl+C ends all, and so does the learner once it is done.

  --as=NAME          ${ARCHITECTURES.join(", ")}; apex by default
  --shards=NUMBER    2 by default; impala and impact have none
  --actors=NUMBER    2 by default
  --steps=NUMBER     steps of all actors at most
  --seed=NUMBER      1 by default
  --directory=PATH   keeps the shards there; by default, they are removed at the end
  --port=NUMBER      of the page; 8800 by default, and 0 takes a free one
  --help             prints this`;

/** What a peer said of itself last. */
interface Said {
  readonly at: number;
  readonly figures: Readonly<Record<string, number>>;
  /** What it said at least a second before, for rates. */
  readonly before: Said | undefined;
}

/** Listens to what shards, actors and the learner say. */
class Ear {
  readonly shards = new Map<string, Said>();
  readonly parts = new Map<string, Said>();

  constructor(connection: NatsConnection) {
    const listen = (subject: string, into: Map<string, Said>): void => {
      connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) hear(into, message.json());
        },
      });
    };
    listen(`${PREFIX}.beat.*`, this.shards);
    listen(`${FIGURES}.*`, this.parts);
  }
}

function hear(into: Map<string, Said>, { name, ...figures }: { name: string }): void {
  const last = into.get(name);
  const at = performance.now();
  const isOld = last?.before === undefined || at - last.before.at > 2000;
  const before = isOld && last !== undefined ? { ...last, before: undefined } : last?.before;
  into.set(name, { at, figures: figures as Record<string, number>, before });
}

/** How much a figure grows a second. A part that began anew begins with 0. */
function rateOf({ at, figures, before }: Said, name: string): number {
  if (before === undefined) return 0;
  const more = (figures[name] ?? 0) - (before.figures[name] ?? 0);
  return Math.max(0, 1000 * more / (at - before.at));
}

function figuresOf(
  as: Architecture,
  begun: number,
  supervisor: Supervisor,
  { shards, parts }: Ear,
): ClusterFigures {
  const now = performance.now();
  const all = [...parts].sort(([one], [other]) => one < other ? -1 : 1);
  const of = (said: Said, rate: string): { rate: number; silentMs: number } => ({
    rate: rateOf(said, rate),
    silentMs: now - said.at,
  });
  const learner = parts.get("learner");
  return {
    architecture: as,
    seconds: (now - begun) / 1000,
    programs: supervisor.running,
    shards: [...shards].sort(([one], [other]) => one < other ? -1 : 1).map(([name, said]) => {
      const { records = 0, capacity = 0 } = said.figures;
      return { name, records, capacity, ...of(said, "recorded") };
    }),
    actors: all.filter(([name]) => name.startsWith("actor-")).map(([name, said]) => {
      const { steps = 0, version = 0 } = said.figures;
      return { name, steps, version, ...of(said, "steps") };
    }),
    learner: learner && {
      steps: learner.figures["steps"] ?? 0,
      updates: learner.figures["updates"] ?? 0,
      version: learner.figures["version"] ?? 0,
      return: learner.figures["return"] ?? 0,
      ...of(learner, "updates"),
    },
    deaths: supervisor.deaths,
  };
}

/** Resolves at the first signal to stop. */
function untilSignal(): Promise<string> {
  const signals = Deno.build.os === "windows"
    ? ["SIGINT"] as const
    : ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  return new Promise((resolve) => {
    for (const signal of signals) Deno.addSignalListener(signal, () => resolve(signal));
  });
}

/** Waits until the server takes a connection. */
async function connectTo(servers: string): Promise<NatsConnection> {
  for (let tries = 0;; tries++) {
    try {
      return await connect({ servers, maxReconnectAttempts: -1, name: "cluster" });
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Runs the command; returns its exit status. `find` finds the program of the server. */
export async function main(
  args: readonly string[],
  find: () => Promise<string | undefined> = findNats,
): Promise<number> {
  const options = readArguments(args, {
    as: { type: "string", default: "apex" },
    shards: { type: "string" },
    actors: { type: "string", default: "2" },
    steps: { type: "string" },
    seed: { type: "string", default: "1" },
    directory: { type: "string" },
    port: { type: "string", default: "8800" },
  }, usage);
  if (typeof options === "number") return options;
  const as = ARCHITECTURES.find((each) => each === options.as);
  if (as === undefined) {
    console.error(`--as is one of ${ARCHITECTURES.join(", ")}, not "${options.as}"`);
    return 2;
  }
  const counts = {
    shards: isStored(as) ? Number(options.shards ?? 2) : 0,
    actors: Number(options.actors),
    steps: Number(options.steps ?? STEPS[as]),
    seed: Number(options.seed),
    port: Number(options.port),
  };
  for (const [name, count] of Object.entries(counts)) {
    const least = name === "steps" || name === "actors" ? 1 : 0;
    const most = name === "actors" ? actorsMax(as) : name === "port" ? 65_535 : 1_000_000_000;
    if (Number.isInteger(count) && count >= least && count <= most) continue;
    console.error(`--${name} must be a whole number from ${least} to ${most}`);
    return 2;
  }
  if (isStored(as) ? counts.shards === 0 : Number(options.shards ?? 0) > 0) {
    const words = isStored(as) ? "needs one shard at least" : "has a queue and no shards";
    console.error(`--as=${as} ${words}`);
    return 2;
  }
  const server = await find();
  if (server === undefined) {
    console.error("there is no nats-server here: run deno task nats:install, which builds one");
    return 1;
  }
  return await run(as, server, counts, options.directory);
}

async function run(
  as: Architecture,
  server: string,
  { shards, actors, steps, seed, port }: Readonly<
    Record<"shards" | "actors" | "steps" | "seed" | "port", number>
  >,
  directory: string | undefined,
): Promise<number> {
  const stopped = untilSignal();
  const folder = directory === undefined
    ? await Deno.makeTempDir({ prefix: "exrp-cluster-" })
    : resolve(Deno.env.get("INIT_CWD") ?? "", directory);
  const supervisor = new Supervisor((line) => console.log(line));
  let connection: NatsConnection | undefined;
  const pageEnd = new AbortController();
  try {
    const natsPort = freePort();
    const servers = `127.0.0.1:${natsPort}`;
    const nats = ["-a", "127.0.0.1", "-p", `${natsPort}`];
    // It says on the error stream what it does.
    supervisor.start({
      name: "nats",
      path: server,
      args: [...nats, "-l", join(folder, "nats.log")],
    });
    connection = await connectTo(servers);
    const ear = new Ear(connection);
    const begun = performance.now();
    Deno.serve({
      ...{ hostname: "127.0.0.1", port, signal: pageEnd.signal },
      onListen: ({ port }) => console.log(`cluster: http://127.0.0.1:${port} shows it`),
    }, (request) => answerPage(request, () => figuresOf(as, begun, supervisor, ear)));

    const deno = (
      name: string,
      script: string,
      given: Readonly<Record<string, string | number>>,
    ): Program => ({
      name,
      path: Deno.execPath(),
      args: [
        ...["run", "-A", "--quiet", "--config", inRepository("deno.json"), inRepository(script)],
        ...Object.entries({ ...given, servers }).map(([option, value]) => `--${option}=${value}`),
      ],
    });
    await Deno.mkdir(folder, { recursive: true });
    if (isStored(as)) {
      const config = join(folder, "shard.json");
      await Deno.writeTextFile(config, JSON.stringify(shardFile(as, PREFIX), undefined, 2));
      for (let k = 0; k < shards; k++) {
        const name = `shard-${k}`;
        const given = { config, name, directory: join(folder, name) };
        supervisor.start(deno(name, "shards/main.ts", given));
      }
    }
    for (let index = 0; index < actors; index++) {
      const given = { as, index, actors, seed };
      supervisor.start(deno(`actor-${index}`, "examples/many_machines/actor.ts", given));
    }
    const given = { as, in: "cluster", actors, steps, seed, ...shards > 0 ? { shards } : {} };
    const learner = deno("learner", "examples/many_machines/main.ts", given);
    supervisor.start({ ...learner, isGoal: true, isLoud: true });

    const signal = stopped.then((name) => ({ signal: name }));
    const ended = await Promise.race([supervisor.finished, signal]);
    if (typeof ended === "string") console.error(`cluster: ${ended}`);
    else if (ended !== undefined) console.log(`cluster: ${ended.signal}: ending all`);
    return typeof ended === "string" ? 1 : 0;
  } finally {
    await supervisor.end();
    pageEnd.abort();
    await connection?.close();
    if (directory === undefined) await Deno.remove(folder, { recursive: true });
    console.log("cluster: all have ended");
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
