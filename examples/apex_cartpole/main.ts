/**
 * An Ape-X agent that learns CartPole-v1: actors in Workers play, and the main thread learns from one shared replay (Horgan et al.,
 * "Distributed Prioritized Experience Replay", 2018).
 *
 * ```sh
 * deno task apex
 * deno task apex --actors 2 --seed 3
 * deno task apex --lock-step
 * ```
 *
 * Read {@linkcode train} first, then `Learner` in `learner.ts`, and `play` in `actor.ts`. `docs/actors.md` explains the parts of the library that they use.
 *
 * @module
 */
import { type Batch, ExperienceReplay, prioritized, samplesPerInsert } from "@exrp/replay";
import { Broadcast } from "@exrp/replay/actors";
import { parseArgs } from "node:util";
import { Actors } from "../_actors.ts";
import { isSolved, mean } from "../_curve.ts";
import { integerOf, runExample } from "../_options.ts";
import { curvesSvg, type NamedCurve, Progress } from "../_report.ts";
import type { ActorJob, Published, Transition } from "./actor.ts";
import { freshReturns, Learner, OPTIONS, SETTINGS, type Trained } from "./learner.ts";

/** What the user may choose. */
export interface Options {
  actors: number;
  seed: number;
  /** Environment steps at most, of all actors together; training stops earlier once the task is solved. */
  steps: number;
  /** How often to train, with one seed after the other. */
  runs: number;
  /** Whether the one actor and the learner take turns, so that the same seed gives the same run. */
  lockStep: boolean;
}

/** What there is to see of training after an update. */
export interface Seen {
  readonly steps: number;
  readonly loss: number;
  readonly batch: Batch<Transition>;
  readonly trained: Trained;
}

/** Learns CartPole-v1. Calls `watch` after each update. */
export async function train(
  options: Omit<Options, "runs">,
  watch: (seen: Seen) => void = () => {},
): Promise<Trained> {
  const { seed, lockStep } = options;
  const { batchSize, warmupSteps, updatesPerStep, turnSteps, returnSteps } = SETTINGS;
  const ratio = batchSize * updatesPerStep;
  using replay = await ExperienceReplay.create({ ...OPTIONS, seed });
  // Whoever is ahead waits: the actors, or the learner. In lock-step they take turns, which is the strictest rate limiter.
  if (!lockStep) {
    const error = 2 * ratio * turnSteps * options.actors;
    replay.setRateLimiter(samplesPerInsert(ratio, { minSize: warmupSteps, error }));
  }
  const selector = replay.newPickSelector(prioritized({ alpha: SETTINGS.alpha }));
  using learner = await Learner.create(seed);
  const { trained } = learner;
  const broadcast = Broadcast.create<Published>(learner.published());

  let steps = 0;
  const worker = new URL("./worker.ts", import.meta.url);
  using actors = new Actors<ActorJob>(replay, worker, options.actors, (turn) => {
    steps += turn.steps;
    trained.episodes.push(...turn.returns.map((value) => ({ step: steps, return: value })));
  });
  actors.start((index) => ({
    ...{ replay: replay.share(), broadcast: broadcast.ticket, index, count: options.actors },
    ...{ seed, turnSteps, nStep: returnSteps, lockStep },
  }));

  let batch: Batch<Transition> | undefined; // its memory serves every update
  while (steps < options.steps && !learner.isSolved) {
    // 1. In lock-step, new weights begin the actor's next turn, and the learner waits until it is over. Otherwise it only looks whether
    // messages have come.
    if (lockStep && steps > 0) broadcast.publish(learner.published());
    await actors.listen(lockStep);
    if (lockStep && steps < warmupSteps) continue;

    for (let k = 0; k < turnSteps * updatesPerStep; k++) {
      // 2. Learn. The batch comes as soon as the rate limiter lets it.
      const beta = learner.beta();
      const draw = (): Batch<Transition> =>
        replay.getBatch(batchSize, selector, { beta, into: batch });
      batch = lockStep ? draw() : await actors.race(replay.whenReady(draw));
      const { loss, priorities } = learner.learn(batch, steps);
      replay.setPriority(selector, batch, priorities);
      if (!lockStep && learner.updates % SETTINGS.publishEvery === 0) {
        broadcast.publish(learner.published());
      }
      watch({ steps, loss, batch, trained });
    }
  }

  // 3. End: no rate limiter holds the actors back any more, and each writes what it has.
  replay.setRateLimiter(undefined);
  broadcast.publish(learner.published(1));
  await actors.end();
  return trained;
}

