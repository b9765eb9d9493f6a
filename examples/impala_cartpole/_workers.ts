/**
 * IMPALA and IMPACT with actors in Workers, which record into one shared replay. Read {@linkcode trainWithActors}, then `act` in
 * `actor.ts`.
 *
 * @module
 */
import { ExperienceReplay, queue } from "@exrp/replay";
import { Broadcast } from "@exrp/replay/actors";
import { Actors } from "../_actors.ts";
import { mean } from "../_curve.ts";
import { type ActorJob, COLUMNS, type Published, shareOf } from "./actor.ts";
import { BATCH_SIZE, Learner, type Options, type Seen, SETTINGS, type Trained } from "./learner.ts";

/** What a run with actors is given. At most `lag + 1` batches wait for the learner. */
export interface WorkerOptions extends Options {
  /** How many Workers act: from 1 to the number of environments, which they share. */
  actors: number;
  /** Their file; `worker.ts` by default. */
  worker?: URL;
}

/** What training with actors gives. */
export interface TrainedWithActors extends Trained {
  /** By how many batches the policies were older than the learner's, on average over all steps that it took. */
  age: number;
  /** How many steps the actors say that they recorded. */
  recorded: number;
  /** How many of these the learner took. */
  drained: number;
  /** How many of them waited in the replay at the end. */
  left: number;
}

/** Learns CartPole-v1. `show` is called after each batch. */
export async function trainWithActors(
  options: WorkerOptions,
  show: (seen: Seen) => void = () => {},
): Promise<TrainedWithActors> {
  const { method, lag, seed } = options;
  using replay = await ExperienceReplay.create({
    capacity: (lag + 2) * BATCH_SIZE, // what may wait, and at the end the rollouts that the actors still have
    ...COLUMNS,
    pick: { discount: SETTINGS.discount },
    rateLimiter: queue((lag + 1) * BATCH_SIZE), // actors wait for the learner, so no step is lost
    seed,
  });
  using learner = await Learner.create(options);
  const broadcast = Broadcast.create<Published>({
    weights: learner.trained.weights,
    stop: new Uint8Array(1),
  });
  const publish = (stop = 0): number =>
    broadcast.publish({ weights: learner.trained.weights, stop: Uint8Array.of(stop) });

  let recorded = 0;
  const worker = options.worker ?? new URL("./worker.ts", import.meta.url);
  using actors = new Actors<ActorJob>(replay, worker, options.actors, ({ steps, returns }) => {
    recorded += steps;
    learner.hear(returns);
  });
  actors.start((index) => {
    const { first, environments } = shareOf(index, options.actors);
    return {
      ...{ replay: replay.share(), broadcast: broadcast.ticket },
      ...{ index, first, environments, seed, method },
    };
  });

  const ages: number[] = [];
  let drained = 0;
  while (!learner.isDone) {
    // 1. The learner takes each step once out of the replay. It waits until there are enough.
    const steps = await actors.race(replay.whenReady(() => replay.drain({ steps: BATCH_SIZE })));
    drained += steps.size;
    ages.push(broadcast.version - mean([...steps.extras.version]));

    // 2. It learns, and publishes what it has learned. Meanwhile the actors go on with the weights that they have.
    learner.learn(steps);
    publish();
    await actors.listen();
    show(learner.seen);
  }

  // 3. End: each actor writes the rollout that it is in, and leaves. No rate limiter holds it back any more.
  publish(1);
  replay.setRateLimiter(undefined);
  await actors.end();
  const left = replay.drain().size; // all episodes have ended by now
  return { ...learner.trained, age: mean(ages), recorded, drained, left };
}
