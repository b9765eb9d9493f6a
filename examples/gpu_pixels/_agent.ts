/**
 * The agent of `drq_pixels` on a device of WebGPU: the replay's pictures are there, batches are made there, and the network learns there. Deno and browsers run
 * this file as it is. Read {@linkcode train}.
 *
 * @module
 */
import { numpy as np, tree } from "@jax-js/jax";
import { uniform } from "@exrp/replay";
import { GridMaze } from "@exrp/replay/envs";
import { onDevice } from "@exrp/replay/gpu";
import { annealed } from "@exrp/replay/returns";
import { RandomStream } from "@exrp/replay/selectors";
import type { CurvePoint } from "../_curve.ts";
import { correctedRate, type Floats, initialWeights, newAdamState } from "../_network.ts";
import { compile, type Learner, type Rows } from "../_q_network.ts";
import { LAYERS, newReplay, SETTINGS, toFloats } from "../drq_pixels/_agent.ts";
import { PictureRoom, SIDE } from "../drq_pixels/_picture_room.ts";
import { toJax } from "./_jax.ts";

/** What a run is given. */
export interface Options {
  /** The device of jax-js, from `startOnDevice()`. */
  readonly device: GPUDevice;
  readonly seed: number;
  /** Environment steps. */
  readonly steps: number;
}

/** What there is to see after a step. */
export interface Seen {
  readonly step: number;
  /** What the agent sees. */
  readonly picture: Uint8Array;
  /** The loss of the latest update; NaN before the first. */
  readonly loss: number;
  /** The shares of episodes in which the greedy policy reached the goal. */
  readonly evaluations: readonly CurvePoint[];
  /** Bytes that the batches had on the device until now. */
  readonly batchBytes: number;
  /** Bytes that went there for them. */
  readonly uploadedBytes: number;
}

const PIXELS = SIDE * SIDE;
const MODEL = compile(LAYERS);
const EVALUATE_EVERY = 100; // environment steps

/** Learns the way to the goal from pictures. `show` is called after each step. */
export async function train(
  { device, seed, steps }: Options,
  show: (seen: Seen) => void = () => {},
): Promise<readonly CurvePoint[]> {
  using replay = await newReplay({ shift: true, seed });
  const selector = replay.newPickSelector(uniform());
  using gpu = onDevice(replay, device, { columns: ["state"] });
  using network = new Network(seed);
  const environment = new PictureRoom(seed);
  const random = new RandomStream(seed, 1);
  const { first, last } = SETTINGS.exploration;
  const exploration = annealed(first, last, SETTINGS.exploration.steps);

  const evaluations: CurvePoint[] = [];
  let loss = NaN;
  let batchBytes = 0;
  let picture = environment.reset();
  let episode = replay.newEpisode();
  for (let step = 1; step <= steps; step++) {
    // 1. Act, and remember the picture as it is.
    const [action = 0] = random.uniform() < exploration(step)
      ? [random.below(GridMaze.actionCount)]
      : await network.bestActions(toFloats([picture]));
    const { picture: next, reward, terminated, truncated } = environment.step(action);
    const ending = terminated || truncated ? { finalState: next, truncated } : undefined;
    episode = replay.record(episode, picture, action, reward, ending);
    picture = next;
    if (ending !== undefined) {
      picture = environment.reset();
      episode = replay.newEpisode();
    }

    // 2. Learn. What is new goes to the device, and 28 bytes for each picture of a batch. The device shifts the pictures and makes floats of them.
    for (let k = 0; k < SETTINGS.updatesPerStep && step >= SETTINGS.warmupSteps; k++) {
      using batch = await gpu.getBatch(SETTINGS.batchSize, selector);
      network.update({
        state: toJax(batch.state, [SETTINGS.batchSize, PIXELS]),
        action: np.array(batch.action),
        reward: np.array(batch.reward),
        nextState: toJax(batch.nextState, [SETTINGS.batchSize, PIXELS]),
        discount: np.array(batch.discount),
        weight: np.array(batch.importanceWeight),
      });
      batchBytes += batch.state.byteLength + batch.nextState.byteLength;
    }
    loss = await network.loss();

    // 3. Evaluate: play other episodes without exploring.
    if (step % EVALUATE_EVERY === 0 || step === steps) {
      const share = await evaluate(network, 1_000_000 * (seed + 1));
      evaluations.push({ step, return: share });
    }
    show({ step, picture, loss, evaluations, batchBytes, uploadedBytes: gpu.uploadedBytes });
  }
  return evaluations;
}

/** Plays episodes greedily. Returns the share of those that reach the goal. */
async function evaluate(network: Network, seed: number): Promise<number> {
  const players = Array.from({ length: SETTINGS.evaluation.episodes }, (_, n) => {
    const environment = new PictureRoom(seed + n);
    return { environment, picture: environment.reset(), isOver: false };
  });
  let solved = 0;
  while (players.some(({ isOver }) => !isOver)) {
    // All of them, so that the device has one program for this.
    const actions = await network.bestActions(toFloats(players.map(({ picture }) => picture)));
    for (const [n, player] of players.entries()) {
      if (player.isOver) continue;
      const { picture, reward, terminated, truncated } = player.environment.step(actions[n] ?? 0);
      player.picture = picture;
      player.isOver = terminated || truncated;
      solved += reward;
    }
  }
  return solved / players.length;
}

/** The Q-network of `drq_pixels`, on the device. It waits for the device only where a number must come from there. */
class Network implements Disposable {
  #learner: Learner;
  #updateCount = 0;
  #loss: np.Array | undefined;

  constructor(seed: number) {
    const weights = np.array(initialWeights(LAYERS, seed));
    this.#learner = {
      target: weights.ref.mul(1),
      adam: newAdamState(weights),
      online: weights,
    };
  }

  /** The actions that the network thinks best in pictures `[count, 256]`. */
  async bestActions(pictures: Floats): Promise<Int32Array> {
    const states = np.array(pictures, { shape: [pictures.length / PIXELS, PIXELS] });
    const values = MODEL.values(this.#learner.online.ref, states);
    return await np.argmax(values, 1).data() as Int32Array;
  }

  /** Learns from a batch, once. It uses the batch up. */
  update(rows: Rows): void {
    const { learningRate, targetRate } = SETTINGS;
    const rate = correctedRate(learningRate, ++this.#updateCount);
    const result = MODEL.update(this.#learner, rows, np.array(rate), np.array(targetRate));
    this.#learner = result.after;
    result.tdError.dispose();
    this.#loss?.dispose();
    this.#loss = result.loss;
  }

  /** The loss of the latest update; NaN before the first. */
  async loss(): Promise<number> {
    const [loss = NaN] = await this.#loss?.ref.data() ?? [];
    return loss;
  }

  [Symbol.dispose](): void {
    tree.dispose(this.#learner);
    this.#loss?.dispose();
  }
}