const HELP = `Learn CartPole-v1 by Ape-X: actors in Workers, and one shared replay.

Usage: deno task apex [options]

  --actors <number>   how many, 1 to 64; 4 by default, and 1 with --lock-step
  --seed <number>     for the task, the network, the actions and the picks; 1 by default
  --steps <number>    environment steps at most, of all actors together; 60000 by default
  --runs <number>     trains so often, with this seed and the next ones; 1 by default
  --lock-step         one actor and the learner take turns, so a seed gives the same run each time
  -h, --help          print this

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
      actors: { type: "string" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "60000" },
      runs: { type: "string", default: "1" },
      "lock-step": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const lockStep = values["lock-step"];
  const actors = integerOf("actors", values.actors ?? (lockStep ? "1" : "4"), 1, 64);
  if (lockStep && actors !== 1) {
    throw new TypeError(`--lock-step takes one actor, not ${actors}`);
  }
  return {
    actors,
    seed: integerOf("seed", values.seed, 0, 1_000_000),
    steps: integerOf("steps", values.steps, 1, 10_000_000),
    runs: integerOf("runs", values.runs, 1, 100),
    lockStep,
  };
}

/** Trains once, with a bar, and says how it went. */
async function runOnce(options: Options): Promise<Trained> {
  const startedAt = performance.now();
  using progress = new Progress(options.steps);
  const trained = await train(options, ({ steps, loss, trained: { episodes, evaluations } }) => {
    progress.update(steps, {
      return: mean(episodes.slice(-20).map((point) => point.return)),
      loss,
      best: Math.max(0, ...evaluations.map((point) => point.return)),
    });
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const solved = isSolved(trained.evaluations, SETTINGS.solved);
  const step = trained.evaluations.at(-1)?.step ?? 0;
  const returns = await freshReturns(trained.weights, options.seed);
  console.log(
    `\nSeed ${options.seed}: ${solved ? "solved" : "not solved"} after ${step} steps and ${
      seconds.toFixed(1)
    } s. On 20 fresh episodes the best policy earns ${mean(returns).toFixed(1)} on average, ` +
      `${Math.min(...returns)} at worst, of 500.`,
  );
  return trained;
}

async function run({ runs, ...options }: Options): Promise<void> {
  const curves: NamedCurve[] = [];
  for (let seed = options.seed; seed < options.seed + runs; seed++) {
    const { evaluations } = await runOnce({ ...options, runs, seed });
    curves.push({ name: `seed ${seed}`, points: evaluations });
  }
  const { return: enough, times } = SETTINGS.solved;
  const title = `CartPole-v1, Ape-X with ${numberOf(options.actors)}`;
  const file = `out/apex_cartpole_actors${options.actors}_seed${options.seed}.svg`;
  await Deno.mkdir("out", { recursive: true });
  const picture = await curvesSvg(curves, title, {
    title: "mean return of 20 greedy episodes",
    domain: [0, 550],
    solved: enough,
  });
  await Deno.writeTextFile(file, picture);
  console.log(
    `Solved means a mean return of at least ${enough} in ${times} evaluations in a row.\nPicture: ${file}`,
  );
}

function numberOf(actors: number): string {
  return actors === 1 ? "1 actor" : `${actors} actors`;
}

if (import.meta.main) Deno.exitCode = await runExample(Deno.args, parseOptions, HELP, run);
