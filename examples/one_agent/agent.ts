/**
 * A Q-learning agent for CartPole with prioritized transitions. It knows a reader and a writer, and not what is behind them.
 *
 * @module
 */
import type { Column } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import type { ReplayReader, ReplayWriter } from "@exrp/replay/learner";
import { RandomStream } from "@exrp/replay/selectors";
import { newWeights, update, valuesOf, type Weights } from "../two_files/network.ts";

/** What the agent writes and draws: states of four numbers, and the defaults. */
export type Transitions = { readonly state: Column<"float32", [4]> };

const [WARM_UP, LEARN_EVERY, BATCH, REPORT_EVERY] = [500, 4, 64, 2000];

/** Plays, writes, draws and learns, for so many steps. */
export async function train(
  reader: ReplayReader<Transitions>,
  writer: ReplayWriter<Transitions>,
  steps: number,
  seed: number,
): Promise<Weights> {
  const weights = newWeights();
  const environment = new CartPole(seed);
  const random = new RandomStream(seed, 1);
  let state = environment.reset();
  for (let step = 1; step <= steps; step++) {
    const epsilon = Math.max(0.05, 1 - step / 5000);
    const action = random.uniform() < epsilon ? random.below(2) : bestAction(weights, state);
    const { state: nextState, terminated, truncated } = environment.step(action);
    await writer.append({ state, action, reward: 0.01, nextState, terminated, truncated });
    state = terminated || truncated ? environment.reset() : nextState;

    if (step === WARM_UP) await writer.flush(); // so that there is something to draw
    if (step >= WARM_UP && step % LEARN_EVERY === 0) {
      const batch = await reader.getBatch(BATCH, { beta: 0.4, timeoutMs: 60_000 });
      const errors = update(weights, { ...batch, weight: batch.importanceWeight });
      await reader.setPriority(batch, errors.map((error) => Math.abs(error) + 1e-3));
    }
    if (step % REPORT_EVERY === 0) {
      const { size, drawn } = await reader.stats();
      console.log(`${step} steps: ${size} transitions, ${drawn} drawn`);
    }
  }
  return weights;
}

/** What an episode without exploring earns on average, of ten; 500 is the most. */
export function evaluate(weights: Weights): number {
  const environment = new CartPole(1_000_000);
  let total = 0;
  for (let episode = 0; episode < 10; episode++) {
    let state = environment.reset();
    for (let isOver = false; !isOver; total++) {
      const step = environment.step(bestAction(weights, state));
      state = step.state;
      isOver = step.terminated || step.truncated;
    }
  }
  return total / 10;
}

function bestAction(weights: Weights, state: ArrayLike<number>): number {
  const values = valuesOf(weights, state);
  return values[1] > values[0] ? 1 : 0;
}
