/**
 * The learner of `dqn_cartpole.ts`: a Q-network, its target network, and one step of double DQN. All of it runs on jax-js, which has
 * NumPy-like arrays, gradients, and a compiler to WebAssembly.
 *
 * Two things to know when reading:
 * - jax-js counts references. If you pass an array to a function, it is gone. `x.ref` keeps it for one more use.
 * - All weights of a network lie in **one** vector. So the optimizer, the clipping, the target
 *   network and the saved file are each one line, and each is one WebAssembly call instead of six.
 *
 * @module
 */
import { defaultDevice, init, jit, nn, numpy as np, valueAndGrad } from "@jax-js/jax";
import { CartPole } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";

const HIDDEN = 64;
/** Inputs and outputs of the three layers. */
const LAYERS: readonly (readonly [number, number])[] = [
  [CartPole.stateSize, HIDDEN],
  [HIDDEN, HIDDEN],
  [HIDDEN, CartPole.actionCount],
];
/** Brings the four numbers of a state to about the same size. */
const STATE_SCALE = [1 / 2.4, 1 / 2, 1 / 0.21, 1 / 2];

const HUBER_DELTA = 1;
const GRADIENT_NORM_MAX = 10;
const ADAM_MEAN = 0.9;
const ADAM_SQUARE = 0.999;
const ADAM_EPSILON = 1e-8;

/** Plain float32 numbers, in memory that threads do not share, because jax-js needs that. */
export type Floats = Float32Array<ArrayBuffer>;

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

/** Everything that an update changes, each a vector as long as the network has weights. */
type Learner = {
  online: np.Array;
  target: np.Array;
  /** Adam's running means of the gradient and of its square. */
  mean: np.Array;
  square: np.Array;
};

/** Q(state, ·) for each row of `state`: `[count, 4]` to `[count, 2]`. */
function forward(weights: np.Array, state: np.Array): np.Array {
  let x = state.mul(np.array(STATE_SCALE));
  let offset = 0;
  const take = (count: number) => weights.ref.slice([offset, offset += count]);
  LAYERS.forEach(([inputs, outputs], layer) => {
    const kernel = take(inputs * outputs).reshape([inputs, outputs]);
    x = np.matmul(x, kernel).add(take(outputs));
    if (layer < LAYERS.length - 1) x = nn.relu(x);
  });
  weights.dispose();
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
    const { online, target, mean, square } = learner;

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

    // Clip the gradient by its norm, then take a step of Adam (Kingma and Ba 2015, algorithm 1). The caller corrects the bias through the
    // learning rate, as in the note after the algorithm.
    const norm = np.sqrt(np.square(gradient.ref).sum());
    const clipped = gradient.mul(np.minimum(np.array(GRADIENT_NORM_MAX).div(norm.add(1e-6)), 1));
    const newMean = mean.mul(ADAM_MEAN).add(clipped.ref.mul(1 - ADAM_MEAN));
    const newSquare = square.mul(ADAM_SQUARE).add(np.square(clipped).mul(1 - ADAM_SQUARE));
    const stride = newMean.ref.div(np.sqrt(newSquare.ref).add(ADAM_EPSILON)).mul(learningRate);
    const newOnline = online.sub(stride);

    // The target network follows slowly (soft update).
    const newTarget = target.ref.add(newOnline.ref.sub(target).mul(targetRate));

    const after = { online: newOnline, target: newTarget, mean: newMean, square: newSquare };
    return { after, loss, tdError };
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
      mean: np.zeros(weights.shape),
      square: np.zeros(weights.shape),
    };
  }

  /** A network with random weights, or with those of {@linkcode QNetwork.weights}. */
  static async create(start: { seed: number } | { weights: Floats }): Promise<QNetwork> {
    await init("wasm");
    defaultDevice("wasm");
    return new QNetwork(
      np.array("weights" in start ? start.weights : initialWeights(start.seed)),
    );
  }

  /** Q(state, ·) of states `[count, 4]`, as `[count, 2]`. */
  values(states: Floats): Floats {
    const rows = np.array(states, {
      shape: [states.length / CartPole.stateSize, CartPole.stateSize],
    });
    return qValues(this.#learner.online.ref, rows).dataSync() as Floats;
  }

  /** The action that the network thinks best in a state `[4]`. */
  bestAction(state: Floats): number {
    return this.bestActions([state])[0] ?? 0;
  }

  /** The same for several states at once. */
  bestActions(states: Floats[]): number[] {
    const rows = new Float32Array(states.length * CartPole.stateSize);
    states.forEach((state, row) => rows.set(state, row * CartPole.stateSize));
    const values = this.values(rows);
    return states.map((_, row) => {
      const [left = 0, right = 0] = values.subarray(row * CartPole.actionCount);
      return right > left ? 1 : 0;
    });
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
    const correction = Math.sqrt(1 - ADAM_SQUARE ** this.#updateCount) /
      (1 - ADAM_MEAN ** this.#updateCount);
    const result = update(
      this.#learner,
      rows,
      np.array(learningRate * correction),
      np.array(targetRate),
    );
    this.#learner = result.after;
    return {
      loss: result.loss.item(),
      tdError: result.tdError.dataSync() as Floats,
    };
  }

  /** A copy of the weights, as one vector. */
  weights(): Floats {
    return this.#learner.online.ref.dataSync() as Floats;
  }

  /** Gives the arrays back to jax-js. */
  [Symbol.dispose](): void {
    for (const array of Object.values(this.#learner)) array.dispose();
  }
}

/** Uniform in ±1/√inputs, biases too, as PyTorch's linear layers start. */
function initialWeights(seed: number): Floats {
  const random = new RandomStream(seed, 2);
  const weights: number[] = [];
  for (const [inputs, outputs] of LAYERS) {
    const bound = 1 / Math.sqrt(inputs);
    for (let index = 0; index < (inputs + 1) * outputs; index++) {
      weights.push(bound * (2 * random.uniform() - 1));
    }
  }
  return Float32Array.from(weights);
}
