/**
 * DrQ learns on a device of WebGPU: the replay's pictures lie there, batches are made there, and the network learns there.
 *
 * ```sh
 * deno task drq:gpu
 * deno task drq:gpu --seed 3
 * ```
 *
 * This file has the command line, the progress bar and the picture. The agent is in `_agent.ts`, which `examples/browser/gpu.ts` runs in a page.
 * `docs/gpu.md` has the results.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { integerOf, runExample } from "../_options.ts";
import { curvesSvg, Progress } from "../_report.ts";
import { type Seen, train } from "./_agent.ts";
import { startOnDevice } from "./_jax.ts";

const HELP =
  `Learn the way to a goal from pictures (DrQ), with the replay and the network on a device of WebGPU.

Usage: deno task drq:gpu [options]

  --seed <number>     for the room, the network, the actions, the picks and the shifts; 1 by default
  --steps <number>    environment steps; 1000 by default
  -h, --help          print this

The learning curve goes to the folder out.
`;

/** What the user may choose. */
export interface Options {
  seed: number;
  steps: number;
}

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "1000" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 1_000_000),
  };
}

async function run({ seed, steps }: Options): Promise<number | void> {
  const device = await startOnDevice();
  if (device === undefined) {
    console.error(
      "There is no driver for WebGPU here. Debian's mesa-vulkan-drivers is one that needs no GPU.",
    );
    return 1;
  }
  const begin = performance.now();
  let seen: Seen | undefined;
  using progress = new Progress(steps);
  const points = await train({ device, seed, steps }, (now) => {
    seen = now;
    const shares = now.evaluations.map((point) => point.return);
    progress.update(now.step, {
      loss: now.loss,
      return: shares.at(-1) ?? 0,
      best: Math.max(0, ...shares),
    });
  });
  const seconds = (performance.now() - begin) / 1000;
  const { batchBytes = 0, uploadedBytes = 0 } = seen ?? {};
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
  const file = `out/gpu_pixels_seed${seed}.svg`;
  const picture = await curvesSvg(
    [{ name: `seed ${seed}`, points }],
    "A room as pictures: replay and network on a WebGPU device",
    { title: "share of 100 episodes that reach the goal", domain: [0, 1.05], solved: 1 },
  );
  await Deno.mkdir("out", { recursive: true });
  await Deno.writeTextFile(file, picture);
  console.log(
    `\nShare that reaches the goal: ${
      points.map((point) => point.return.toFixed(2)).join(", ")
    }\n` +
      `${seconds.toFixed(0)} s. Batches had ${mb(batchBytes)} MB on the device; ${
        mb(uploadedBytes)
      } MB went there.\nPicture: ${file}`,
  );
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
