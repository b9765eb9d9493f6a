/**
 * The agents of this example, SAC and RLPD: how they act, remember and learn. Read {@linkcode train}.
 *
 * SAC is by Haarnoja et al., "Soft Actor-Critic Algorithms and Applications" (2018). RLPD is by Ball et al., "Efficient Online Reinforcement
 * Learning with Offline Data" (2023): SAC with half of each batch from offline data, many updates a step, and layer normalization.
 *
 * @module
 */
import {
  type Column,
  ExperienceReplay,
  float32,
  mixture,
  prioritized,
  type Selector,
  uniform,
} from "@exrp/replay";
import { annealed } from "@exrp/replay/returns";
import { RandomStream, type SelectorRule } from "@exrp/replay/selectors";
import { type CurvePoint, mean } from "../_curve.ts";
import type { Floats } from "../_network.ts";
import { Networks } from "./_networks.ts";
import { play, type Task } from "./_tasks.ts";

/** The numbers of the algorithms. */
export const SETTINGS = {
  discount: 0.99,
  batchSize: 128,
  learningRate: 1e-3, // of the actor, the critics and the temperature
  targetRate: 0.005, // how far the target network moves towards the critics, each update
  alpha: 0.6, // how strongly priorities decide what is drawn
  beta: { first: 0.4, last: 1 }, // how far importance weights correct the bias
  evaluation: { every: 500, episodes: 10 }, // steps between evaluations; episodes in each
  // Steps with random actions, before the first update. Then updates of the critics for each step; the actor has one.
  sac: { warmupSteps: 1_000, updatesPerStep: 1, layerNorm: false },
  rlpd: { warmupSteps: 200, updatesPerStep: 4, layerNorm: true },
};

/** How picks are drawn: uniformly or by priority. */
export const RULES = ["uniform", "prioritized"] as const;

/** The tags of the episodes. */
export const [ONLINE, OFFLINE] = [0, 1] as const;

/** Steps that another policy took, one after the other. */
export interface OfflineData {
  state: Floats;
  action: Floats;
  reward: Floats;
  nextState: Floats;
  terminated: Uint8Array<ArrayBuffer>;
  truncated: Uint8Array<ArrayBuffer>;
}

/** What a run is given. */
export interface Run {
  /** RLPD differs from SAC in {@linkcode SETTINGS}, and has offline data. */
  agent: "sac" | "rlpd";
  task: Task;
  rule: typeof RULES[number];
  /** Rewards summed before the critics' own estimate takes over. */
  nStep: number;
  seed: number;
  steps: number;
  /** Half of each batch comes from it. */
  offline?: OfflineData | undefined;
}

/** How far training is. */
export interface Seen {
  step: number;
  loss: number;
  /** The mean return of the latest 10 training episodes. */
  return: number;
  /** The mean returns of the evaluations so far. */
  evaluations: readonly CurvePoint[];
}

/** What the replay stores of a step, and what a pick has. */
interface Step {
  readonly state: Column<"float32", [number]>;
  readonly action: Column<"float32", [1]>;
  readonly pick: { readonly nStep: number };
}

/** The replay of a run, with its offline data. */
export async function newReplay(
  { task, nStep, seed, offline }: Run,
): Promise<ExperienceReplay<Step>> {
  const replay = await ExperienceReplay.create({
    capacity: 100_000,
    state: float32(task.stateScale.length),
    action: float32(1),
    pick: { nStep, discount: SETTINGS.discount },
    seed,
  });
  if (offline !== undefined) {
    replay.recordFlat(replay.newEpisode(), { ...offline, tag: OFFLINE });
  }
  return replay;
}

/** What draws the batches of a run: half from the agent's own steps and half from offline data, if there are any. */
export function newSelector(
  replay: ExperienceReplay<Step>,
  { rule, nStep, offline }: Run,
): Selector<Step> {
  const newRule = (): SelectorRule =>
    rule === "uniform" ? uniform() : prioritized({ alpha: SETTINGS.alpha });
  if (offline === undefined) return replay.newPickSelector(newRule());
  const half = (tag: number) => ({
    selector: replay.newPickView({ nStep, where: { tag } }).newPickSelector(newRule()),
    share: 1,
  });
  return replay.newPickSelector(mixture([half(ONLINE), half(OFFLINE)]));
}

