/**
 * The agent of this example, R2D2 (Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning", 2019): how it
 * acts, remembers and learns. Read {@linkcode train}.
 *
 * @module
 */
import { every, ExperienceReplay, float32, prioritized } from "@exrp/replay";
import { TMaze } from "@exrp/replay/envs";
import { annealed, nStepReturn, sequencePriority } from "@exrp/replay/returns";
import { RandomStream } from "@exrp/replay/selectors";
import { type CurvePoint, isSolved, mean } from "../_curve.ts";
import type { Floats } from "../_network.ts";
import { Mazes } from "./_mazes.ts";
import { HIDDEN, RecurrentNetwork } from "./_recurrent_network.ts";

/** The numbers of the algorithm. */
export const SETTINGS = {
  maze: { corridorLength: 3, junctionCount: 4 }, // the shortest way has 16 steps
  actors: 8, // mazes that are explored side by side
  exploration: { first: 0.4, power: 7 }, // actor i takes a random action with chance 0.4^(1 + 7i/7), as in Ape-X
  capacity: 40_000, // records that the replay holds
  length: 8, // steps of a sequence to learn from
  stride: 4, // so each sequence shares half of its steps with the next one
  burnIn: 4, // steps before it, which only bring the hidden state up to date
  discount: 0.97,
  returnSteps: 5, // rewards summed before the network's own estimate takes over
  batchSize: 32, // sequences
  warmupSteps: 1_000, // steps before the first update
  stepsPerUpdate: 32,
  learningRate: 3e-3,
  targetRate: 0.02, // how far the target network moves towards the online one, each update
  alpha: 0.9, // how strongly priorities decide what is drawn
  beta: { first: 0.6, last: 1 }, // how far importance weights correct the bias
  eta: 0.9, // a sequence's priority is 0.9 times its largest error plus 0.1 times the mean
  evaluation: { every: 2_000, episodes: 50 }, // steps between evaluations; episodes in each
  solved: { return: 3.8, times: 3 }, // training stops after three such means in a row; 4 is the best return
};

/**
 * What the agent has of a memory:
 *
 * - `stored`: sequences begin with the hidden state that the actor had, then come the steps of burn-in. This is R2D2.
 * - `zeros`: sequences begin with zeros, then come the steps of burn-in.
 * - `none`: the hidden state is zero before each step, so the network sees the present only.
 */
export const MEMORIES = ["stored", "zeros", "none"] as const;

/** One of {@linkcode MEMORIES}. */
export type Memory = typeof MEMORIES[number];

/** What a run is given. */
export interface Options {
  memory: Memory;
  seed: number;
  /** Environment steps at most, of all actors together; training stops earlier once the task is solved. */
  steps: number;
}

/** What training gives. */
export interface Trained {
  /** The mean returns of the greedy evaluations. */
  evaluations: CurvePoint[];
  weights: Floats;
}

/** How far training is. */
export interface Seen {
  step: number;
  loss: number;
  /** The mean return of the latest 20 training episodes. */
  return: number;
  /** The best mean return of an evaluation. */
  best: number;
}

