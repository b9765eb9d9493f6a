/**
 * A recurrent Q-network: a GRU (Cho et al. 2014), a layer that gives the values of the actions, a target network, and one step of double
 * DQN over sequences. `../_network.ts` says how to read code for jax-js.
 *
 * @module
 */
import { jit, lax, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax";
import { TMaze } from "@exrp/replay/envs";
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

/** How many numbers the hidden state has. */
export const HIDDEN = 32;
/** From the state and from the hidden state to the three gates, and from the hidden state to the values. */
const LAYERS: LayerSizes = [
  [TMaze.stateSize, 3 * HIDDEN],
  [HIDDEN, 3 * HIDDEN],
  [HIDDEN, TMaze.actionCount],
];
const GRADIENT_NORM_MAX = 10;

/** Sequences to learn from: `count` of them, with `rows` steps each. */
export interface Sequences {
  /** `[count, rows + 1, 3]`: the states, and after the last step of a sequence the state that it led to. */
  readonly state: Floats;
  /** `[count, 32]`: the hidden state before the first row. */
  readonly hidden: Floats;
  /** `[count, rows]`: the actions. */
  readonly action: Int32Array<ArrayBuffer>;
  /** `[count, rows]`: 1 where the loss counts, and 0 where a row only brings the hidden state up to date. */
  readonly learnMask: Floats;
  /** `[count]`: the weight of each sequence in the loss. */
  readonly weight: Floats;
}

/** Everything that an update changes. */
type Learner = { online: np.Array; target: np.Array; adam: AdamState };

/** The sequences on jax-js. `action` is one-hot, `[count, rows, 4]`, and `goal` is `[count, rows]`. */
type Rows = {
  state: np.Array;
  hidden: np.Array;
  action: np.Array;
  goal: np.Array;
  learnMask: np.Array;
  weight: np.Array;
};

/** One step of the GRU: the next hidden state, `[count, 32]`. It uses up the two states, but not the layers. */
function gru(
  hidden: np.Array,
  state: np.Array,
  [fromState, fromHidden]: readonly [Layer, Layer],
): np.Array {
  const kept = ({ kernel, bias }: Layer): Layer => ({ kernel: kernel.ref, bias: bias.ref });
  const [x, h] = [dense(state, kept(fromState)), dense(hidden.ref, kept(fromHidden))];
  const part = (gates: np.Array, k: number): np.Array =>
    gates.ref.slice([], [k * HIDDEN, (k + 1) * HIDDEN]);
  const reset = nn.sigmoid(part(x, 0).add(part(h, 0)));
  const update = nn.sigmoid(part(x, 1).add(part(h, 1)));
  const fresh = np.tanh(part(x, 2).add(reset.mul(part(h, 2))));
  x.dispose();
  h.dispose();
  return fresh.ref.add(update.mul(hidden.sub(fresh)));
}

/** One step of the whole network: Q(s, ·), `[count, 4]`, and the next hidden state, `[count, 32]`. */
function step(weights: np.Array, state: np.Array, hidden: np.Array): [np.Array, np.Array] {
  const [fromState, fromHidden, toValues] = layersOf(weights, LAYERS) as [Layer, Layer, Layer];
  const next = gru(hidden, state, [fromState, fromHidden]);
  tree.dispose([fromState, fromHidden]);
  return [dense(next.ref, toValues), next];
}

const values = jit(step);

/** Q(s, ·) of `rows` states in a row, each `[count, 4]`. Where `learn` is 0, no gradient goes back into the rows before. */
function unroll(
  weights: np.Array,
  { state, hidden, remembers, learn }: {
    state: np.Array;
    hidden: np.Array;
    remembers: boolean;
    learn?: np.Array;
  },
): np.Array[] {
  const layers = layersOf(weights, LAYERS) as [Layer, Layer, Layer];
  const rows = state.shape[1] ?? 0;
  const all = Array.from({ length: rows }, (_, row) => {
    if (!remembers) hidden = np.zerosLike(hidden);
    hidden = gru(hidden, state.ref.slice([], row), [layers[0], layers[1]]);
    const q = dense(hidden.ref, { kernel: layers[2].kernel.ref, bias: layers[2].bias.ref });
    if (learn !== undefined) {
      const mask = learn.ref.slice([], row).reshape([-1, 1]);
      hidden = hidden.ref.mul(mask.ref).add(lax.stopGradient(hidden).mul(np.array(1).sub(mask)));
    }
    return q;
  });
  tree.dispose([layers, state, hidden]);
  learn?.dispose();
  return all;
}

/** What a network runs: with a memory, or with a hidden state that is zero before each step. */
function compile(remembers: boolean): {
  nextValues: (learner: Learner, state: np.Array, hidden: np.Array) => np.Array;
  update: (
    learner: Learner,
    rows: Rows,
    rates: { learning: np.Array; target: np.Array },
  ) => { after: Learner; loss: np.Array; tdError: np.Array };
} {
  // Double DQN (van Hasselt et al. 2016, eq. 4): the online network chooses the next action, and the target network values it.
  const nextValues = jit(({ online, target, adam }: Learner, state: np.Array, hidden: np.Array) => {
    tree.dispose(adam);
    const chosen = unroll(online, { state: state.ref, hidden: hidden.ref, remembers });
    const valued = unroll(target, { state, hidden, remembers });
    const best = chosen.map((q, row) => {
      const action = nn.oneHot(np.argmax(q, 1), TMaze.actionCount);
      return (valued[row] as np.Array).mul(action).sum(1);
    });
    best.shift()?.dispose(); // nothing led to the first state
    return np.stack(best, 1);
  });

  const update = jit(
    (learner: Learner, rows: Rows, rates: { learning: np.Array; target: np.Array }) => {
      const { online, target } = learner;
      const { hidden, action, goal, learnMask, weight } = rows;
      const count = action.shape[1] ?? 0;
      const state = rows.state.slice([], [0, count]);
      const lossOf = (weights: np.Array): [np.Array, np.Array] => {
        const taken = unroll(weights, { state, hidden, remembers, learn: learnMask.ref })
          .map((q, row) => q.mul(action.ref.slice([], row)).sum(1));
        action.dispose();
        const tdError = np.stack(taken, 1).sub(goal).mul(learnMask.ref);
        const error = np.square(tdError.ref).sum(1).mul(weight).sum();
        return [error.div(learnMask.sum()), tdError];
      };
      const [[loss, tdError], gradient] = valueAndGrad(lossOf, { hasAux: true })(online.ref);
      const { weights: newOnline, adam } = adamStep(online, gradient, learner.adam, {
        learningRate: rates.learning,
        normMax: GRADIENT_NORM_MAX,
      });
      const newTarget = target.ref.add(newOnline.ref.sub(target).mul(rates.target));
      return { after: { online: newOnline, target: newTarget, adam }, loss, tdError };
    },
  );
  return { nextValues, update };
}

/** Compiled at the first call, and once for all networks. */
const WITH_MEMORY = compile(true);
const WITHOUT_MEMORY = compile(false);

/** A recurrent Q-network for the T-maze. */
export class RecurrentNetwork {
  #learner: Learner;
  #updateCount = 0;
  readonly #remembers: boolean;
  readonly #compiled: typeof WITH_MEMORY;

  private constructor(weights: Floats, remembers: boolean) {
    const online = np.array(weights);
    this.#learner = { online, target: online.ref.mul(1), adam: newAdamState(online) };
    this.#remembers = remembers;
    this.#compiled = remembers ? WITH_MEMORY : WITHOUT_MEMORY;
  }

  /** A network with random weights. Unless it `remembers`, its hidden state is zero before each step. */
  static async create(
    seed: number,
    { remembers }: { remembers: boolean },
  ): Promise<RecurrentNetwork> {
    await startNetworks();
    return new RecurrentNetwork(initialWeights(LAYERS, seed), remembers);
  }

  /** Q(s, ·) of the states `[count, 3]`, as `[count, 4]`, and the hidden states after them. `hidden` has those before, `[count, 32]`. */
  step(states: Floats, hidden: Floats): { values: Floats; hidden: Floats } {
    const before = this.#remembers ? hidden : hidden.map(() => 0);
    const [q, after] = values(
      this.#learner.online.ref,
      np.array(states, { shape: [states.length / TMaze.stateSize, TMaze.stateSize] }),
      np.array(before, { shape: [hidden.length / HIDDEN, HIDDEN] }),
    );
    return { values: q.dataSync() as Floats, hidden: after.dataSync() as Floats };
  }

  /** The value of the state that each step led to, as double DQN estimates it: `[count, rows]`. */
  nextValues(sequences: Sequences): Floats {
    const { state, hidden } = arraysOf(sequences);
    return this.#compiled.nextValues(tree.ref(this.#learner), state, hidden).dataSync() as Floats;
  }

  /** Learns from sequences once. `goal` is `[count, rows]`, and so are the TD errors; they are those before the update. */
  update(
    sequences: Sequences,
    goal: Floats,
    rates: { learning: number; target: number },
  ): { loss: number; tdError: Floats } {
    const { count, rows, state, hidden } = arraysOf(sequences);
    this.#updateCount++;
    const { after, loss, tdError } = this.#compiled.update(
      this.#learner,
      {
        state,
        hidden,
        action: nn.oneHot(np.array(sequences.action, { shape: [count, rows] }), TMaze.actionCount),
        goal: np.array(goal, { shape: [count, rows] }),
        learnMask: np.array(sequences.learnMask, { shape: [count, rows] }),
        weight: np.array(sequences.weight),
      },
      {
        learning: np.array(correctedRate(rates.learning, this.#updateCount)),
        target: np.array(rates.target),
      },
    );
    this.#learner = after;
    return { loss: loss.item(), tdError: tdError.dataSync() as Floats };
  }

  /** Takes the weights of another network over, so that it acts as that one did. */
  load(weights: Floats): void {
    this.#learner.online.dispose();
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

/** The states and hidden states of sequences on jax-js. */
function arraysOf({ state, hidden, weight }: Sequences): {
  count: number;
  rows: number;
  state: np.Array;
  hidden: np.Array;
} {
  const count = weight.length;
  const rows = state.length / count / TMaze.stateSize - 1;
  return {
    count,
    rows,
    state: np.array(state, { shape: [count, rows + 1, TMaze.stateSize] }),
    hidden: np.array(hidden, { shape: [count, HIDDEN] }),
  };
}
