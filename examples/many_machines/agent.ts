/**
 * A Q-learning agent for CartPole, whose actors may be anywhere. `learn` is the learner of both architectures. An actor of Ape-X has weights, and chooses by
 * itself; one of SEED RL asks for actions.
 *
 * @module
 */
import type { Broadcast } from "@exrp/replay/actors";
import type { Column } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import type { InferenceClient } from "@exrp/replay/fleet";
import type { ReplayReader, ReplayWriter } from "@exrp/replay/learner";
import { RandomStream } from "@exrp/replay/selectors";
import { update, valuesOf } from "../two_files/network.ts";

/** What the learner publishes. */
export type Weights = { readonly w: Float32Array<ArrayBuffer> };
/** What actors write and the learner draws. */
export type Transitions = { readonly state: Column<"float32", [4]> };

const [WARM_UP, STEPS_PER_UPDATE, BATCH, PUBLISH_EVERY] = [500, 4, 64, 10];

/** The chance of actor `k` of acting at random: some explore much, and some little. */
export function chanceOf(k: number): number {
  return 0.4 ** (1 + 2 * (k % 4));
}

/** The best action, or a random one. */
export function choose(
  w: Float32Array<ArrayBuffer>,
  state: ArrayLike<number>,
  chance: number,
  random: RandomStream,
): number {
  if (random.uniform() < chance) return random.below(2);
  const [left, right] = valuesOf(w, state);
  return right > left ? 1 : 0;
}

/** Learns one update for every four steps that come in, until there are `steps`. */
export async function learn(
  reader: ReplayReader<Transitions>,
  weights: Broadcast<Weights>,
  steps: number,
): Promise<void> {
  const w = weights.read().arrays.w.slice();
  for (let done = 1; WARM_UP + done * STEPS_PER_UPDATE <= steps; done++) {
    while ((await reader.stats()).inserted < WARM_UP + done * STEPS_PER_UPDATE) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const batch = await reader.getBatch(BATCH, { beta: 0.4, timeoutMs: 60_000 });
    const errors = update(w, { ...batch, weight: batch.importanceWeight });
    await reader.setPriority(batch, errors.map((error) => Math.abs(error) + 1e-3));
    if (done % PUBLISH_EVERY === 0) weights.publish({ w });
  }
}

/** An actor of Ape-X, until `signal` ends it. */
export async function actAlone(
  weights: Broadcast<Weights>,
  writer: ReplayWriter<Transitions>,
  { seed, signal }: { readonly seed: number; readonly signal: AbortSignal },
): Promise<void> {
  const random = new RandomStream(seed, 1);
  const environment = new CartPole(seed);
  let state = environment.reset();
  for (let step = 1; !signal.aborted; step++) {
    // In one process, the others have their turns now.
    if (step % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    const action = choose(weights.read().arrays.w, state, chanceOf(seed), random);
    const { state: nextState, terminated, truncated } = environment.step(action);
    await writer.append({ state, action, reward: 0.01, nextState, terminated, truncated });
    state = terminated || truncated ? environment.reset() : nextState;
  }
}

/** An actor of SEED RL, until `signal` ends it. */
export async function actByServer(
  client: InferenceClient<Transitions["state"]>,
  { seed, signal }: { readonly seed: number; readonly signal: AbortSignal },
): Promise<void> {
  const environment = new CartPole(seed);
  let [action = 0] = await client.reset(environment.reset()) as Int32Array;
  while (!signal.aborted) {
    const { state: nextState, terminated, truncated } = environment.step(action);
    const state = terminated || truncated ? environment.reset() : nextState;
    const flags = { terminated: [terminated], truncated: [truncated] };
    [action = 0] = await client.step({ reward: [0.01], ...flags, nextState, state }) as Int32Array;
  }
}
