/**
 * A learner in TypeScript: double DQN on batches that `ReverbClient` samples from the server.
 *
 * ```sh
 * deno run --allow-read --allow-env --allow-ffi --allow-net examples/reverb/learner.ts --address=localhost:8000
 * ```
 *
 * `main.ts` starts it. It prints a line of JSON for each evaluation, and one at the end. `learner.py` does the same, line by line.
 *
 * @module
 */
import { ReverbClient, type SampleBatch, tensor } from "@exrp/replay/reverb";
import { parseArgs } from "node:util";
import { newEnvironments, play } from "../_cart_poles.ts";
import { mean } from "../_curve.ts";
import type { Floats } from "../_network.ts";
import { QNetwork, type Transitions } from "../_q_network.ts";
import { floatsOf, integersOf } from "./_columns.ts";
import type { End, Evaluation } from "./_lines.ts";
import { scheduled, SETTINGS } from "./_settings.ts";

/** The n-step return of rewards and discounts `[count, n]`, and the discount of the value after them. */
function discounted(reward: Floats, discount: Floats): { total: Floats; factor: Floats } {
  const n = SETTINGS.returnSteps;
  const total = new Float32Array(reward.length / n);
  const factor = new Float32Array(total.length).fill(1);
  for (let row = 0; row < total.length; row++) {
    for (let k = row * n; k < (row + 1) * n; k++) {
      total[row] = (total[row] ?? 0) + (factor[row] ?? 0) * (reward[k] ?? 0);
      factor[row] = (factor[row] ?? 0) * (discount[k] ?? 0);
    }
  }
  return { total, factor };
}

/** Weights in the loss. They make up for the fact that some transitions come more often than others. */
function importanceOf(
  { probability: probabilities, tableSizes }: SampleBatch,
  beta: number,
): Floats {
  const weights = Float32Array.from(
    probabilities,
    (probability, k) => ((tableSizes[k] ?? 1) * probability) ** -beta,
  );
  const largest = Math.max(...weights);
  return weights.map((weight) => weight / largest);
}

/** A batch as the network takes it. Columns come in the order of their sorted names. */
function transitionsOf(batch: SampleBatch, beta: number): Transitions {
  const [action, discount, nextState, reward, state] = batch.columns;
  const { total, factor } = discounted(floatsOf(reward), floatsOf(discount));
  return {
    state: floatsOf(state),
    action: integersOf(action),
    reward: total,
    discount: factor,
    nextState: floatsOf(nextState),
    weight: importanceOf(batch, beta),
  };
}

function say(line: Evaluation | End): void {
  console.log(JSON.stringify(line));
}

async function learn(address: string, seed: number, stepsMax: number): Promise<void> {
  await using client = await ReverbClient.connect(address);
  using network = await QNetwork.create({ seed });
  const environments = newEnvironments(SETTINGS.evaluation.episodes, 1_000_000 + 1_000 * seed);
  // What an earlier learner left on the server is of no use.
  await client.clear("replay");
  await client.clear("variables");

  let update = 0;
  const publish = (): Promise<void> => {
    const epsilon = tensor(scheduled("exploration", update), { dtype: "float32" });
    return client.insert({ epsilon, weights: network.weights() }, { variables: 1 });
  };
  const inserted = async (): Promise<number> =>
    (await client.serverInfo())["replay"]?.rateLimiter.inserts ?? 0;

  await publish();
  const first = await inserted();
  const { batchSize, targetRate, publishEvery, evaluation, solved } = SETTINGS;
  let best = -1;
  let kept = network.weights();
  let good = 0;
  for await (const batch of client.batches("replay", { batchSize })) {
    const learningRate = scheduled("learningRate", ++update);
    const { loss, tdError } = network.update(transitionsOf(batch, scheduled("beta", update)), {
      learningRate,
      targetRate,
    });
    const priorities = tdError.map((error) => Math.abs(error) + 0.01);
    await client.setPriority("replay", { updates: { keys: batch.keys, priorities } });
    if (update % publishEvery === 0) await publish();
    if (update % evaluation.every === 0) {
      const score = mean(play(network, environments));
      if (score >= best) [best, kept] = [score, network.weights()];
      const step = await inserted() - first;
      say({ update, step, loss, return: score });
      good = score >= solved.return ? good + 1 : 0;
      if (good === solved.times || step >= stepsMax) break;
    }
  }
  // The best policy plays new episodes, which had no part in any choice.
  network.load(kept);
  const fresh = play(network, newEnvironments(20, 2_000_000 + 1_000 * seed));
  say({ end: true, solved: good === solved.times, mean: mean(fresh), worst: Math.min(...fresh) });
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      address: { type: "string", default: "localhost:8000" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "60000" },
    },
  });
  await learn(values.address, Number(values.seed), Number(values.steps));
}
