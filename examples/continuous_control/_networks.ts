/**
 * The networks of this example: an actor, an ensemble of critics with its target, the temperature, and the steps of SAC (Haarnoja et al.,
 * "Soft Actor-Critic Algorithms and Applications", 2018). `../_network.ts` says how to read code for jax-js.
 *
 * @module
 */
import { jit, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import type { RandomStream } from "@exrp/replay/selectors";
import {
  type AdamState,
  adamStep,
  correctedRate,
  dense,
  type Floats,
  initialWeights,
  type Layer,
  type LayerSizes,
  layersOf,
  newAdamState,
  startNetworks,
} from "../_network.ts";

const HIDDEN = 64;
const CRITICS = 2;

/** What the networks are made for. */
export interface Shape {
  /** Brings the numbers of a state to about the same size. */
  readonly stateScale: readonly number[];
  readonly actionSize: number;
  /** Layer normalization in the critics (Ba et al. 2016), without a scale and offset of its own. */
  readonly layerNorm: boolean;
}

/** The batch of one update. Each array has one row for each transition. */
export interface Transitions {
  /** `[count, states]` */
  readonly state: Floats;
  /** `[count, actions]`: from -1 to 1. */
  readonly action: Floats;
  /** `[count]`: the sums of discounted rewards up to `nextState`. */
  readonly reward: Floats;
  /** `[count, states]`: the states one or several steps later. */
  readonly nextState: Floats;
  /** `[count]`: the discount of the value of `nextState`; 0 where the episode terminated. */
  readonly discount: Floats;
  /** `[count]`: the weight of each transition in the loss of the critics. */
  readonly weight: Floats;
}

/** How far one update goes. */
export interface Rates {
  readonly learning: number;
  /** How far the target network moves towards the critics. */
  readonly target: number;
}

/** The same as {@linkcode Transitions} on jax-js, with a random number for each action after `nextState`. */
type Rows = { [Column in keyof Transitions]: np.Array } & { noise: np.Array };
/** Weights, and what Adam remembers of them. */
type Learned = { weights: np.Array; adam: AdamState };

/** A policy's action `[count, actions]` and the logarithm of its probability density, `[count]`. */
type Acted = [action: np.Array, logProb: np.Array];

/** Layers one after the other, with ReLU between them. It uses the input and the layers up. */
function perceptron(input: np.Array, layers: readonly Layer[], isNormal: boolean): np.Array {
  return layers.reduce((x, layer, index) => {
    const y = dense(x, layer);
    if (index === layers.length - 1) return y;
    return nn.relu(isNormal ? nn.standardize(y) : y);
  }, input);
}

/** Compiles what a shape of network runs. */
function compile({ stateScale, actionSize, layerNorm }: Shape): {
  act: (actor: np.Array, state: np.Array, noise: np.Array) => Acted;
  updateCritics: (
    learner: { actor: np.Array; temperature: np.Array; critics: Learned; target: np.Array },
    rows: Rows,
    rates: { learning: np.Array; target: np.Array },
  ) => { critics: Learned; target: np.Array; loss: np.Array; tdError: np.Array };
  updateActor: (
    learner: { actor: Learned; temperature: Learned; critics: np.Array },
    state: np.Array,
    noise: np.Array,
    learningRate: np.Array,
  ) => { actor: Learned; temperature: Learned };
  layers: { actor: LayerSizes; critics: LayerSizes };
} {
  const sizes = (inputs: number, outputs: number): LayerSizes => [
    [inputs, HIDDEN],
    [HIDDEN, HIDDEN],
    [HIDDEN, outputs],
  ];
  const critic = sizes(stateScale.length + actionSize, 1);
  const layers = {
    actor: sizes(stateScale.length, 2 * actionSize),
    critics: Array.from({ length: CRITICS }, () => critic).flat(),
  };

  const scaled = (state: np.Array): np.Array => state.mul(np.array([...stateScale]));

  /** An action is the tanh of a normal variable, so it is within ±1. */
  const act = (actor: np.Array, state: np.Array, noise: np.Array): Acted => {
    const output = perceptron(scaled(state), layersOf(actor, layers.actor), false);
    const mean = output.ref.slice([], [0, actionSize]);
    // From exp(-5) to exp(2).
    const logSpread = np.tanh(output.slice([], [actionSize, 2 * actionSize])).mul(3.5).sub(1.5);
    const raw = mean.add(np.exp(logSpread.ref).mul(noise.ref));
    const normal = np.square(noise).mul(-0.5).sub(logSpread).sub(0.5 * Math.log(2 * Math.PI));
    // log(1 - tanh²(x)), without the loss of digits.
    const slope = np.array(Math.LN2).sub(raw.ref).sub(nn.softplus(raw.ref.mul(-2))).mul(2);
    return [np.tanh(raw), normal.sub(slope).sum(1)];
  };

  /** The values of state and action that each critic gives, each `[count]`. */
  const valuesOf = (critics: np.Array, state: np.Array, action: np.Array): np.Array[] => {
    const input = np.concatenate([scaled(state), action], 1);
    const all = layersOf(critics, layers.critics);
    const values = Array.from({ length: CRITICS }, (_, k) => {
      const own = all.slice(k * critic.length, (k + 1) * critic.length);
      return perceptron(input.ref, own, layerNorm).reshape([-1]);
    });
    input.dispose();
    return values;
  };
  const smallest = (values: np.Array[]): np.Array => values.reduce((a, b) => np.minimum(a, b));

  const step = (
    { weights, adam }: Learned,
    gradient: np.Array,
    learningRate: np.Array,
  ): Learned => adamStep(weights, gradient, adam, { learningRate, normMax: Infinity });

  return {
    layers,
    act: jit(act),
    updateCritics: jit(({ actor, temperature, critics, target }, rows, rates) => {
      // The value of a next state is the smaller of the two, plus the entropy that the policy earns there.
      const [nextAction, logProb] = act(actor, rows.nextState.ref, rows.noise);
      const nextValue = smallest(valuesOf(target.ref, rows.nextState, nextAction))
        .sub(np.exp(temperature).mul(logProb));
      const goal = rows.reward.add(rows.discount.mul(nextValue));

      const lossOf = (weights: np.Array): [np.Array, np.Array] => {
        const errors = valuesOf(weights, rows.state, rows.action).map((value) =>
          value.sub(goal.ref)
        );
        const losses = errors.map((error) =>
          np.square(error.ref).mul(rows.weight.ref).mean().mul(0.5)
        );
        const sizes = errors.map((error) => np.abs(error));
        return [
          losses.reduce((a, b) => a.add(b)),
          sizes.reduce((a, b) => a.add(b)).mul(1 / CRITICS),
        ];
      };
      const [[loss, tdError], gradient] = valueAndGrad(lossOf, { hasAux: true })(
        critics.weights.ref,
      );
      tree.dispose([goal, rows.weight]);
      const after = step(critics, gradient, rates.learning);
      const newTarget = target.ref.add(after.weights.ref.sub(target).mul(rates.target));
      return { critics: after, target: newTarget, loss, tdError };
    }),
    updateActor: jit(({ actor, temperature, critics }, state, noise, learningRate) => {
      const alpha = np.exp(temperature.weights.ref);
      // Actions of high value, and entropy.
      const lossOf = (weights: np.Array): [np.Array, np.Array] => {
        const [action, logProb] = act(weights, state.ref, noise);
        const value = smallest(valuesOf(critics, state, action));
        return [alpha.mul(logProb.ref).sub(value).mean(), logProb];
      };
      const [[loss, logProb], gradient] = valueAndGrad(lossOf, { hasAux: true })(actor.weights.ref);
      loss.dispose();
      // The temperature falls while the entropy is above its goal, which is minus the number of actions.
      const excess = logProb.mean().sub(actionSize);
      return {
        actor: step(actor, gradient, learningRate.ref),
        temperature: step(temperature, excess.mul(-1), learningRate),
      };
    }),
  };
}

/** Actor, critics and temperature, which learn by SAC. */
export class Networks {
  readonly #shape: Shape;
  readonly #run: ReturnType<typeof compile>;
  #actor: Learned;
  #critics: Learned;
  #target: np.Array;
  #temperature: Learned;
  #criticUpdates = 0;
  #actorUpdates = 0;

  private constructor(shape: Shape, seed: number) {
    this.#shape = shape;
    this.#run = compile(shape);
    const { layers } = this.#run;
    this.#actor = learned(initialWeights(layers.actor, seed));
    this.#critics = learned(initialWeights(layers.critics, seed + 1));
    this.#target = this.#critics.weights.ref.mul(1);
    this.#temperature = learned(new Float32Array(1)); // its logarithm
  }

  /** Networks with random weights. */
  static async create(shape: Shape, seed: number): Promise<Networks> {
    await startNetworks();
    return new Networks(shape, seed);
  }

  /** Actions of the policy in states, `[count, states]` to `[count, actions]`. Without `random`, those in the middle of its distributions. */
  act(states: Floats, random?: RandomStream): Floats {
    const rows = this.#statesOf(states);
    const noise = this.#noise(rows.shape[0] ?? 0, random);
    const [action, logProb] = this.#run.act(this.#actor.weights.ref, rows, noise);
    logProb.dispose();
    return action.dataSync() as Floats;
  }

  /** Moves the critics towards the targets of a batch. The errors, `[count]`, are the means of the two critics' absolute errors before. */
  updateCritics(
    batch: Transitions,
    rates: Rates,
    random: RandomStream,
  ): { loss: number; tdError: Floats } {
    const count = batch.reward.length;
    const { critics, target, loss, tdError } = this.#run.updateCritics(
      {
        actor: this.#actor.weights.ref,
        temperature: this.#temperature.weights.ref,
        critics: this.#critics,
        target: this.#target,
      },
      {
        state: this.#statesOf(batch.state),
        action: np.array(batch.action, { shape: [count, this.#shape.actionSize] }),
        reward: np.array(batch.reward),
        nextState: this.#statesOf(batch.nextState),
        discount: np.array(batch.discount),
        weight: np.array(batch.weight),
        noise: this.#noise(count, random),
      },
      {
        learning: np.array(correctedRate(rates.learning, ++this.#criticUpdates)),
        target: np.array(rates.target),
      },
    );
    this.#critics = critics;
    this.#target = target;
    return { loss: loss.item(), tdError: tdError.dataSync() as Floats };
  }

  /** Moves the actor towards actions that the critics value, and the temperature towards the wanted entropy. */
  updateActor(states: Floats, learningRate: number, random: RandomStream): void {
    const rows = this.#statesOf(states);
    const { actor, temperature } = this.#run.updateActor(
      { actor: this.#actor, temperature: this.#temperature, critics: this.#critics.weights.ref },
      rows,
      this.#noise(rows.shape[0] ?? 0, random),
      np.array(correctedRate(learningRate, ++this.#actorUpdates)),
    );
    this.#actor = actor;
    this.#temperature = temperature;
  }

  /** A copy of the actor's weights, as one vector. */
  actorWeights(): Floats {
    return this.#actor.weights.ref.dataSync() as Floats;
  }

  /** Gives the arrays back to jax-js. */
  [Symbol.dispose](): void {
    tree.dispose([this.#actor, this.#critics, this.#target, this.#temperature]);
  }

  #statesOf(states: Floats): np.Array {
    const width = this.#shape.stateScale.length;
    return np.array(states, { shape: [states.length / width, width] });
  }

  /** Numbers of a normal distribution (Box and Muller), `[count, actions]`; zeros without `random`. */
  #noise(count: number, random: RandomStream | undefined): np.Array {
    const { actionSize } = this.#shape;
    const numbers = new Float32Array(count * actionSize);
    if (random !== undefined) {
      for (let k = 0; k < numbers.length; k++) {
        const radius = Math.sqrt(-2 * Math.log(1 - random.uniform()));
        numbers[k] = radius * Math.cos(2 * Math.PI * random.uniform());
      }
    }
    return np.array(numbers, { shape: [count, actionSize] });
  }
}

/** Weights that nothing has learned yet. */
function learned(numbers: Floats): Learned {
  const weights = np.array(numbers);
  return { weights, adam: newAdamState(weights) };
}
