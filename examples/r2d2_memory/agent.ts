/**
 * The agent of this example, R2D2 (Kapturowski et al., "Recurrent Experience Replay in Distributed Reinforcement Learning", 2019): how it
 * acts, remembers and learns. Read {@linkcode train}.
 *
 * @module
 */
import {
  type Batch,
  type Column,
  every,
  ExperienceReplay,
  float32,
  prioritized,
} from "@exrp/replay";
import { type ActorBatch, ActorWriter, type Broadcast } from "@exrp/replay/actors";
import { TMaze } from "@exrp/replay/envs";
import { annealed, nStepReturn, sequencePriority } from "@exrp/replay/returns";
import { RandomStream } from "@exrp/replay/selectors";
import type { Turn } from "../_actors.ts";
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

/** Steps in each maze before an actor elsewhere writes them, and looks for new weights. */
const TURN_STEPS = 8;

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

/** What the replay holds, and what its batches are. */
export const OPTIONS = {
  capacity: SETTINGS.capacity,
  state: float32(TMaze.stateSize),
  // The hidden state before every fourth record of an episode: so the first row of each sequence has one.
  extras: { hidden: every(SETTINGS.stride, float32(HIDDEN)) },
  pick: {
    length: SETTINGS.length,
    stride: SETTINGS.stride,
    burnIn: SETTINGS.burnIn,
    allowShort: true,
    discount: SETTINGS.discount,
    nextState: "overlap",
  },
} as const;

/** What the replay holds, as a type. */
export interface Remembered {
  readonly state: Column<"float32", [typeof TMaze.stateSize]>;
  readonly extras: { readonly hidden: Column<"float32", [typeof HIDDEN]> };
}

/** Some of the mazes that are explored side by side: how their agent acts, and what it remembers. */
class Explorer {
  readonly #network: RecurrentNetwork;
  readonly #mazes: Mazes;
  readonly #chances: number[];
  readonly #random: RandomStream;

  /** Explores `count` mazes, from number `first` on. */
  constructor(
    network: RecurrentNetwork,
    { seed, first, count }: { seed: number; first: number; count: number },
  ) {
    this.#network = network;
    this.#mazes = new Mazes(SETTINGS.maze, count, 1_000 * seed + first);
    const { exploration, actors } = SETTINGS;
    this.#chances = Array.from(
      { length: count },
      (_, n) => exploration.first ** (1 + exploration.power * (first + n) / (actors - 1)),
    );
    this.#random = new RandomStream(seed, 1 + first);
  }

  /** Acts once in each maze, and hands over each step with the hidden state that came before it. Returns the returns of episodes that ended. */
  step(record: (steps: ActorBatch<Remembered>) => void): number[] {
    const { state, hidden } = this.#mazes;
    const next = this.#network.step(state, hidden);
    const action = bestActions(next.values).map((best, n) =>
      this.#random.uniform() < (this.#chances[n] ?? 0)
        ? this.#random.below(TMaze.actionCount)
        : best
    );
    const { ended, ...result } = this.#mazes.step(action, next.hidden);
    record({ state, action, extras: { hidden }, ...result });
    return [...ended.values()];
  }
}

/** What the learner publishes to actors elsewhere. */
export type Published = {
  weights: Floats;
  /** `[1]`: 1 once the actors should end. */
  stop: Uint8Array<ArrayBuffer>;
};

/** Explores some of the mazes until the learner says that it is over. Calls `tell` after each turn, and waits until that is done. */
export async function play(
  { replay, broadcast }: {
    readonly replay: ExperienceReplay<Remembered>;
    readonly broadcast: Broadcast<Published>;
  },
  { index, ...mazes }: { index: number; seed: number; first: number; count: number },
  tell: (turn: Turn) => void | Promise<void>,
): Promise<void> {
  const writer = new ActorWriter(replay, { environments: mazes.count, tag: index });
  using network = await RecurrentNetwork.create(mazes.seed, { remembers: true });
  const explorer = new Explorer(network, mazes);
  for (;;) {
    const { arrays, changed } = broadcast.read();
    if (arrays.stop[0] === 1) break;
    if (changed) network.load(arrays.weights);
    const returns: number[] = [];
    for (let k = 0; k < TURN_STEPS; k++) {
      returns.push(...explorer.step((steps) => writer.stepBatch(steps)));
    }
    await writer.flushWhenReady();
    await tell({ steps: TURN_STEPS * mazes.count, returns, isLast: false });
  }
  await writer.close();
}

/** How the agent learns from sequences, wherever they come from. */
export class Learner implements Disposable {
  /** What has come of it so far. */
  readonly trained: Trained;
  /** What acts, and learns. */
  readonly network: RecurrentNetwork;
  readonly #options: Options;
  readonly #beta: (step: number) => number;

