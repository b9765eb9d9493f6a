/**
 * The double DQN agent of `dqn_cartpole.ts` and of the page in `browser/`: its settings and its training loop.
 *
 * Read {@linkcode train} first: it has the whole algorithm, and the replay's part is four calls.
 * `docs/quickstart.md` gives the reason for each number in {@linkcode SETTINGS} and shows
 * what to expect.
 *
 * @module
 */
import {
  afterDraws,
  type Batch,
  type Column,
  combined,
  curious,
  ExperienceReplay,
  fifo,
  float32,
  int32,
  lfu,
  lowestPriorityFirst,
  lru,
  prioritized,
  pser,
  rankBased,
  recent,
  reservoir,
  secondChance,
  ucb,
  uniform,
  withoutReplacement,
} from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";
import { newEnvironments, play } from "./_cart_poles.ts";
import { isSolved, mean } from "./_curve.ts";
import type { Options } from "./_dqn_options.ts";
import type { LearningCurve } from "./_dqn_report.ts";
import type { Floats } from "./_network.ts";
import { QNetwork } from "./_q_network.ts";
import type { Stopwatch } from "./_stopwatch.ts";

/** The numbers of the algorithm; `docs/quickstart.md` gives the reason for each. */
export const SETTINGS = {
  capacity: 10_000, // records that the replay holds
  discount: 0.99,
  returnSteps: 3, // rewards summed before the network's own estimate takes over
  batchSize: 128,
  warmupSteps: 1_000, // steps before the first update
  exploration: { first: 1, last: 0.05, steps: 8_000 }, // chance of a random action
  learningRate: { first: 1e-3, last: 1e-4, steps: 15_000 },
  targetRate: 0.01, // how far the target network moves towards the online one, each update
  alpha: 0.6, // how strongly priorities decide what is drawn
  beta: { first: 0.4, last: 1, steps: 30_000 }, // how far importance weights correct the bias
  evaluation: { every: 1_000, episodes: 20 }, // steps between evaluations; episodes in each
  solved: { return: 495, times: 3 }, // training stops after three such means in a row
};

/** The selectors (`docs/selectors.md`), by the names that `--selector` takes. */
export const selectors = {
  uniform,
  withoutReplacement,
  recent: () => recent({ eta: 0.996, newest: 2_500 }),
  prioritized: () => prioritized({ alpha: SETTINGS.alpha }),
  rankBased: () => rankBased({ alpha: SETTINGS.alpha }),
  pser: () => pser({ alpha: SETTINGS.alpha }),
  combined: () => combined({ rest: prioritized({ alpha: SETTINGS.alpha }) }),
  curious: () => curious({ c: 10, pMax: 10 }),
  ucb: () => ucb({ c: 0.5, mode: "proportional" }),
};

/** The eviction policies, by the names that `--eviction` takes. */
export const evictions = {
  fifo,
  secondChance,
  lru,
  lfu,
  lowestPriorityFirst,
  afterDraws: () => afterDraws(100),
  reservoir,
};

/** The best policy seen by greedy evaluation. */
export interface KeptPolicy {
  /** Environment steps before the evaluation. */
  step: number;
  /** Mean return of the greedy evaluation that chose it. */
  evaluation: number;
  /** Its network's weights. */
  weights: Floats;
}

/** What there is to see of training after a step. */
export interface Seen {
  /** Environment steps so far. */
  readonly step: number;
  /** Loss of the latest update; NaN before the first. */
  readonly loss: number;
  /** The best policy so far. */
  readonly kept: KeptPolicy;
  /** The network that learns. */
  readonly network: QNetwork;
  /** The replay. */
  readonly replay: ExperienceReplay<Transition>;
}

/** What the replay holds, and that a batch has one n-step return. */
interface Transition {
  readonly state: Column<"float32", [typeof CartPole.stateSize]>;
  readonly pick: { readonly nStep: number };
}

/**
 * Learns CartPole-v1 and returns the best policy seen.
 *
 * @param curve Gets the points of the learning curve.
 * @param stopwatch Measures the time of the parts.
 * @param watch Is called after each step. If it returns a promise, training waits for it.
 */
