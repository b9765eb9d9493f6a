/**
 * A recurrent agent, R2D2, learns a maze that can't be solved without memory. Beside it, the same agent without memory fails.
 *
 * ```sh
 * deno task r2d2
 * deno task r2d2 --seed 3
 * ```
 *
 * This file has the command line, the progress bar and the picture. The agent is in `agent.ts`: read `train()` there first.
 * `docs/recurrent_agents.md` explains what the replay does for it.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { isSolved } from "../_curve.ts";
import { integerOf, oneOf, runExample } from "../_options.ts";
import { curvesSvg, type NamedCurve, Progress } from "../_report.ts";
import { MEMORIES, type Memory, SETTINGS, train } from "./agent.ts";

/** The names of the curves in the picture. */
const NAMES: Readonly<Record<Memory, string>> = {
  stored: "stored state and burn-in",
  zeros: "zeros and burn-in",
  none: "no memory",
};

const HELP = `Learn a maze by R2D2 with a memory, and without one.

Usage: deno task r2d2 [options]

  --memory <kind>     stored, zeros or none; by default stored, then none
  --seed <number>     for the mazes, the network, the actions and the picks; 1 by default
  --steps <number>    environment steps of each agent at most; 50000 by default
  -h, --help          print this

Training ends sooner once the task is solved. The learning curves go to the folder out.
`;

/** What the user may choose. */
export interface Options {
  /** The agents to train, one after the other. */
  memories: readonly Memory[];
  seed: number;
  steps: number;
}

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      memory: { type: "string" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "50000" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    memories: values.memory === undefined
      ? ["stored", "none"]
      : [oneOf("memory", values.memory, MEMORIES)],
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
  };
}

async function run({ memories, seed, steps }: Options): Promise<void> {
  const { return: enough, times } = SETTINGS.solved;
  const curves: NamedCurve[] = [];
  const lines: string[] = [];
  for (const memory of memories) {
    console.log(`\n${NAMES[memory]}:`);
    const startedAt = performance.now();
    using progress = new Progress(steps);
    const { evaluations } = await train(
      { memory, seed, steps },
      ({ step, ...status }) => progress.update(step, status),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    const { step, return: last } = evaluations.at(-1) ?? { step: 0, return: 0 };
    curves.push({ name: NAMES[memory], points: evaluations });
    lines.push(
      `${NAMES[memory].padEnd(26)}${
        isSolved(evaluations, SETTINGS.solved) ? "solved" : "not solved"
      }` +
        ` after ${step} steps and ${seconds.toFixed(0)} s; the last evaluation earned ${
          last.toFixed(2)
        }`,
    );
  }
  const file = `out/r2d2_memory_seed${seed}.svg`;
  const { junctionCount } = SETTINGS.maze;
  const picture = await curvesSvg(
    curves,
    `T-maze with ${junctionCount} junctions, R2D2, seed ${seed}`,
    {
      title: "return of 50 greedy episodes",
      domain: [-1, 1.1 * junctionCount],
      solved: enough,
    },
  );
  await Deno.mkdir("out", { recursive: true });
  await Deno.writeTextFile(file, picture);
  console.log(
    `\n${
      lines.join("\n")
    }\n\nSolved means a mean return of at least ${enough} of ${junctionCount} in ` +
      `${times} evaluations in a row. Without memory, the best policy earns 1.95.\nPicture: ${file}`,
  );
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
