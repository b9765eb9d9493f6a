/**
 * One agent in each of five architectures, in one process or in many:
 *
 * ```sh
 * deno run -A examples/many_machines/main.ts --as=apex                # all in this thread
 * deno run -A examples/many_machines/main.ts --as=r2d2 --in=workers   # each actor is a Worker
 * deno run -A examples/many_machines/main.ts --as=seed --in=nats      # each actor is a process
 * ```
 *
 * Run it in the clone, after `deno task build`. With `--in=nats`, start `nats-server` first. What differs is the connection, and how actors are started. Read
 * `act` in `actor.ts`, then `learn` in `learner.ts`: these are the same everywhere. `deno task cluster` starts all of it, with shards of their own.
 *
 * @module
 */
import { type Connection, localConnection } from "@exrp/replay/shards";
import { parseArgs } from "node:util";
import { integerOf, oneOf, runExample } from "../_options.ts";
import { act, type ActorJob } from "./actor.ts";
import { actorsMax, type Architecture, ARCHITECTURES, isStored, STEPS } from "./architectures.ts";
import { learn } from "./learner.ts";
import { connectNats } from "./_nats.ts";
import { threadConnection } from "./_thread_connection.ts";
import type { Job } from "./worker.ts";

/** What `--in` takes. */
const PLACES = ["process", "workers", "nats", "cluster"] as const;

/** What the user may choose. */
export interface Options {
  as: Architecture;
  in: typeof PLACES[number];
  servers: string;
  actors: number;
  shards: number;
  seed: number;
  steps: number;
}

type Network = Connection & { close(): Promise<void> };

/** Actors that were started: `end` ends them all, and `failed` rejects once one of them fails. */
interface Started {
  readonly end: () => Promise<void>;
  readonly failed: Promise<never>;
}

/** Where the actors run: how all are connected, and how actors are started. */
const places: Readonly<
  Record<Options["in"], {
    connect(options: Options): Network | Promise<Network>;
    start(network: Network, jobs: readonly ActorJob[], options: Options): Started;
  }>
> = {
  process: {
    connect: () => localConnection(),
    start: (network, jobs) => {
      const end = new AbortController();
      const acting = jobs.map((job) =>
        act(network, job, end.signal).catch((error) => {
          if (!end.signal.aborted) throw error;
        })
      );
      return {
        end: async () => {
          end.abort();
          await Promise.allSettled(acting);
        },
        failed: firstFailure(acting),
      };
    },
  },
  workers: {
    connect: () => threadConnection(CHANNEL),
    start: (_network, jobs) => {
      const workers = jobs.map((job) => {
        const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
        worker.postMessage({ ...job, channel: CHANNEL } satisfies Job);
        return worker;
      });
      const failing = workers.map((worker, k) =>
        new Promise<never>((_, reject) => {
          worker.onerror = (event) => {
            event.preventDefault();
            reject(new Error(`actor ${k}: ${event.message}`));
          };
        })
      );
      return {
        end: () => {
          for (const worker of workers) worker.terminate();
          return Promise.resolve();
        },
        failed: firstFailure(failing),
      };
    },
  },
  nats: {
    connect: ({ servers }) => connectNats(servers, false),
    start: (_network, jobs, { servers }) => {
      const program = new URL("./actor.ts", import.meta.url).href;
      const children = jobs.map((job) => {
        const options = Object.entries(job).map(([name, value]) => `--${name}=${value}`);
        const args = ["run", "-A", "--quiet", program, ...options, `--servers=${servers}`];
        return new Deno.Command(Deno.execPath(), { args }).spawn();
      });
      const failing = children.map(async (child, k) => {
        const { code, signal } = await child.status;
        if (code !== 0 && signal === null) throw new Error(`actor ${k} ended with status ${code}`);
      });
      return {
        end: async () => {
          for (const child of children) {
            try {
              child.kill("SIGKILL");
            } catch {
              // It has ended.
            }
          }
          await Promise.all(children.map(({ status }) => status));
        },
        failed: firstFailure(failing),
      };
    },
  },
  cluster: {
    connect: ({ servers }) => connectNats(servers, true), // all parts may be started at the same time
    start: () => ({ end: () => Promise.resolve(), failed: new Promise(() => {}) }),
  },
};

/** What the threads of this process call their channel. */
const CHANNEL = `many-machines-${crypto.randomUUID()}`;

/** Rejects as soon as one of these does. */
function firstFailure(all: readonly Promise<unknown>[]): Promise<never> {
  const first = new Promise<never>((_, reject) => all.forEach((each) => each.catch(reject)));
  first.catch(() => {}); // where nobody listens any more, it is over
  return first;
}

async function run(options: Options): Promise<void> {
  const { as, seed, steps, shards } = options;
  const place = places[options.in];
  const network = await place.connect(options);
  const { actors } = options;
  const jobs = Array.from({ length: actors }, (_, index) => ({ as, index, actors, seed }));
  const started = place.start(network, jobs, options);
  try {
    const begun = performance.now();
    const learned = learn(network, {
      ...{ as, seed, steps, actors, shards, endActors: started.end },
      tell: ({ step, return: earned }) => console.log(`${step} steps: ${earned.toFixed(2)}`),
    });
    const { steps: made, updates, earned } = await Promise.race([learned, started.failed]);
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    const [episodes, most] = as === "r2d2" ? [50, 4] : [20, 500];
    console.log(
      `${made} steps and ${updates} updates in ${seconds} s: ${episodes} episodes without exploring earn ${
        earned.toFixed(2)
      } on average, of ${most}`,
    );
  } finally {
    await started.end();
    await network.close();
  }
}

const HELP = `Learn CartPole, or a maze that needs a memory, in one process or in many.

Usage: deno run -A examples/many_machines/main.ts [options]

  --as <name>        ${ARCHITECTURES.join(", ")}; apex by default. r2d2 learns the maze
  --in <place>       process: all in this thread, the default; workers: actors are Workers; nats: actors are processes;
                     cluster: actors and shards run elsewhere, as deno task cluster starts them
  --servers <list>   the servers of NATS, 127.0.0.1:4222 by default
  --actors <number>  how many there are; 2 by default
  --shards <number>  how many there are, with --in=cluster; 1 by default
  --seed <number>    1 by default
  --steps <number>   steps of all actors at most: 60000, of r2d2 50000, of impala and impact 120000
  -h, --help         print this
`;

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      as: { type: "string", default: "apex" },
      in: { type: "string", default: "process" },
      servers: { type: "string", default: "127.0.0.1:4222" },
      actors: { type: "string", default: "2" },
      shards: { type: "string" },
      seed: { type: "string", default: "1" },
      steps: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const as = oneOf("as", values.as, ARCHITECTURES);
  const place = oneOf("in", values.in, PLACES);
  const hasShards = place === "cluster" && isStored(as);
  if (!hasShards && values.shards !== undefined) {
    const why = isStored(as)
      ? "--in=cluster"
      : "an agent that stores its steps, which impala and impact don't";
    throw new TypeError(`--shards needs ${why}`);
  }
  return {
    ...{ as, in: place, servers: values.servers },
    actors: integerOf("actors", values.actors, 1, place === "cluster" ? actorsMax(as) : 8),
    shards: hasShards ? integerOf("shards", values.shards ?? "1", 1, 1_000) : 0,
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps ?? `${STEPS[as]}`, 1, 1_000_000_000),
  };
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
