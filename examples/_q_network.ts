/**
 * The learner of `dqn_cartpole.ts`: a Q-network, its target network, and one step of double DQN. `_network.ts` has what it shares with the
 * networks of other examples, and says how to read code for jax-js.
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

const HIDDEN = 64;
const LAYERS: LayerSizes = [
  [CartPole.stateSize, HIDDEN],
  [HIDDEN, HIDDEN],
  [HIDDEN, CartPole.actionCount],
];

const HUBER_DELTA = 1;
const GRADIENT_NORM_MAX = 10;

/** The batch of one update. Each array has one row for each transition. */
export interface Transitions {
  /** `[count, 4]`: the states. */
  state: Floats;
  /** `[count]`: the actions, 0 or 1. */
  action: Int32Array<ArrayBuffer>;
  /** `[count]`: the sums of discounted rewards up to `nextState`. */
  reward: Floats;
  /** `[count, 4]`: the states one or several steps later. */
  nextState: Floats;
  /** `[count]`: the discount of the value of `nextState`; 0 where the episode terminated. */
  discount: Floats;
  /** `[count]`: the weight of each transition in the loss. */
  weight: Floats;
}

/** The same, on jax-js (which wants type aliases here). */
type Rows = { [Column in keyof Transitions]: np.Array };

/** Everything that an update changes: the weights of both networks, and what Adam remembers. */
type Learner = { online: np.Array; target: np.Array; adam: AdamState };

/** Q(state, ·) for each row of `state`: `[count, 4]` to `[count, 2]`. */
function forward(weights: np.Array, state: np.Array): np.Array {
  let x = state.mul(np.array(STATE_SCALE));
  layersOf(weights, LAYERS).forEach((layer, index) => {
    x = dense(x, layer);
    if (index < LAYERS.length - 1) x = nn.relu(x);
  });
  return x;
}

/** The value in the column that `action` names, for each row of `values`. */
function valueOf(values: np.Array, action: np.Array): np.Array {
  return values.mul(nn.oneHot(action, CartPole.actionCount)).sum(1);
}

/** Quadratic near zero, linear further out, so that one surprise cannot upset the network. */
function huber(error: np.Array): np.Array {
  const size = np.abs(error);
  const inner = np.minimum(size.ref, HUBER_DELTA);
  return inner.ref.mul(size.sub(inner.mul(0.5)));
}

const qValues = jit(forward);

/** One step of double DQN: compiled once, then run as a list of WebAssembly kernels. */
const update = jit(
  (learner: Learner, rows: Rows, learningRate: np.Array, targetRate: np.Array) => {
    const { online, target } = learner;

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

    const { weights: newOnline, adam } = adamStep(online, gradient, learner.adam, {
      learningRate,
      normMax: GRADIENT_NORM_MAX,
    });

    // The target network follows slowly (soft update).
    const newTarget = target.ref.add(newOnline.ref.sub(target).mul(targetRate));

    return { after: { online: newOnline, target: newTarget, adam }, loss, tdError };
  },
);

/** A Q-network for CartPole that learns by double DQN. */
export class QNetwork {
  #learner: Learner;
  #updateCount = 0;

  private constructor(weights: np.Array) {
    this.#learner = {
      online: weights,
      target: weights.ref.mul(1),
      adam: newAdamState(weights),
    };
  }

  /** A network with random weights, or with those of {@linkcode QNetwork.weights}. */
  static async create(start: { seed: number } | { weights: Floats }): Promise<QNetwork> {
    await startNetworks();
    return new QNetwork(
      np.array("weights" in start ? start.weights : initialWeights(LAYERS, start.seed)),
    );
  }

  /** Q(state, ·) of states `[count, 4]`, as `[count, 2]`. */
  values(states: Floats): Floats {
    const rows = np.array(states, {
      shape: [states.length / CartPole.stateSize, CartPole.stateSize],
    });
    return qValues(this.#learner.online.ref, rows).dataSync() as Floats;
  }

  /** The actions that the network thinks best in the states `[count, 4]`, as `[count]`. */
  bestActions(states: Floats): number[] {
    const values = this.values(states);
    return Array.from({ length: values.length / CartPole.actionCount }, (_, row) => {
      const [left = 0, right = 0] = values.subarray(row * CartPole.actionCount);
      return right > left ? 1 : 0;
    });
  }

  /** The same for one state, `[4]`. */
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
      state: np.array(batch.state, { shape: [count, CartPole.stateSize] }),
      action: np.array(batch.action),
      reward: np.array(batch.reward),
      nextState: np.array(batch.nextState, { shape: [count, CartPole.stateSize] }),
      discount: np.array(batch.discount),
      weight: np.array(batch.weight),
    };
    this.#updateCount++;
    const result = update(
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
