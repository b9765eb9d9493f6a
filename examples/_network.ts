/**
 * What the networks of all examples share: weights, layers and the optimizer. They run on jax-js, which has NumPy-like arrays, gradients,
 * and a compiler to WebAssembly.
 *
 * Two things to know when reading:
 * - jax-js counts references. If you pass an array to a function, it is gone. `x.ref` keeps it for one more use.
 * - All weights of a network lie in **one** vector. So the optimizer, the clipping, the target
 *   network and the saved file are each one line, and each is one WebAssembly call instead of six.
 *
 * @module
 */
import { defaultDevice, init, numpy as np } from "@jax-js/jax";
import { RandomStream } from "@exrp/replay/selectors";

/** Plain float32 numbers, in memory that threads do not share, because jax-js needs that. */
export type Floats = Float32Array<ArrayBuffer>;

/** Inputs and outputs of each layer. */
export type LayerSizes = readonly (readonly [inputs: number, outputs: number])[];

/** A layer: `kernel` is `[inputs, outputs]`, `bias` is `[outputs]`. */
export interface Layer {
  readonly kernel: np.Array;
  readonly bias: np.Array;
}

/** Starts jax-js. Call it once before the first network. */
export async function startNetworks(): Promise<void> {
  await init("wasm");
  defaultDevice("wasm");
}

/** Random weights of all layers, as one vector. They are uniform in ±1/√inputs, biases too, as PyTorch's linear layers start. */
export function initialWeights(sizes: LayerSizes, seed: number): Floats {
  const random = new RandomStream(seed, 2);
  const weights: number[] = [];
  for (const [inputs, outputs] of sizes) {
    const bound = 1 / Math.sqrt(inputs);
    for (let index = 0; index < (inputs + 1) * outputs; index++) {
      weights.push(bound * (2 * random.uniform() - 1));
    }
  }
  return Float32Array.from(weights);
}

/** Cuts the vector of weights into layers. It uses the vector up. */
export function layersOf(weights: np.Array, sizes: LayerSizes): Layer[] {
  let offset = 0;
  const take = (count: number): np.Array => weights.ref.slice([offset, offset += count]);
  const layers = sizes.map(([inputs, outputs]) => ({
    kernel: take(inputs * outputs).reshape([inputs, outputs]),
    bias: take(outputs),
  }));
  weights.dispose();
  return layers;
}

/** A layer's outputs, `[count, inputs]` to `[count, outputs]`. It uses the input and the layer up. */
export function dense(input: np.Array, { kernel, bias }: Layer): np.Array {
  return np.matmul(input, kernel).add(bias);
}

const ADAM_MEAN = 0.9;
const ADAM_SQUARE = 0.999;
const ADAM_EPSILON = 1e-8;

/** What Adam remembers, each a vector as long as the network has weights (a type alias, because jax-js wants that). */
export type AdamState = {
  /** The running mean of the gradient. */
  mean: np.Array;
  /** The running mean of its square. */
  square: np.Array;
};

/** The state of Adam before the first step. */
export function newAdamState(weights: np.Array): AdamState {
  return { mean: np.zeros(weights.shape), square: np.zeros(weights.shape) };
}

/**
 * Clips the gradient by its norm, then takes one step of Adam (Kingma and Ba 2015, algorithm 1). `learningRate` is that of
 * {@linkcode correctedRate}, which corrects the bias as in the note after the algorithm.
 */
export function adamStep(
  weights: np.Array,
  gradient: np.Array,
  { mean, square }: AdamState,
  { learningRate, normMax }: { learningRate: np.Array; normMax: number },
): { weights: np.Array; adam: AdamState } {
  const norm = np.sqrt(np.square(gradient.ref).sum());
  const clipped = gradient.mul(np.minimum(np.array(normMax).div(norm.add(1e-6)), 1));
  const newMean = mean.mul(ADAM_MEAN).add(clipped.ref.mul(1 - ADAM_MEAN));
  const newSquare = square.mul(ADAM_SQUARE).add(np.square(clipped).mul(1 - ADAM_SQUARE));
  const stride = newMean.ref.div(np.sqrt(newSquare.ref).add(ADAM_EPSILON)).mul(learningRate);
  return { weights: weights.sub(stride), adam: { mean: newMean, square: newSquare } };
}

/** The learning rate of the n-th step of Adam, counted from 1. */
export function correctedRate(learningRate: number, n: number): number {
  return learningRate * Math.sqrt(1 - ADAM_SQUARE ** n) / (1 - ADAM_MEAN ** n);
}