/** Learns a task. `show` is called after each step, and may play with the networks. */
export async function train(
  run: Run,
  show: (seen: Seen, networks: Networks) => void = () => {},
): Promise<CurvePoint[]> {
  const { task, rule, seed, steps } = run;
  const { batchSize, learningRate, targetRate } = SETTINGS;
  const { warmupSteps, updatesPerStep, layerNorm } = SETTINGS[run.agent];
  using replay = await newReplay(run);
  const selector = newSelector(replay, run);
  const random = new RandomStream(seed, 1);
  using networks = await Networks.create(
    { stateScale: task.stateScale, actionSize: 1, layerNorm },
    seed,
  );
  const beta = annealed(SETTINGS.beta.first, SETTINGS.beta.last, steps);
  const environment = task.make(seed);

  const evaluations: CurvePoint[] = [];
  const returns: number[] = [];
  let [loss, sum] = [NaN, 0];
  let state = environment.reset();
  let episode = replay.newEpisode({ tag: ONLINE });
  for (let step = 1; step <= steps; step++) {
    // 1. Act, and remember the step.
    const action = step <= warmupSteps
      ? Float32Array.of(2 * random.uniform() - 1)
      : networks.act(state, random);
    const result = environment.step((action[0] ?? 0) * task.actionLimit);
    const isOver = result.terminated || result.truncated;
    const ending = isOver ? { finalState: result.state, truncated: result.truncated } : undefined;
    episode = replay.record(episode, state, action, result.reward * task.rewardScale, ending);
    sum += result.reward;
    if (isOver) {
      returns.push(sum);
      sum = 0;
      episode = replay.newEpisode({ tag: ONLINE });
    }
    state = isOver ? environment.reset() : result.state;

    // 2. Learn: the critics from one or several batches, and the actor from the last of them.
    if (step >= warmupSteps) {
      for (let update = 1; update <= updatesPerStep; update++) {
        const batch = replay.getBatch(batchSize, selector, { beta: beta(step) });
        const [part] = batch.nStep;
        const learned = networks.updateCritics(
          {
            state: batch.state,
            action: batch.action,
            reward: part.reward,
            nextState: part.nextState,
            discount: part.discount,
            weight: batch.importanceWeight,
          },
          { learning: learningRate, target: targetRate },
          random,
        );
        loss = learned.loss;
        if (rule === "prioritized") replay.setPriority(selector, batch, learned.tdError);
        if (update === updatesPerStep) networks.updateActor(batch.state, learningRate, random);
      }
    }

    // 3. Evaluate: play some episodes without chance.
    if (step % SETTINGS.evaluation.every === 0 || step === steps) {
      const seeds = Array.from(
        { length: SETTINGS.evaluation.episodes },
        (_, k) => 1_000_000 * (seed + 1) + k,
      );
      const earned = play(task, (states) => networks.act(states), seeds);
      evaluations.push({ step, return: mean(earned) });
    }
    show({ step, loss, return: mean(returns.slice(-10)), evaluations }, networks);
  }
  return evaluations;
}

/** Records what a policy does in `count` steps. It gives an action, from -1 to 1, in a state. */
export function recordPlay(
  task: Task,
  act: (state: Floats) => Floats,
  { count, seed }: { count: number; seed: number },
): OfflineData {
  const width = task.stateScale.length;
  const data: OfflineData = {
    state: new Float32Array(count * width),
    action: new Float32Array(count),
    reward: new Float32Array(count),
    nextState: new Float32Array(count * width),
    terminated: new Uint8Array(count),
    truncated: new Uint8Array(count),
  };
  const environment = task.make(seed);
  let state = environment.reset();
  for (let k = 0; k < count; k++) {
    const action = act(state);
    const result = environment.step((action[0] ?? 0) * task.actionLimit);
    data.state.set(state, k * width);
    data.action.set(action, k);
    data.reward[k] = result.reward * task.rewardScale;
    data.nextState.set(result.state, k * width);
    data.terminated[k] = Number(result.terminated);
    data.truncated[k] = Number(result.truncated || (k === count - 1 && !result.terminated));
    state = result.terminated || result.truncated ? environment.reset() : result.state;
  }
  return data;
}
