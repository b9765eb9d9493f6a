/**
 * The learner of Ape-X: how it learns from batches, wherever they come from, and evaluates what it has learned.
 *
 * @module
 */
import { type Batch, float32 } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { annealed } from "@exrp/replay/returns";
import { newEnvironments, play } from "../_cart_poles.ts";
import { type CurvePoint, isSolved, mean } from "../_curve.ts";
import type { Floats } from "../_network.ts";
import { QNetwork } from "../_q_network.ts";
import type { Published, Transition } from "./actor.ts";

/** The numbers of the algorithm. Most are those of the quickstart, and `docs/quickstart.md` gives the reasons. */
export const SETTINGS = {
  capacity: 10_000, // records that the replay holds
  discount: 0.99,
  returnSteps: 3,
  batchSize: 128,
  warmupSteps: 1_000, // records before the first update, of random actions
  updatesPerStep: 1, // the rate limiter: updates for each step that the actors record
  turnSteps: 50, // steps of an actor in one chunk
  publishEvery: 10, // updates between two versions of the weights, except in lock-step
  learningRate: { first: 1e-3, last: 1e-4, updates: 20_000 },
  targetRate: 0.01,
  alpha: 0.6,
  beta: { first: 0.4, last: 1, updates: 30_000 },
  evaluation: { every: 1_000, episodes: 20 }, // updates between evaluations; episodes in each
  solved: { return: 495, times: 3 }, // training stops after three such means in a row, as in the quickstart
};

/** What training gives. */
export interface Trained {
  /** The returns of the actors' episodes. */
  episodes: CurvePoint[];
  /** The mean returns of the greedy evaluations. */
  evaluations: CurvePoint[];
  /** The weights of the best evaluation. */
  weights: Floats;
}

/** What the replay holds, and what its batches are. */
export const OPTIONS = {
  capacity: SETTINGS.capacity,
  state: float32(CartPole.stateSize),
  pick: { nStep: SETTINGS.returnSteps, discount: SETTINGS.discount },
} as const;

/** What a policy earns on new episodes, which had no part in any choice: the return of each. */
export async function freshReturns(weights: Floats, seed: number): Promise<number[]> {
  using network = await QNetwork.create({ weights });
  return play(network, newEnvironments(20, 2_000_000 + 1_000 * seed));
}

/** Learns CartPole-v1 from batches, and keeps the best policy. */
export class Learner implements Disposable {
  /** What has come of it so far. */
  readonly trained: Trained;
  /** What acts, and learns. */
  readonly network: QNetwork;
  readonly #seed: number;
  readonly #testEnvironments: CartPole[];
  readonly #learningRate = schedule(SETTINGS.learningRate);
  readonly #beta = schedule(SETTINGS.beta);
  #best = -Infinity;
  #updates = 0;

  private constructor(network: QNetwork, seed: number) {
    this.network = network;
    this.#seed = seed;
    this.#testEnvironments = newEnvironments(
      SETTINGS.evaluation.episodes,
      1_000_000 + 1_000 * seed,
    );
    this.trained = { episodes: [], evaluations: [], weights: network.weights() };
  }

  /** A learner that knows nothing yet. */
  static async create(seed: number): Promise<Learner> {
    return new Learner(await QNetwork.create({ seed }), seed);
  }

  /** How many updates it made. */
  get updates(): number {
    return this.#updates;
  }

  /** Whether the task is solved. */
  get isSolved(): boolean {
    return isSolved(this.trained.evaluations, SETTINGS.solved);
  }

  /** The exponent of the importance weights of the next batch. */
  beta(): number {
    return this.#beta(this.#updates);
  }

  /** Learns from a batch once. `step` is how many steps the actors have made. Returns the new priorities. */
  learn(batch: Batch<Transition>, step: number): { loss: number; priorities: Floats } {
    const [nStep] = batch.nStep;
    const { loss, tdError } = this.network.update({
      state: batch.state,
      action: batch.action,
      reward: nStep.reward,
      nextState: nStep.nextState,
      discount: nStep.discount,
      weight: batch.importanceWeight,
    }, { learningRate: this.#learningRate(this.#updates), targetRate: SETTINGS.targetRate });
    this.#updates++;

    // Evaluate: play some episodes without exploring, and keep the best policy so far.
    if (this.#updates % SETTINGS.evaluation.every === 0) {
      const evaluation = mean(play(this.network, this.#testEnvironments));
      this.trained.evaluations.push({ step, return: evaluation });
      if (evaluation >= this.#best) {
        [this.#best, this.trained.weights] = [evaluation, this.network.weights()];
      }
    }
    return { loss, priorities: tdError.map(Math.abs) };
  }

  /** What the best policy earns on new episodes. */
  freshReturns(): Promise<number[]> {
    return freshReturns(this.trained.weights, this.#seed);
  }

  /** What actors need of it now. */
  published(stop = 0): Published {
    return {
      weights: this.network.weights(),
      updates: Float64Array.of(this.#updates),
      stop: Uint8Array.of(stop),
    };
  }

  /** Gives the network back. */
  [Symbol.dispose](): void {
    this.network[Symbol.dispose]();
  }
}

/** A number that moves linearly with the updates. */
function schedule(
  { first, last, updates }: { first: number; last: number; updates: number },
): (update: number) => number {
  return annealed(first, last, updates);
}
