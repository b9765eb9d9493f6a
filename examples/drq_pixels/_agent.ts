/**
 * The agent of this example, DrQ (Yarats, Kostrikov and Fergus, "Image Augmentation Is All You Need", ICLR 2021) on double DQN: how it acts,
 * remembers and learns. Read {@linkcode train}.
 *
 * @module
 */
import { ExperienceReplay, int32, uint8, uniform } from "@exrp/replay";
import { randomShift, toFloat32 } from "@exrp/replay/transforms";
import { GridMaze } from "@exrp/replay/envs";
import { annealed } from "@exrp/replay/returns";
import { RandomStream } from "@exrp/replay/selectors";
import { type CurvePoint, mean } from "../_curve.ts";
import type { Floats } from "../_network.ts";
import { compile, QNetwork } from "../_q_network.ts";
import type { Status } from "../_report.ts";
import { Stopwatch } from "../_stopwatch.ts";
import { PictureRoom, ROOM, SIDE } from "./_picture_room.ts";

/** The numbers of the algorithm. */
export const SETTINGS = {
  capacity: 10_000, // records that the replay holds
  discount: 0.9,
  batchSize: 64,
  warmupSteps: 200, // steps before the first update
  updatesPerStep: 8, // so few steps must do
  exploration: { first: 1, last: 0.1, steps: 800 }, // chance of a random action
  learningRate: 1e-3,
  targetRate: 0.01, // how far the target network moves towards the online one, each update
  evaluation: { every: 200, episodes: 100 }, // steps between evaluations; episodes in each
};

/** Inputs and outputs of the network's layers: from the numbers of a picture to a value for each action. */
export const LAYERS = [[SIDE * SIDE, 128], [128, 64], [64, GridMaze.actionCount]] as const;

const MODEL = compile(LAYERS);
/** From greys to the numbers that the network takes. It is a float32, so the agent computes what batches have, to the bit. */
const SCALE = Math.fround(1 / 255);

/** What a run is given. */
export interface Options {
  /** Whether batches shift the pictures at random. */
  shift: boolean;
  seed: number;
  /** Environment steps. */
  steps: number;
}

/** What training gives. */
export interface Trained {
  /** The shares of episodes in which the greedy policy reaches the goal. */
  evaluations: CurvePoint[];
  weights: Floats;
}

/** A replay that stores pictures as uint8. Its batches have what the network takes: float32 from 0 to 1, shifted or not. */
// deno-lint-ignore explicit-function-return-type -- the type follows from the options
export function newReplay({ shift, seed }: Pick<Options, "shift" | "seed">) {
  const toNetwork = toFloat32({ scale: SCALE });
  const state = shift ? [randomShift(ROOM.margin), toNetwork] as const : [toNetwork] as const;
  return ExperienceReplay.create({
    capacity: SETTINGS.capacity,
    state: uint8(SIDE, SIDE),
    action: int32(),
    pick: { discount: SETTINGS.discount, transform: { state } },
    seed,
  });
}

/** Learns the way to the goal from pictures. `show` is called after each step, and the stopwatch measures the parts. */
export async function train(
  { shift, seed, steps }: Options,
  show: (step: number, status: Status) => void = () => {},
  { time }: Stopwatch = new Stopwatch(),
): Promise<Trained> {
  using replay = await newReplay({ shift, seed });
  const selector = replay.newPickSelector(uniform());
  using network = await QNetwork.create({ seed }, MODEL);
  const environment = new PictureRoom(seed);
  const random = new RandomStream(seed, 1);
  const { first, last } = SETTINGS.exploration;
  const exploration = annealed(first, last, SETTINGS.exploration.steps);
  const { learningRate, targetRate } = SETTINGS;

  const evaluations: CurvePoint[] = [];
  const returns: number[] = [];
  let loss = NaN;
  let picture = environment.reset();
  let episode = replay.newEpisode();
  for (let step = 1; step <= steps; step++) {
    // 1. Act, and remember the picture as it is.
    const action = random.uniform() < exploration(step)
      ? random.below(GridMaze.actionCount)
      : network.bestAction(toFloats([picture]));
    const { picture: next, reward, terminated, truncated } = environment.step(action);
    const ending = terminated || truncated ? { finalState: next, truncated } : undefined;
    episode = replay.record(episode, picture, action, reward, ending);
    picture = next;
    if (ending !== undefined) {
      returns.push(reward);
      picture = environment.reset();
      episode = replay.newEpisode();
    }

    // 2. Learn, several times a step. Each batch has other shifts of the same few pictures, and the network takes it as it comes.
    for (let k = 0; k < SETTINGS.updatesPerStep && step >= SETTINGS.warmupSteps; k++) {
      const batch = time("replay: getBatch", () => replay.getBatch(SETTINGS.batchSize, selector));
      const transitions = { ...batch, weight: batch.importanceWeight };
      const rates = { learningRate, targetRate };
      loss = time("network: update", () => network.update(transitions, rates)).loss;
    }

    // 3. Evaluate: play other episodes without exploring.
    if (step % SETTINGS.evaluation.every === 0 || step === steps) {
      const share = time("evaluation", () => evaluate(network, 1_000_000 * (seed + 1)));
      evaluations.push({ step, return: share });
    }
    const best = Math.max(0, ...evaluations.map((point) => point.return));
    show(step, { loss, return: mean(returns.slice(-20)), best });
  }
  return { evaluations, weights: network.weights() };
}

/** Plays episodes greedily. Returns the share of those that reach the goal. */
function evaluate(network: QNetwork, seed: number): number {
  const { episodes } = SETTINGS.evaluation;
  let solved = 0;
  let playing = Array.from({ length: episodes }, (_, n) => {
    const environment = new PictureRoom(seed + n);
    return { environment, picture: environment.reset() };
  });
  while (playing.length > 0) {
    const actions = network.bestActions(toFloats(playing.map(({ picture }) => picture)));
    playing = playing.filter((player, n) => {
      const { picture, reward, terminated, truncated } = player.environment.step(actions[n] ?? 0);
      player.picture = picture;
      solved += reward;
      return !terminated && !truncated;
    });
  }
  return solved / episodes;
}

/** Pictures as the network takes them, `[n, 256]`: as the transform makes them, without a shift. */
export function toFloats(pictures: readonly Uint8Array[]): Floats {
  const floats = new Float32Array(pictures.length * SIDE * SIDE);
  pictures.forEach((picture, n) => {
    floats.set(Float32Array.from(picture, (grey) => grey * SCALE), n * SIDE * SIDE);
  });
  return floats;
}
