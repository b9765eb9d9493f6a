/**
 * A PPO agent that learns CartPole-v1 from what its current policy does in eight environments at once.
 *
 * ```sh
 * deno task ppo
 * deno task ppo --seed 3
 * ```
 *
 * Read {@linkcode train} first. The replay's part is three calls: `recordBatch` takes a step of all environments, `drain` gives
 * each step once, and `minibatches` shuffles them for several epochs. `docs/on_policy.md` explains them.
 *
 * @module
 */
import { numpy as np } from "@jax-js/jax";
import { ExperienceReplay, float32, int32 } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { annealed, gae } from "@exrp/replay/returns";
import { RandomStream } from "@exrp/replay/selectors";
import { parseArgs } from "node:util";
import { CartPoles, newEnvironments, play } from "../_cart_poles.ts";
import { type CurvePoint, isSolved, mean } from "../_curve.ts";
import { integerOf, runExample } from "../_options.ts";
import { chosen, entropyOf, type Loss, PolicyNetwork } from "../_policy_network.ts";
import { curvesSvg, Progress } from "../_report.ts";

/** The numbers of the algorithm. */
export const SETTINGS = {
  environments: 8,
  rolloutSteps: 128, // steps of each environment between two drains
  discount: 0.99,
  lambda: 0.95, // of generalized advantage estimation
  epochs: 10, // how often each step is learned from
  minibatch: 128,
  learningRate: 1e-3, // falls to 0 over all steps
  clip: 0.2, // how far the probability of an action may move before it stops to pay
  valueWeight: 0.5, // of the error of values in the loss
  entropyWeight: 0.01, // of the entropy in the loss, so that the policy goes on exploring
  evaluation: { every: 4, episodes: 20 }, // rollouts between evaluations; episodes in each
  solved: { return: 495, times: 3 }, // training stops after three such means in a row, as in the quickstart
};

/** What the loss needs of each step. */
const ROWS = ["action", "logProb", "advantage", "valueTarget"] as const;

/** PPO's loss (Schulman et al. 2017, equations 7 and 9). */
const loss: Loss<typeof ROWS[number]> = ({ logProbs, value }, rows) => {
  const centred = rows.advantage.ref.sub(rows.advantage.ref.mean());
  const advantage = centred.div(np.std(rows.advantage).add(1e-8));
  const ratio = np.exp(chosen(logProbs.ref, rows.action).sub(rows.logProb));
  const clipped = np.clip(ratio.ref, 1 - SETTINGS.clip, 1 + SETTINGS.clip);
  const surrogate = np.minimum(ratio.mul(advantage.ref), clipped.mul(advantage)).mean();
  const valueError = np.square(value.sub(rows.valueTarget)).mean();
  return valueError.mul(SETTINGS.valueWeight)
    .sub(surrogate)
    .sub(entropyOf(logProbs).mul(SETTINGS.entropyWeight));
};

/** What the user may choose. */
export interface Options {
  seed: number;
  /** Environment steps at most, of all environments together; training stops earlier once the task is solved. */
  steps: number;
}

/** What training gives. */
export interface Trained {
  /** The returns of the training episodes. */
  episodes: CurvePoint[];
  /** The mean returns of the greedy evaluations. */
  evaluations: CurvePoint[];
  weights: Float32Array<ArrayBuffer>;
}

