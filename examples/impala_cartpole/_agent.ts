/**
 * IMPALA and IMPACT in one thread. Their actors have policies of some batches ago, as actors in other threads would, so a run is the same
 * each time. Read {@linkcode train}.
 *
 * @module
 */
import { ExperienceReplay, float32, int32 } from "@exrp/replay";
import { CartPole } from "@exrp/replay/envs";
import { RandomStream } from "@exrp/replay/selectors";
import { CartPoles } from "../_cart_poles.ts";
import {
  BATCH_SIZE,
  Learner,
  newPolicy,
  type Options,
  type Seen,
  SETTINGS,
  type Trained,
} from "./learner.ts";

/** Learns CartPole-v1. `show` is called after each batch. */
export async function train(
  options: Options,
  show: (seen: Seen) => void = () => {},
): Promise<Trained> {
  const { method, lag, seed } = options;
  const { environments: count, rolloutSteps, discount } = SETTINGS;
  using replay = await ExperienceReplay.create({
    capacity: BATCH_SIZE, // a drain forgets what it gives
    state: float32(CartPole.stateSize),
    action: int32(),
    extras: { logProb: float32() }, // log μ(a|s) of the policy that took the action: all corrections need it
    pick: { discount },
    seed,
  });
  using learner = await Learner.create(options);
  using actor = await newPolicy(method, seed);
  const policies = [learner.trained.weights]; // those of the last batches, the oldest first: the actors have that one
  const cartPoles = new CartPoles(count, 1_000 * seed);
  const random = new RandomStream(seed, 1);
  const episodes = Float64Array.from({ length: count }, () => replay.newEpisode());
  while (!learner.isDone) {
    // 1. The actors act, with a policy of some batches ago.
    actor.load(policies[0] ?? learner.trained.weights);
    for (let t = 0; t < rolloutSteps; t++) {
      const { state } = cartPoles;
      const { action, logProb } = actor.act(state, random);
      const { ended, ...result } = cartPoles.step(action);
      replay.recordBatch(episodes, { state, action, extras: { logProb }, ...result });
      learner.hear(ended);
    }

    // 2. The learner takes each step once out of the replay.
    learner.learn(replay.drain({ steps: BATCH_SIZE }));
    policies.push(learner.trained.weights);
    if (policies.length > lag + 1) policies.shift();
    show(learner.seen);
  }
  return learner.trained;
}
