/**
 * A DQN agent that learns CartPole-v1 over a server: actors write to its tables, and a learner samples from them. Each is a process of its own, in Python or in
 * TypeScript.
 *
 * ```sh
 * deno task reverb:install                                   # Reverb's client for Python, once; 1.7 GB
 * deno task reverb                                           # actors in Python, the learner in TypeScript
 * deno task reverb --actors=typescript --learner=python      # the other way round
 * deno task reverb --actors=typescript --learner=typescript  # without any Python
 * ```
 *
 * Read `actor.py` beside `actor.ts`, and `learner.py` beside `learner.ts`: they do the same, line by line. The tables are in `tables.json`.
 * `docs/from_reverb.md` explains them.
 *
 * @module
 */
import { ReverbClient, ReverbError } from "@exrp/replay/reverb";
import { readConfig, serve } from "@exrp/replay/server";
import { Tables } from "@exrp/replay/tables";
import { parseArgs } from "node:util";
import { integerOf, oneOf, runExample } from "../_options.ts";
import { curvesSvg, type NamedCurve, Progress } from "../_report.ts";
import type { CurvePoint } from "../_curve.ts";
import { type End, readLine } from "./_lines.ts";
import { findPython, type Language, LANGUAGES, Programs, RunError } from "./_programs.ts";
import { SETTINGS } from "./_settings.ts";

/** What the user may choose. */
export interface Options {
  readonly actors: Language;
  readonly learner: Language;
  /** Whether to train a second time, the other way round. */
  readonly bothWays: boolean;
  /** How many actors. */
  readonly count: number;
  /** The address of a server that runs already; without it, one starts here. */
  readonly address: string | undefined;
  readonly seed: number;
  /** Environment steps at most; training stops earlier once the task is solved. */
  readonly steps: number;
}

const HELP = `Learn CartPole-v1 by DQN over a server: actors write, and a learner samples.

Usage: deno task reverb [options]

  --actors <language>   python or typescript; python by default
  --learner <language>  python or typescript; typescript by default
  --both-ways           trains a second time, with the two languages the other way round
  --count <number>      how many actors, 1 to 64; 1 by default
  --address <address>   a server that runs already and has the tables of examples/reverb/tables.json, as in
                        localhost:8000; by default one starts here
  --seed <number>       for the task, the network and the actions; 1 by default
  --steps <number>      environment steps at most, of all actors together; 60000 by default
  -h, --help            print this

Training ends sooner once the task is solved. The learning curve goes to the folder out.
`;

/**
 * Reads the command line. Returns `"help"` for `--help`.
 *
 * @throws {TypeError} If a flag is unknown, has no value, or has a value that is not allowed.
 */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      actors: { type: "string", default: "python" },
      learner: { type: "string", default: "typescript" },
      "both-ways": { type: "boolean", default: false },
      count: { type: "string", default: "1" },
      address: { type: "string" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "60000" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    actors: oneOf("actors", values.actors, LANGUAGES),
    learner: oneOf("learner", values.learner, LANGUAGES),
    bothWays: values["both-ways"],
    count: integerOf("count", values.count, 1, 64),
    address: values.address,
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
  };
}

/** The address of a server, and what stops it at the end. */
interface Place extends AsyncDisposable {
  readonly address: string;
}

/** Starts a server here, on a free port. */
async function serveHere(): Promise<Place> {
  const { tables: options } = readConfig(
    await Deno.readTextFile(new URL("tables.json", import.meta.url)),
  );
  const tables = await Tables.create({ tables: options });
  const server = await serve({ tables });
  console.log(`serving on ${server.address}; its status: http://${server.address}/`);
  return {
    address: server.address,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await server.stop({ graceMs: 0 });
      tables[Symbol.dispose]();
    },
  };
}