/** Learns the T-maze. `show` is called after each step of all actors. */
export async function train(
  options: Options,
  show: (seen: Seen) => void = () => {},
): Promise<Trained> {
  const { seed, steps, memory } = options;
  const { length, stride, burnIn, discount, batchSize } = SETTINGS;
  using replay = await ExperienceReplay.create({
    capacity: SETTINGS.capacity,
    state: float32(TMaze.stateSize),
    // The hidden state before every fourth record of an episode: so the first row of each sequence has one.
    extras: { hidden: every(stride, float32(HIDDEN)) },
    pick: { length, stride, burnIn, allowShort: true, discount, nextState: "overlap" },
    seed,
  });
  const selector = replay.newPickSelector(prioritized({ alpha: SETTINGS.alpha }));
  using network = await RecurrentNetwork.create(seed, { remembers: memory !== "none" });
  const actors = new Mazes(SETTINGS.maze, SETTINGS.actors, 1_000 * seed);
  const { first, power } = SETTINGS.exploration;
  const exploration = Array.from(
    { length: actors.count },
    (_, n) => first ** (1 + power * n / (actors.count - 1)),
  );
  const random = new RandomStream(seed, 1);
  const beta = annealed(SETTINGS.beta.first, SETTINGS.beta.last, steps);

  const evaluations: CurvePoint[] = [];
  const returns: number[] = [];
  const episodes = Float64Array.from({ length: actors.count }, () => replay.newEpisode());
  let loss = NaN;
  for (let step = 0; step < steps && !isSolved(evaluations, SETTINGS.solved);) {
    // 1. Act, and remember each step with the hidden state that came before it.
    const { state, hidden } = actors;
    const next = network.step(state, hidden);
    const action = bestActions(next.values).map((best, n) =>
      random.uniform() < (exploration[n] ?? 0) ? random.below(TMaze.actionCount) : best
    );
    const { ended, ...result } = actors.step(action, next.hidden);
    replay.recordBatch(episodes, { state, action, extras: { hidden }, ...result });
    returns.push(...ended.values());
    step += actors.count;

    // 2. Learn.
    if (step >= SETTINGS.warmupSteps && step % SETTINGS.stepsPerUpdate === 0) {
      const batch = replay.getBatch(batchSize, selector, { beta: beta(step) });
      const { hidden: stored } = batch.extras;
      const sequences = {
        state: batch.state,
        hidden: memory === "stored" ? stored : stored.map(() => 0),
        action: batch.action,
        learnMask: batch.learnMask,
        weight: batch.importanceWeight,
      };
      // The goal of each row is its n-step return. A sequence may end within its episode: the value of the state after it is in the goal.
      const goal = nStepReturn({
        reward: batch.reward,
        nextValue: network.nextValues(sequences),
        discount: batch.discount,
        seqLen: batch.nextSeqLen,
        n: SETTINGS.returnSteps,
      });
      const learned = network.update(sequences, goal, {
        learning: SETTINGS.learningRate,
        target: SETTINGS.targetRate,
      });
      const surprise = sequencePriority(learned.tdError.map(Math.abs), batch.seqLen, {
        eta: SETTINGS.eta,
        learnMask: batch.learnMask,
      });
      replay.setPriority(selector, batch, surprise);
      loss = learned.loss;
    }

    // 3. Evaluate: play some episodes without exploring.
    if (step % SETTINGS.evaluation.every === 0 || step >= steps) {
      const mazes = new Mazes(
        SETTINGS.maze,
        SETTINGS.evaluation.episodes,
        1_000_000 * (seed + 1) + step,
      );
      evaluations.push({ step, return: mean(play(network, mazes)) });
    }
    const best = Math.max(0, ...evaluations.map((point) => point.return));
    show({ step, loss, return: mean(returns.slice(-20)), best });
  }
  return { evaluations, weights: network.weights() };
}

/** Plays the first episode of each maze greedily, and returns their returns. */
function play(network: RecurrentNetwork, mazes: Mazes): number[] {
  const returns = new Map<number, number>();
  while (returns.size < mazes.count) {
    const next = network.step(mazes.state, mazes.hidden);
    const { ended } = mazes.step(bestActions(next.values), next.hidden);
    for (const [n, value] of ended) if (!returns.has(n)) returns.set(n, value);
  }
  return [...returns.values()];
}

/** The best action of each row of `values`, `[count, 4]`. */
function bestActions(values: Floats): number[] {
  const { actionCount } = TMaze;
  return Array.from({ length: values.length / actionCount }, (_, row) => {
    const four = values.subarray(row * actionCount, (row + 1) * actionCount);
    return four.indexOf(Math.max(...four));
  });
}
