/**
 * A Q-function for CartPole: linear in the four numbers of a state and their products. Replace it with your own network.
 *
 * @module
 */

const SCALE = [2.4, 2.5, 0.21, 2.5]; // of the position, the velocity, the angle and the angular velocity
const FEATURES = 15;

/** One row of weights for each of the two actions, `[2 * 15]`. */
export type Weights = Float32Array<ArrayBuffer>;

/** The weights before any update. */
export function newWeights(): Weights {
  return new Float32Array(2 * FEATURES);
}

/** 1, the scaled numbers of the state, and their products: `[15]`. */
function featuresOf(state: ArrayLike<number>): number[] {
  const scaled = SCALE.map((scale, k) => (state[k] ?? 0) / scale);
  return [1, ...scaled, ...scaled.flatMap((a, k) => scaled.slice(k).map((b) => a * b))];
}

/** Q(state, ·): the values of both actions. */
export function valuesOf(weights: Weights, state: ArrayLike<number>): [number, number] {
  const values: [number, number] = [0, 0];
  for (const [k, feature] of featuresOf(state).entries()) {
    values[0] += feature * (weights[k] ?? 0);
    values[1] += feature * (weights[FEATURES + k] ?? 0);
  }
  return values;
}

/** What `update` learns from: n transitions, as a batch with n-step returns has them. */
export interface Transitions {
  readonly state: Float32Array; // [n, 4]
  readonly action: Int32Array;
  readonly reward: Float32Array;
  readonly nextState: Float32Array; // [n, 4]
  readonly discount: Float32Array; // 0 where the episode terminated
  readonly weight: Float32Array; // importance weights
}

/** One step of Q-learning for each transition. Returns the TD errors. */
export function update(weights: Weights, batch: Transitions): Float32Array<ArrayBuffer> {
  return Float32Array.from(batch.reward, (reward, k) => {
    const state = batch.state.subarray(4 * k, 4 * k + 4);
    const next = valuesOf(weights, batch.nextState.subarray(4 * k, 4 * k + 4));
    const action = batch.action[k] ?? 0;
    const value = valuesOf(weights, state)[action] ?? 0;
    const error = reward + (batch.discount[k] ?? 0) * Math.max(...next) - value;

    const features = featuresOf(state);
    const size = features.reduce((sum, feature) => sum + feature * feature, 1);
    const step = 0.1 * (batch.weight[k] ?? 0) * error / size;
    for (const [j, feature] of features.entries()) {
      const at = action * FEATURES + j;
      weights[at] = (weights[at] ?? 0) + step * feature;
    }
    return error;
  });
}