export async function train(
  options: Options,
  curve: LearningCurve,
  stopwatch: Stopwatch,
  watch: (seen: Seen) => Promise<void> | void = () => {},
): Promise<KeptPolicy> {
  const { seed, steps } = options;
  using replay = await ExperienceReplay.create({
    capacity: SETTINGS.capacity,
    state: float32(CartPole.stateSize),
    action: int32(),
    // A pick is one step, and a batch also has its n-step return. That is the sum of three discounted rewards, the state after them,
    // and the discount of the value of that state.
    pick: { nStep: SETTINGS.returnSteps, discount: SETTINGS.discount },
    eviction: evictions[options.eviction](),
    seed,
  });
  const selector = replay.newPickSelector(selectors[options.selector]());
  using network = await QNetwork.create({ seed });
  const environment = new CartPole(seed);
  const testEnvironments = newEnvironments(SETTINGS.evaluation.episodes, 1_000_000 + 1_000 * seed);
  const random = new RandomStream(seed, 1);
  const { time } = stopwatch;

  let kept: KeptPolicy = { step: 0, evaluation: 0, weights: network.weights() };
  let batch: Batch<Transition> | undefined; // its memory serves every update
  let loss = NaN;
  let state = environment.reset();
  let episode = replay.newEpisode();
  let episodeReturn = 0;

  for (let step = 1; step <= steps && !isSolved(curve.evaluations, SETTINGS.solved); step++) {
    // 1. Act: now and then at random, otherwise as the network thinks best.
    const action = random.uniform() < scheduled(SETTINGS.exploration, step)
      ? random.below(CartPole.actionCount)
      : time("network: act", () => network.bestAction(state));
    const { state: nextState, reward, terminated, truncated } = environment.step(action);
    episodeReturn += reward;

    // 2. Remember. The last record of an episode has the final state. It also says whether the task or only the clock ended the episode.
    // If it was the clock, the future still has a value.
    const ending = terminated || truncated ? { finalState: nextState, truncated } : undefined;
    episode = time("replay: record", () => replay.record(episode, state, action, reward, ending));
    state = nextState;
    if (ending !== undefined) {
      curve.episodes.push({ step, return: episodeReturn });
      state = environment.reset();
      episode = replay.newEpisode();
      episodeReturn = 0;
    }

    // 3. Learn: draw a batch, improve the network, and tell the replay how surprising each pick was. Surprising picks come again sooner.
    if (step >= SETTINGS.warmupSteps) {
      const beta = scheduled(SETTINGS.beta, step);
      const learningRate = scheduled(SETTINGS.learningRate, step);
      const { targetRate, batchSize } = SETTINGS;

      batch = time(
        "replay: getBatch",
        () => replay.getBatch(batchSize, selector, { beta, into: batch }),
      );
      const [nStep] = batch.nStep; // one for each n that `pick` names
      const transitions = {
        state: batch.state,
        action: batch.action,
        reward: nStep.reward,
        nextState: nStep.nextState,
        discount: nStep.discount,
        weight: batch.importanceWeight,
      };
      const learned = time(
        "network: update",
        () => network.update(transitions, { learningRate, targetRate }),
      );
      const drawn = batch;
      const surprise = learned.tdError.map(Math.abs);
      time(
        "replay: setPriority",
        () => replay.setPriority(selector, drawn, surprise),
      );
      loss = learned.loss;
    }

    // 4. Evaluate: play some episodes without exploring, and keep the best policy so far. DQN forgets, so the latest policy is often not
    // the best.
    if (step % SETTINGS.evaluation.every === 0 || step === steps) {
      const evaluation = mean(time("evaluation", () => play(network, testEnvironments)));
      curve.evaluations.push({ step, return: evaluation });
      if (evaluation >= kept.evaluation) kept = { step, evaluation, weights: network.weights() };
    }
    const waiting = watch({ step, loss, kept, network, replay });
    if (waiting !== undefined) await waiting;
  }
  curve.replay = replay.stats();
  return kept;
}

/** A number that moves linearly from `first` to `last` over `steps` steps. */
function scheduled(
  { first, last, steps }: { first: number; last: number; steps: number },
  step: number,
): number {
  return first + (last - first) * Math.min(1, step / steps);
}
