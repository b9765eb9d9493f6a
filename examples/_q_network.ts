/**
 * The learner of `dqn_cartpole.ts` and `drq_pixels`: a Q-network, its target network, and one step of double DQN. `_network.ts` has what it
 * shares with the networks of other examples, and says how to read code for jax-js.
 *
 * @module
 */
import { jit, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { CartPole } from "@exrp/replay/envs";
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

const HUBER_DELTA = 1;
const GRADIENT_NORM_MAX = 10;

/** The batch of one update. Each array has one row for each transition. */
export interface Transitions {
  /** `[count, stateSize]`: the states. */
  state: Floats;
  /** `[count]`: the actions, from 0. */
  action: Int32Array<ArrayBuffer>;
  /** `[count]`: the sums of discounted rewards up to `nextState`. */
  reward: Floats;
  /** `[count, stateSize]`: the states one or several steps later. */
  nextState: Floats;
  /** `[count]`: the discount of the value of `nextState`; 0 where the episode terminated. */
  discount: Floats;
  /** `[count]`: the weight of each transition in the loss. */
  weight: Floats;
}

/** The same, on jax-js (which wants type aliases here). */
export type Rows = { [Column in keyof Transitions]: np.Array };

/** Everything that an update changes: the weights of both networks, and what Adam remembers. */
export type Learner = { online: np.Array; target: np.Array; adam: AdamState };

/** Quadratic near zero, linear further out, so that one surprise cannot upset the network. */
function huber(error: np.Array): np.Array {
  const size = np.abs(error);
  const inner = np.minimum(size.ref, HUBER_DELTA);
  return inner.ref.mul(size.sub(inner.mul(0.5)));
}

/** What a Q-network computes. {@linkcode compile} makes it. */
export interface Model {
  readonly layers: LayerSizes;
  readonly stateSize: number;
  readonly actionCount: number;
  /** Q(state, ·) for each row of a state: `[count, stateSize]` to `[count, actionCount]`. */
  readonly values: (weights: np.Array, state: np.Array) => np.Array;
  /** One step of double DQN. */
  readonly update: (
    learner: Learner,
    rows: Rows,
    learningRate: np.Array,
    targetRate: np.Array,
  ) => { after: Learner; loss: np.Array; tdError: np.Array };
}

/**
 * A network of dense layers with ReLU between them. It is compiled at the first call, and then it runs as a list of WebAssembly kernels.
 *
 * @param layers The first one takes states, and the last one gives a value for each action.
 * @param scale What states are multiplied by: brings their numbers to about the same size.
 */
export function compile(layers: LayerSizes, scale: readonly number[] = [1]): Model {
  const [stateSize = 0] = layers[0] ?? [];
  const actionCount = layers.at(-1)?.[1] ?? 0;

  const forward = (weights: np.Array, state: np.Array): np.Array => {
    let x = state.mul(np.array([...scale]));
    layersOf(weights, layers).forEach((layer, index) => {
      x = dense(x, layer);
      if (index < layers.length - 1) x = nn.relu(x);
    });
    return x;
  };

  /** The value in the column that `action` names, for each row of `values`. */
  const valueOf = (values: np.Array, action: np.Array): np.Array =>
    values.mul(nn.oneHot(action, actionCount)).sum(1);

  const update: Model["update"] = (
    { online, target, adam: oldAdam },
    rows,
    learningRate,
    targetRate,
  ) => {
    // Double DQN (van Hasselt et al. 2016, eq. 4): the online network chooses the next action, and the target network values it.
    // `discount` is 0 exactly where an episode terminated.
    const nextAction = np.argmax(forward(online.ref, rows.nextState.ref), 1);
    const nextValue = valueOf(forward(target.ref, rows.nextState), nextAction);
    const goal = rows.reward.add(rows.discount.mul(nextValue));

    const lossOf = (weights: np.Array): [np.Array, np.Array] => {
      const tdError = valueOf(forward(weights, rows.state), rows.action).sub(goal);
      return [huber(tdError.ref).mul(rows.weight).mean(), tdError];
    };
    const [[loss, tdError], gradient] = valueAndGrad(lossOf, { hasAux: true })(online.ref);

    const { weights: newOnline, adam } = adamStep(online, gradient, oldAdam, {
      learningRate,
      normMax: GRADIENT_NORM_MAX,
    });

    // The target network follows slowly (soft update).
    const newTarget = target.ref.add(newOnline.ref.sub(target).mul(targetRate));

    return { after: { online: newOnline, target: newTarget, adam }, loss, tdError };
  };
  return { layers, stateSize, actionCount, values: jit(forward), update: jit(update) };
}

const CART_POLE = compile(
  [[CartPole.stateSize, 64], [64, 64], [64, CartPole.actionCount]],
  STATE_SCALE,
);

/** A Q-network that learns by double DQN. */
export class QNetwork {
  #learner: Learner;
  #updateCount = 0;
  readonly #model: Model;

  private constructor(weights: np.Array, model: Model) {
    this.#model = model;
    this.#learner = {
      online: weights,
      target: weights.ref.mul(1),
      adam: newAdamState(weights),
    };
  }

  /** A network with random weights, or with those of {@linkcode QNetwork.weights}; for CartPole, unless you give another model. */
  static async create(
    start: { seed: number } | { weights: Floats },
    model: Model = CART_POLE,
  ): Promise<QNetwork> {
    await startNetworks();
    return new QNetwork(
      np.array("weights" in start ? start.weights : initialWeights(model.layers, start.seed)),
      model,
    );
  }

  /** Q(state, ·) of states `[count, stateSize]`, as `[count, actionCount]`. */
  values(states: Floats): Floats {
    const { stateSize } = this.#model;
    const rows = np.array(states, { shape: [states.length / stateSize, stateSize] });
    return this.#model.values(this.#learner.online.ref, rows).dataSync() as Floats;
  }

  /** The actions that the network thinks best in the states `[count, stateSize]`, as `[count]`. */
  bestActions(states: Floats): number[] {
    const values = this.values(states);
    const { actionCount } = this.#model;
    return Array.from({ length: values.length / actionCount }, (_, row) => {
      const all = values.subarray(row * actionCount, (row + 1) * actionCount);
      return all.indexOf(Math.max(...all));
    });
  }

  /** The same for one state, `[stateSize]`. */
  bestAction(state: Floats): number {
    return this.bestActions(state)[0] ?? 0;
  }

  /** Learns from a batch, once. The TD errors `[count]` are those before the update. */
  update(
    batch: Transitions,
    { learningRate, targetRate }: { learningRate: number; targetRate: number },
  ): { loss: number; tdError: Floats } {
    const count = batch.action.length;
    const rows: Rows = {
      state: np.array(batch.state, { shape: [count, this.#model.stateSize] }),
      action: np.array(batch.action),
      reward: np.array(batch.reward),
      nextState: np.array(batch.nextState, { shape: [count, this.#model.stateSize] }),
      discount: np.array(batch.discount),
      weight: np.array(batch.weight),
    };
    this.#updateCount++;
    const result = this.#model.update(
      this.#learner,
      rows,
      np.array(correctedRate(learningRate, this.#updateCount)),
      np.array(targetRate),
    );
    this.#learner = result.after;
    return {
      loss: result.loss.item(),
      tdError: result.tdError.dataSync() as Floats,
    };
  }

  /** Takes weights over, as one vector: those of another network. The target network and the optimizer stay as they are. */
  load(weights: Floats): void {
    this.#learner.online.dispose();
    // A copy, because the caller may write to its array again.
    this.#learner.online = np.array(weights.slice());
  }

  /** A copy of the weights, as one vector. */
  weights(): Floats {
    return this.#learner.online.ref.dataSync() as Floats;
  }

  /** Gives the arrays back to jax-js. */
  [Symbol.dispose](): void {
    tree.dispose(this.#learner);
  }
}
