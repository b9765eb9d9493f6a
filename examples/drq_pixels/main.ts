/**
 * DrQ learns the way to a goal from small pictures and few steps. Beside it, the same agent learns without random shifts.
 *
 * ```sh
 * deno task drq
 * deno task drq --seed 3
 * deno task drq --seeds 5
 * ```
 *
 * This file has the command line, the progress bar and the picture. The agent is in `_agent.ts`: read `train()` there first.
 * `docs/image_observations.md` has the results.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { integerOf, runExample } from "../_options.ts";
import { curvesSvg, type NamedCurve, Progress, Stopwatch } from "../_report.ts";
import { train } from "./_agent.ts";

const HELP = `Learn the way to a goal from pictures, with random shifts (DrQ) and without them.

Usage: deno task drq [options]

  --seed <number>     for the room, the network, the actions, the picks and the shifts; 1 by default
  --seeds <number>    how many seeds to run, from that one on; 1 by default
  --steps <number>    environment steps of each agent; 1200 by default
  -h, --help          print this

The learning curves go to the folder out.
`;

/** What the user may choose. */
export interface Options {
  seed: number;
  seeds: number;
  steps: number;
}

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string", default: "1" },
      seeds: { type: "string", default: "1" },
      steps: { type: "string", default: "1200" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    seeds: integerOf("seeds", values.seeds, 1, 100),
    steps: integerOf("steps", values.steps, 1, 1_000_000),
  };
}

async function run({ seed: first, seeds, steps }: Options): Promise<void> {
  const curves: NamedCurve[] = [];
  const lines: string[] = [];
  for (let seed = first; seed < first + seeds; seed++) {
    for (const shift of [true, false]) {
      const name = shift ? "with random shifts" : "without";
      console.log(`\nseed ${seed}, ${name}:`);
      const stopwatch = new Stopwatch();
      using progress = new Progress(steps);
      const { evaluations } = await train(
        { shift, seed, steps },
        (step, status) => progress.update(step, status),
        stopwatch,
      );
      curves.push({ name, points: evaluations });
      const solved = evaluations.map((point) => point.return.toFixed(2));
      console.log(`Share that reaches the goal: ${solved.join(", ")}\n${stopwatch.table()}`);
      lines.push(`seed ${seed}, ${name.padEnd(20)}${solved.at(-1)}`);
    }
  }
  const file = `out/drq_pixels_seed${first}.svg`;
  const picture = await curvesSvg(
    curves,
    `A room as pictures, double DQN, ${seeds} seeds from ${first} on`,
    {
      title: "share of 100 episodes that reach the goal",
      domain: [0, 1.05],
      solved: 1,
    },
  );
  await Deno.mkdir("out", { recursive: true });
  await Deno.writeTextFile(file, picture);
  console.log(
    `\nShare of 100 greedy episodes that reach the goal after ${steps} steps:\n${
      lines.join("\n")
    }\nPicture: ${file}`,
  );
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
