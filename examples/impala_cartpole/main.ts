/**
 * IMPALA and IMPACT side by side: both learn CartPole-v1 from actors whose policies are old. IMPALA learns from each batch once, and
 * IMPACT several times.
 *
 * ```sh
 * deno task impala
 * deno task impala --lag 0 --seed 3
 * deno task impala --method uncorrected
 * ```
 *
 * This file has the command line, the progress bar and the picture. The agents are in `_agent.ts`: read `train()` there first.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { isSolved } from "../_curve.ts";
import { integerOf, oneOf, runExample } from "../_options.ts";
import { curvesSvg, type NamedCurve, Progress } from "../_report.ts";
import { type Method, METHODS, SETTINGS, train } from "./_agent.ts";

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
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
  };
}

async function run({ methods, lag, seed, steps }: Options): Promise<void> {
  const { return: enough, times } = SETTINGS.solved;
  const curves: NamedCurve[] = [];
  const lines: string[] = [];
  for (const method of methods) {
    console.log(`\n${NAMES[method]}:`);
    const startedAt = performance.now();
    using progress = new Progress(steps);
    const { evaluations, updates } = await train({ method, lag, seed, steps }, (seen) => {
      const { step, ...status } = seen;
      progress.update(step, status);
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const step = evaluations.at(-1)?.step ?? 0;
    curves.push({ name: NAMES[method], points: evaluations });
    lines.push(
      `${NAMES[method].padEnd(14)}${
        isSolved(evaluations, SETTINGS.solved) ? "solved" : "not solved"
      } ` +
        `after ${step} steps, ${updates} updates and ${seconds.toFixed(0)} s`,
    );
  }
  const file = `out/impala_cartpole_lag${lag}_seed${seed}.svg`;
  const picture = await curvesSvg(
    curves,
    `CartPole-v1, policies ${lag} batches old, seed ${seed}`,
    {
      title: "return of 20 greedy episodes",
      domain: [0, 500],
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
