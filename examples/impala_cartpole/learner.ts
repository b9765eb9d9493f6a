/**
 * The learner of this example: how IMPALA and IMPACT learn from steps of old policies, wherever the steps come from.
 *
 * @module
 */
import { numpy as np } from "@jax-js/jax";
import type { Column, Drained } from "@exrp/replay";
import type { CartPole } from "@exrp/replay/envs";
import { annealed, vtrace } from "@exrp/replay/returns";
import { newEnvironments, play } from "../_cart_poles.ts";
import { type CurvePoint, isSolved, mean } from "../_curve.ts";
import type { Floats } from "../_network.ts";
import { chosen, entropyOf, type Loss, PolicyNetwork } from "../_policy_network.ts";
import { CircularBuffer } from "./_circular_buffer.ts";

/** The numbers of the algorithms. */
export const SETTINGS = {
  environments: 8,
  rolloutSteps: 32, // steps of each environment in a batch
  discount: 0.99,
  lambda: 0.95, // of V-trace
  learningRate: { impala: 2e-3, impact: 1e-3, uncorrected: 2e-3 }, // falls to 0 over all steps
  valueWeight: 0.5, // of the error of values in the loss
  entropyWeight: 0.01, // of the entropy in the loss, so that the policy goes on exploring
  impact: {
    batches: 4, // that the circular buffer holds
    uses: 8, // of each batch, then it is gone
    clip: 0.2, // how far the probability of an action may move from that of the target policy before it stops to pay
    rhoMax: 2, // bound of the ratio of target policy and actor
  },
  evaluation: { every: 16, episodes: 20 }, // batches between evaluations; episodes in each
  solved: { return: 495, times: 3 }, // training stops after three such means in a row, as in the quickstart
};

/** How many steps the learner takes at once. */
export const BATCH_SIZE = SETTINGS.environments * SETTINGS.rolloutSteps;

/**
 * How the learner learns:
 *
 * - `impala`: from each batch once, corrected by V-trace (Espeholt et al. 2018).
 * - `impact`: from each batch several times, with a surrogate that is clipped against a target policy (Luo et al. 2020).
 * - `uncorrected`: as `impala`, but as if the actors had the learner's policy.
 */
export const METHODS = ["impala", "impact", "uncorrected"] as const;

/** One of {@linkcode METHODS}. */
export type Method = typeof METHODS[number];

/** What a run is given. */
export interface Options {
  method: Method;
  /** By how many batches the actors' policy is older than the learner's. */
  lag: number;
  seed: number;
  /** Environment steps at most; training stops earlier once the task is solved. */
  steps: number;
}

/** What training gives. */
export interface Trained {
  /** The mean returns of the greedy evaluations. */
  evaluations: CurvePoint[];
  /** How many updates the learner made. */
  updates: number;
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

/** Steps as `drain` gives them. */
export type Steps = Drained<{
  state: Column<"float32", [typeof CartPole.stateSize]>;
  extras: { logProb: Column<"float32", []> };
}>;

/** What the losses need of each step. IMPALA's needs neither `logProb` nor `ratio`. */
const ROWS = ["action", "logProb", "ratio", "advantage", "valueTarget"] as const;

/** A batch that is ready to learn from. */
type Batch =
  & { readonly [K in Exclude<typeof ROWS[number], "action">]: Floats }
  & { readonly state: Floats; readonly action: Int32Array<ArrayBuffer> };

/** The policy gradient of IMPALA. V-trace has put the weight ρ into the advantage. */
const impalaLoss: Loss<typeof ROWS[number]> = ({ logProbs, value }, rows) => {
  rows.logProb.dispose();
  rows.ratio.dispose();
  const gain = chosen(logProbs.ref, rows.action).mul(rows.advantage).mean();
  return withoutGain(logProbs, value, rows.valueTarget).sub(gain);
};

/**
 * The surrogate of IMPACT, min(rA, clip(r, 1 ± ε)A). Here r is π/μ of the learner and the actor, times the bounded ratio of the actor and
 * the target policy, μ/π': so it stays near 1 where the learner is near the target policy, however old the actor's policy is.
 */
const impactLoss: Loss<typeof ROWS[number]> = ({ logProbs, value }, rows) => {
  const { clip } = SETTINGS.impact;
  const centred = rows.advantage.ref.sub(rows.advantage.ref.mean());
  const advantage = centred.div(np.std(rows.advantage).add(1e-8));
  const ratio = np.exp(chosen(logProbs.ref, rows.action).sub(rows.logProb)).mul(rows.ratio);
  const clipped = np.clip(ratio.ref, 1 - clip, 1 + clip);
  const gain = np.minimum(ratio.mul(advantage.ref), clipped.mul(advantage)).mean();
  return withoutGain(logProbs, value, rows.valueTarget).sub(gain);
};

/** The part of the loss that both have: the error of values, and the price of being decided. */
function withoutGain(logProbs: np.Array, value: np.Array, valueTarget: np.Array): np.Array {
  return np.square(value.sub(valueTarget)).mean().mul(SETTINGS.valueWeight)
    .sub(entropyOf(logProbs).mul(SETTINGS.entropyWeight));
}

/** Makes a batch of what the actors did: `policy` says what each step is worth, and how far its own choice is from theirs. */
function prepared(steps: Steps, policy: PolicyNetwork<string>, method: Method): Batch {
  const { state, action, extras } = steps;
  const { logProb, value } = policy.evaluate(state, action);
  const { valueTarget, policyAdvantage } = vtrace({
    logProbBehaviour: method === "uncorrected" ? logProb : extras.logProb,
    logProbTarget: logProb,
    reward: steps.reward,
    value,
    nextValue: policy.predict(steps.nextState).value,
    discount: steps.discount,
    seqLen: steps.seqLen,
    packed: true,
    lambda: SETTINGS.lambda,
  });
  return {
    state,
    action,
    logProb: extras.logProb,
    ratio: logProb.map((wanted, k) =>
      Math.min(SETTINGS.impact.rhoMax, Math.exp((extras.logProb[k] ?? 0) - wanted))
    ),
    // IMPACT's advantage is the whole correction of the value. IMPALA's is that of one step and the value after it.
    advantage: method === "impact"
      ? valueTarget.map((target, k) => target - (value[k] ?? 0))
      : policyAdvantage,
    valueTarget,
  };
}

/** A network that learns by the loss of `method`. It serves as a policy that only acts, too. */
export function newPolicy(method: Method, seed: number): Promise<PolicyNetwork<string>> {
  return PolicyNetwork.create<string>(seed, ROWS, method === "impact" ? impactLoss : impalaLoss);
}

/** Learns CartPole-v1 from batches of steps, and evaluates what it has learned. */
export class Learner implements Disposable {
  /** What has come of it so far. */
  readonly trained: Trained;
  readonly #method: Method;
  readonly #stepsMax: number;
  readonly #seed: number;
  readonly #network: PolicyNetwork<string>;
  /** IMPACT's target policy. */
  readonly #target: PolicyNetwork<string>;
  readonly #buffer = new CircularBuffer<Steps>(SETTINGS.impact.batches, SETTINGS.impact.uses);
  readonly #testEnvironments: CartPole[];
  readonly #learningRate: (step: number) => number;
  readonly #returns: number[] = [];
  #best: { readonly return: number; readonly weights: Floats };
  #step = 0;
  #loss = NaN;

