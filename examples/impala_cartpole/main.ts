/**
 * IMPALA and IMPACT side by side: both learn CartPole-v1 from actors whose policies are old. IMPALA learns from each batch once, and
 * IMPACT several times.
 *
 * ```sh
 * deno task impala
 * deno task impala --lag 0 --seed 3
 * deno task impala --method uncorrected
 * deno task impala --actors 2 --lag 1
 * ```
 *
 * This file has the command line, the progress bar and the picture. Read `train()` in `_agent.ts` first, then `learner.ts`, which has the
 * algorithms. With `--actors`, `trainWithActors()` in `_workers.ts` takes the place of `train()`.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { isSolved } from "../_curve.ts";
import { integerOf, oneOf, runExample } from "../_options.ts";
import { curvesSvg, type NamedCurve, Progress } from "../_report.ts";
import { train } from "./_agent.ts";
import { type Method, METHODS, type Seen, SETTINGS, type Trained } from "./learner.ts";
import { trainWithActors } from "./_workers.ts";

/** The names of the curves in the picture. */
const NAMES: Readonly<Record<Method, string>> = {
  impala: "IMPALA",
  impact: "IMPACT",
  uncorrected: "no correction",
};

const HELP = `Learn CartPole-v1 from actors with old policies, by IMPALA and by IMPACT.

Usage: deno task impala [options]

  --method <name>     impala, impact or uncorrected; by default impala, then impact
  --lag <number>      by how many batches the actors' policy is older than the learner's; 16 by default
  --actors <number>   how many Workers act, at most 8, while --lag batches and one more may wait for the learner;
                      0 by default: this thread acts, so a seed gives the same run each time
  --seed <number>     for the task, the network and the actions; 1 by default
  --steps <number>    environment steps of each learner at most; 120000 by default
  -h, --help          print this

Training ends sooner once the task is solved. The learning curves go to the folder out.
`;

/** What the user may choose. */
export interface Options {
  /** The learners to train, one after the other. */
  methods: readonly Method[];
  lag: number;
  /** How many Workers act. With 0, the learner's thread acts. */
  actors: number;
  seed: number;
  steps: number;
}

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      method: { type: "string" },
      lag: { type: "string", default: "16" },
      actors: { type: "string", default: "0" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "120000" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    methods: values.method === undefined
      ? ["impala", "impact"]
      : [oneOf("method", values.method, METHODS)],
    lag: integerOf("lag", values.lag, 0, 1_000),
    actors: integerOf("actors", values.actors, 0, SETTINGS.environments),
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
  };
}

async function run({ methods, lag, actors, seed, steps }: Options): Promise<void> {
  const { return: enough, times } = SETTINGS.solved;
  const curves: NamedCurve[] = [];
  const lines: string[] = [];
  for (const method of methods) {
    console.log(`\n${NAMES[method]}:`);
    const startedAt = performance.now();
    using progress = new Progress(steps);
    const show = ({ step, ...status }: Seen): void => progress.update(step, status);
    const options = { method, lag, seed, steps };
    const trained: Trained & { age?: number } = actors === 0
      ? await train(options, show)
      : await trainWithActors({ ...options, actors }, show);
    const { evaluations, updates } = trained;
    const seconds = (performance.now() - startedAt) / 1000;
    const step = evaluations.at(-1)?.step ?? 0;
    curves.push({ name: NAMES[method], points: evaluations });
    lines.push(
      `${NAMES[method].padEnd(14)}${
        isSolved(evaluations, SETTINGS.solved) ? "solved" : "not solved"
      } ` +
        `after ${step} steps, ${updates} updates and ${seconds.toFixed(0)} s` +
        (trained.age === undefined ? "" : `; policies were ${trained.age.toFixed(1)} batches old`),
    );
  }
  const who = actors === 0 ? `lag${lag}` : `actors${actors}_lag${lag}`;
  const file = `out/impala_cartpole_${who}_seed${seed}.svg`;
  const picture = await curvesSvg(
    curves,
    `CartPole-v1, policies ${actors === 0 ? "" : "up to about "}${lag} batches old, seed ${seed}`,
    {
      title: "return of 20 greedy episodes",
      domain: [0, 550],
      solved: enough,
    },
  );
  await Deno.mkdir("out", { recursive: true });
  await Deno.writeTextFile(file, picture);
  console.log(
    `\n${
      lines.join("\n")
    }\n\nSolved means a mean return of at least ${enough} in ${times} evaluations in a ` +
      `row.\nPicture: ${file}`,
  );
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
