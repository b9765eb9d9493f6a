/**
 * An actor in TypeScript: it plays CartPole and writes what happens to the server, by `ReverbClient`.
 *
 * ```sh
 * deno run --allow-read --allow-env --allow-ffi --allow-net examples/reverb/actor.ts --address=localhost:8000
 * ```
 *
 * `main.ts` starts it. By hand it runs until you press Ctrl-C. `actor.py` does the same, line by line.
 *
 * @module
 */
import { CartPole } from "@exrp/replay/envs";
import { ReverbClient, type TrajectoryWriter } from "@exrp/replay/reverb";
import { RandomStream } from "@exrp/replay/selectors";
import { parseArgs } from "node:util";
import type { Floats } from "../_network.ts";
import { QNetwork } from "../_q_network.ts";
import { floatsOf } from "./_columns.ts";
import { SETTINGS } from "./_settings.ts";

const N = SETTINGS.returnSteps;

/** What the actor appends at each step. */
interface Step {
  readonly state: Floats;
  readonly action: number;
  readonly reward: number;
  readonly discount: number;
}

/** Appends a step. The item is the transition from the step N steps ago to this one. */
async function addStep(writer: TrajectoryWriter<Step>, step: Step): Promise<void> {
  writer.append(step);
  if (writer.episodeSteps <= N) return;
  const { state, action, reward, discount } = writer.history;
  // The table's rate limiter holds the actor back here, when the learner can't keep up.
  await writer.createItem("replay", 1, {
    state: state.at(-N - 1),
    action: action.at(-N - 1),
    reward: reward.slice(-N - 1, -1),
    discount: discount.slice(-N - 1, -1),
    next_state: state.at(-1),
  });
}

/** Plays for ever. */
async function act(address: string, seed: number): Promise<void> {
  await using client = await ReverbClient.connect(address);
  await using writer = client.trajectoryWriter<Step>({
    numKeepAliveRefs: N + 1,
    maxPendingItems: 20,
  });
  // Plain numbers are float64, as in Python, unless you say otherwise.
  writer.configure(["action"], { dtype: "int32" });
  writer.configure(["reward"], { dtype: "float32" });
  writer.configure(["discount"], { dtype: "float32" });
  using network = await QNetwork.create({ seed });
  const random = new RandomStream(seed, 1);
  const environment = new CartPole(seed);
  let state = environment.reset();
  let epsilon = 1;

  for (let step = 0;; step++) {
    // The newest weights. The first sample waits until the learner has put some there.
    if (step % SETTINGS.refreshEvery === 0) {
      const [newEpsilon, weights] = (await client.getBatch("variables", 1)).columns;
      epsilon = floatsOf(newEpsilon)[0] ?? 1;
      network.load(floatsOf(weights));
    }
    const action = random.uniform() < epsilon
      ? random.below(CartPole.actionCount)
      : network.bestAction(state);
    const { state: nextState, reward, terminated, truncated } = environment.step(action);
    const discount = terminated ? 0 : SETTINGS.discount;
    await addStep(writer, { state, action, reward, discount });
    state = nextState;
    if (terminated || truncated) {
      // The last steps of the episode have fewer than N steps after them. Steps that change nothing stand for what is missing.
      for (let k = 0; k < N; k++) {
        await addStep(writer, { state, action: 0, reward: 0, discount: 1 });
      }
      await writer.endEpisode();
      state = environment.reset();
    }
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      address: { type: "string", default: "localhost:8000" },
      seed: { type: "string", default: "1" },
    },
  });
  await act(values.address, Number(values.seed));
}