  private constructor(options: Options, network: RecurrentNetwork) {
    this.#options = options;
    this.network = network;
    this.trained = { evaluations: [], weights: network.weights() };
    this.#beta = annealed(SETTINGS.beta.first, SETTINGS.beta.last, options.steps);
  }

  /** A learner that knows nothing yet. */
  static async create(options: Options): Promise<Learner> {
    const { seed, memory } = options;
    return new Learner(
      options,
      await RecurrentNetwork.create(seed, { remembers: memory !== "none" }),
    );
  }

  /** Whether the task is solved. */
  get isSolved(): boolean {
    return isSolved(this.trained.evaluations, SETTINGS.solved);
  }

  /** The exponent of importance weights after so many steps. */
  beta(step: number): number {
    return this.#beta(step);
  }

  /** Learns from a batch once. Returns its new priorities. */
  learn(batch: Batch<Remembered>): { loss: number; priorities: Floats } {
    const { hidden: stored } = batch.extras;
    const sequences = {
      state: batch.state,
      hidden: this.#options.memory === "stored" ? stored : stored.map(() => 0),
      action: batch.action,
      learnMask: batch.learnMask,
      weight: batch.importanceWeight,
    };
    // The goal of each row is its n-step return. A sequence may end within its episode: the value of the state after it is in the goal.
    const goal = nStepReturn({
      reward: batch.reward,
      nextValue: this.network.nextValues(sequences),
      discount: batch.discount,
      seqLen: batch.nextSeqLen,
      n: SETTINGS.returnSteps,
    });
    const { loss, tdError } = this.network.update(sequences, goal, {
      learning: SETTINGS.learningRate,
      target: SETTINGS.targetRate,
    });
    const priorities = sequencePriority(tdError.map(Math.abs), batch.seqLen, {
      eta: SETTINGS.eta,
      learnMask: batch.learnMask,
    });
    return { loss, priorities };
  }

  /** Plays some episodes without exploring. */
  evaluate(step: number): void {
    const mazes = new Mazes(
      SETTINGS.maze,
      SETTINGS.evaluation.episodes,
      1_000_000 * (this.#options.seed + 1) + step,
    );
    this.trained.evaluations.push({ step, return: mean(playGreedily(this.network, mazes)) });
    this.trained.weights = this.network.weights();
  }

  /** What the network earns on new episodes: the return of each. */
  freshReturns(): number[] {
    const { maze, evaluation } = SETTINGS;
    const first = 1_000_000 * (this.#options.seed + 1) + 500_000;
    return playGreedily(this.network, new Mazes(maze, evaluation.episodes, first));
  }

  /** What actors elsewhere need of it now. */
  published(stop = 0): Published {
    return { weights: this.network.weights(), stop: Uint8Array.of(stop) };
  }

  /** Gives the network back. */
  [Symbol.dispose](): void {
    this.network[Symbol.dispose]();
  }
}

/** Learns the T-maze. `show` is called after each step of all actors. */
export async function train(
  options: Options,
  show: (seen: Seen) => void = () => {},
): Promise<Trained> {
  const { seed, steps } = options;
  using replay = await ExperienceReplay.create({ ...OPTIONS, seed });
  const selector = replay.newPickSelector(prioritized({ alpha: SETTINGS.alpha }));
  using learner = await Learner.create(options);
  const { evaluations } = learner.trained;
  const all = { seed, first: 0, count: SETTINGS.actors };
  const explorer = new Explorer(learner.network, all);
  const episodes = Float64Array.from({ length: all.count }, () => replay.newEpisode());
  const returns: number[] = [];
  let loss = NaN;
  for (let step = 0; step < steps && !learner.isSolved;) {
    // 1. Act.
    returns.push(...explorer.step((steps) => replay.recordBatch(episodes, steps)));
    step += SETTINGS.actors;

    // 2. Learn.
    if (step >= SETTINGS.warmupSteps && step % SETTINGS.stepsPerUpdate === 0) {
      const batch = replay.getBatch(SETTINGS.batchSize, selector, { beta: learner.beta(step) });
      const learned = learner.learn(batch);
      replay.setPriority(selector, batch, learned.priorities);
      loss = learned.loss;
    }

    // 3. Evaluate.
    if (step % SETTINGS.evaluation.every === 0 || step >= steps) learner.evaluate(step);
    const best = Math.max(0, ...evaluations.map((point) => point.return));
    show({ step, loss, return: mean(returns.slice(-20)), best });
  }
  return { evaluations, weights: learner.network.weights() };
}

/** Plays the first episode of each maze greedily, and returns their returns. */
function playGreedily(network: RecurrentNetwork, mazes: Mazes): number[] {
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
