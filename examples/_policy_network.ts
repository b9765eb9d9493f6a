/**
 * A policy and its value function for CartPole, which learn by any loss that you give: PPO's, IMPALA's or IMPACT's. `_network.ts` says how to
 * read code for jax-js.
 *
 * @module
 */
import { jit, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { CartPole } from "@exrp/replay/envs";
import type { RandomStream } from "@exrp/replay/selectors";
import {
  type AdamState,
  adamStep,
  correctedRate,
  dense,
  type Floats,
  initialWeights,
  type LayerSizes,
  layersOf,
  newAdamState,
  startNetworks,
} from "./_network.ts";
import { STATE_SCALE } from "./_cart_poles.ts";

const HIDDEN = 64;
/** Three layers of the policy, then three of the value function. */
const LAYERS: LayerSizes = [
  [CartPole.stateSize, HIDDEN],
  [HIDDEN, HIDDEN],
  [HIDDEN, CartPole.actionCount],
  [CartPole.stateSize, HIDDEN],
  [HIDDEN, HIDDEN],
  [HIDDEN, 1],
];
const GRADIENT_NORM_MAX = 0.5;

/** What the network says of `count` states: log π(a|s) of all actions, `[count, 2]`, and V(s), `[count]`. */
export interface Prediction {
  logProbs: np.Array;
  value: np.Array;
}

/** What a loss needs beside the prediction, under names of yours: `[count]` each. */
export type Rows<Name extends string> = { [K in Name]: np.Array };

/** The loss, one number. It uses the prediction and the rows up. */
export type Loss<Name extends string> = (prediction: Prediction, rows: Rows<Name>) => np.Array;

/** What an update changes: the weights, and what Adam remembers. */
type Learner = { weights: np.Array; adam: AdamState };

function forward(weights: np.Array, state: np.Array): [logProbs: np.Array, value: np.Array] {
  const layers = layersOf(weights, LAYERS);
  const input = state.mul(np.array(STATE_SCALE));
  const through = (first: number): np.Array =>
    layers.slice(first, first + 3).reduce(
      (x, layer, index) => index < 2 ? np.tanh(dense(x, layer)) : dense(x, layer),
      input.ref,
    );
  const logits = through(0);
  const value = through(3);
  input.dispose();
  return [nn.logSoftmax(logits), value.reshape([-1])];
}

const predict = jit(forward);

/** The entry in the column that `action` names, for each row of `values`. */
export function chosen(values: np.Array, action: np.Array): np.Array {
  return values.mul(nn.oneHot(action, CartPole.actionCount)).sum(1);
}

/** States one after the other, as `[count, 4]` on jax-js. */
function rowsOf(states: Floats): np.Array {
  return np.array(states, { shape: [states.length / CartPole.stateSize, CartPole.stateSize] });
}

/** The mean entropy of the policy: how undecided it is. */
export function entropyOf(logProbs: np.Array): np.Array {
  return np.exp(logProbs.ref).mul(logProbs).sum(1).mean().neg();
}

/** A policy and its value function. `Name` has the names of what its loss needs. */
export class PolicyNetwork<Name extends string> {
  #learner: Learner;
  #updateCount = 0;
  readonly #names: readonly Name[];
  readonly #update: (
    learner: Learner,
    state: np.Array,
    rows: Rows<string>,
    learningRate: np.Array,
  ) => { after: Learner; loss: np.Array };

  private constructor(weights: Floats, names: readonly Name[], loss: Loss<Name>) {
    const vector = np.array(weights);
    this.#learner = { weights: vector, adam: newAdamState(vector) };
    this.#names = names;
    this.#update = jit(
      (learner: Learner, state: np.Array, rows: Rows<string>, learningRate: np.Array) => {
        const lossOf = (weights: np.Array): np.Array => {
          const [logProbs, value] = forward(weights, state);
          return loss({ logProbs, value }, rows as Rows<Name>);
        };
        const [value, gradient] = valueAndGrad(lossOf)(learner.weights.ref);
        const after = adamStep(learner.weights, gradient, learner.adam, {
          learningRate,
          normMax: GRADIENT_NORM_MAX,
        });
        return { after, loss: value };
      },
    );
  }

  /** A network with random weights. `loss` needs the rows that `names` says, and {@linkcode PolicyNetwork.update} takes them. */
  static async create<Name extends string>(
    seed: number,
    names: readonly Name[],
    loss: Loss<Name>,
  ): Promise<PolicyNetwork<Name>> {
    await startNetworks();
    return new PolicyNetwork(initialWeights(LAYERS, seed), names, loss);
  }

  /** log π(·|s) of states `[count, 4]`, as `[count, 2]`, and V(s), as `[count]`. */
  predict(states: Floats): { logProbs: Floats; value: Floats } {
    const [logProbs, value] = predict(this.#learner.weights.ref, rowsOf(states));
    return { logProbs: logProbs.dataSync() as Floats, value: value.dataSync() as Floats };
  }

  /** log π(a|s) of the actions `[count]` in the states `[count, 4]`, and V(s), each `[count]`. */
  evaluate(states: Floats, actions: ArrayLike<number>): { logProb: Floats; value: Floats } {
    const { logProbs, value } = this.predict(states);
    const { actionCount } = CartPole;
    return {
      logProb: value.map((_, row) => logProbs[row * actionCount + (actions[row] ?? 0)] ?? NaN),
      value,
    };
  }

  /** Draws an action in each of the states `[count, 4]`. Returns the actions and their log π(a|s), each `[count]`. */
  act(states: Floats, random: RandomStream): { action: Int32Array; logProb: Floats } {
    const { logProbs } = this.predict(states);
    const count = states.length / CartPole.stateSize;
    const action = new Int32Array(count);
    const logProb = new Float32Array(count);
    for (let row = 0; row < count; row++) {
      const [left = 0, right = 0] = logProbs.subarray(row * CartPole.actionCount);
      action[row] = random.uniform() < Math.exp(left) ? 0 : 1;
      logProb[row] = action[row] === 0 ? left : right;
    }
    return { action, logProb };
  }

  /** The most likely action in each of the states `[count, 4]`. */
  bestActions(states: Floats): number[] {
    const { logProbs, value } = this.predict(states);
    return Array.from(value, (_, row) => {
      const [left = 0, right = 0] = logProbs.subarray(row * CartPole.actionCount);
      return right > left ? 1 : 0;
    });
  }

  /** Learns from a batch, once. Returns the loss before the update. */
  update(
    state: Floats,
    rows: { readonly [K in Name]: Floats | Int32Array<ArrayBuffer> },
    learningRate: number,
  ): number {
    this.#updateCount++;
    const { after, loss } = this.#update(
      this.#learner,
      rowsOf(state),
      Object.fromEntries(this.#names.map((name) => [name, np.array(rows[name])])),
      np.array(correctedRate(learningRate, this.#updateCount)),
    );
    this.#learner = after;
    return loss.item();
  }

  /** Takes the weights of another network, so that it acts and predicts as that one did. Adam goes on from where it was. */
  load(weights: Floats): void {
    this.#learner.weights.dispose();
    this.#learner = { ...this.#learner, weights: np.array(weights) };
  }

  /** A copy of the weights, as one vector. */
  weights(): Floats {
    return this.#learner.weights.ref.dataSync() as Floats;
  }

  /** Gives the arrays back to jax-js. */
  [Symbol.dispose](): void {
    tree.dispose(this.#learner);
  }
}
