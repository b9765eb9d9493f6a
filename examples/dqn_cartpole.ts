/**
 * A double DQN agent that learns CartPole-v1 from an experience replay in ten to thirty seconds.
 *
 * ```sh
 * deno task quickstart
 * deno task quickstart --selector uniform --seed 3
 * deno task quickstart --help
 * ```
 *
 * This file has the part of the command line: it reads options, shows progress and writes files. The agent is in `_dqn_agent.ts`: read
 * `train()` there first.
 *
 * @module
 */
import { statsSvg } from "@exrp/replay/stats";
import { newEnvironments, play } from "./_cart_poles.ts";
import { isSolved, mean } from "./_curve.ts";
import { type KeptPolicy, SETTINGS, train } from "./_dqn_agent.ts";
import { HELP, type Options, parseOptions } from "./_dqn_options.ts";
import { curveSvg, type LearningCurve, terminalChart } from "./_dqn_report.ts";
import { runExample } from "./_options.ts";
import { QNetwork } from "./_q_network.ts";
import { Progress } from "./_report.ts";
import { Stopwatch } from "./_stopwatch.ts";

/** Trains, and shows how far it is. */
async function trainWithBar(
  options: Options,
  curve: LearningCurve,
  stopwatch: Stopwatch,
): Promise<KeptPolicy> {
  using progress = new Progress(options.steps);
  return await train(options, curve, stopwatch, ({ step, loss, kept }) => {
    const latest = curve.episodes.slice(-20).map((point) => point.return);
    progress.update(step, { return: mean(latest), loss, best: kept.evaluation });
  });
}

async function run(options: Options): Promise<void> {
  const curve: LearningCurve = { episodes: [], evaluations: [] };
  const stopwatch = new Stopwatch();
  const kept = await trainWithBar(options, curve, stopwatch);
  const times = stopwatch.table();
  const replayShare = 100 * stopwatch.secondsOf("replay: ") / stopwatch.seconds;

  // The rest writes to files and to the terminal.
  const name = `out/cartpole_${options.selector}_${options.eviction}_seed${options.seed}`;
  await Deno.mkdir("out", { recursive: true });
  const title = `CartPole-v1, ${options.selector}, seed ${options.seed}`;
  await Deno.writeTextFile(`${name}.svg`, await curveSvg(curve, title));
  if (curve.replay !== undefined) {
    await Deno.writeTextFile(`${name}_replay.svg`, statsSvg(curve.replay, { title }));
  }
  const trained = curve.evaluations.at(-1)?.step ?? 0;
  const solved = isSolved(curve.evaluations, SETTINGS.solved);
  console.log(`\n${solved ? "Solved" : "Not solved"} after ${trained} steps of training.`);
  console.log(`Greedy return over those steps (picture: ${name}.svg):\n`);
  console.log(terminalChart(curve));
  console.log(`\nWhat the replay held and drew (picture: ${name}_replay.svg):\n\n${curve.replay}`);
  console.log(`\nWhere the time went: ${replayShare.toFixed(1)} % to the replay\n\n${times}`);

  // Save the kept policy to a file, and load it from there. It plays new episodes, which had no part in any choice.
  const saved = { ...options, ...kept, weights: Array.from(kept.weights) };
  await Deno.writeTextFile(`${name}.json`, JSON.stringify(saved));
  const loaded: { weights: number[] } = JSON.parse(await Deno.readTextFile(`${name}.json`));
  using network = await QNetwork.create({ weights: Float32Array.from(loaded.weights) });
  const returns = play(network, newEnvironments(20, 2_000_000 + 1_000 * options.seed));
  console.log(
    `\nKept the policy of step ${kept.step} (greedy mean ${kept.evaluation}) in ${name}.json.` +
      `\nOn 20 fresh episodes it earns ${mean(returns).toFixed(1)} on average, ` +
      `${Math.min(...returns)} at worst, of 500.`,
  );
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