/** Looks whether a server elsewhere has the tables. */
async function findServer(address: string): Promise<Place> {
  await using client = await ReverbClient.connect(address);
  const known = Object.keys(await client.serverInfo());
  const missing = ["replay", "variables"].filter((name) => !known.includes(name));
  if (missing.length === 0) return { address, [Symbol.asyncDispose]: () => Promise.resolve() };
  throw new RunError(
    `the server at ${address} has no table ${missing.join(" and no table ")}; its tables are ${
      known.join(", ")
    }. examples/reverb/tables.json has those that it needs.`,
  );
}

/** What training gave. */
export interface Trained {
  readonly evaluations: readonly CurvePoint[];
  readonly end: End;
}

/** Learns CartPole-v1 over the server at the address. */
export async function train(address: string, options: Options): Promise<Trained> {
  const { actors, learner, count, seed, steps } = options;
  const evaluations: CurvePoint[] = [];
  let best = 0;
  let end: End | undefined;
  await using programs = new Programs(address);
  using progress = new Progress(steps);
  const lines = programs.start(learner, "learner", [`--seed=${seed}`, `--steps=${steps}`]);
  for (let index = 0; index < count; index++) {
    // An actor prints nothing.
    programs.start(actors, "actor", [`--seed=${1_000 * seed + index}`]).cancel();
  }
  const listen = async (): Promise<void> => {
    for await (const text of lines) {
      const line = readLine(text);
      if ("end" in line) end = line;
      else {
        evaluations.push({ step: line.step, return: line.return });
        best = Math.max(best, line.return);
        progress.update(line.step, { return: line.return, loss: line.loss, best });
      }
    }
  };
  await programs.race(listen());
  if (end === undefined) throw new RunError("the learner ended before it was done");
  return { evaluations, end };
}

/** Trains once, and says how it went. */
async function trainOnce(options: Options): Promise<NamedCurve> {
  const { actors, learner, address } = options;
  const startedAt = performance.now();
  await using place = await (address === undefined ? serveHere() : findServer(address));
  const { evaluations, end } = await train(place.address, options);
  const seconds = (performance.now() - startedAt) / 1000;
  const name = `actors in ${nameOf(actors)}, learner in ${nameOf(learner)}`;
  const steps = evaluations.at(-1)?.step ?? 0;
  console.log(
    `\n${name}: ${end.solved ? "solved" : "not solved"} after ${steps} steps and ${
      seconds.toFixed(1)
    } s.\nOn 20 fresh episodes the best policy earns ${
      end.mean.toFixed(1)
    } on average, ${end.worst} at worst, of 500.`,
  );
  return { name, points: evaluations };
}

async function run(options: Options): Promise<number> {
  const { actors, learner, bothWays, seed } = options;
  const isPythonNeeded = actors === "python" || learner === "python";
  if (isPythonNeeded && findPython() === undefined) {
    console.error(
      "Reverb's client for Python is not here: run `deno task reverb:install`, or take " +
        "`--actors=typescript --learner=typescript`.",
    );
    return 1;
  }
  const curves: NamedCurve[] = [];
  try {
    curves.push(await trainOnce(options));
    if (bothWays) curves.push(await trainOnce({ ...options, actors: learner, learner: actors }));
  } catch (error) {
    if (!(error instanceof ReverbError) && !(error instanceof RunError)) throw error;
    console.error(error.message);
    return 1;
  }
  const { return: enough, times } = SETTINGS.solved;
  const file = `out/reverb_${actors}_${learner}${bothWays ? "_both_ways" : ""}_seed${seed}.svg`;
  await Deno.mkdir("out", { recursive: true });
  const picture = await curvesSvg(curves, "CartPole-v1, DQN over a server", {
    title: "mean return of 20 greedy episodes",
    domain: [0, 550],
    solved: enough,
  });
  await Deno.writeTextFile(file, picture);
  console.log(
    `Solved means a mean return of at least ${enough} in ${times} evaluations in a row.\nPicture: ${file}`,
  );
  return 0;
}

function nameOf(language: Language): string {
  return language === "python" ? "Python" : "TypeScript";
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