/** Learns CartPole-v1. */
export async function train({ seed, steps }: Options): Promise<Trained> {
  const { environments: count, rolloutSteps, discount, lambda, epochs, minibatch } = SETTINGS;
  const { every, episodes: evaluationEpisodes } = SETTINGS.evaluation;
  const stepsPerRollout = count * rolloutSteps;
  using replay = await ExperienceReplay.create({
    capacity: stepsPerRollout, // a drain forgets what it gives, so one rollout is all that there ever is
    state: float32(CartPole.stateSize),
    action: int32(),
    extras: { logProb: float32() }, // log π(a|s) when the action was chosen, for PPO's ratio
    pick: { discount },
    seed,
  });
  using network = await PolicyNetwork.create(seed, ROWS, loss);
  const cartPoles = new CartPoles(count, 1_000 * seed);
  const testEnvironments = newEnvironments(evaluationEpisodes, 1_000_000 + 1_000 * seed);
  const random = new RandomStream(seed, 1);
  const learningRate = annealed(SETTINGS.learningRate, 0, steps);
  using progress = new Progress(steps);

  const trained: Trained = { episodes: [], evaluations: [], weights: network.weights() };
  const episodes = Float64Array.from({ length: count }, () => replay.newEpisode());
  for (let step = 0; step < steps && !isSolved(trained.evaluations, SETTINGS.solved);) {
    // 1. Act: the policy of now takes some steps in all environments. `recordBatch` puts the handle of the next episode into `episodes`
    // where one ended.
    for (let t = 0; t < rolloutSteps; t++) {
      const { state } = cartPoles;
      const { action, logProb } = network.act(state, random);
      const { ended, ...result } = cartPoles.step(action);
      replay.recordBatch(episodes, { state, action, extras: { logProb }, ...result });
      step += count;
      trained.episodes.push(...ended.map((value) => ({ step, return: value })));
    }

    // 2. Take all of these steps out of the replay, each once. Say how much better each action was than the policy's average.
    // An episode that was cut off or goes on still has a value after its last step, and one that terminated has none: `discount` knows.
    const drained = replay.drain({ steps: stepsPerRollout });
    const { advantage, valueTarget } = gae({
      reward: drained.reward,
      value: network.predict(drained.state).value,
      nextValue: network.predict(drained.nextState).value,
      discount: drained.discount,
      seqLen: drained.seqLen,
      packed: true,
      lambda,
    });

    // 3. Learn from them in shuffled minibatches, several times.
    let lossValue = NaN;
    for (
      const batch of drained.minibatches(minibatch, { epochs, own: { advantage, valueTarget } })
    ) {
      const rows = { action: batch.action, logProb: batch.extras.logProb, ...batch.own };
      lossValue = network.update(batch.state, rows, learningRate(step));
    }

    // 4. Evaluate: play some episodes with the most likely actions.
    if (step % (every * stepsPerRollout) === 0 || step >= steps) {
      trained.evaluations.push({ step, return: mean(play(network, testEnvironments)) });
    }
    progress.update(step, {
      return: mean(trained.episodes.slice(-20).map((point) => point.return)),
      loss: lossValue,
      best: Math.max(0, ...trained.evaluations.map((point) => point.return)),
    });
  }
  trained.weights = network.weights();
  return trained;
}

const HELP = `Learn CartPole-v1 by PPO, from eight environments at once.

Usage: deno task ppo [options]

  --seed <number>     for the task, the network, the actions and the minibatches; 1 by default
  --steps <number>    environment steps at most; 200000 by default
  -h, --help          print this

Training ends sooner once the task is solved. The learning curve goes to the folder out.
`;

/** Reads the command line. Returns `"help"` for `--help`. */
export function parseOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "200000" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
  };
}

async function run(options: Options): Promise<void> {
  const startedAt = performance.now();
  const trained = await train(options);
  const seconds = (performance.now() - startedAt) / 1000;
  const file = `out/ppo_cartpole_seed${options.seed}.svg`;
  const picture = await curvesSvg(
    [
      { name: "training episodes, mean of 10", points: smoothed(trained.episodes) },
      { name: "20 greedy episodes", points: trained.evaluations },
    ],
    `CartPole-v1, PPO, seed ${options.seed}`,
    { title: "return", domain: [0, 550], solved: SETTINGS.solved.return },
  );
  await Deno.mkdir("out", { recursive: true });
  await Deno.writeTextFile(file, picture);
  const step = trained.evaluations.at(-1)?.step ?? 0;
  console.log(
    `\n${
      isSolved(trained.evaluations, SETTINGS.solved) ? "Solved" : "Not solved"
    } after ${step} steps and ${seconds.toFixed(1)} s. ` +
      `Solved means a mean return of at least ${SETTINGS.solved.return} in ${SETTINGS.solved.times} evaluations in a row.\n` +
      `Picture: ${file}`,
  );
}

/** Means of 10 points each, so that a picture has few points. */
function smoothed(points: readonly CurvePoint[]): CurvePoint[] {
  const means: CurvePoint[] = [];
  for (let first = 0; first + 10 <= points.length; first += 10) {
    const ten = points.slice(first, first + 10);
    means.push({
      step: mean(ten.map((p) => p.step)),
      return: mean(ten.map((p) => p.return)),
    });
  }
  return means;
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