  private constructor(
    { method, seed, steps }: Options,
    network: PolicyNetwork<string>,
    target: PolicyNetwork<string>,
  ) {
    this.#method = method;
    this.#stepsMax = steps;
    this.#seed = seed;
    this.#network = network;
    this.#target = target;
    const { episodes } = SETTINGS.evaluation;
    this.#testEnvironments = newEnvironments(episodes, 1_000_000 + 1_000 * seed);
    this.#learningRate = annealed(SETTINGS.learningRate[method], 0, steps);
    this.trained = { evaluations: [], updates: 0, weights: network.weights() };
    this.#best = { return: -Infinity, weights: this.trained.weights };
  }

  /** A learner that knows nothing yet. */
  static async create(options: Options): Promise<Learner> {
    const { method, seed } = options;
    return new Learner(options, await newPolicy(method, seed), await newPolicy(method, seed));
  }

  /** Whether the task is solved, or the steps are over. */
  get isDone(): boolean {
    return this.#step >= this.#stepsMax || isSolved(this.trained.evaluations, SETTINGS.solved);
  }

  /** How far training is. */
  get seen(): Seen {
    return {
      step: this.#step,
      loss: this.#loss,
      return: mean(this.#returns.slice(-20)),
      best: Math.max(0, ...this.trained.evaluations.map((point) => point.return)),
    };
  }

  /** Hears of the returns of training episodes. */
  hear(returns: readonly number[]): void {
    this.#returns.push(...returns);
  }

  /**
   * Takes a batch of {@linkcode BATCH_SIZE} steps. IMPALA learns from it and forgets it. IMPACT puts it into the circular buffer, and the
   * target policy evaluates it anew at each use.
   */
  learn(steps: Steps): void {
    this.#step += BATCH_SIZE;
    if (this.#method === "impact") {
      this.#buffer.push(steps);
      while (this.#buffer.isFull) {
        this.#update(prepared(this.#buffer.take(), this.#target, "impact"));
      }
    } else {
      this.#update(prepared(steps, this.#network, this.#method));
    }
    this.trained.weights = this.#network.weights();

    // Evaluate: play some episodes with the most likely actions.
    if (
      this.#step % (SETTINGS.evaluation.every * BATCH_SIZE) === 0 || this.#step >= this.#stepsMax
    ) {
      const returns = play(this.#network, this.#testEnvironments);
      const evaluation = mean(returns);
      this.trained.evaluations.push({ step: this.#step, return: evaluation });
      if (evaluation >= this.#best.return) {
        this.#best = { return: evaluation, weights: this.trained.weights };
      }
    }
  }

  #update(batch: Batch): void {
    const { impact } = SETTINGS;
    this.#loss = this.#network.update(batch.state, batch, this.#learningRate(this.#step));
    this.trained.updates++;
    if (this.trained.updates % (impact.batches * impact.uses) === 0) {
      this.#target.load(this.#network.weights());
    }
  }

  /** What the best policy of all evaluations earns on new episodes: the return of each. */
  async freshReturns(): Promise<number[]> {
    using policy = await newPolicy(this.#method, this.#seed);
    policy.load(this.#best.weights);
    return play(policy, newEnvironments(20, 2_000_000 + 1_000 * this.#seed));
  }

  /** Gives the networks back. */
  [Symbol.dispose](): void {
    this.#network[Symbol.dispose]();
    this.#target[Symbol.dispose]();
  }
}
